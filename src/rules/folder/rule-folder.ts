import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { compile } from '../evaluate/compile.ts';
import { buildEngine } from '../evaluate/engine.ts';
import { parse, type RuleFiles } from '../parse/parse.ts';
import { formatProblem, type Problem } from '../problem.ts';
import { isRuleVersion, type RuleSet, type RuleVersion } from '../rule-set.ts';
import { checkRelease, digestOf } from './release.ts';

export const RELEASE_FILE = 'release.json';

export type LoadResult =
  | { readonly ok: true; readonly ruleSet: RuleSet }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** The rule set in a folder such as `rules/p2.v10`, or everything that is wrong with it. */
export function loadRuleSet(folder: string): LoadResult {
  const problems: Problem[] = [];
  const files = readRuleFiles(folder, problems);
  if (files === null || problems.length > 0) return { ok: false, problems };
  const version = basename(folder);
  const release = readText(folder, RELEASE_FILE, problems);
  if (release !== null) problems.push(...checkRelease(release, version, files));
  const result = parse(version, files);
  if (!result.ok) return { ok: false, problems: [...problems, ...result.problems] };
  if (problems.length > 0) return { ok: false, problems };
  const { groups, signals, verdicts } = result.rules;
  // The engine that explains decisions must be able to hold the rules: better known now than in a dispute.
  for (const { rules } of [groups, signals, verdicts]) buildEngine(rules);
  return { ok: true, ruleSet: compile(result.rules, digestOf(files), release !== null) };
}

/** Names of the rule sets in `rulesDir`, oldest first. */
export function listRuleVersions(rulesDir: string): readonly RuleVersion[] {
  return readdirSync(rulesDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .filter(isRuleVersion)
    .toSorted(compareRuleVersions);
}

/** p2.v9 before p2.v10 before p3.v1. */
export function compareRuleVersions(a: RuleVersion, b: RuleVersion): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** The problems of a folder as lines, each with the path from the working folder. */
export function formatProblems(folder: string, problems: readonly Problem[]): string {
  return problems
    .map(({ at, message }) => formatProblem({ at: { ...at, file: join(folder, at.file) }, message }))
    .join('\n');
}

/** The texts of all rule files and cases in a folder; null when there is no such folder. */
export function readRuleFiles(folder: string, problems: Problem[]): RuleFiles | null {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    problems.push({ at: { file: '.', line: 1, column: 1 }, message: 'there is no such folder' });
    return null;
  }
  const files = new Map<string, string>();
  for (const path of [...yamlFiles(folder, '.'), ...yamlFiles(folder, 'cases')]) {
    const text = readText(folder, path, problems);
    if (text !== null) files.set(path, text);
  }
  return files;
}

function yamlFiles(folder: string, below: string): readonly string[] {
  const path = join(folder, below);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => (below === '.' ? entry.name : `${below}/${entry.name}`));
}

/** The text of a file, or null when it is missing; what is not UTF-8 is a problem. */
function readText(folder: string, path: string, problems: Problem[]): string | null {
  if (!statSync(join(folder, path), { throwIfNoEntry: false })?.isFile()) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      readFileSync(join(folder, path)),
    );
  } catch {
    problems.push({ at: { file: path, line: 1, column: 1 }, message: 'the file is not UTF-8 text' });
    return null;
  }
}
