import { hash } from 'node:crypto';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import { type ParseResult, parseRuleSet, type RuleFiles } from '#decision/rules/parse/parse.ts';
import { type RuleProblem, sortProblems } from '#decision/rules/problem.ts';
import { listHoldoutProblems } from '#decision/rules/proof/refused-holdouts.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';

/** A draft that has no folder, with the texts of its files. */
export interface DraftText {
  readonly version: RuleVersion;
  readonly files: readonly (readonly [path: string, text: string])[];
}

/** A rule set, or everything that is wrong with its files. */
export type LoadResult =
  | { readonly ok: true; readonly ruleSet: RuleSet }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/**
 * Reads the rules in some files, or returns all their problems. Nodes and the workbench load rules only through this
 * function. Parsing finds what is written badly, and a proof finds holdouts of rules that repeat a person's decision.
 */
export function parseAndProveRules(version: string, files: RuleFiles): ParseResult {
  const parsed = parseRuleSet(version, files);
  const problems = parsed.ok ? listHoldoutProblems(parsed.rules) : [];
  return problems.length === 0 ? parsed : { ok: false, problems: sortProblems(problems) };
}

/** Loads a rule set from texts without a folder. */
export function compileDraft(version: string, files: RuleFiles): LoadResult {
  const read = parseAndProveRules(version, files);
  return read.ok ? { ok: true, ruleSet: compileRuleSet(read.rules, computeDigest(files), false) } : read;
}

/** Loads the rule set from files that were found sound before. Throws if they are not sound. */
export function compileSoundDraft(version: string, files: RuleFiles): RuleSet {
  const draft = compileDraft(version, files);
  if (draft.ok) return draft.ruleSet;
  throw new Error(`${version} has problems: ${draft.problems.map(({ message }) => message).join('; ')}`);
}

/**
 * Computes the SHA-256 in hex over the names and contents of all files of a rule set. The sequence of the files does
 * not matter.
 */
export function computeDigest(files: RuleFiles): string {
  return sha256(
    Object.entries(computeFileDigests(files))
      .map(([path, digest]) => `${digest}  ${path}\n`)
      .join(''),
  );
}

/** Computes the SHA-256 of each file in hex, by its path inside the folder. */
export function computeFileDigests(files: RuleFiles): Record<string, string> {
  const paths = [...files.keys()].toSorted();
  return Object.fromEntries(paths.map((path) => [path, sha256(files.get(path) ?? '')]));
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
