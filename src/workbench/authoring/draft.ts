import { cpSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NamedError } from '#base/named-error.ts';
import { parseRuleSet, type RuleFiles } from '#decision/rules/parse/parse.ts';
import type { Problem } from '#decision/rules/problem.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import { isRuleVersion, type RuleVersion, refuseVersionName } from '#decision/rules/rule-set.ts';
import { computeDigest, loadDraft } from '#decision/rules/text/draft-text.ts';
import { renameVersion } from '#decision/rules/text/edited-text.ts';
import { ROLLED_BACK_FILE } from '#state/rule-folders/rolled-back.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RELEASE_FILE } from '#state/rule-folders/rules-dir.ts';

/**
 * Makes a draft as a copy of the version in a folder, and gives its folder; that version may have been edited after its
 * release. `shown` is a path as messages show it. Throws DraftRefused.
 */
export function copyVersion(
  source: string,
  rulesDir: string,
  version: string,
  shown: (path: string) => string,
): string {
  if (!isRuleVersion(version)) throw new DraftRefused(refuseVersionName(version));
  const problems: Problem[] = [];
  const files: RuleFiles = readRuleFiles(source, problems) ?? new Map();
  const read = parseRuleSet(basename(source), files);
  const all = [...problems, ...(read.ok ? [] : read.problems)];
  if (all.length > 0)
    throw new DraftRefused(
      `${basename(source)} is not sound and cannot be copied:\n${formatProblems(shown(source), all)}`,
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

/** The draft cannot be made; the message says why and what to do. */
export class DraftRefused extends NamedError {}

interface DraftPlace {
  readonly rulesDir: string;
  readonly version: RuleVersion;
}

type Lying =
  | { readonly is: 'nothing' }
  | { readonly is: 'draft'; readonly digest: string }
  | { readonly is: 'released' }
  | { readonly is: 'unreadable' };

/**
 * Reads what RULES_DIR has under a version's name, sound or not. A link counts as unreadable: nothing is written
 * through one.
 */
export function readDraftPlace({ rulesDir, version }: DraftPlace): Lying {
  return lying(join(rulesDir, version));
}

function lying(folder: string): Lying {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return { is: 'nothing' };
  if (!found.isDirectory()) return { is: 'unreadable' };
  if (lstatSync(join(folder, RELEASE_FILE), { throwIfNoEntry: false }) !== undefined)
    return { is: 'released' };
  const digest = digestLying(folder);
  return digest === null ? { is: 'unreadable' } : { is: 'draft', digest };
}

/** `digestOf` the rule files in a folder, sound or not; null when they cannot be read. */
function digestLying(folder: string): string | null {
  const problems: [] = [];
  const files = readRuleFiles(folder, problems);
  return files === null || problems.length > 0 ? null : computeDigest(files);
}

/**
 * Puts a draft's files where its version lies, in place of those that are there; what else lies in the folder stays.
 * The folder is made beside its place and moved there whole, so that nobody sees half a version. `replaces` is the
 * digest of what may be replaced, null for nothing. Throws DraftRefused, and then everything is as before.
 */
function placeDraft(place: DraftPlace, files: RuleFiles, replaces: string | null): void {
  const target = join(place.rulesDir, place.version);
  refuseUnless(replaces, place.version, lying(target));
  const beside = besideOf(target);
  try {
    const made = join(beside, basename(target));
    if (replaces === null) mkdirSync(made);
    else cpSync(target, made, { recursive: true, filter: isKept });
    for (const [path, text] of files) {
      mkdirSync(dirname(join(made, path)), { recursive: true });
      writeFileSync(join(made, path), text);
    }
    if (replaces === null) moveToFree(made, target);
    else exchange(made, target, () => refuseUnless(replaces, place.version, lying(join(beside, 'before'))));
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

/** Not the rule files, which are rewritten, and no links, through which something else would be written. */
function isKept(path: string): boolean {
  const found = lstatSync(path);
  if (found.isDirectory()) return true;
  return found.isFile() && !/\.ya?ml$/.test(path) && basename(path) !== ROLLED_BACK_FILE;
}

function refuseUnless(replaces: string | null, version: RuleVersion, found: Lying): void {
  switch (found.is) {
    case 'nothing':
      if (replaces === null) return;
      throw new DraftRefused(`${version} is not there any more; save it as a new version`);
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

/** The message for somebody who wanted to keep something in a folder without write permission. */
export const NOT_WRITABLE =
  'RULES_DIR of this node may not be written to; download the draft and put it there yourself';

/** A folder beside the target, on the same disk, whose name no version has. */
function besideOf(target: string): string {
  try {
    return mkdtempSync(join(dirname(target), '.new-'));
  } catch (error) {
    throw isRefusedByDisk(error) ? new DraftRefused(NOT_WRITABLE) : error;
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

/** The replaced files are checked once more when nobody can reach them under their name any more. */
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

export function isRefusedByDisk(error: unknown): boolean {
  return isCoded(error, ['EACCES', 'EPERM', 'EROFS']);
}

function isCoded(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

export interface DraftToSave {
  readonly version: RuleVersion;
  /** All texts, by path. */
  readonly files: readonly (readonly [path: string, text: string])[];
  /** The digest of the draft that it replaces; null: nothing may lie there. */
  readonly replaces: string | null;
}

export type SavedDraft =
  | { readonly ok: true; readonly version: RuleVersion; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Keeps a draft in RULES_DIR when it is sound, or gives its problems. Throws DraftRefused. */
export function saveDraft(rulesDir: string, { version, replaces, ...draft }: DraftToSave): SavedDraft {
  const files: RuleFiles = new Map(draft.files);
  const made = loadDraft(version, files);
  if (!made.ok) return made;
  const { digest } = made.ruleSet;
  const lying = readDraftPlace({ rulesDir, version });
  // Saving twice does no harm: a caller that got no answer the first time may try again.
  const isSaved = lying.is === 'draft' && lying.digest === digest;
  if (!isSaved) placeDraft({ rulesDir, version }, files, replaces);
  return { ok: true, version, digest };
}
