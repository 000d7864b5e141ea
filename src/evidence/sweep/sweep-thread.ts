import { parentPort, workerData } from 'node:worker_threads';
import { soundDraft } from '../../rules/folder/draft.ts';
import type { OutcomeAssumption } from '../backtest/lives.ts';
import { type EvidenceAsk, withEvidence } from '../source/evidence.ts';
import { type TrialResult, tryRuleSets } from './trial.ts';

/** What a thread of a sweep is given. */
export interface ThreadTask {
  readonly ask: EvidenceAsk;
  readonly version: string;
  /** The files of the version as it stands, and of each rule set to try, by their paths. */
  readonly present: ReadonlyMap<string, string>;
  readonly tried: readonly ReadonlyMap<string, string>[];
  readonly outcomes: OutcomeAssumption;
  /** Epoch ms. */
  readonly splitAt: number;
}

/** What a thread says: how many requests it has been through, and at the end what it found. */
export type SweepNews = { readonly done: number } | { readonly result: TrialResult };

const port = parentPort;
if (port !== null) {
  const task: ThreadTask = workerData;
  const { ask, version, outcomes, splitAt } = task;
  const say = (news: SweepNews) => port.postMessage(news);
  const result = await withEvidence(ask, (evidence) =>
    tryRuleSets(evidence, {
      ruleSets: task.tried.map((files) => soundDraft(version, files)),
      present: soundDraft(version, task.present),
      outcomes,
      splitAt,
      onProgress: (done) => say({ done }),
    }),
  );
  say({ result });
}
