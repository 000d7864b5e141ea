import { type Assessment, chooseVerdictRule } from './assess.ts';
import { formatReason } from './decision.ts';
import type { DrawnHoldout, IsHeldOut } from './holdout.ts';
import type { ClientState } from './payer/client-state.ts';
import {
  climbLadder,
  getLevelWaitsMs,
  getRemainingWaitMs,
  type Ladder,
  type LadderSettings,
  startAttempt,
} from './payer/ladder.ts';
import type { PlatformSettings, RuleSet, Verdict, VerdictParams } from './rules/rule-set.ts';

/** The part of a verdict that follows from the values of the facts, the ladder and the time. */
export interface ConcludedVerdict {
  readonly verdict: Verdict;
  /** The rule that decided, or `otherwise`. */
  readonly rule: string;
  readonly reason: string;
  /** Null unless the verdict is WAIT. */
  readonly waitSeconds: number | null;
  /** The named ladder of the wait. Null if the verdict is not WAIT, or if the wait is on the ladder without a name. */
  readonly ladder: string | null;
  /** The length of the previous wait if the ladder alone would have given a shorter one. Otherwise null. */
  readonly waitFloorMs: number | null;
  /** The verdict rules that matched and have a holdout. */
  readonly drawnHoldouts: readonly DrawnHoldout[];
  readonly ladderAfter: Ladder;
}

/** A client's position on the ladder before a verdict. */
interface LadderPosition {
  readonly ladderBefore: Ladder;
  /**
   * The length of the previous wait, or 0. While the client climbs the ladder, no wait is shorter than the previous
   * one.
   */
  readonly lastWaitMs: number;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * Concludes a verdict: the first rule that matches decides. This is the last step of every decision, whether it is
 * live or explained from its record.
 */
export function concludeVerdict(
  rules: RuleSet,
  { ladder: settings }: PlatformSettings,
  { values }: Pick<Assessment, 'values'>,
  standing: LadderPosition,
  isHeldOut: IsHeldOut,
): ConcludedVerdict {
  const { at } = standing;
  const { rule, params, drawn: drawnHoldouts } = chooseVerdictRule(rules, values, isHeldOut);
  const ladderAfter = computeNextLadder(params, settings, standing);
  const waitSeconds = Math.ceil(getRemainingWaitMs(ladderAfter, at) / 1000);
  return {
    verdict: params.verdict,
    rule,
    reason: formatReason(params.reason, values, { waitSeconds, ladderLevelAfter: ladderAfter.level }),
    waitSeconds: params.verdict === 'WAIT' ? waitSeconds : null,
    ladder: params.verdict === 'WAIT' ? params.ladder : null,
    drawnHoldouts,
    waitFloorMs: computeWaitFloor(params, settings, standing, ladderAfter),
    ladderAfter,
  };
}

/** Whether a verdict lets a requisite be shown, which makes it an attempt. */
export function isAttempt(verdict: Verdict): boolean {
  return verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY';
}

function computeNextLadder(
  { verdict, ladder }: Pick<VerdictParams, 'verdict' | 'ladder'>,
  settings: LadderSettings,
  { ladderBefore, lastWaitMs, at }: LadderPosition,
): Ladder {
  switch (verdict) {
    case 'GET_NEW':
    case 'GET_SAME_STICKY':
      return startAttempt(ladderBefore);
    case 'WAIT':
      return climbLadder(
        ladderBefore,
        getLevelWaitsMs(settings, ladder),
        at,
        ladderBefore.level > 0 ? lastWaitMs : 0,
      );
    case 'BLOCK':
      return ladderBefore;
    default:
      return verdict satisfies never;
  }
}

/** Returns the length of the previous wait if it made this wait longer. Otherwise returns null. */
function computeWaitFloor(
  params: VerdictParams,
  settings: LadderSettings,
  standing: LadderPosition,
  { waitUntil }: Ladder,
): number | null {
  const { lastWaitMs } = standing;
  if (params.verdict !== 'WAIT' || lastWaitMs === 0) return null;
  const unhindered = computeNextLadder(params, settings, { ...standing, lastWaitMs: 0 });
  return waitUntil === unhindered.waitUntil ? null : lastWaitMs;
}

/**
 * The length of the newest wait of a climb, and the ladder that gave the wait its length. At level 0, the length is 0
 * and the ladder is null.
 */
type LastWait = Pick<ClientState, 'lastWaitMs' | 'lastWaitLadder'>;

/**
 * Computes the newest wait after a verdict. If the previous wait gave this wait its length, the ladder of the
 * previous wait is kept.
 */
export function computeLastWaitAfterVerdict(
  { verdict, ladderAfter, ladder, waitFloorMs }: LastVerdict,
  { lastWaitMs, lastWaitLadder }: LastWait,
  at: number,
): LastWait {
  if (verdict === 'WAIT') {
    const hasOwnLength = waitFloorMs === null || waitFloorMs === undefined;
    return {
      lastWaitMs: getRemainingWaitMs(ladderAfter, at),
      lastWaitLadder: hasOwnLength ? (ladder ?? null) : lastWaitLadder,
    };
  }
  return ladderAfter.level === 0 ? NO_LAST_WAIT : { lastWaitMs, lastWaitLadder };
}

const NO_LAST_WAIT: LastWait = { lastWaitMs: 0, lastWaitLadder: null };

/** A verdict, concluded or recorded. */
type LastVerdict = Pick<ConcludedVerdict, 'verdict' | 'ladderAfter'> & {
  readonly ladder?: string | null;
  readonly waitFloorMs?: number | null;
};
