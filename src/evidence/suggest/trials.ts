import type { RuleSet } from '../../rules/rule-set.ts';
import { shareUpperBound } from '../../statistics/share-interval.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import { OUTCOME_ASSUMPTIONS, type OutcomeAssumption } from '../backtest/lives.ts';
import type { Evidence } from '../source/evidence.ts';
import type { PartName } from '../sweep/sweep-report.ts';
import { type TrialResult, tryRuleSets } from '../sweep/trial.ts';

/** What history comes to with each of some rule sets, when outcomes happen as assumed. */
export interface AssumedTrial {
  readonly outcomes: OutcomeAssumption;
  readonly result: TrialResult;
}

export interface Trials {
  /** The version as it is, then with one suggested change, with two, and so on. */
  readonly ruleSets: readonly [RuleSet, ...(readonly RuleSet[])];
  /** Epoch ms. */
  readonly splitAt: number;
  readonly onProgress?: OnProgress;
  readonly signal?: AbortSignal;
}

/** Lives through history under both assumptions, granted first. */
export async function tryUnderBoth(
  evidence: Evidence,
  { ruleSets, splitAt, onProgress, signal }: Trials,
): Promise<readonly AssumedTrial[]> {
  const trials: AssumedTrial[] = [];
  const all = OUTCOME_ASSUMPTIONS.length * evidence.span.decisions;
  for (const [place, outcomes] of OUTCOME_ASSUMPTIONS.entries()) {
    const before = place * evidence.span.decisions;
    const result = await tryRuleSets(evidence, {
      ruleSets,
      present: ruleSets[0],
      outcomes,
      splitAt,
      growing: true,
      onProgress: (done) => onProgress?.(before + done, all),
      ...(signal === undefined ? {} : { signal }),
    });
    trials.push({ outcomes, result });
  }
  return trials;
}

/**
 * How many of the changes, from the first on, keep to the budget when the earlier part is lived through with them,
 * whether or not payers who are stopped would have paid.
 */
export function longestWithin(trials: readonly AssumedTrial[], budget: number): number {
  const kept = trials.map(({ result }) => {
    const paid = result.parts.earlier.orders.paid;
    return result.tradeOffs.findLastIndex(
      (_, side) =>
        side === 0 || shareUpperBound(Math.max(0, refusedMore(result, 'earlier', side)), paid) <= budget,
    );
  });
  return Math.max(0, Math.min(...kept));
}

/** Why the changes up to `side` are not worth suggesting on the later part; null when they are. */
export function whyNotLater(trials: readonly AssumedTrial[], side: number, budget: number): string | null {
  for (const { outcomes, result } of trials) {
    const { paid } = result.parts.later.orders;
    const refused = refusedMore(result, 'later', side);
    if (refused > budget * paid)
      return `What was found does not hold: of ${paid} paid orders of the later part it refuses ${refused} more, over the budget (outcomes: ${outcomes}).`;
  }
  const [granted] = trials;
  if (granted !== undefined && blockedMore(granted.result, side) <= 0)
    return 'What was found does not hold: it blocks no more unpaid orders of the later part.';
  return null;
}

/** Paid orders that are refused with the changes up to `side` and are not without them. */
function refusedMore({ tradeOffs }: TrialResult, part: PartName, side: number): number {
  const refused = (place: number) => tradeOffs[place]?.[part].paidRefused.orders ?? 0;
  return refused(side) - refused(0);
}

function blockedMore({ tradeOffs }: TrialResult, side: number): number {
  const blocked = (place: number) => tradeOffs[place]?.later.unpaidBlocked.orders ?? 0;
  return blocked(side) - blocked(0);
}
