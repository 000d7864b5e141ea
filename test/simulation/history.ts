import type { AnsweredVerdict } from '#checkout/scoring/scoring.ts';
import type { OutcomeEffect } from '#decision/payer/changes.ts';
import type { OrderOutcome } from '#decision/payer/order.ts';

/** The result of one request: answered, certainly without effect, or unknown to its caller. */
export type AttemptStatus<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' };

/** One request for a verdict that was sent; a retry is another attempt of the same operation. */
export interface VerdictAttempt {
  readonly requestId: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  /** Null: every attempt is a request of its own. */
  readonly idempotencyKey: string | null;
  readonly status: AttemptStatus<AnsweredVerdict>;
}

export interface OutcomeAttempt {
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly outcome: OrderOutcome['outcome'];
  readonly cause: OrderOutcome['cause'];
  readonly status: AttemptStatus<OutcomeEffect>;
}

/** Everything that the callers of one seed saw. */
export interface History {
  readonly verdicts: readonly VerdictAttempt[];
  readonly outcomes: readonly OutcomeAttempt[];
  readonly clientIdKeys: readonly string[];
}
