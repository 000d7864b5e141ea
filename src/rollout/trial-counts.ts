import type { Arm, Decision } from '../decision/decision.ts';
import { type ArmCounts, addCounts, NO_COUNTS } from './guard.ts';

/** A kind of difference between the active version and its shadow, with orders to look at. */
export interface Difference {
  /** `WAIT/attempt-unpaid -> BLOCK/bot-blocked` */
  readonly change: string;
  readonly count: number;
  readonly sampleOrders: readonly string[];
}

/** What one node saw of a trial since it began. */
export interface TrialCounts {
  readonly trial: string;
  readonly arms: Readonly<Record<Arm, ArmCounts>>;
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    readonly differences: readonly Difference[];
  };
  /** Decisions for which the candidate threw and the active version stepped in. */
  readonly candidateErrors: number;
}

const MAX_DIFFERENCES = 50;
const MAX_SAMPLES = 5;

export function noTrialCounts(trial: string): TrialCounts {
  return {
    trial,
    arms: { active: NO_COUNTS, candidate: NO_COUNTS },
    shadow: { compared: 0, different: 0, differences: [] },
    candidateErrors: 0,
  };
}

/** The counts with one more answered verdict. */
export function countDecision(counts: TrialCounts, decision: Decision): TrialCounts {
  const one: ArmCounts = {
    verdicts: 1,
    blocks: decision.verdict === 'BLOCK' ? 1 : 0,
    waits: decision.verdict === 'WAIT' ? 1 : 0,
    bots: decision.isBot ? 1 : 0,
  };
  return { ...counts, arms: { ...counts.arms, [decision.arm]: addCounts(counts.arms[decision.arm], one) } };
}

/** The counts with one more verdict that the shadow decided, too. */
export function countShadow(counts: TrialCounts, decision: Decision, shadowed: Decision): TrialCounts {
  const { compared, different, differences } = counts.shadow;
  const change = changeBetween(decision, shadowed);
  if (change === null) return { ...counts, shadow: { compared: compared + 1, different, differences } };
  const shadow = {
    compared: compared + 1,
    different: different + 1,
    differences: noteDifference(differences, change, decision.orderRef),
  };
  return { ...counts, shadow };
}

export function countCandidateError(counts: TrialCounts): TrialCounts {
  return { ...counts, candidateErrors: counts.candidateErrors + 1 };
}

/** What all nodes saw of one trial together. */
export function sumTrialCounts(trial: string, parts: readonly TrialCounts[]): TrialCounts {
  return parts.filter((part) => part.trial === trial).reduce(addTrialCounts, noTrialCounts(trial));
}

function addTrialCounts(a: TrialCounts, b: TrialCounts): TrialCounts {
  const differences = new Map(a.shadow.differences.map((difference) => [difference.change, difference]));
  for (const { change, count, sampleOrders } of b.shadow.differences) {
    const known = differences.get(change) ?? { change, count: 0, sampleOrders: [] };
    const samples = [...known.sampleOrders, ...sampleOrders].slice(0, MAX_SAMPLES);
    differences.set(change, { change, count: known.count + count, sampleOrders: samples });
  }
  return {
    trial: a.trial,
    arms: {
      active: addCounts(a.arms.active, b.arms.active),
      candidate: addCounts(a.arms.candidate, b.arms.candidate),
    },
    shadow: {
      compared: a.shadow.compared + b.shadow.compared,
      different: a.shadow.different + b.shadow.different,
      differences: [...differences.values()].toSorted((x, y) => y.count - x.count),
    },
    candidateErrors: a.candidateErrors + b.candidateErrors,
  };
}

/** Null when the shadow answered alike: same verdict, wait, bot flag and group. */
function changeBetween(decision: Decision, shadowed: Decision): string | null {
  const words = ({ verdict, rule, waitSeconds, isBot, clientGroup }: Decision) =>
    [
      `${verdict}/${rule}`,
      waitSeconds === undefined ? '' : `${waitSeconds} s`,
      isBot ? 'bot' : '',
      clientGroup,
    ]
      .filter((word) => word !== '')
      .join(' ');
  const same =
    decision.verdict === shadowed.verdict &&
    decision.waitSeconds === shadowed.waitSeconds &&
    decision.isBot === shadowed.isBot &&
    decision.clientGroup === shadowed.clientGroup;
  return same ? null : `${words(decision)} -> ${words(shadowed)}`;
}

function noteDifference(
  differences: readonly Difference[],
  change: string,
  orderRef: string,
): readonly Difference[] {
  const known = differences.find((difference) => difference.change === change);
  if (known === undefined) {
    return differences.length >= MAX_DIFFERENCES
      ? differences
      : [...differences, { change, count: 1, sampleOrders: [orderRef] }];
  }
  const sampleOrders =
    known.sampleOrders.length < MAX_SAMPLES ? [...known.sampleOrders, orderRef] : known.sampleOrders;
  return differences.map((difference) =>
    difference === known ? { change, count: known.count + 1, sampleOrders } : difference,
  );
}
