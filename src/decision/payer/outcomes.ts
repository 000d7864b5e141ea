import { findReversedAt, type KnownOrder, type Outcome, type OutcomeCause } from './order.ts';

export interface RecentOrder extends KnownOrder {
  /** The token of its orderRef, see `toShortHash`. */
  readonly token: string;
}

/** The summary of outcomes that are too old to be remembered one by one. */
interface OlderOutcomes {
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
  /** How many of the older orders are unpaid and later than the last paid one among them. */
  readonly unpaidChain: number;
}

/** The outcomes of a client. Each order is counted once. */
export interface OutcomeTally {
  readonly paidCount: number;
  readonly unpaidCount: number;
  /** How many orders say nothing about the payer, see `findCountedOutcome`. */
  readonly neitherCount: number;
  /**
   * The newest orders, oldest first. Of orders at the same time the paid ones come last. A correction moves an order
   * within the list, so that the facts are the same as if the order had been reported correctly at first.
   */
  readonly recent: readonly RecentOrder[];
  readonly older: OlderOutcomes;
}

/**
 * How many orders a client's state remembers one by one. Corrections and late reports of older orders still change
 * the counts correctly. For older orders the last times and the unpaid chain come from the summary, and are only as
 * exact as the summary.
 */
export const RECENT_OUTCOMES_MAX = 64;

export const UNPAID_CHAIN_MAX = 20;

const NOTHING_OLDER: OlderOutcomes = { lastPaidAt: null, lastUnpaidAt: null, unpaidChain: 0 };

export const NO_OUTCOMES: OutcomeTally = {
  paidCount: 0,
  unpaidCount: 0,
  neitherCount: 0,
  recent: [],
  older: NOTHING_OLDER,
};

/**
 * Replaces in the tally what was known of an order by what is known now. An order that is not among the recent ones
 * is counted with the older ones.
 */
export function tallyOutcome(
  tally: OutcomeTally,
  previous: KnownOrder | null,
  next: RecentOrder,
): OutcomeTally {
  const without = previous === null ? tally : countOrder(tally, { ...previous, token: next.token }, -1);
  return countOrder(without, next, 1);
}

/** Replaces a recent order whose result is unchanged, so that no count changes. */
export function replaceRecentOrder(tally: OutcomeTally, order: RecentOrder): OutcomeTally {
  const place = findOrderIndex(tally.recent, order);
  return place === -1 ? tally : { ...tally, recent: tally.recent.with(place, order) };
}

/** Finds an order among the newest ones. Returns null if the order is not among them. */
export function findRecentOrder({ recent }: OutcomeTally, token: string): RecentOrder | null {
  return recent.find((order) => order.token === token) ?? null;
}

/**
 * Lists the orders that a change pushed out of the newest ones. The list includes the order `changed` itself if it is
 * not among the newest.
 */
export function listDisplacedOrders(
  before: OutcomeTally,
  after: OutcomeTally,
  changed: RecentOrder,
): readonly RecentOrder[] {
  const others = ({ recent }: OutcomeTally) => recent.filter(({ token }) => token !== changed.token);
  const kept = others(after);
  // The kept orders stay in sequence, so one pass over both lists is enough. A set of 64 tokens costs more.
  const displaced: RecentOrder[] = [];
  for (const [place, order] of others(before).entries())
    if (order.token !== kept[place - displaced.length]?.token) displaced.push(order);
  if (kept.length === after.recent.length) displaced.push(changed);
  return displaced;
}

/** Whether some outcomes belong to orders that are not remembered one by one. */
export function hasOlderOrders({ paidCount, unpaidCount, neitherCount, recent }: OutcomeTally): boolean {
  return paidCount + unpaidCount + neitherCount > recent.length;
}

/**
 * Classifies an order by what it says about the payer. Returns null if it says nothing: for a technical failure,
 * for an unpaid order that the service turned away, and for a reversal whose payment is not known yet.
 */
export function findCountedOutcome({
  outcome,
  cause,
  turnedAway,
  awaitsPayment,
}: CountedOrder): Outcome | null {
  if (cause === 'TECHNICAL' || awaitsPayment || (outcome === 'UNPAID' && turnedAway)) return null;
  return outcome;
}

type CountedOrder = Pick<KnownOrder, 'outcome' | 'cause' | 'turnedAway' | 'awaitsPayment'>;

/** Returns when the newest paid outcome happened (epoch ms). Returns null if there is none. */
export function findLastPaidAt({ recent, older }: OutcomeTally): number | null {
  return recent.findLast((order) => findCountedOutcome(order) === 'PAID')?.occurredAt ?? older.lastPaidAt;
}

/** Returns when the newest unpaid outcome happened (epoch ms). Returns null if there is none. */
export function findLastUnpaidAt({ recent, older }: OutcomeTally): number | null {
  return recent.findLast((order) => findCountedOutcome(order) === 'UNPAID')?.occurredAt ?? older.lastUnpaidAt;
}

/** Lists the recent orders that came to a result after `since` (epoch ms). */
export function listOrdersWithOutcomeSince(
  { recent }: OutcomeTally,
  result: Outcome,
  since: number,
): readonly RecentOrder[] {
  return recent.filter((order) => order.occurredAt > since && findCountedOutcome(order) === result);
}

/**
 * Counts the recent orders with this cause after `since` (epoch ms). The cause is that of the order's present result.
 * Technical failures are counted, although they say nothing about the payer. Orders with another cause are counted
 * only if they are unpaid, see `findCountedOutcome`.
 */
export function countOrdersWithCause({ recent }: OutcomeTally, cause: OutcomeCause, since: number): number {
  const isCounted = (order: RecentOrder) => cause === 'TECHNICAL' || findCountedOutcome(order) === 'UNPAID';
  return recent.filter((order) => order.cause === cause && order.occurredAt > since && isCounted(order))
    .length;
}

/**
 * Returns the cause of the newest recent order that is paid, unpaid or failed technically. The cause is that of the
 * order's present result. Returns null if the order has no cause or there is no such order.
 */
export function findLastCause({ recent }: OutcomeTally): OutcomeCause | null {
  const last = recent.findLast((order) => order.cause === 'TECHNICAL' || findCountedOutcome(order) !== null);
  return last?.cause ?? null;
}

/**
 * Returns when money of a recent order was last taken back, whole or in part (epoch ms). Returns null if no money was
 * taken back.
 */
export function findLastReversalAt({ recent }: OutcomeTally): number | null {
  let last: number | null = null;
  for (const order of recent) {
    const at = findCountedOutcome(order) === null ? null : findReversedAt(order);
    if (at !== null && (last === null || at > last)) last = at;
  }
  return last;
}

/** Counts the unpaid outcomes since the last paid one, up to UNPAID_CHAIN_MAX. */
export function countUnpaidChain({ recent, older }: OutcomeTally): number {
  const lastPaid = recent.findLastIndex((order) => findCountedOutcome(order) === 'PAID');
  const unpaid = recent.slice(lastPaid + 1).filter((order) => findCountedOutcome(order) === 'UNPAID').length;
  return Math.min(unpaid + (lastPaid === -1 ? older.unpaidChain : 0), UNPAID_CHAIN_MAX);
}

export function findLastOutcome({ recent, older }: OutcomeTally): Outcome | null {
  const last = recent.findLast((order) => findCountedOutcome(order) !== null);
  return last?.outcome ?? findNewestOlder(older)?.outcome ?? null;
}

/** Whether the client has an outcome. A technical failure is an outcome, too. */
export function hasOutcomes({ paidCount, unpaidCount, neitherCount }: OutcomeTally): boolean {
  return paidCount + unpaidCount + neitherCount > 0;
}

/**
 * Summarizes the orders that are not among the recent ones. If the summary implies more orders than the counts allow,
 * it is reduced to the counts.
 */
export function summarizeOlderOutcomes(tally: OutcomeTally): OlderOutcomes {
  const recently = (result: Outcome) =>
    tally.recent.filter((order) => findCountedOutcome(order) === result).length;
  const paidCount = tally.paidCount - recently('PAID');
  const unpaidCount = tally.unpaidCount - recently('UNPAID');
  const { older } = tally;
  if (paidCount + unpaidCount <= 0) return NOTHING_OLDER;
  return {
    lastPaidAt: paidCount > 0 ? older.lastPaidAt : null,
    lastUnpaidAt: unpaidCount > 0 ? older.lastUnpaidAt : null,
    unpaidChain: paidCount > 0 ? Math.min(older.unpaidChain, unpaidCount) : unpaidCount,
  };
}

function countOrder(tally: OutcomeTally, order: RecentOrder, step: 1 | -1): OutcomeTally {
  const result = findCountedOutcome(order);
  const moved = {
    paidCount: tally.paidCount + (result === 'PAID' ? step : 0),
    unpaidCount: tally.unpaidCount + (result === 'UNPAID' ? step : 0),
    neitherCount: tally.neitherCount + (result === null ? step : 0),
    ...(step === 1 ? addOrder(tally, order) : removeOrder(tally, order)),
  };
  return { ...moved, older: summarizeOlderOutcomes(moved) };
}

type Remembered = Pick<OutcomeTally, 'recent' | 'older'>;

function addOrder({ recent, older }: Remembered, order: RecentOrder): Remembered {
  const newestOlder = findNewestOlder(older);
  if (newestOlder !== null && compareOrdersByTime(order, newestOlder) < 0)
    return { recent, older: addToSummary(older, order) };
  const place = recent.findLastIndex((other) => compareOrdersByTime(other, order) <= 0) + 1;
  const next = recent.toSpliced(place, 0, order);
  if (next.length <= RECENT_OUTCOMES_MAX) return { recent: next, older };
  // The oldest order that says nothing about the payer is removed. If there is no such order, the oldest one is
  // removed.
  const leaving = Math.max(
    0,
    next.findIndex((other) => findCountedOutcome(other) === null),
  );
  return {
    recent: next.toSpliced(leaving, 1),
    older: next.slice(leaving, leaving + 1).reduce(addToSummary, older),
  };
}

function removeOrder({ recent, older }: Remembered, order: RecentOrder): Remembered {
  const place = findOrderIndex(recent, order);
  if (place !== -1) return { recent: recent.toSpliced(place, 1), older };
  const inChain =
    findCountedOutcome(order) === 'UNPAID' &&
    order.occurredAt > (older.lastPaidAt ?? Number.NEGATIVE_INFINITY);
  return { recent, older: { ...older, unpaidChain: Math.max(0, older.unpaidChain - (inChain ? 1 : 0)) } };
}

function findOrderIndex(recent: readonly RecentOrder[], { token }: RecentOrder): number {
  return recent.findIndex((order) => order.token === token);
}

/** Adds one order to the summary. */
function addToSummary(older: OlderOutcomes, order: KnownOrder): OlderOutcomes {
  const { lastPaidAt, lastUnpaidAt, unpaidChain } = older;
  const { occurredAt: at } = order;
  const result = findCountedOutcome(order);
  const since = (then: number | null) => then === null || at >= then;
  if (result === null) return older;
  if (result === 'UNPAID') {
    const inChain = lastPaidAt === null || at > lastPaidAt;
    return {
      lastPaidAt,
      lastUnpaidAt: since(lastUnpaidAt) ? at : lastUnpaidAt,
      unpaidChain: unpaidChain + (inChain ? 1 : 0),
    };
  }
  if (!since(lastPaidAt)) return older;
  // Only the last unpaid order is known to be later than this payment.
  return { lastPaidAt: at, lastUnpaidAt, unpaidChain: since(lastUnpaidAt) ? 0 : 1 };
}

type OutcomeInTime = Pick<RecentOrder, 'outcome' | 'occurredAt'> & { readonly token?: string };

function findNewestOlder({ lastPaidAt, lastUnpaidAt }: OlderOutcomes): OutcomeInTime | null {
  if (lastPaidAt !== null && lastPaidAt >= (lastUnpaidAt ?? lastPaidAt))
    return { outcome: 'PAID', occurredAt: lastPaidAt };
  return lastUnpaidAt === null ? null : { outcome: 'UNPAID', occurredAt: lastUnpaidAt };
}

/**
 * Compares orders by time. Of two orders with the same time, a paid one is the newer. The comparison of tokens only
 * makes the result independent of the sequence of arrival.
 */
export function compareOrdersByTime(a: OutcomeInTime, b: OutcomeInTime): number {
  const paid = ({ outcome }: OutcomeInTime) => Number(outcome === 'PAID');
  return a.occurredAt - b.occurredAt || paid(a) - paid(b) || compareTokens(a.token ?? '', b.token ?? '');
}

function compareTokens(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
