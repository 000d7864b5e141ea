import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import {
  computeAreaUnderCurve,
  computeBrierScore,
  computeReliability,
  type ReliabilityBin,
} from '#history/statistics/calibration.ts';
import type { OperationCounts } from './driver.ts';
import type { Observation } from './observation.ts';
import type { ReplayResult } from './replay.ts';

/** The figures of a replay, as `--json` prints them. A figure is null if there is too little data for it. */
export interface ReplaySummary {
  readonly payments: number;
  /** The number of payments of which no user agent was recorded. Rules see it absent in them. */
  readonly withoutUserAgent: number;
  /** The number of lines that were left out. */
  readonly badLines: number;
  readonly requests: OperationCounts;
  readonly verdicts: VerdictCounts;
  /** The verdicts on the payments, by outcome. `none` is for payments without a recorded outcome. */
  readonly verdictsByOutcome: Readonly<Record<'PAID' | 'UNPAID' | 'none', VerdictCounts>>;
  /** How often score answered each group. */
  readonly groups: Readonly<Record<ClientGroup, number>>;
  /** How often each operation answered isBot true. */
  readonly botFlags: { readonly score: number; readonly verdict: number };
  /** The WAIT verdicts by level of the ladder, the lowest first. */
  readonly ladder: readonly { readonly level: number; readonly waits: number }[];
  readonly paymentScore: PaymentScoreQuality | null;
  readonly reliability: readonly ReliabilityBin[] | null;
  readonly blocked: VerdictShareByOutcome | null;
  readonly waiting: VerdictShareByOutcome | null;
  readonly bot: BotQuality | null;
  readonly ruleVersion: string;
  readonly digest: string;
}

export type VerdictCounts = Readonly<Record<Verdict, number>>;

export interface PaymentScoreQuality {
  /** The number of orders with an outcome. The score of each order's first request is measured. */
  readonly measured: number;
  readonly auc: number | null;
  readonly brier: number | null;
}

/**
 * Which share of the PAID payments got one verdict, and which share of the UNPAID payments. A share is null if there
 * are no such payments.
 */
export interface VerdictShareByOutcome {
  readonly paidShare: number | null;
  readonly unpaidShare: number | null;
}

/** How well isBot of the verdict agrees with the label `abuse`. */
export interface BotQuality {
  /** The share of the flagged payments that are abuse. Null when none is flagged. */
  readonly precision: number | null;
  /** The share of the abuse that is flagged. Null when there is no abuse. */
  readonly recall: number | null;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly falseNegatives: number;
  readonly trueNegatives: number;
}

export function summarizeReplay({
  observations,
  badLines,
  operationCounts,
  ruleVersion,
  digest,
}: ReplayResult): ReplaySummary {
  const withOutcome = observations.filter(({ outcome }) => outcome !== null);
  const firsts = withOutcome.filter(({ isFirst }) => isFirst);
  const samples = firsts.map(({ paymentScore, outcome }) => ({
    score: paymentScore,
    paid: outcome === 'PAID' ? 1 : 0,
    unpaid: outcome === 'PAID' ? 0 : 1,
  }));
  const measurable = samples.length > 0;
  const verdictsByOutcome = {
    PAID: countVerdicts(observations.filter(({ outcome }) => outcome === 'PAID')),
    UNPAID: countVerdicts(observations.filter(({ outcome }) => outcome === 'UNPAID')),
    none: countVerdicts(observations.filter(({ outcome }) => outcome === null)),
  };
  return {
    payments: observations.length,
    withoutUserAgent: count(observations, ({ hasUserAgent }) => !hasUserAgent),
    badLines: badLines.length,
    requests: operationCounts,
    verdicts: countVerdicts(observations),
    verdictsByOutcome,
    groups: countGroups(observations),
    botFlags: {
      score: count(observations, ({ isBotAtScore }) => isBotAtScore),
      verdict: count(observations, ({ isBotAtVerdict }) => isBotAtVerdict),
    },
    ladder: countLevels(observations),
    paymentScore: measurable
      ? { measured: samples.length, auc: computeAreaUnderCurve(samples), brier: computeBrierScore(samples) }
      : null,
    reliability: measurable ? computeReliability(samples) : null,
    blocked: measurable ? computeShares(withOutcome, 'BLOCK') : null,
    waiting: measurable ? computeShares(withOutcome, 'WAIT') : null,
    bot: computeBotQuality(observations),
    ruleVersion,
    digest,
  };
}

function countVerdicts(observations: readonly Observation[]): VerdictCounts {
  const counts = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 } satisfies Record<Verdict, number>;
  for (const known of VERDICTS) counts[known] = count(observations, ({ verdict }) => verdict === known);
  return counts;
}

function countGroups(observations: readonly Observation[]): Readonly<Record<ClientGroup, number>> {
  const counts = { NEW: 0, STICKY: 0, PAYING: 0, TRUSTED: 0, BLOCKED: 0 };
  for (const known of CLIENT_GROUPS)
    counts[known] = count(observations, ({ clientGroup }) => clientGroup === known);
  return counts;
}

function countLevels(observations: readonly Observation[]): ReplaySummary['ladder'] {
  const levels = new Map<number, number>();
  for (const { waitLevel } of observations)
    if (waitLevel !== null) levels.set(waitLevel, (levels.get(waitLevel) ?? 0) + 1);
  return [...levels].toSorted(([a], [b]) => a - b).map(([level, waits]) => ({ level, waits }));
}

function computeShares(observations: readonly Observation[], wanted: Verdict): VerdictShareByOutcome {
  const shareAmong = (ended: 'PAID' | 'UNPAID') => {
    const those = observations.filter(({ outcome }) => outcome === ended);
    return computeRatio(
      count(those, ({ verdict }) => verdict === wanted),
      those.length,
    );
  };
  return { paidShare: shareAmong('PAID'), unpaidShare: shareAmong('UNPAID') };
}

function computeBotQuality(observations: readonly Observation[]): BotQuality | null {
  const labelled = observations.filter(({ abuse }) => abuse !== null);
  if (labelled.length === 0) return null;
  const cell = (flagged: boolean, isAbuse: boolean) =>
    count(labelled, ({ isBotAtVerdict, abuse }) => isBotAtVerdict === flagged && abuse === isAbuse);
  const truePositives = cell(true, true);
  const falsePositives = cell(true, false);
  const falseNegatives = cell(false, true);
  return {
    precision: computeRatio(truePositives, truePositives + falsePositives),
    recall: computeRatio(truePositives, truePositives + falseNegatives),
    truePositives,
    falsePositives,
    falseNegatives,
    trueNegatives: cell(false, false),
  };
}

function count(observations: readonly Observation[], holds: (seen: Observation) => boolean): number {
  return observations.filter(holds).length;
}

function computeRatio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
