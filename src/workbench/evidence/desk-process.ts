import { join } from 'node:path';
import { type JobContext, serveWork } from '#base/work/serve-work.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { compileSoundDraft } from '#decision/rules/text/draft-text.ts';
import { BadQuestion, type QuestionAnswer, type RuleSetFinders } from '#history/evidence/question.ts';
import { findQuestion } from '#history/evidence/questions.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { createRuleSetFinder } from '#workbench/verify/verify-segment.ts';
import type { EvidenceProcessInput, EvidenceProgress } from './evidence-task.ts';

const PROGRESS_EVERY_MS = 100;

/**
 * The work of the process that `EvidenceDesk` starts. The database engine uses one thread, which leaves the other
 * cores to requests of callers.
 */
const jobs = {
  answer: async (
    work: EvidenceProcessInput,
    { progress }: JobContext<EvidenceProgress>,
  ): Promise<QuestionAnswer> => {
    const { task, folders, holdoutSecret, formerSecret } = work;
    const { kind, options, from, to, asOf, platform } = task;
    const { segmentsDir, leftOut, erased } = folders;
    const question = findQuestion(kind);
    if (question === undefined) throw new BadQuestion(`there is no question "${kind}"`);
    const whose = question.decidedBy?.read(options) ?? null;
    const ask = {
      place: { kind: 'archive', folder: segmentsDir, erased, leftOut },
      from,
      to,
      asOf,
      platform,
      threads: 1,
      holdoutSecret,
      formerSecret,
      ...(whose === null ? {} : { decidedBy: whose }),
    } as const;
    const onProgress = limitProgress((done, of) => progress({ done, of }));
    const rules = createAvailableRules(work);
    return withEvidence(ask, (evidence) => question.answer({ evidence, options, rules, onProgress }));
  },
};

/** The jobs that the process of `EvidenceDesk` can be asked for, by name, each with its input and result. */
export type EvidenceProcessJobs = typeof jobs;

function limitProgress(tell: (done: number, of: number) => void): (done: number, of: number) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (done, of) => {
    if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
    toldAt = performance.now();
    tell(done, of);
  };
}

/**
 * Creates the functions that find the rule sets of a task. A kept draft takes precedence over a version of the same
 * name in RULES_DIR.
 */
function createAvailableRules({
  task,
  folders: { archiveDir, rulesDir },
  draft,
}: EvidenceProcessInput): RuleSetFinders {
  const recorded = createRuleSetFinder(archiveDir, rulesDir, NO_ATTRIBUTE_PSEUDONYMIZER);
  const isDraft = (version: string) => draft?.version === version;
  const draftFiles = new Map(draft?.files);
  const kept = (version: string, digest: string) =>
    isRuleVersion(version) ? recorded({ ruleVersion: version, digest }) : null;
  return {
    named: (version) => {
      const found = isDraft(version)
        ? compileSoundDraft(version, draftFiles)
        : kept(version, task.ruleSets[version] ?? '');
      if (found !== null) return found;
      throw new BadQuestion(`the files of ${version} were changed meanwhile; ask again`);
    },
    files: (version) =>
      isDraft(version) ? draftFiles : (readRuleFiles(join(rulesDir, version), []) ?? new Map()),
    recorded: ({ ruleVersion, digest }) => kept(ruleVersion, digest),
  };
}

serveWork(jobs);
