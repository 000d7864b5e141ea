import type { OutcomeChange } from './changes.ts';
import { type ClientState, keepIfValid } from './client-state.ts';
import { classifyOutcome, findLastOutcome } from './outcomes.ts';

/** What a sighting remembers of its client, as the client stood before the request that noted it. */
export interface SightingMarks {
  /** At least one order is paid. */
  readonly paying: boolean;
  /** The newest order with a result is unpaid. */
  readonly unpaid: boolean;
  /** The answer before was BLOCK, or a person blocked the client. */
  readonly blocked: boolean;
  /** How many of its orders are unpaid, up to UNPAID_ORDERS_MAX; 0 where no rule set asks for them. */
  readonly unpaidOrders: number;
}

/** As many as five bits hold. */
export const UNPAID_ORDERS_MAX = 31;

export type SightingMark = keyof SightingMarks;

/** In this order the stores keep them as bits, the first one lowest, and the unpaid orders as the bits above. */
export const SIGHTING_MARKS = [
  'paying',
  'unpaid',
  'blocked',
  'unpaidOrders',
] as const satisfies readonly SightingMark[];

export const UNMARKED: SightingMarks = { paying: false, unpaid: false, blocked: false, unpaidOrders: 0 };

/** The bits that tell each of the marks. */
export const BITS_OF_MARK = {
  paying: 1,
  unpaid: 2,
  blocked: 4,
  unpaidOrders: UNPAID_ORDERS_MAX << 3,
} as const satisfies Record<SightingMark, number>;

/** The bits of some marks together. */
export function combineMarkBits(marks: readonly SightingMark[]): number {
  return marks.reduce((bits, mark) => bits | BITS_OF_MARK[mark], 0);
}

/** How long after a sighting a payment is still noted on it. */
const PAYMENT_NOTED_MS = 24 * 3600_000;

/** What sightings of the last day are to know of a payment. */
export interface PaymentNote {
  /** Epoch ms; earlier sightings keep what they remember. */
  readonly since: number;
  /** The client's newest order with a result is unpaid all the same. */
  readonly isUnpaid: boolean;
}

/** What a report tells the sightings of its client; null where it is no payment that counts. */
export function toPaymentNote(
  { order, state, report: { outcome } }: Pick<OutcomeChange, 'order' | 'state' | 'report'>,
  now: number,
): PaymentNote | null {
  if (outcome !== 'PAID' || classifyOutcome(order) !== 'PAID') return null;
  return { since: now - PAYMENT_NOTED_MS, isUnpaid: findSightingMarks(state, now).unpaid };
}

export function findSightingMarks(
  state: Pick<ClientState, 'outcomes' | 'lastVerdictBlocked' | 'override'>,
  now: number,
): SightingMarks {
  return {
    paying: state.outcomes.paidCount > 0,
    unpaid: findLastOutcome(state.outcomes) === 'UNPAID',
    blocked: state.lastVerdictBlocked || keepIfValid(state.override, now)?.group === 'BLOCKED',
    unpaidOrders: Math.min(UNPAID_ORDERS_MAX, state.outcomes.unpaidCount),
  };
}

/** The marks as a number: 1 for paying, 2 for unpaid, 4 for blocked, and 8 for each unpaid order. */
export function encodeMarks({ paying, unpaid, blocked, unpaidOrders }: SightingMarks): number {
  return (paying ? 1 : 0) | (unpaid ? 2 : 0) | (blocked ? 4 : 0) | (unpaidOrders << 3);
}

/** The bits of the marks after a payment of the client: it pays, and its newest order may be unpaid all the same. */
export function addPaymentMark(bits: number, isUnpaid: boolean): number {
  return isUnpaid ? bits | 1 : (bits | 1) & ~2;
}
