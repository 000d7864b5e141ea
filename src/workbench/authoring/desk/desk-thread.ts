import { basename, join } from 'node:path';
import { serveWork } from '#base/work/serve-work.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { listWrittenConstants, type WrittenConstant } from '#decision/rules/text/constant.ts';
import {
  compileDraft,
  computeDigest,
  type DraftText,
  type LoadResult,
} from '#decision/rules/text/draft-text.ts';
import { excludeForeignParts } from '#decision/rules/text/own-part.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import {
  type CaseResults,
  runCasesOncePerDigest,
  type UpdatedCases,
  updateCaseWaits,
} from '#workbench/authoring/cases/cases.ts';
import { type RuleDiff, RuleDiffs } from '#workbench/authoring/diff/rule-diff.ts';
import {
  DraftRefused,
  type DraftToSave,
  isWritePermissionError,
  NOT_WRITABLE_MESSAGE,
  type SaveDraftResult,
  saveDraft,
} from '#workbench/authoring/draft.ts';
import { findBrokenPromises } from '#workbench/authoring/promises.ts';
import { type DraftWithOrigin, listReleaseProblems, restoreForeignDraftParts } from './begun-draft.ts';
import {
  examineRuleSet,
  findLostCases,
  findReleaseObstacle,
  type LostCases,
  listBrokenPromiseMessages,
  type ReleaseObstacle,
  type RuleRemark,
  type VisibleSharedLists,
  writeRelease,
} from './examine.ts';

/** Limits of the data that is sent to the main thread and on to the console, whatever is on the disk. */
const TEXT_CHARACTERS_MAX = 512 * 1024;
const PROBLEMS_MAX = 200;

const diffs = new RuleDiffs();

const jobs = { open, compare, check, complete, rewriteCases, save, release };

export type DeskJobs = typeof jobs;

type Compared = Readonly<{ before: RulesSource; after: RulesSource; reader: PlatformName }>;

async function compare({ before, after, reader }: Compared): Promise<RuleDiff | null> {
  const [first, second] = [loadSource(before, reader), loadSource(after, reader)];
  return first.ok && second.ok ? diffs.getDiff(first.ruleSet, second.ruleSet) : null;
}

function loadSource(source: RulesSource, reader: PlatformName): LoadResult {
  if (typeof source !== 'string') return compileDraft(source.version, new Map(source.files));
  const files = readRuleFiles(source, []) ?? new Map();
  const seen = selectReadable(reader, files);
  return seen === files ? loadRuleSet(source) : compileDraft(basename(source), seen);
}

/** Returns the files that a platform may read. The owner of the installation reads the parts of all platforms. */
function selectReadable(reader: PlatformName, files: RuleFiles): RuleFiles {
  return isInstallation(reader) ? files : excludeForeignParts(files, reader);
}

type Opening = Readonly<{ folder: string; reader: PlatformName }>;

async function open({ folder, reader }: Opening): Promise<OpenedFolder | null> {
  const problems: RuleProblem[] = [];
  const files = readRuleFiles(folder, problems);
  if (files === null) return null;
  const loaded = loadRuleSet(folder);
  const seen = selectReadable(reader, files);
  const isAll = seen === files;
  const texts = cutTexts(seen);
  const opened = {
    files: texts,
    isWhole: problems.length === 0 && texts.every(({ path, text }) => text === seen.get(path)),
    filesDigest: problems.length === 0 && isAll ? computeDigest(files) : null,
  };
  const shown = isAll ? loaded : compileDraft(basename(folder), seen);
  if (!loaded.ok || !shown.ok) {
    const found = shown.ok ? [NOT_SHOWN] : [...(isAll ? [] : problems), ...shown.problems];
    return { ...opened, problems: cutProblems(found), digest: null, coverage: null, constants: [] };
  }
  return {
    ...opened,
    problems: [],
    digest: loaded.ruleSet.digest,
    coverage: shortenResults(await runCasesOncePerDigest(shown.ruleSet, seen)),
    constants: listWrittenConstants(seen),
  };
}

const NOT_SHOWN: RuleProblem = {
  at: { file: 'ruleset.yaml', line: 1, column: 1 },
  message: 'there is a problem that only the owner of the installation may see',
};

interface Checking {
  readonly rulesDir: string;
  readonly reader: PlatformName;
  readonly draft: DraftWithOrigin;
  readonly lists: VisibleSharedLists | null;
}

async function check({ rulesDir, draft, lists, reader }: Checking): Promise<CheckedDraft> {
  const files: RuleFiles = new Map(draft.files);
  const made = compileDraft(draft.version, files);
  if (!made.ok)
    return {
      digest: null,
      problems: cutProblems(made.problems),
      notes: [],
      coverage: null,
      lostCases: null,
      constants: listWrittenConstants(files),
    };
  const { ruleSet } = made;
  const { problems, notes } = examineRuleSet(ruleSet, files, lists);
  const coverage = await runCasesOncePerDigest(ruleSet, files);
  const found = { problems, failedCases: coverage.failed };
  return {
    digest: ruleSet.digest,
    problems: cutProblems(
      await listReleaseProblems(draft, found, restoreForeignDraftParts(rulesDir, draft, reader)),
    ),
    notes: cutProblems(notes),
    coverage: shortenResults(coverage),
    lostCases: findLostCases(join(rulesDir, ruleSet.version), ruleSet, files, (all) =>
      selectReadable(reader, all),
    ),
    constants: listWrittenConstants(files),
  };
}

type Completing = Readonly<{ rulesDir: string; draft: DraftWithOrigin; draftOwner: PlatformName }>;

function complete({ rulesDir, draft, draftOwner }: Completing): ReleasableFilesResult {
  const completed = restoreForeignDraftParts(rulesDir, draft, draftOwner);
  if (!completed.ok) return { ok: false, problems: cutProblems(completed.problems) };
  return { ok: true, files: [...completed.files], digest: computeDigest(completed.files) };
}

/**
 * Rewrites the lengths of waits in the cases of a draft. Returns null if the draft has problems, because its cases
 * cannot be run.
 */
function rewriteCases({ version, files: texts }: DraftText): UpdatedCases | null {
  const files: RuleFiles = new Map(texts);
  const made = compileDraft(version, files);
  return made.ok ? updateCaseWaits(made.ruleSet, files) : null;
}

function save({ rulesDir, draft }: { rulesDir: string; draft: DraftToSave }): SaveDraftResult {
  const saved = refuseDiskErrors(() => saveDraft(rulesDir, draft));
  return saved.ok ? saved : { ok: false, problems: cutProblems(saved.problems) };
}

type Releasing = Readonly<{ folder: string; digest: string; isDryRun: boolean }>;

function release({ folder, digest, isDryRun }: Releasing): ReleaseCheck {
  const loaded = loadRuleSet(folder);
  const files = readRuleFiles(folder, []);
  if (!loaded.ok || files === null || loaded.ruleSet.digest !== digest)
    return { obstacle: { is: 'other files' }, lost: null, breaches: [] };
  const obstacle = findReleaseObstacle(folder, loaded.ruleSet, files);
  if (obstacle === null && !isDryRun) refuseDiskErrors(() => writeRelease(folder, loaded.ruleSet, files));
  const breaches = listBrokenPromiseMessages(findBrokenPromises(loaded.ruleSet, files));
  return { obstacle, lost: findLostCases(folder, loaded.ruleSet, files), breaches };
}

function refuseDiskErrors<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw isWritePermissionError(error) ? new DraftRefused(NOT_WRITABLE_MESSAGE) : error;
  }
}

/** Cuts the texts to the limit. Rules come before cases, so cases are cut first. */
function cutTexts(files: RuleFiles): OpenedFolder['files'] {
  let left = TEXT_CHARACTERS_MAX;
  return [...files].map(([path, text]) => {
    const shown =
      text.length <= left
        ? text
        : `${text.slice(0, left)}\n# cut here: ${text.length - left} more characters\n`;
    left = Math.max(0, left - text.length);
    return { path, text: shown };
  });
}

function shortenResults(results: CaseResults): CaseResults {
  return { ...results, problems: cutProblems(results.problems) };
}

function cutProblems<One extends RuleProblem>(problems: readonly One[]): readonly (One | RuleProblem)[] {
  const [first] = problems;
  if (first === undefined || problems.length <= PROBLEMS_MAX) return problems;
  const more = `and ${problems.length - PROBLEMS_MAX} more problems; "rules check" lists all`;
  return [...problems.slice(0, PROBLEMS_MAX), { at: first.at, message: more }];
}

serveWork(jobs);

export interface OpenedFolder {
  /** The files. A long text is cut, and its last line says so. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Whether all texts are complete. If a cut text were saved, its end would be lost. */
  readonly isWhole: boolean;
  /**
   * The digest of the files in the folder, whether or not they have problems. Null if a file cannot be read, or if
   * the reader may not read all files.
   */
  readonly filesDigest: string | null;
  readonly problems: readonly RuleProblem[];
  /** The digest of the rule set in the folder. Null if it has problems. */
  readonly digest: string | null;
  readonly coverage: CaseResults | null;
  /** The constants that may be varied, as written. Empty if the rule set has problems. */
  readonly constants: readonly WrittenConstant[];
}

export interface CheckedDraft {
  /** The digest of the draft. Null if it has problems, so that a node would refuse it. */
  readonly digest: string | null;
  /** The problems of the files. If the files have none, these are the reasons that prevent a release. */
  readonly problems: readonly RuleRemark[];
  readonly notes: readonly RuleRemark[];
  /** The results of the cases. Null if the draft has problems. */
  readonly coverage: CaseResults | null;
  readonly lostCases: LostCases | null;
  /** The constants that may be varied, as written. Empty if the files cannot be read. */
  readonly constants: readonly WrittenConstant[];
}

/** The files that would be released with a draft, or the problems that prevent its release. */
export type ReleasableFilesResult =
  | { readonly ok: true; readonly files: DraftText['files']; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/**
 * The reason that prevents a release. `other files` means that the files in the folder are not those that the caller
 * saw.
 */
export type DeskReleaseObstacle = ReleaseObstacle | { readonly is: 'other files' };

/** The reason that prevents a release, and what else the person who releases must know. */
export interface ReleaseCheck {
  readonly obstacle: DeskReleaseObstacle | null;
  readonly lost: LostCases | null;
  /** The promises that the version breaks, in words. */
  readonly breaches: readonly string[];
}

/** A folder with rules, or a draft without a folder. */
type RulesSource = string | DraftText;
