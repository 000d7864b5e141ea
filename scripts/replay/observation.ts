import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { Outcome } from '#decision/payer/order.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';

/** What the service said about one recorded payment, beside what was recorded about it. */
export interface Observation {
  readonly clientIdKey: string;
  readonly clientGroup: ClientGroup;
  /** The payment score that was answered before the outcome of this payment was known. */
  readonly paymentScore: number;
  /** Whether a user agent was recorded. Without one the score is asked without one, as programs ask. */
  readonly hasUserAgent: boolean;
  readonly isBotAtScore: boolean;
  readonly verdict: Verdict;
  readonly isBotAtVerdict: boolean;
  /** The level of the ladder of a WAIT. Null for any other verdict. */
  readonly waitLevel: number | null;
  /** The outcome of the order by its last report. Null when it is not known. */
  readonly outcome: Outcome | null;
  /** Whether this was the first request for its order. The score of a later request may know the outcome. */
  readonly isFirst: boolean;
  readonly abuse: boolean | null;
}
