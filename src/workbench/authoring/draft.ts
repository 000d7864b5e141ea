import { cpSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NamedError } from '#base/named-error.ts';
import { parseRuleSet, type RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import { describeBadVersionName, isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import { compileDraft, computeDigest } from '#decision/rules/text/draft-text.ts';
import { renameVersion } from '#decision/rules/text/edited-text.ts';
import { ROLLBACK_NOTE_FILE } from '#state/rule-folders/rolled-back.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RELEASE_FILE } from '#state/rule-folders/rules-dir.ts';

/**
 * Creates a draft as a copy of the version in a folder. Returns the draft's folder. The version may have been edited
 * after its release. `shown` formats a path for messages. Throws `DraftRefused`.
 */
export function copyVersionToDraft(
  source: string,
  rulesDir: string,
  version: string,
  shown: (path: string) => string,
): string {
  if (!isRuleVersion(version)) throw new DraftRefused(describeBadVersionName(version));
  const problems: RuleProblem[] = [];
  const files: RuleFiles = readRuleFiles(source, problems) ?? new Map();
  const read = parseRuleSet(basename(source), files);
  const all = [...problems, ...(read.ok ? [] : read.problems)];
  if (all.length > 0)
    throw new DraftRefused(
      `${basename(source)} has problems and cannot be copied:\n${formatProblems(shown(source), all)}`,
    );
  const from = basename(source);
  const ruleSet = renameVersion(files, version);
  if (ruleSet === null)
    throw new DraftRefused(
      `the ruleVersion in ruleset.yaml of ${from} cannot be replaced; write it as a line of its own, like ruleVersion: ${from}`,
    );
  placeDraft({ rulesDir, version }, new Map([...files, ['ruleset.yaml', ruleSet]]), null);
  return join(rulesDir, version);
}

/** The draft cannot be made or saved. The message says why and what to do. */
export class DraftRefused extends NamedError {}

interface DraftFolder {
  readonly rulesDir: string;
  readonly version: RuleVersion;
}

type FolderState =
  | { readonly is: 'nothing' }
  | { readonly is: 'draft'; readonly digest: string }
  | { readonly is: 'released' }
  | { readonly is: 'unreadable' };

/**
 * Reads the state of the folder of a version in RULES_DIR, with or without problems. A link is taken as unreadable,
 * because nothing is written through links.
 */
export function readVersionFolderState({ rulesDir, version }: DraftFolder): FolderState {
  return readFolderState(join(rulesDir, version));
}

function readFolderState(folder: string): FolderState {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return { is: 'nothing' };
  if (!found.isDirectory()) return { is: 'unreadable' };
  if (lstatSync(join(folder, RELEASE_FILE), { throwIfNoEntry: false }) !== undefined)
    return { is: 'released' };
  const digest = computeFolderDigest(folder);
  return digest === null ? { is: 'unreadable' } : { is: 'draft', digest };
}

/**
 * Computes the digest of the rule files in a folder, with or without problems. Returns null if they cannot be read.
 */
function computeFolderDigest(folder: string): string | null {
  const problems: [] = [];
  const files = readRuleFiles(folder, problems);
  return files === null || problems.length > 0 ? null : computeDigest(files);
}

/**
 * Puts a draft's files into its version's folder. They replace the rule files there, and other files in the folder
 * are kept. The folder is built beside its place and moved there as a whole, so that nobody sees half a version.
 * `replaces` is the digest of the draft to replace. It is null if there must be no such folder yet. Throws
 * `DraftRefused`, and then nothing has changed.
 */
function placeDraft(place: DraftFolder, files: RuleFiles, replaces: string | null): void {
  const target = join(place.rulesDir, place.version);
  refuseUnless(replaces, place.version, readFolderState(target));
  const beside = createFolderBeside(target);
  try {
    const made = join(beside, basename(target));
    if (replaces === null) mkdirSync(made);
    else cpSync(target, made, { recursive: true, filter: isKept });
    for (const [path, text] of files) {
      mkdirSync(dirname(join(made, path)), { recursive: true });
      writeFileSync(join(made, path), text);
    }
    if (replaces === null) moveToFree(made, target);
    else
      exchange(made, target, () =>
        refuseUnless(replaces, place.version, readFolderState(join(beside, 'before'))),
      );
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

/**
 * Tells whether a file is copied. Rule files are not, because they are rewritten. Links are not, because a write
 * through a link would change another file.
 */
function isKept(path: string): boolean {
  const found = lstatSync(path);
  if (found.isDirectory()) return true;
  return found.isFile() && !/\.ya?ml$/.test(path) && basename(path) !== ROLLBACK_NOTE_FILE;
}

function refuseUnless(replaces: string | null, version: RuleVersion, found: FolderState): void {
  switch (found.is) {
    case 'nothing':
      if (replaces === null) return;
      throw new DraftRefused(`${version} no longer exists; save it as a new version`);
    case 'released':
      throw new DraftRefused(`${version} is released and never changes; choose another version`);
    case 'unreadable':
      throw new DraftRefused(`${version} cannot be read, or links elsewhere; choose another version`);
    case 'draft':
      if (replaces === found.digest) return;
      throw new DraftRefused(
        replaces === null
          ? `${version} exists already; choose another version, or open it and edit it`
          : `${version} was changed by somebody else meanwhile; open it again, or save under another version`,
      );
    default:
      found satisfies never;
  }
}

/** The message for a person who wants to save something in a folder without write permission. */
export const NOT_WRITABLE_MESSAGE =
  'This node cannot write to RULES_DIR; download the draft and put it there yourself';

/** Creates a folder beside the target and on the same disk. No version can have its name. */
function createFolderBeside(target: string): string {
  try {
    return mkdtempSync(join(dirname(target), '.new-'));
  } catch (error) {
    throw isWritePermissionError(error) ? new DraftRefused(NOT_WRITABLE_MESSAGE) : error;
  }
}

function moveToFree(made: string, target: string): void {
  try {
    renameSync(made, target);
  } catch (error) {
    if (!isCoded(error, ['ENOTEMPTY', 'EEXIST'])) throw error;
    throw new DraftRefused(`${basename(target)} exists already; choose another version`);
  }
}

/**
 * Puts a new folder in the place of an old one. The old folder is renamed first, so that nobody can write to it by
 * its old name, and then its files are checked once more.
 */
function exchange(made: string, target: string, check: () => void): void {
  const before = join(dirname(made), 'before');
  renameSync(target, before);
  try {
    check();
    renameSync(made, target);
  } catch (error) {
    renameSync(before, target);
    throw error;
  }
}

export function isWritePermissionError(error: unknown): boolean {
  return isCoded(error, ['EACCES', 'EPERM', 'EROFS']);
}

function isCoded(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

export interface DraftToSave {
  readonly version: RuleVersion;
  /** All texts, by path. */
  readonly files: readonly (readonly [path: string, text: string])[];
  /** The digest of the draft to replace. Null if there must be no such draft yet. */
  readonly replaces: string | null;
}

/** The saved draft's digest, or the problems for which nothing was saved. */
export type SaveDraftResult =
  | { readonly ok: true; readonly version: RuleVersion; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/** Saves a draft in RULES_DIR if it has no problems. Otherwise returns its problems. Throws `DraftRefused`. */
export function saveDraft(rulesDir: string, { version, replaces, ...draft }: DraftToSave): SaveDraftResult {
  const files: RuleFiles = new Map(draft.files);
  const made = compileDraft(version, files);
  if (!made.ok) return made;
  const { digest } = made.ruleSet;
  const lying = readVersionFolderState({ rulesDir, version });
  // A repeated save does no harm, so a caller that got no answer the first time may try again.
  const isSaved = lying.is === 'draft' && lying.digest === digest;
  if (!isSaved) placeDraft({ rulesDir, version }, files, replaces);
  return { ok: true, version, digest };
}
