import { climb, grant, type Ladder, type LadderSettings, waitRemainingMs } from '../client/ladder.ts';
import type { PlatformSettings, RuleSet, Verdict } from '../rules/rule-set.ts';
import { type Assessment, verdictRule } from './assess.ts';
import { renderReason } from './reason.ts';

/** What of a verdict follows from the values that the rules see, the ladder and the time. */
export interface ConcludedVerdict {
  readonly verdict: Verdict;
  /** The rule that gave it, or `otherwise`. */
  readonly rule: string;
  readonly reason: string;
  /** Null without WAIT. */
  readonly waitSeconds: number | null;
  readonly ladderAfter: Ladder;
}

/** The end of every decision, a live one and a recorded one that is explained: the first rule that matches decides. */
export function concludeVerdict(
  rules: RuleSet,
  { ladder: settings }: PlatformSettings,
  { values }: Pick<Assessment, 'values'>,
  ladderBefore: Ladder,
  at: number,
): ConcludedVerdict {
  const { rule, params } = verdictRule(rules, values);
  const ladderAfter = nextLadder(params.verdict, ladderBefore, settings, at);
  const waitSeconds = Math.ceil(waitRemainingMs(ladderAfter, at) / 1000);
  return {
    verdict: params.verdict,
    rule,
    reason: renderReason(params.reason, values, { waitSeconds, ladderLevelAfter: ladderAfter.level }),
    waitSeconds: params.verdict === 'WAIT' ? waitSeconds : null,
    ladderAfter,
  };
}

/** Whether a verdict lets a requisite be shown: then it is an attempt. */
export function isGrant(verdict: Verdict): boolean {
  return verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY';
}

/** What a verdict does to the ladder. */
export function nextLadder(verdict: Verdict, ladder: Ladder, settings: LadderSettings, now: number): Ladder {
  switch (verdict) {
    case 'GET_NEW':
    case 'GET_SAME_STICKY':
      return grant(ladder);
    case 'WAIT':
      return climb(ladder, settings, now);
    case 'BLOCK':
      return ladder;
    default:
      return verdict satisfies never;
  }
}
