import { type Binding, type ClientState, type Override, touch } from './client-state.ts';
import { NO_ATTEMPTS } from './ladder.ts';
import { type OrderOutcome, type OutcomeEffect, outcomeEffect, tallyOutcome } from './outcomes.ts';

export interface OutcomeChange {
  readonly effect: OutcomeEffect;
  readonly state: ClientState;
  /** What is known of the order from now on. */
  readonly order: OrderOutcome;
}

/**
 * What the platform's report about an order does to the client. A payment takes the client off the
 * ladder (contract, section 3.2); an outcome dated later than `now` counts as happening now.
 */
export function recordOutcome(
  state: ClientState,
  orderRef: string,
  previous: OrderOutcome | null,
  report: OrderOutcome,
  now: number,
): OutcomeChange {
  const latest = Math.max(now, state.lastAt);
  const order = { ...report, occurredAt: Math.min(report.occurredAt, latest) };
  const effect = outcomeEffect(previous, order);
  if (effect === 'unchanged' || effect === 'stale') return { effect, state, order: previous ?? order };
  const outcomes = tallyOutcome(state.outcomes, orderRef, previous, order);
  const ladder = order.outcome === 'PAID' ? NO_ATTEMPTS : state.ladder;
  return { effect, state: { ...touch(state, now), outcomes, ladder }, order };
}

export function setBinding(state: ClientState, binding: Binding | null, now: number): ClientState {
  return { ...touch(state, now), binding };
}

export function setOverride(state: ClientState, override: Override | null, now: number): ClientState {
  return { ...touch(state, now), override };
}
