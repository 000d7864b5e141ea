import {
  amountOfOrder,
  type Binding,
  type ClientState,
  type Override,
  settleOrder,
  token,
  touch,
} from './client-state.ts';
import { NO_ATTEMPTS } from './ladder.ts';
import {
  dated,
  type KnownOrder,
  type OrderOutcome,
  type ReportedOutcome,
  sameOutcome,
  wasPaid,
  withReport,
} from './order.ts';
import { tallyOutcome } from './outcomes.ts';

/** What a report did: counted as new, corrected what was known of its order, repeated it, or came too late for it. */
export const OUTCOME_EFFECTS = ['recorded', 'superseded', 'unchanged', 'stale'] as const;

export type OutcomeEffect = (typeof OUTCOME_EFFECTS)[number];

export interface OutcomeChange {
  readonly effect: OutcomeEffect;
  readonly state: ClientState;
  /** What is known of the order from now on. This and the state are the same objects when it was known already. */
  readonly order: KnownOrder;
  /** The report with the time that was taken for it. */
  readonly report: OrderOutcome;
}

/** The platform's report with the order that it is about. */
export type ReportOfOrder = ReportedOutcome & { readonly orderRef: string };

/**
 * What the platform's report about an order does to the client. The same reports give the same client in
 * whatever order they arrive. News of a payment take the client off the ladder (interface, section 3.2), also
 * when the payment has been reversed since; an outcome dated later than `now`, or not at all, happens now.
 */
export function recordOutcome(
  state: ClientState,
  known: KnownOrder | null,
  { orderRef, ...reported }: ReportOfOrder,
  now: number,
): OutcomeChange {
  const report = dated(known, reported, Math.max(now, state.lastAt));
  const asked = token(orderRef);
  const order = withAmount(withReport(known, report), known, amountOfOrder(state.events, asked));
  const effect = effectOf(known, order, report);
  const holdsAnew = effect === 'recorded' || effect === 'superseded';
  const paidAnew = report.outcome === 'PAID' && (!wasPaid(known) || (holdsAnew && known?.outcome !== 'PAID'));
  if (order === known) return { effect, state, order, report };
  const outcomes = holdsAnew ? tallyOutcome(state.outcomes, known, order) : state.outcomes;
  const ladder = paidAnew ? NO_ATTEMPTS : state.ladder;
  return {
    effect,
    state: {
      ...touch(state, Math.max(now, report.occurredAt)),
      events: settleOrder(state.events, asked),
      outcomes,
      ladder,
      lastWaitMs: ladder.level === 0 ? 0 : state.lastWaitMs,
    },
    order,
    report,
  };
}

/**
 * The same for a report that was recorded once, at `at`: its time was settled then. A report without one is dated right
 * after the one that it corrects, which may be later than it came.
 */
export function repeatOutcome(
  state: ClientState,
  known: KnownOrder | null,
  recorded: OrderOutcome & { readonly orderRef: string },
  at: number,
): OutcomeChange {
  return recordOutcome(state, known, recorded, Math.max(at, recorded.occurredAt));
}

/** An order that is known already stays as it is; otherwise the newest amount that is known of it is kept. */
function withAmount(order: KnownOrder, known: KnownOrder | null, asked: string | null): KnownOrder {
  const amount = asked ?? known?.amount;
  return order === known || amount === undefined ? order : { ...order, amount };
}

function effectOf(known: KnownOrder | null, order: KnownOrder, report: OrderOutcome): OutcomeEffect {
  if (known === null) return 'recorded';
  if (order.occurredAt !== known.occurredAt || !sameOutcome(order, known)) return 'superseded';
  return sameOutcome(report, known) ? 'unchanged' : 'stale';
}

/** Binds the client, or with null unbinds it. Unbinding one that is not bound gives the same object. */
export function setBinding(state: ClientState, binding: Binding | null, now: number): ClientState {
  if (binding === null && state.binding === null) return state;
  return { ...touch(state, now), binding };
}

/** Puts a person's decision before the rules, or with null lifts it. Lifting none gives the same object. */
export function setOverride(state: ClientState, override: Override | null, now: number): ClientState {
  if (override === null && state.override === null) return state;
  return { ...touch(state, now), override };
}
