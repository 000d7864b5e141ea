import type { KnownOrder } from './order.ts';

/** The final outcome of one order, as far as its client's counters care. */
export interface CountedOutcome {
  readonly paid: boolean;
  /** Epoch ms. */
  readonly at: number;
  /** What was paid, like `25.5 EUR`; null when that is not known, and with what was not paid. */
  readonly amount: string | null;
}

/** What is left of outcomes that are too old to be remembered singly. */
export interface OlderOutcomes {
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
  /** Unpaid ones after the last paid one among them. */
  readonly unpaidChain: number;
}

/** The client's final outcomes, each order counted once. */
export interface OutcomeTally {
  readonly paidCount: number;
  readonly unpaidCount: number;
  /** Orders that ended in a technical failure: known of the client, counted neither way. */
  readonly technicalCount: number;
  /**
   * The newest outcomes, oldest first, and of the same moment the paid ones last. A correction takes an
   * outcome out of here, so the facts come out as if the order had been told rightly at first.
   */
  readonly recent: readonly CountedOutcome[];
  readonly older: OlderOutcomes;
}

/**
 * How many outcomes a client's state remembers singly. Corrections and late reports beyond them still count
 * rightly; the times and the chain of the older ones are then as good as their summary.
 */
export const RECENT_OUTCOMES_MAX = 64;

/** An unpaid chain is counted up to this. */
export const UNPAID_CHAIN_MAX = 20;

const NOTHING_OLDER: OlderOutcomes = { lastPaidAt: null, lastUnpaidAt: null, unpaidChain: 0 };

export const NO_OUTCOMES: OutcomeTally = {
  paidCount: 0,
  unpaidCount: 0,
  technicalCount: 0,
  recent: [],
  older: NOTHING_OLDER,
};

/** Moves an order in the tally from what was known of it to what is known now. */
export function tallyOutcome(
  tally: OutcomeTally,
  previous: KnownOrder | null,
  next: KnownOrder,
): OutcomeTally {
  return counted(previous === null ? tally : counted(tally, previous, -1), next, 1);
}

/** Epoch ms of the newest paid outcome; null when there is none. */
export function lastPaidAt({ recent, older }: OutcomeTally): number | null {
  return recent.findLast(({ paid }) => paid)?.at ?? older.lastPaidAt;
}

/** Epoch ms of the newest unpaid outcome; null when there is none. */
export function lastUnpaidAt({ recent, older }: OutcomeTally): number | null {
  return recent.findLast(({ paid }) => !paid)?.at ?? older.lastUnpaidAt;
}

/** The outcomes after `since` (epoch ms) among the newest that are remembered singly. */
export function outcomesSince({ recent }: OutcomeTally, since: number): readonly CountedOutcome[] {
  return recent.filter(({ at }) => at > since);
}

/** Unpaid outcomes since the last paid one, counted up to UNPAID_CHAIN_MAX. */
export function unpaidChain({ recent, older }: OutcomeTally): number {
  const lastPaid = recent.findLastIndex(({ paid }) => paid);
  const chain = recent.length - 1 - lastPaid + (lastPaid === -1 ? older.unpaidChain : 0);
  return Math.min(chain, UNPAID_CHAIN_MAX);
}

/** The newest outcome; null when there is none. */
export function lastOutcome({ recent, older }: OutcomeTally): CountedOutcome | null {
  return recent.at(-1) ?? newest(older);
}

/** Whether any outcome was ever reported of the client that still holds, a technical failure included. */
export function hasOutcomes({ paidCount, unpaidCount, technicalCount }: OutcomeTally): boolean {
  return paidCount + unpaidCount + technicalCount > 0;
}

/** The summary of what is not among the recent ones; `older` says what they cannot tell. */
export function olderOutcomes(tally: OutcomeTally): OlderOutcomes {
  const recentPaid = tally.recent.filter(({ paid }) => paid).length;
  const paidCount = tally.paidCount - recentPaid;
  const unpaidCount = tally.unpaidCount - (tally.recent.length - recentPaid);
  const { older } = tally;
  if (paidCount + unpaidCount <= 0) return NOTHING_OLDER;
  return {
    lastPaidAt: paidCount > 0 ? older.lastPaidAt : null,
    lastUnpaidAt: unpaidCount > 0 ? older.lastUnpaidAt : null,
    unpaidChain: paidCount > 0 ? Math.min(older.unpaidChain, unpaidCount) : unpaidCount,
  };
}

/** A technical failure says nothing about the payer, so it counts neither way. */
function counted(
  tally: OutcomeTally,
  { outcome, cause, occurredAt, amount }: KnownOrder,
  step: 1 | -1,
): OutcomeTally {
  if (cause === 'TECHNICAL') return { ...tally, technicalCount: tally.technicalCount + step };
  const paid = outcome === 'PAID';
  const entry = { paid, at: occurredAt, amount: paid ? (amount ?? null) : null };
  const moved = {
    ...tally,
    paidCount: tally.paidCount + (paid ? step : 0),
    unpaidCount: tally.unpaidCount + (paid ? 0 : step),
    ...(step === 1 ? withEntry(tally, entry) : withoutEntry(tally, entry)),
  };
  return { ...moved, older: olderOutcomes(moved) };
}

type Remembered = Pick<OutcomeTally, 'recent' | 'older'>;

function withEntry({ recent, older }: Remembered, entry: CountedOutcome): Remembered {
  const newestOlder = newest(older);
  if (newestOlder !== null && inTime(entry, newestOlder) < 0)
    return { recent, older: summarise(older, entry) };
  const place = recent.findLastIndex((other) => inTime(other, entry) <= 0) + 1;
  const next = recent.toSpliced(place, 0, entry);
  const [oldest, ...rest] = next;
  if (next.length <= RECENT_OUTCOMES_MAX || oldest === undefined) return { recent: next, older };
  return { recent: rest, older: summarise(older, oldest) };
}

function withoutEntry({ recent, older }: Remembered, entry: CountedOutcome): Remembered {
  const place = recent.findLastIndex((other) => inTime(other, entry) === 0);
  if (place !== -1) return { recent: recent.toSpliced(place, 1), older };
  const inChain = !entry.paid && entry.at > (older.lastPaidAt ?? Number.NEGATIVE_INFINITY);
  return { recent, older: { ...older, unpaidChain: Math.max(0, older.unpaidChain - (inChain ? 1 : 0)) } };
}

/** The summary with one more outcome. */
function summarise(older: OlderOutcomes, { paid, at }: CountedOutcome): OlderOutcomes {
  const { lastPaidAt, lastUnpaidAt, unpaidChain } = older;
  const since = (then: number | null) => then === null || at >= then;
  if (!paid) {
    const inChain = lastPaidAt === null || at > lastPaidAt;
    return {
      lastPaidAt,
      lastUnpaidAt: since(lastUnpaidAt) ? at : lastUnpaidAt,
      unpaidChain: unpaidChain + (inChain ? 1 : 0),
    };
  }
  if (!since(lastPaidAt)) return older;
  // Which of the unpaid ones came after it is not known any more, only that the last one did.
  return { lastPaidAt: at, lastUnpaidAt, unpaidChain: since(lastUnpaidAt) ? 0 : 1 };
}

function newest({ lastPaidAt, lastUnpaidAt }: OlderOutcomes): CountedOutcome | null {
  if (lastPaidAt !== null && lastPaidAt >= (lastUnpaidAt ?? lastPaidAt))
    return { paid: true, at: lastPaidAt, amount: null };
  return lastUnpaidAt === null ? null : { paid: false, at: lastUnpaidAt, amount: null };
}

/** Of the same moment a payment counts as the newer one. Amounts only make the order the same whatever came first. */
export function inTime(a: CountedOutcome, b: CountedOutcome): number {
  return a.at - b.at || Number(a.paid) - Number(b.paid) || compareAmounts(a.amount ?? '', b.amount ?? '');
}

function compareAmounts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
