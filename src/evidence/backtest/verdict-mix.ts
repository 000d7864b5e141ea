import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import { clusteredInterval } from '../../statistics/clustered-share.ts';
import type { ShareInterval } from '../../statistics/share-interval.ts';
import type { VerdictMix } from '../result-shapes.ts';

/** Decisions about one cluster of clients that two sides answered with these verdicts. */
export interface ClusterVerdicts {
  readonly cluster: number;
  readonly base: Verdict;
  readonly candidate: Verdict;
  readonly decisions: number;
}

/** Shares of the decisions, with intervals that know that the decisions of one client hang together. */
export interface DecisionShares {
  /** Decisions whose verdict changes. */
  readonly changedShare: ShareInterval | null;
  readonly mix: { readonly base: VerdictMix; readonly candidate: VerdictMix };
}

export function decisionShares(rows: readonly ClusterVerdicts[]): DecisionShares {
  const clusters = [...Map.groupBy(rows, ({ cluster }) => cluster).values()];
  const share = (holds: (row: ClusterVerdicts) => boolean) =>
    clusteredInterval(clusters.map((some) => ({ part: sumOf(some.filter(holds)), whole: sumOf(some) })));
  return {
    changedShare: share(({ base, candidate }) => base !== candidate),
    mix: {
      base: verdictMix((verdict) => share(({ base }) => base === verdict)),
      candidate: verdictMix((verdict) => share(({ candidate }) => candidate === verdict)),
    },
  };
}

/** A share for every verdict. */
export function verdictMix(share: (verdict: Verdict) => ShareInterval | null): VerdictMix {
  return {
    GET_NEW: share('GET_NEW'),
    GET_SAME_STICKY: share('GET_SAME_STICKY'),
    WAIT: share('WAIT'),
    BLOCK: share('BLOCK'),
  };
}

/** The verdict with this number, as the codes of answers hold it. */
export function verdictAt(place: number): Verdict {
  return VERDICTS[place] ?? 'GET_NEW';
}

function sumOf(rows: readonly ClusterVerdicts[]): number {
  return rows.reduce((sum, { decisions }) => sum + decisions, 0);
}
