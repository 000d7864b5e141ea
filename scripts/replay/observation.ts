import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { Outcome } from '#decision/payer/order.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';

/** What the service said about one recorded payment, beside what was recorded about it. */
export interface Observation {
  readonly clientIdKey: string;
  readonly clientGroup: ClientGroup;
  /** As answered by the score, before the outcome of this payment was known. */
  readonly paymentScore: number;
  readonly isBotAtScore: boolean;
  readonly verdict: Verdict;
  readonly isBotAtVerdict: boolean;
  /** The level of the cooldown ladder that a WAIT imposed; null with any other verdict. */
  readonly waitLevel: number | null;
  /** The outcome of its order by the last report; null when unknown. */
  readonly outcome: Outcome | null;
  /** Whether this was the first request for its order: a later score may know the outcome. */
  readonly isFirst: boolean;
  readonly abuse: boolean | null;
}
