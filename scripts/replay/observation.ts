import type { ClientGroup } from '../../src/client/client-state.ts';
import type { Outcome } from '../../src/client/order.ts';
import type { Verdict } from '../../src/rules/rule-set.ts';

/** What the service said about one recorded payment, beside what was recorded about it. */
export interface Observation {
  readonly clientGroup: ClientGroup;
  /** As answered by score, before the outcome of this payment was known. */
  readonly paymentScore: number;
  readonly isBotAtScore: boolean;
  readonly verdict: Verdict;
  readonly isBotAtVerdict: boolean;
  /** The level of the cooldown ladder that a WAIT imposed; null with any other verdict. */
  readonly waitLevel: number | null;
  /** How its order ended, by the last report; null when nobody knows. */
  readonly outcome: Outcome | null;
  /** Whether its order was asked for then for the first time: a later score may know the outcome. */
  readonly isFirst: boolean;
  readonly abuse: boolean | null;
}
