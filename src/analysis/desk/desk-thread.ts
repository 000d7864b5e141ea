import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../../limited-thread.ts';
import { constantsOf } from '../../rules/folder/constant.ts';
import { type DraftText, draftOf } from '../../rules/folder/draft.ts';
import { DraftRefused } from '../../rules/folder/draft-refused.ts';
import { isRefusedByDisk, NOT_WRITABLE } from '../../rules/folder/place-draft.ts';
import { digestOf } from '../../rules/folder/release.ts';
import { type LoadResult, loadRuleSet, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import { type DraftToSave, saveDraft } from '../../rules/folder/save-draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { type RuleCoverage, RuleCoverages } from '../cases/rule-coverages.ts';
import { RuleDiffs } from '../diff/rule-diffs.ts';
import type { KnownLists } from '../shared-list-notes.ts';
import { examine } from './examine.ts';
import { releaseObstacle, writeRelease } from './release-version.ts';
import type { CheckedDraft, DeskReply, DeskTask, OpenedFolder, RulesSource } from './rule-desk.ts';

/** What goes to the other thread, and from there to a page, stays small whatever lies on the disk. */
const TEXT_CHARACTERS_MAX = 512 * 1024;
const PROBLEMS_MAX = 200;

const coverages = new RuleCoverages();
const diffs = new RuleDiffs();

/** The thread of `RuleDesk`. */
parentPort?.on('message', async (task: DeskTask) => parentPort?.postMessage(await answer(task)));

async function answer(task: DeskTask): Promise<ThreadReply<DeskReply>> {
  try {
    return { result: await done(task) };
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : String(error) };
  }
}

async function done(task: DeskTask): Promise<DeskReply> {
  switch (task.kind) {
    case 'open':
      return { kind: 'open', opened: await open(task.folder) };
    case 'compare': {
      const before = rulesOf(task.before);
      const after = rulesOf(task.after);
      return {
        kind: 'compare',
        diff: before.ok && after.ok ? await diffs.of(before.ruleSet, after.ruleSet) : null,
      };
    }
    case 'check':
      return { kind: 'check', checked: await check(task.draft, task.lists) };
    case 'save':
      return unlessRefused(() => save(task.rulesDir, task.draft));
    case 'release':
      return unlessRefused(() => release(task.folder, task.digest));
    default:
      return task satisfies never;
  }
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

async function check(draft: DraftText, lists: KnownLists | null): Promise<CheckedDraft> {
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

function save(rulesDir: string, draft: DraftToSave): DeskReply {
  const saved = saveDraft(rulesDir, draft);
  return { kind: 'save', saved: saved.ok ? saved : { ok: false, problems: firstOf(saved.problems) } };
}

function release(folder: string, digest: string): DeskReply {
  const loaded = loadRuleSet(folder);
  const files = readRuleFiles(folder, []);
  if (!loaded.ok || files === null || loaded.ruleSet.digest !== digest)
    return { kind: 'release', obstacle: { is: 'other files' } };
  const obstacle = releaseObstacle(folder, loaded.ruleSet, files);
  if (obstacle === null) writeRelease(folder, loaded.ruleSet, files);
  return { kind: 'release', obstacle };
}

function unlessRefused(work: () => DeskReply): DeskReply {
  try {
    return work();
  } catch (error) {
    if (error instanceof DraftRefused) return { kind: 'refused', message: error.message };
    if (isRefusedByDisk(error)) return { kind: 'refused', message: NOT_WRITABLE };
    throw error;
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
