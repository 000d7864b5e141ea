import { token } from './token.ts';

/** The final result of an order. */
export type Outcome = 'PAID' | 'UNPAID';

export const OUTCOMES = ['PAID', 'UNPAID'] as const satisfies readonly Outcome[];

export type OutcomeCause = 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED';

export const OUTCOME_CAUSES = [
  'DECLINED',
  'EXPIRED',
  'CANCELLED',
  'TECHNICAL',
  'REVERSED',
] as const satisfies readonly OutcomeCause[];

/** What the platform said last about one order. */
export interface OrderOutcome {
  readonly outcome: Outcome;
  readonly cause: OutcomeCause | null;
  /** Epoch ms at which the order became final. */
  readonly occurredAt: number;
}

interface RecentOutcome {
  /** `token` of the orderRef. */
  readonly order: string;
  readonly paid: boolean;
  readonly at: number;
}

/** The client's final outcomes, each order counted once. */
export interface OutcomeTally {
  readonly paidCount: number;
  readonly unpaidCount: number;
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
  /** The newest outcomes, oldest first: what a late correction needs to recount a chain. */
  readonly recent: readonly RecentOutcome[];
}

/** How many outcomes a client's state remembers singly; an unpaid chain is counted up to this. */
export const RECENT_OUTCOMES = 20;

export const NO_OUTCOMES: OutcomeTally = {
  paidCount: 0,
  unpaidCount: 0,
  lastPaidAt: null,
  lastUnpaidAt: null,
  recent: [],
};

/** What a report did: counted anew, corrected an earlier one, or changed nothing. */
export type OutcomeEffect = 'recorded' | 'superseded' | 'unchanged' | 'stale';

/**
 * Says what `report` does to an order whose last known outcome is `previous`.
 * A repeat changes nothing; a different one supersedes unless it happened before the one known.
 */
export function outcomeEffect(previous: OrderOutcome | null, report: OrderOutcome): OutcomeEffect {
  if (previous === null) return 'recorded';
  if (previous.outcome === report.outcome && previous.cause === report.cause) return 'unchanged';
  return report.occurredAt < previous.occurredAt ? 'stale' : 'superseded';
}

/** Moves an order in the tally from its `previous` outcome to the `next` one. */
export function tallyOutcome(
  tally: OutcomeTally,
  orderRef: string,
  previous: OrderOutcome | null,
  next: OrderOutcome,
): OutcomeTally {
  const without = previous === null ? tally : remove(tally, orderRef, previous);
  return add(without, orderRef, next);
}

/** Unpaid outcomes since the last paid one, counted up to RECENT_OUTCOMES. */
export function unpaidChain(tally: OutcomeTally): number {
  const lastPaid = tally.recent.findLastIndex((outcome) => outcome.paid);
  return tally.recent.length - 1 - lastPaid;
}

/** A technical failure says nothing about the payer, so it counts neither way. */
function counts(outcome: OrderOutcome): boolean {
  return outcome.cause !== 'TECHNICAL';
}

function add(tally: OutcomeTally, orderRef: string, outcome: OrderOutcome): OutcomeTally {
  if (!counts(outcome)) return tally;
  const paid = outcome.outcome === 'PAID';
  const entry = { order: token(orderRef), paid, at: outcome.occurredAt };
  const after = tally.recent.findLastIndex((other) => other.at <= entry.at) + 1;
  return {
    paidCount: tally.paidCount + (paid ? 1 : 0),
    unpaidCount: tally.unpaidCount + (paid ? 0 : 1),
    lastPaidAt: paid ? Math.max(tally.lastPaidAt ?? 0, entry.at) : tally.lastPaidAt,
    lastUnpaidAt: paid ? tally.lastUnpaidAt : Math.max(tally.lastUnpaidAt ?? 0, entry.at),
    recent: tally.recent.toSpliced(after, 0, entry).slice(-RECENT_OUTCOMES),
  };
}

function remove(tally: OutcomeTally, orderRef: string, outcome: OrderOutcome): OutcomeTally {
  if (!counts(outcome)) return tally;
  const paid = outcome.outcome === 'PAID';
  const order = token(orderRef);
  const recent = tally.recent.filter((entry) => entry.order !== order);
  const lastAt = (known: number | null) =>
    // Only the newest one of its kind moves the time; an older one was never what it told.
    known !== null && outcome.occurredAt < known
      ? known
      : (recent.findLast((entry) => entry.paid === paid)?.at ?? null);
  return {
    paidCount: tally.paidCount - (paid ? 1 : 0),
    unpaidCount: tally.unpaidCount - (paid ? 0 : 1),
    lastPaidAt: paid ? lastAt(tally.lastPaidAt) : tally.lastPaidAt,
    lastUnpaidAt: paid ? tally.lastUnpaidAt : lastAt(tally.lastUnpaidAt),
    recent,
  };
}
