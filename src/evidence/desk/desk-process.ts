import { join } from 'node:path';
import { type DraftText, draftOf } from '../../rules/folder/draft.ts';
import { readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { isRuleVersion, type RuleSet } from '../../rules/rule-set.ts';
import { type JobContext, serveWork } from '../../work/serve-work.ts';
import { backtest } from '../backtest/backtest.ts';
import type { RulesOfRequest } from '../backtest/lives.ts';
import { drift } from '../drift.ts';
import { experiment } from '../experiment/experiment.ts';
import { report } from '../report/report.ts';
import type { EvidenceResult } from '../result.ts';
import { type Evidence, withEvidence } from '../source/evidence.ts';
import { combinationsOf, parseVariation, sweep } from '../sweep/sweep.ts';
import { keptRules, type RulesOf } from '../verify/verify-segment.ts';
import type { EvidenceProgress, EvidenceTask, EvidenceWork, NamedRuleSet } from './evidence-task.ts';

const PROGRESS_EVERY_MS = 100;

/** What the process of `EvidenceDesk` does. One thread of the engine leaves the other cores to those who answer callers. */
const works = {
  answer: (work: EvidenceWork, { progress }: JobContext<EvidenceProgress>) => {
    const { task } = work;
    const { from, to, asOf, platform, rules } = task;
    const decidedBy = task.kind === 'drift' && rules !== null ? { decidedBy: rules.ruleVersion } : {};
    const { segmentsDir, leftOut, erased } = work.folders;
    const place = { kind: 'archive', folder: segmentsDir, erased, leftOut } as const;
    const { holdoutSecret } = work;
    const ask = { place, from, to, asOf, platform, threads: 1, holdoutSecret, ...decidedBy };
    const onProgress = eachTenth((done, of) => progress({ done, of }));
    return withEvidence(ask, (evidence) => answer(task, evidence, rulesFor(work), onProgress));
  },
};

export type EvidenceWorks = typeof works;

function eachTenth(tell: (done: number, of: number) => void): (done: number, of: number) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (done, of) => {
    if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
    toldAt = performance.now();
    tell(done, of);
  };
}

async function answer(
  task: EvidenceTask,
  evidence: Evidence,
  { rulesOf, filesOf }: TaskRules,
  onProgress: (done: number, of: number) => void,
): Promise<EvidenceResult> {
  if (task.kind === 'drift') return drift(evidence, null, onProgress);
  if (task.kind === 'experiment') return experiment(evidence, task.versions, onProgress);
  const rules = required(rulesOf, task.rules);
  const { version } = rules;
  switch (task.kind) {
    case 'report':
      return report(evidence, { rules, by: task.by, onProgress });
    case 'backtest': {
      const { mode, outcomes, against } = task;
      const base = against === null ? null : required(rulesOf, against);
      const rulesThen: RulesOfRequest = (then) => recorded(rulesOf, then);
      return backtest(evidence, {
        candidate: rules,
        against: base,
        mode,
        outcomes,
        rulesOf: rulesThen,
        onProgress,
      });
    }
    case 'sweep': {
      const files = filesOf(task.rules);
      const variations = task.vary.map((text) => parseVariation(files, text));
      const combinations = combinationsOf(version, files, variations);
      const { outcomes } = task;
      return sweep(evidence, { version, combinations, outcomes, threads: 1, onProgress });
    }
    default:
      return task satisfies never;
  }
}

interface TaskRules {
  readonly rulesOf: RulesOf;
  readonly filesOf: (named: NamedRuleSet) => RuleFiles;
}

/** A draft that came with the task takes precedence over a version of that name in RULES_DIR. */
function rulesFor({ folders: { archiveDir, rulesDir }, draft }: EvidenceWork): TaskRules {
  const kept = keptRules(archiveDir, rulesDir);
  const brought = draft === null ? null : broughtRules(draft);
  const isBrought = ({ digest }: Pick<NamedRuleSet, 'digest'>) => brought?.rules.digest === digest;
  return {
    rulesOf: (named) => (isBrought(named) ? (brought?.rules ?? null) : kept(named)),
    filesOf: (named) =>
      (isBrought(named) ? brought?.files : readRuleFiles(join(rulesDir, named.ruleVersion), [])) ?? new Map(),
  };
}

function broughtRules({ version, files: texts }: DraftText): { rules: RuleSet; files: RuleFiles } | null {
  const files = new Map(texts);
  const made = draftOf(version, files);
  return made.ok ? { rules: made.ruleSet, files } : null;
}

function required(rulesOf: RulesOf, named: NamedRuleSet): RuleSet {
  const found = rulesOf(named);
  if (found !== null) return found;
  throw new Error(`the files of ${named.ruleVersion} were changed meanwhile; ask again`);
}

function recorded(rulesOf: RulesOf, { ruleVersion, digest }: Parameters<RulesOfRequest>[0]): RuleSet {
  const found = isRuleVersion(ruleVersion) ? rulesOf({ ruleVersion, digest }) : null;
  if (found !== null) return found;
  throw new Error(
    `${ruleVersion} with digest ${digest.slice(0, 12)} decided, and this rule set is neither on this node nor in the archive; choose a version to compare with`,
  );
}

serveWork(works);
