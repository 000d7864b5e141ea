import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { editedYaml, type YamlEdit } from '../edited-yaml.ts';
import { compile } from '../evaluate/compile.ts';
import { parse, type RuleFiles } from '../parse/parse.ts';
import type { Problem } from '../problem.ts';
import { isRuleVersion, type RuleSet, type RuleVersion, versionNameRefusal } from '../rule-set.ts';
import { digestOf } from './release.ts';
import { formatProblems, RELEASE_FILE, ROLLED_BACK_FILE, readRuleFiles } from './rule-folder.ts';

/** A rule set without a folder: somebody works on it. */
export interface DraftText {
  readonly version: RuleVersion;
  readonly files: readonly (readonly [path: string, text: string])[];
}

type DraftResult =
  | { readonly ok: true; readonly ruleSet: RuleSet }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A rule set from texts without a folder. */
export function draftOf(version: string, files: RuleFiles): DraftResult {
  const read = parse(version, files);
  return read.ok ? { ok: true, ruleSet: compile(read.rules, digestOf(files), false) } : read;
}

/** The rule set of files that were found sound before. */
export function soundDraft(version: string, files: RuleFiles): RuleSet {
  const draft = draftOf(version, files);
  if (draft.ok) return draft.ruleSet;
  throw new Error(`${version} is not sound: ${draft.problems.map(({ message }) => message).join('; ')}`);
}

interface DraftAsk {
  /** The folder that is copied. */
  readonly source: string;
  readonly rulesDir: string;
  readonly version: string;
  /** Values to be replaced in the copy, by file. */
  readonly edits?: Readonly<Record<string, readonly YamlEdit[]>>;
  /** Texts that take the place of the copy's files, or are added to it, by file. */
  readonly texts?: RuleFiles;
  /** A path as messages show it. */
  readonly shown: (path: string) => string;
}

/**
 * Makes a draft as a copy of another version, and gives its folder. It is made beside its place and moved there at
 * the end, so that no node ever sees half a version. Throws DraftRefused.
 */
export function writeDraft(ask: DraftAsk): string {
  const { source, rulesDir, version, edits = {}, texts = new Map(), shown } = ask;
  if (!isRuleVersion(version)) throw new DraftRefused(versionNameRefusal(version));
  const target = join(rulesDir, version);
  if (existsSync(target))
    throw new DraftRefused(`${shown(target)} exists already; choose another version or edit it as it is`);
  const files: RuleFiles = new Map([...soundFiles(ask), ...texts]);
  const named = renamed(files, version);
  if (named === null)
    throw new DraftRefused(
      `the ruleVersion in ${shown(join(source, 'ruleset.yaml'))} cannot be replaced; write it as a line of its own, like ruleVersion: ${basename(source)}`,
    );
  const changed = new Map([...texts, ['ruleset.yaml', named] as const]);
  for (const [file, some] of Object.entries(edits))
    changed.set(file, editedYaml(changed.get(file) ?? files.get(file) ?? '', some));
  const read = parse(version, new Map([...files, ...changed]));
  if (!read.ok)
    throw new DraftRefused(
      `with these values ${version} would not be sound:\n${formatProblems(shown(target), read.problems)}`,
    );
  copyFolder(source, target, changed);
  return target;
}

/** The source must be sound; it may have been edited after its release. */
function soundFiles({ source, shown }: DraftAsk): RuleFiles {
  const problems: Problem[] = [];
  const files: RuleFiles = readRuleFiles(source, problems) ?? new Map();
  const read = parse(basename(source), files);
  if (problems.length === 0 && read.ok) return files;
  const all = [...problems, ...(read.ok ? [] : read.problems)];
  throw new DraftRefused(
    `${basename(source)} is not sound and cannot be copied:\n${formatProblems(shown(source), all)}`,
  );
}

const WRITTEN_VERSION = /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+(?:-[a-z][a-z0-9]*)?/m;

/**
 * The text of ruleset.yaml with another version in it, replaced as text: comments and layout stay as they are. Null
 * when the version is not written on a line of its own.
 */
export function renamed(files: RuleFiles, version: RuleVersion): string | null {
  const text = files.get('ruleset.yaml') ?? '';
  if (!WRITTEN_VERSION.test(text)) return null;
  return text.replace(WRITTEN_VERSION, (_, before: string) => before + version);
}

/** Lines about a version that do not hold for a copy of it. */
const NOT_COPIED: readonly string[] = [RELEASE_FILE, ROLLED_BACK_FILE];

function copyFolder(source: string, target: string, changed: ReadonlyMap<string, string>): void {
  const draft = mkdtempSync(join(dirname(target), '.new-'));
  try {
    const made = join(draft, basename(target));
    cpSync(source, made, {
      recursive: true,
      filter: (path) => !NOT_COPIED.includes(basename(path)),
    });
    for (const [file, text] of changed) writeFileSync(join(made, file), text);
    renameSync(made, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** The draft cannot be made; the message says why and what to do. */
export class DraftRefused extends Error {
  override readonly name = 'DraftRefused';
}
