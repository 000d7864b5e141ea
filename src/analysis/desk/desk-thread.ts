import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../../limited-thread.ts';
import { constantsOf } from '../../rules/folder/constant.ts';
import { loadRuleSet, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { type RuleCoverage, RuleCoverages } from '../cases/rule-coverages.ts';
import { RuleDiffs } from '../diff/rule-diffs.ts';
import type { DeskReply, DeskTask, OpenedFolder } from './rule-desk.ts';

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
      return { kind: 'open', opened: open(task.folder) };
    case 'compare': {
      const before = loadRuleSet(task.before);
      const after = loadRuleSet(task.after);
      return {
        kind: 'compare',
        diff: before.ok && after.ok ? await diffs.of(before.ruleSet, after.ruleSet) : null,
      };
    }
    default:
      return task satisfies never;
  }
}

function open(folder: string): OpenedFolder | null {
  const problems: Problem[] = [];
  const files = readRuleFiles(folder, problems);
  if (files === null) return null;
  const loaded = loadRuleSet(folder);
  const texts = cutTexts(files);
  if (!loaded.ok)
    return { files: texts, problems: firstOf(loaded.problems), digest: null, coverage: null, constants: [] };
  const { ruleSet } = loaded;
  return {
    files: texts,
    problems: [],
    digest: ruleSet.digest,
    coverage: shortened(coverages.of(ruleSet, files)),
    constants: constantsOf(files).map(({ path, text }) => ({ path, text })),
  };
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

function firstOf(problems: readonly Problem[]): readonly Problem[] {
  const [first] = problems;
  if (first === undefined || problems.length <= PROBLEMS_MAX) return problems;
  const more = `and ${problems.length - PROBLEMS_MAX} more problems; "rules check" lists all`;
  return [...problems.slice(0, PROBLEMS_MAX), { at: first.at, message: more }];
}
