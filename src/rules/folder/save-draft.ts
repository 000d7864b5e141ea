import { join } from 'node:path';
import type { RuleFiles } from '../parse/parse.ts';
import type { Problem } from '../problem.ts';
import { isRuleVersion, type RuleVersion, versionNameRefusal } from '../rule-set.ts';
import { constantAtPath, UnknownConstant, withConstants } from './constant.ts';
import { DraftRefused, draftOf, renamed } from './draft.ts';
import { lyingAt, placeDraft } from './place-draft.ts';
import { readRuleFiles } from './rule-folder.ts';

/** A draft as somebody sends it to be kept. */
export interface DraftToSave {
  readonly version: string;
  /** The version whose files the draft begins with, renamed; null: `files` are all of them. */
  readonly from: string | null;
  /** Texts by path, which replace those of `from`. */
  readonly files: readonly (readonly [path: string, text: string])[];
  /** Other values of constants, by the paths that sweeps use; applied last. */
  readonly values: readonly (readonly [path: string, value: string])[];
  /** The digest of the draft that it replaces; null: nothing may lie there. */
  readonly replaces: string | null;
}

export type SavedDraft =
  | { readonly ok: true; readonly version: RuleVersion; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Keeps a draft in RULES_DIR when it is sound, or gives its problems. Throws DraftRefused. */
export function saveDraft(rulesDir: string, draft: DraftToSave): SavedDraft {
  const version = draftVersion(draft.version);
  const files = filesOf(rulesDir, draft, version);
  for (const path of files.keys()) requireFileName(path);
  const made = draftOf(version, files);
  if (!made.ok) return made;
  const { digest } = made.ruleSet;
  const lying = lyingAt({ rulesDir, version });
  // Saving twice does no harm: a caller that got no answer the first time may try again.
  const isSaved = lying.is === 'draft' && lying.digest === digest;
  if (!isSaved) placeDraft({ rulesDir, version }, files, draft.replaces);
  return { ok: true, version, digest };
}

function filesOf(rulesDir: string, { from, files, values }: DraftToSave, version: RuleVersion): RuleFiles {
  const all = from === null ? new Map(files) : new Map([...begunWith(rulesDir, from, version), ...files]);
  try {
    const constants = values.map(([path, value]) => [constantAtPath(all, path), value] as const);
    return withConstants(all, constants);
  } catch (error) {
    throw error instanceof UnknownConstant ? new DraftRefused(error.message) : error;
  }
}

function begunWith(rulesDir: string, from: string, version: RuleVersion): RuleFiles {
  const problems: Problem[] = [];
  const files = isRuleVersion(from) ? readRuleFiles(join(rulesDir, from), problems) : null;
  if (files === null || problems.length > 0)
    throw new DraftRefused(`${from} cannot be copied: this node cannot read such a rule set`);
  const ruleSet = renamed(files, version);
  if (ruleSet === null)
    throw new DraftRefused(
      `the ruleVersion in ruleset.yaml of ${from} cannot be replaced; write it as a line of its own`,
    );
  return new Map([...files, ['ruleset.yaml', ruleSet]]);
}

function draftVersion(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw new DraftRefused(versionNameRefusal(text));
}

const FILE_NAME = /^(?:(?:cases|lists)\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.yaml$/;

/** Only names that every system accepts; the parser decides which files a rule set may have. */
function requireFileName(path: string): void {
  if (FILE_NAME.test(path)) return;
  throw new DraftRefused(
    `a rule file is named like verdicts.yaml, cases/ladder.yaml or lists/cards.yaml, in letters, digits, points and hyphens, unlike "${path}"`,
  );
}
