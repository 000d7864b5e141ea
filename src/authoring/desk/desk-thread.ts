import { constantsOf } from '../../rules/folder/constant.ts';
import { DraftRefused, type DraftText, draftOf } from '../../rules/folder/draft.ts';
import { isRefusedByDisk, NOT_WRITABLE } from '../../rules/folder/place-draft.ts';
import { digestOf } from '../../rules/folder/release.ts';
import { type LoadResult, loadRuleSet, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import { type DraftToSave, type SavedDraft, saveDraft } from '../../rules/folder/save-draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { serveWork } from '../../work/serve-work.ts';
import { type RuleCoverage, RuleCoverages } from '../cases/coverage.ts';
import { type RuleDiff, RuleDiffs } from '../diff/rule-diff.ts';
import type { KnownLists } from '../shared-list-notes.ts';
import { examine } from './examine.ts';
import { releaseObstacle, writeRelease } from './release-version.ts';
import type { CheckedDraft, DeskObstacle, OpenedFolder, RulesSource } from './rule-desk.ts';

/** What goes to the other thread, and from there to a page, stays small whatever lies on the disk. */
const TEXT_CHARACTERS_MAX = 512 * 1024;
const PROBLEMS_MAX = 200;

const coverages = new RuleCoverages();
const diffs = new RuleDiffs();

/** What the threads of `RuleDesk` do. */
const works = { open, compare, check, save, release };

export type DeskWorks = typeof works;

async function compare({
  before,
  after,
}: {
  before: RulesSource;
  after: RulesSource;
}): Promise<RuleDiff | null> {
  const [first, second] = [rulesOf(before), rulesOf(after)];
  return first.ok && second.ok ? diffs.of(first.ruleSet, second.ruleSet) : null;
}

function rulesOf(source: RulesSource): LoadResult {
  return typeof source === 'string' ? loadRuleSet(source) : draftOf(source.version, new Map(source.files));
}

async function open(folder: string): Promise<OpenedFolder | null> {
  const problems: Problem[] = [];
  const files = readRuleFiles(folder, problems);
  if (files === null) return null;
  const loaded = loadRuleSet(folder);
  const texts = cutTexts(files);
  const opened = {
    files: texts,
    isWhole: problems.length === 0 && texts.every(({ path, text }) => text === files.get(path)),
    filesDigest: problems.length === 0 ? digestOf(files) : null,
  };
  if (!loaded.ok)
    return { ...opened, problems: firstOf(loaded.problems), digest: null, coverage: null, constants: [] };
  const { ruleSet } = loaded;
  return {
    ...opened,
    problems: [],
    digest: ruleSet.digest,
    coverage: shortened(await coverages.of(ruleSet, files)),
    constants: constantsOf(files),
  };
}

async function check({
  draft,
  lists,
}: {
  draft: DraftText;
  lists: KnownLists | null;
}): Promise<CheckedDraft> {
  const files: RuleFiles = new Map(draft.files);
  const made = draftOf(draft.version, files);
  if (!made.ok)
    return { digest: null, problems: firstOf(made.problems), notes: [], coverage: null, constants: [] };
  const { ruleSet } = made;
  const { problems, notes } = examine(ruleSet, files, lists);
  return {
    digest: ruleSet.digest,
    problems: firstOf(problems),
    notes: firstOf(notes),
    coverage: shortened(await coverages.of(ruleSet, files)),
    constants: constantsOf(files),
  };
}

function save({ rulesDir, draft }: { rulesDir: string; draft: DraftToSave }): SavedDraft {
  const saved = orRefused(() => saveDraft(rulesDir, draft));
  return saved.ok ? saved : { ok: false, problems: firstOf(saved.problems) };
}

function release({
  folder,
  digest,
  isOnlyLook,
}: {
  folder: string;
  digest: string;
  isOnlyLook: boolean;
}): DeskObstacle | null {
  const loaded = loadRuleSet(folder);
  const files = readRuleFiles(folder, []);
  if (!loaded.ok || files === null || loaded.ruleSet.digest !== digest) return { is: 'other files' };
  const obstacle = releaseObstacle(folder, loaded.ruleSet, files);
  if (obstacle === null && !isOnlyLook) orRefused(() => writeRelease(folder, loaded.ruleSet, files));
  return obstacle;
}

function orRefused<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw isRefusedByDisk(error) ? new DraftRefused(NOT_WRITABLE) : error;
  }
}

/** The rules come before the cases, so they are the last to be cut. */
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

function shortened(coverage: RuleCoverage): RuleCoverage {
  return { ...coverage, problems: firstOf(coverage.problems) };
}

function firstOf<One extends Problem>(problems: readonly One[]): readonly (One | Problem)[] {
  const [first] = problems;
  if (first === undefined || problems.length <= PROBLEMS_MAX) return problems;
  const more = `and ${problems.length - PROBLEMS_MAX} more problems; "rules check" lists all`;
  return [...problems.slice(0, PROBLEMS_MAX), { at: first.at, message: more }];
}

serveWork(works);
