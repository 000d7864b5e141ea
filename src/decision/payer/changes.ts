import {
  type Binding,
  type ClientState,
  classifyRememberedOrder,
  findOrderAmount,
  forgetOldRequests,
  keepRecentlyEndedWaits,
  keepRememberedEvents,
  listAttemptedOrders,
  markOrderEventsSettled,
  type Override,
  recordActivity,
  toShortHash,
} from './client-state.ts';
import { EMPTY_LADDER, excuseAttempt, getRemainingWaitMs, type Ladder } from './ladder.ts';
import {
  addReport,
  type DatedReport,
  dateReport,
  findSettledAmount,
  forgetFailuresBeforeAttempt,
  isFailure,
  isPartialReversalInForce,
  isSameResult,
  type KnownOrder,
  type OrderStage,
  type ReportedOutcome,
  setAskedAmount,
} from './order.ts';
import {
  findCountedOutcome,
  findRecentOrder,
  listDisplacedOrders,
  type RecentOrder,
  replaceRecentOrder,
  tallyOutcome,
} from './outcomes.ts';

/**
 * The effects that a report can have: `recorded` if it is the first report of its order, `superseded` if it replaces
 * the outcome of the order, `unchanged` if it agrees with the outcome, `outweighed` if it says unpaid and the order
 * stays paid, `stale` if a newer or stronger report is known, and `unknownPayer` if the payer was erased.
 */
export const OUTCOME_EFFECTS = [
  'recorded',
  'superseded',
  'unchanged',
  'outweighed',
  'stale',
  'unknownPayer',
] as const;

export type OutcomeEffect = (typeof OUTCOME_EFFECTS)[number];

export interface OutcomeChange {
  readonly effect: OutcomeEffect;
  readonly state: ClientState;
  /** What is known of the order after the report. If nothing is new, `state` is the same object as before. */
  readonly order: KnownOrder;
  /**
   * Orders that the state no longer remembers: the orders that made room, and the reported order itself if it is too
   * old.
   */
  readonly displaced: readonly RecentOrder[];
  /** The report with its moment, see `dateReport`. */
  readonly report: DatedReport;
}

/** A report of the platform with the order that it is about. */
export type ReportWithOrderRef = ReportedOutcome & { readonly orderRef: string };

/**
 * Applies a platform's report about an order. The same dated reports lead to the same state in whatever sequence they
 * arrive. A PAID report about an order that was not paid before resets the client's ladder (interface, section 3.2).
 * It does so even if a newer report leaves the order unpaid or reversed. `older` is what is known of an order that
 * the state does not remember. `lookedUp` is the stage of the order, if the store knows it.
 */
export function recordOutcome(
  state: ClientState,
  older: KnownOrder | null,
  reported: ReportWithOrderRef,
  now: number,
  lookedUp?: OrderStage,
): OutcomeChange {
  const moment = Math.max(now, state.lastAt);
  const orderToken = toShortHash(reported.orderRef);
  const before = findRecentOrder(state.outcomes, orderToken) ?? older;
  const orderStage =
    lookedUp ?? classifyRememberedOrder(keepRememberedEvents(state.events, moment), orderToken);
  const known = forgetFailuresBeforeAttempt(before, orderStage);
  return applyReport(
    state,
    { before, known, orderStage, orderToken },
    dateReport(known, reported, moment),
    now,
  );
}

/**
 * Applies a recorded report again. `at` is the time when the report was recorded. The report's moment and
 * `orderStage` are those that were recorded then.
 */
export function reapplyOutcome(
  state: ClientState,
  older: KnownOrder | null,
  { orderRef, ...report }: DatedReport & { readonly orderRef: string },
  at: number,
  orderStage: OrderStage,
): OutcomeChange {
  const orderToken = toShortHash(orderRef);
  const before = findRecentOrder(state.outcomes, orderToken) ?? older;
  const known = forgetFailuresBeforeAttempt(before, orderStage);
  return applyReport(state, { before, known, orderStage, orderToken }, report, at);
}

interface ReportedOrder {
  /** What was known of the order before the report. */
  readonly before: KnownOrder | null;
  readonly known: KnownOrder | null;
  readonly orderStage: OrderStage;
  /** The token of the order, see `toShortHash`. */
  readonly orderToken: string;
}

function applyReport(
  state: ClientState,
  { before, known, orderStage, orderToken }: ReportedOrder,
  report: DatedReport,
  now: number,
): OutcomeChange {
  const remembered = forgetOldRequests(state, Math.max(now, state.lastAt));
  const { events } = remembered;
  const askedNow = findOrderAmount(events, orderToken) ?? before?.amount;
  const reportedOrder = addReport(known, report, orderStage, known === null ? askedNow : known.amount);
  const effect = findEffect(known, reportedOrder, report);
  if (reportedOrder === known) return { effect, state, order: known, displaced: [], report };
  const counts = effect === 'recorded' || effect === 'superseded';
  // A new outcome gets the amount that is asked for now. A report that changes nothing leaves the amount unchanged.
  const order = {
    ...(counts ? setAskedAmount(reportedOrder, askedNow) : reportedOrder),
    token: orderToken,
  };
  const isPaidAnew = isNewPayment(known, report);
  const ladder = updateLadder({ ...state, events }, isPaidAnew, order, Math.max(now, state.lastAt));
  // An unpaid order does not count while it is turned away (see `findCountedOutcome`). After a new attempt it counts
  // differently, even if this report changes nothing.
  const countsOtherwise = before !== null && findCountedOutcome(before) !== findCountedOutcome(order);
  const outcomes =
    counts || countsOtherwise
      ? tallyOutcome(state.outcomes, before, order)
      : replaceRecentOrder(state.outcomes, order);
  return {
    effect,
    state: {
      ...recordActivity({ ...state, ...remembered }, Math.max(now, report.occurredAt)),
      events: markOrderEventsSettled(events, orderToken),
      outcomes,
      ladder,
      lastWaitMs: ladder.level === 0 ? 0 : state.lastWaitMs,
      lastWaitLadder: ladder.level === 0 ? null : state.lastWaitLadder,
    },
    order,
    displaced: listDisplacedOrders(state.outcomes, outcomes, order),
    report,
  };
}

/** How many attempts in a row are excused when they fail technically. */
export const EXCUSED_ATTEMPTS_MAX = 3;

function updateLadder(
  { ladder, events, outcomes }: ClientState,
  isPaidAnew: boolean,
  order: RecentOrder,
  now: number,
): Ladder {
  if (isPaidAnew) return EMPTY_LADDER;
  const granted = listAttemptedOrders(events);
  const failedTechnically = (orderToken: string) =>
    (orderToken === order.token ? order : findRecentOrder(outcomes, orderToken))?.cause === 'TECHNICAL';
  if (granted[0] !== order.token || !failedTechnically(order.token)) return ladder;
  const run = granted.findIndex((orderToken) => !failedTechnically(orderToken));
  const isExcused = (run === -1 ? granted.length : run) <= EXCUSED_ATTEMPTS_MAX;
  return isExcused && isUnderWay(ladder, now) ? excuseAttempt(ladder, now) : ladder;
}

/** Whether an attempt is open, or the payer has to wait for the next one. */
function isUnderWay(ladder: Ladder, now: number): boolean {
  return ladder.attemptOpen || getRemainingWaitMs(ladder, now) > 0;
}

/** Whether the report makes the order paid. `known` is the order before the report. */
function isNewPayment(known: KnownOrder | null, report: DatedReport): boolean {
  return report.outcome === 'PAID' && known?.outcome !== 'PAID';
}

function findEffect(known: KnownOrder | null, order: KnownOrder, report: DatedReport): OutcomeEffect {
  if (known === null) return 'recorded';
  if (!hasUnchangedResult(known, order)) return 'superseded';
  if (isSameResult(report, known) || isPartialReversalInForce(order, report)) return 'unchanged';
  return known.outcome === 'PAID' && isFailure(report) ? 'outweighed' : 'stale';
}

function hasUnchangedResult(known: KnownOrder, order: KnownOrder): boolean {
  return (
    isSameResult(order, known) &&
    order.occurredAt === known.occurredAt &&
    order.awaitsPayment === known.awaitsPayment &&
    findSettledAmount(order) === findSettledAmount(known)
  );
}

/** Binds the client, or unbinds it if `binding` is null. Returns the same object if there is no binding to remove. */
export function setBinding(state: ClientState, binding: Binding | null, now: number): ClientState {
  if (binding === null && state.binding === null) return state;
  return { ...recordActivity(state, now), binding };
}

/**
 * Sets a person's decision about a client, or lifts the decision if `override` is null. Returns the same object if
 * there is no decision to lift.
 */
export function setOverride(state: ClientState, override: Override | null, now: number): ClientState {
  if (override === null && state.override === null) return state;
  return { ...recordActivity(state, now), override };
}

/** How many waits of a payer people may end in 24 hours. */
export const WAITS_ENDED_PER_PAYER_MAX = 3;

interface ImposedWait {
  readonly seq: number;
  /** Epoch ms. */
  readonly waitUntil: number | null;
}

/** The result of ending a wait. Only `ended` changes the state. */
export type EndWaitResult =
  | { readonly effect: 'ended'; readonly state: ClientState }
  | { readonly effect: 'repeated' | 'notDue' | 'newer' | 'tooManyOfPayer' };

/**
 * Whether a wait is the payer's current one. Either its decision is the newest one, or it ends when the current wait
 * ends.
 */
export function isCurrentWait({ seq, ladder }: ClientState, wait: ImposedWait): boolean {
  return wait.seq === seq || wait.waitUntil === ladder.waitUntil;
}

/** Ends a wait if it is the due one, and if not too many waits of the payer were ended before. */
export function endWaitIfAllowed(state: ClientState, wait: ImposedWait, now: number): EndWaitResult {
  const ended = keepRecentlyEndedWaits(state.endedWaits, now);
  if (ended.some(({ seq }) => seq === wait.seq)) return { effect: 'repeated' };
  if (getRemainingWaitMs(state.ladder, now) === 0) return { effect: 'notDue' };
  if (!isCurrentWait(state, wait)) return { effect: 'newer' };
  if (ended.length >= WAITS_ENDED_PER_PAYER_MAX) return { effect: 'tooManyOfPayer' };
  return { effect: 'ended', state: endCurrentWait(state, wait.seq, now) };
}

/**
 * Ends the wait that the payer is in, so that the payer may ask again at once. Level, open attempt and counters stay.
 * Returns the same object if the payer is in no wait, as in a replay that imposed none.
 */
export function endCurrentWait(state: ClientState, seq: number, now: number): ClientState {
  if (getRemainingWaitMs(state.ladder, now) === 0) return state;
  const endedWaits = [...keepRecentlyEndedWaits(state.endedWaits, now), { seq, at: now }];
  return { ...recordActivity(state, now), ladder: { ...state.ladder, waitUntil: now }, endedWaits };
}
