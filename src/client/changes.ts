import {
  amountOfOrder,
  type Binding,
  type ClientState,
  type Override,
  recentlyEnded,
  rememberedEvents,
  rememberedExposure,
  settleOrder,
  token,
  touch,
} from './client-state.ts';
import { NO_ATTEMPTS, waitRemainingMs } from './ladder.ts';
import {
  dated,
  type Exposure,
  isNewPayment,
  type KnownOrder,
  type OrderOutcome,
  type ReportedOutcome,
  sameOutcome,
  stillKnown,
  withReport,
} from './order.ts';
import { displacedOrders, type RecentOrder, recentOrder, tallyOutcome, withKnownOrder } from './outcomes.ts';

/** What a report did: it was new, corrected its order, repeated what was known, or came too late to count. */
export const OUTCOME_EFFECTS = ['recorded', 'superseded', 'unchanged', 'stale'] as const;

export type OutcomeEffect = (typeof OUTCOME_EFFECTS)[number];

export interface OutcomeChange {
  readonly effect: OutcomeEffect;
  readonly state: ClientState;
  /** What is now known of the order. The state is the same object as before when nothing is new. */
  readonly order: KnownOrder;
  /**
   * Orders that the state does not remember any more, or never did: those that made room, and this one if it is old.
   */
  readonly displaced: readonly RecentOrder[];
  /** The report with the time that it counts from. */
  readonly report: OrderOutcome;
}

/** The platform's report with the order that it is about. */
export type ReportOfOrder = ReportedOutcome & { readonly orderRef: string };

/**
 * Applies the platform's report about an order. The same dated reports give the same client in whatever order they
 * arrive. A new payment takes the client off the ladder (interface, section 3.2), whatever the order's outcome is
 * now. `older` is what is known of an order that the state does not remember; `lookedUp` is how far it came, where
 * the store knows.
 */
export function recordOutcome(
  state: ClientState,
  older: KnownOrder | null,
  { orderRef, ...reported }: ReportOfOrder,
  now: number,
  lookedUp?: Exposure,
): OutcomeChange {
  const asked = token(orderRef);
  const events = rememberedEvents(state.events, Math.max(now, state.lastAt));
  const exposure = lookedUp ?? rememberedExposure(events, asked);
  const before = recentOrder(state.outcomes, asked) ?? older;
  const known = stillKnown(before, exposure);
  const report = dated(known, reported, Math.max(now, state.lastAt));
  const reportedOrder = withReport(known, report, exposure);
  const effect = effectOf(known, reportedOrder, report);
  if (reportedOrder === known) return { effect, state, order: known, displaced: [], report };
  const counts = effect === 'recorded' || effect === 'superseded';
  // A new outcome takes the amount that is asked for now; a report that changes nothing changes no amount either.
  const amount = (counts ? amountOfOrder(events, asked) : null) ?? before?.amount;
  const order = { ...reportedOrder, ...(amount === undefined ? {} : { amount }), token: asked };
  const ladder = isNewPayment(known, report) ? NO_ATTEMPTS : state.ladder;
  const outcomes = counts
    ? tallyOutcome(state.outcomes, before, order)
    : withKnownOrder(state.outcomes, order);
  return {
    effect,
    state: {
      ...touch(state, Math.max(now, report.occurredAt)),
      events: settleOrder(events, asked),
      outcomes,
      ladder,
      lastWaitMs: ladder.level === 0 ? 0 : state.lastWaitMs,
    },
    order,
    displaced: displacedOrders(state.outcomes, outcomes, order),
    report,
  };
}

/**
 * Replays a report that was recorded at `at`, with the time and exposure that it got then. That time may be after
 * `at`: a report without a time is dated right after the one that it corrects.
 */
export function repeatOutcome(
  state: ClientState,
  known: KnownOrder | null,
  recorded: OrderOutcome & { readonly orderRef: string },
  at: number,
  exposure: Exposure,
): OutcomeChange {
  return recordOutcome(state, known, recorded, Math.max(at, recorded.occurredAt), exposure);
}

function effectOf(known: KnownOrder | null, order: KnownOrder, report: OrderOutcome): OutcomeEffect {
  if (known === null) return 'recorded';
  if (order.occurredAt !== known.occurredAt || !sameOutcome(order, known)) return 'superseded';
  return sameOutcome(report, known) ? 'unchanged' : 'stale';
}

/** Binds the client, or unbinds it with null. Gives the same object when it is not bound anyway. */
export function setBinding(state: ClientState, binding: Binding | null, now: number): ClientState {
  if (binding === null && state.binding === null) return state;
  return { ...touch(state, now), binding };
}

/** Sets a person's decision, or lifts it with null. Gives the same object when there is none to lift. */
export function setOverride(state: ClientState, override: Override | null, now: number): ClientState {
  if (override === null && state.override === null) return state;
  return { ...touch(state, now), override };
}

/** How many waits of a payer may be ended in 24 hours. */
export const ENDED_WAITS_MAX = 3;

interface ImposedWait {
  readonly seq: number;
  /** Epoch ms. */
  readonly waitUntil: number | null;
}

/** What ending a wait comes to: only `ended` changes anything. */
export type WaitEnd =
  | { readonly effect: 'ended'; readonly state: ClientState }
  | { readonly effect: 'repeated' | 'notDue' | 'newer' | 'tooManyOfPayer' };

/** Ends the wait that is named, if it is the one that is due, and not too many of the payer were ended before. */
export function endWait(state: ClientState, { seq, waitUntil }: ImposedWait, now: number): WaitEnd {
  const ended = recentlyEnded(state.endedWaits, now);
  if (ended.some((wait) => wait.seq === seq)) return { effect: 'repeated' };
  if (waitRemainingMs(state.ladder, now) === 0) return { effect: 'notDue' };
  if (state.ladder.waitUntil !== waitUntil) return { effect: 'newer' };
  if (ended.length >= ENDED_WAITS_MAX) return { effect: 'tooManyOfPayer' };
  return { effect: 'ended', state: endDueWait(state, seq, now) };
}

/**
 * Ends the wait that is due: the payer may ask again at once. Level, open attempt and counters stay. The same object
 * when no wait is due, as in a replay that imposed none.
 */
export function endDueWait(state: ClientState, seq: number, now: number): ClientState {
  if (waitRemainingMs(state.ladder, now) === 0) return state;
  const endedWaits = [...recentlyEnded(state.endedWaits, now), { seq, at: now }];
  return { ...touch(state, now), ladder: { ...state.ladder, waitUntil: now }, endedWaits };
}
