import { soundDraft } from '../../rules/folder/draft.ts';
import { type JobContext, serveWork } from '../../work/serve-work.ts';
import type { OutcomeAssumption } from '../backtest/lives.ts';
import { type EvidenceAsk, withEvidence } from '../source/evidence.ts';
import { tryRuleSets } from './trial.ts';

interface ThreadTask {
  readonly ask: EvidenceAsk;
  readonly version: string;
  /** The files of the version as it stands, and of each rule set to try, by their paths. */
  readonly present: ReadonlyMap<string, string>;
  readonly tried: readonly ReadonlyMap<string, string>[];
  readonly outcomes: OutcomeAssumption;
  /** Epoch ms. */
  readonly splitAt: number;
}

const works = {
  try: ({ ask, version, present, tried, outcomes, splitAt }: ThreadTask, { progress }: JobContext<number>) =>
    withEvidence(ask, (evidence) =>
      tryRuleSets(evidence, {
        ruleSets: tried.map((files) => soundDraft(version, files)),
        present: soundDraft(version, present),
        outcomes,
        splitAt,
        // How many requests it has replayed.
        onProgress: progress,
      }),
    ),
};

export type SweepWorks = typeof works;

serveWork(works);
