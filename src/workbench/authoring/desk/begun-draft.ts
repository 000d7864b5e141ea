import { join } from 'node:path';
import { formatCount } from '#base/count-text.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { compileDraft, type DraftText } from '#decision/rules/text/draft-text.ts';
import { type RestoredFilesResult, restoreForeignParts } from '#decision/rules/text/others-part.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { runCasesOncePerDigest } from '#workbench/authoring/cases/cases.ts';
import { examineRuleSet, type RuleRemark } from './examine.ts';

/** A draft with the version with which it began. The parts of other platforms come from that version. */
export interface DraftWithOrigin extends DraftText {
  /**
   * The version with which the draft began. Null if it is not known. The draft is then examined without the parts of
   * other platforms.
   */
  readonly from: string | null;
}

/**
 * Returns the files that would be released with a draft: the draft's own files, and the parts of other platforms,
 * which `owner` may not read. The draft belongs to `owner`.
 */
export function restoreForeignDraftParts(
  rulesDir: string,
  draft: DraftWithOrigin,
  owner: PlatformName,
): RestoredFilesResult {
  const { from } = draft;
  const files: RuleFiles = new Map(draft.files);
  if (isInstallation(owner)) return { ok: true, files };
  if (from === null) return restoreForeignParts({ platform: owner, draft: files, from: new Map() });
  const former = isRuleVersion(from) ? readWholeFiles(join(rulesDir, from)) : null;
  if (former !== null) return restoreForeignParts({ platform: owner, draft: files, from: former });
  const message = `the sections and cases of other platforms cannot be restored, because ${from}, with which this draft was begun, is no longer readable in RULES_DIR; begin the draft again with a version that is there`;
  return { ok: false, problems: [{ at: IN_RULE_SET, message }] };
}

/**
 * Reads the files in a folder. Returns null if any of them cannot be read, because a missing part would be lost
 * without notice.
 */
function readWholeFiles(folder: string): RuleFiles | null {
  const problems: RuleProblem[] = [];
  const files = readRuleFiles(folder, problems);
  return problems.length > 0 ? null : files;
}

const IN_RULE_SET = { file: 'ruleset.yaml', line: 1, column: 1 };

/** The findings in the part of a draft that its owner may read. */
interface FoundInPart {
  readonly problems: readonly RuleRemark[];
  readonly failedCases: number;
}

/**
 * Lists the reasons that prevent the release of a draft, in words that its owner may read. A problem that the owner's
 * part has and the complete draft does not have is left out.
 */
export async function listReleaseProblems(
  { version, files }: DraftText,
  { problems, failedCases }: FoundInPart,
  completed: RestoredFilesResult,
): Promise<readonly RuleRemark[]> {
  if (!completed.ok) return [...problems, ...completed.problems];
  const own: RuleFiles = new Map(files);
  if ([...completed.files].every(([path, text]) => own.get(path) === text)) return problems;
  const whole = compileDraft(version, completed.files);
  if (!whole.ok) return [...problems, createHiddenProblem(formatCount(whole.problems.length, 'problem'))];
  const all = new Set(examineRuleSet(whole.ruleSet, completed.files, null).problems.map(formatProblemKey));
  const shown = problems.filter((one) => all.has(formatProblemKey(one)));
  const unseen = all.difference(new Set(problems.map(formatProblemKey))).size;
  if (unseen > 0) return [...shown, createHiddenProblem(formatCount(unseen, 'problem'))];
  const { failed } = await runCasesOncePerDigest(whole.ruleSet, completed.files);
  return failed > failedCases
    ? [...shown, createHiddenProblem(formatCount(failed - failedCases, 'failing case'))]
    : shown;
}

/** Names a problem without its line, because lines differ between the part and the complete draft. */
function formatProblemKey({ at, message }: RuleProblem): string {
  return `${at.file} ${message}`;
}

function createHiddenProblem(what: string): RuleProblem {
  const message = `together with the sections and cases of other platforms, which only the owner of the installation may see, there is also ${what}; ask the owner before you propose it`;
  return { at: IN_RULE_SET, message };
}
