import type { OutcomeChange } from './changes.ts';
import { type ClientState, keepUnlessExpired } from './client-state.ts';
import { findCountedOutcome, findLastOutcome } from './outcomes.ts';

/** The marks of a client on a sighting, as they were before the request that noted the sighting. */
export interface SightingMarks {
  /** Whether at least one order is paid. */
  readonly paying: boolean;
  /** Whether the newest order with a result is unpaid. */
  readonly unpaid: boolean;
  /** Whether the previous answer was BLOCK, or a person blocked the client. */
  readonly blocked: boolean;
  /** How many of the client's orders are unpaid, up to UNPAID_ORDERS_MAX. */
  readonly unpaidOrders: number;
}

/** The largest number that five bits hold. */
export const UNPAID_ORDERS_MAX = 31;

export type SightingMark = keyof SightingMarks;

/**
 * The stores keep the marks as bits in this sequence. The first mark is the lowest bit, and the bits above the others
 * have the number of unpaid orders.
 */
export const SIGHTING_MARKS = [
  'paying',
  'unpaid',
  'blocked',
  'unpaidOrders',
] as const satisfies readonly SightingMark[];

export const NO_SIGHTING_MARKS: SightingMarks = {
  paying: false,
  unpaid: false,
  blocked: false,
  unpaidOrders: 0,
};

/** The bits of each mark. */
export const MARK_BITS = {
  paying: 1,
  unpaid: 2,
  blocked: 4,
  unpaidOrders: UNPAID_ORDERS_MAX << 3,
} as const satisfies Record<SightingMark, number>;

/** Combines the bits of some marks. */
export function combineMarkBits(marks: readonly SightingMark[]): number {
  return marks.reduce((bits, mark) => bits | MARK_BITS[mark], 0);
}

/** How long in ms after a sighting a payment is still noted on it. */
const PAYMENT_NOTED_MS = 24 * 3600_000;

/** What a payment changes on the sightings of the last day. */
export interface PaymentNote {
  /** Epoch ms. Earlier sightings stay unchanged. */
  readonly since: number;
  /** Whether the client's newest order with a result is unpaid in spite of the payment. */
  readonly isUnpaid: boolean;
}

/**
 * Returns what a report changes on the sightings of its client. Returns null unless the report is a payment and the
 * order is paid.
 */
export function toPaymentNote(
  { order, state, report: { outcome } }: Pick<OutcomeChange, 'order' | 'state' | 'report'>,
  now: number,
): PaymentNote | null {
  if (outcome !== 'PAID' || findCountedOutcome(order) !== 'PAID') return null;
  return { since: now - PAYMENT_NOTED_MS, isUnpaid: getSightingMarks(state, now).unpaid };
}

export function getSightingMarks(
  state: Pick<ClientState, 'outcomes' | 'lastVerdictBlocked' | 'override'>,
  now: number,
): SightingMarks {
  return {
    paying: state.outcomes.paidCount > 0,
    unpaid: findLastOutcome(state.outcomes) === 'UNPAID',
    blocked: state.lastVerdictBlocked || keepUnlessExpired(state.override, now)?.group === 'BLOCKED',
    unpaidOrders: Math.min(UNPAID_ORDERS_MAX, state.outcomes.unpaidCount),
  };
}

/** Encodes the marks as a number: 1 for paying, 2 for unpaid, 4 for blocked, and 8 for each unpaid order. */
export function encodeSightingMarks({ paying, unpaid, blocked, unpaidOrders }: SightingMarks): number {
  return (paying ? 1 : 0) | (unpaid ? 2 : 0) | (blocked ? 4 : 0) | (unpaidOrders << 3);
}

/**
 * Adds a payment of the client to encoded marks: the client is paying, and its newest order may be unpaid in spite of
 * the payment.
 */
export function addPaymentToMarkBits(bits: number, isUnpaid: boolean): number {
  return isUnpaid ? bits | 1 : (bits | 1) & ~2;
}
