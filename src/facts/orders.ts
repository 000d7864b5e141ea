import { moneyOf, sumOfAmounts } from '../client/amount.ts';
import { EVENT_WINDOW_MS_MAX, EVENTS_MAX, type VerdictEvent } from '../client/client-state.ts';
import type { Outcome } from '../client/order.ts';
import { outcomesSince, RECENT_OUTCOMES_MAX } from '../client/outcomes.ts';
import { count, type FactContext, MONEY, type WindowedFact } from './fact.ts';

/** How far facts about final orders look back. */
const ORDER_WINDOW_MS_MAX = 90 * 24 * 3600_000;

const COUNTED_AMONG = `Counted among the newest ${RECENT_OUTCOMES_MAX} final orders.`;

/** What the client wanted to pay lately, and what it did pay. */
export const ORDER_FACTS = {
  paidOrders: outcomes('Orders that became PAID.', 'PAID'),
  unpaidOrders: outcomes(
    'Orders that became UNPAID; technical failures and orders that were turned away count neither way.',
    'UNPAID',
  ),
  paidAmount: {
    kind: 'windowed',
    domain: MONEY,
    unit: 'currency units',
    description: `Sum of the orders that became PAID, in the currency of the request, with the amounts that were asked for. ${COUNTED_AMONG}`,
    longestWindowMs: ORDER_WINDOW_MS_MAX,
    sharing: null,
    read: (context, windowMs) =>
      sumIn(
        context.request.currency,
        outcomesSince(context.state.outcomes, 'PAID', context.now - windowMs).map(
          ({ amount }) => amount ?? '',
        ),
      ),
  },
  attemptedAmount: {
    kind: 'windowed',
    domain: MONEY,
    unit: 'currency units',
    description: `Sum of this request and of the orders before it for which a requisite was shown, in the currency of the request; each order once, with its newest amount. A score counts nothing. Counted among the newest ${EVENTS_MAX} requests.`,
    longestWindowMs: EVENT_WINDOW_MS_MAX,
    sharing: null,
    read: (context, windowMs) => sumIn(context.request.currency, attemptedWithin(context, windowMs)),
  },
} as const satisfies Record<string, WindowedFact>;

function outcomes(description: string, result: Outcome): WindowedFact {
  return {
    kind: 'windowed',
    domain: count(RECENT_OUTCOMES_MAX),
    unit: 'orders',
    description: `${description} ${COUNTED_AMONG}`,
    longestWindowMs: ORDER_WINDOW_MS_MAX,
    sharing: null,
    read: ({ state, now }, windowMs) => outcomesSince(state.outcomes, result, now - windowMs).length,
  };
}

/** The amounts of the orders that were attempted within the window, by the newest attempt of each. */
function attemptedWithin({ state, asked, now }: FactContext, windowMs: number): readonly string[] {
  const attempts = state.events.filter(
    (event) => event.at > now - windowMs && (event.granted || event === asked),
  );
  const newest = new Map(attempts.map((event: VerdictEvent) => [event.order, event.amount]));
  return [...newest.values()];
}

/** The sum of those texts of `moneyText` that are in a currency. */
function sumIn(currency: string, texts: readonly string[]): number {
  const amounts = texts.map(moneyOf).filter((money) => money?.currency === currency);
  return Math.min(sumOfAmounts(amounts.map((money) => money?.amount ?? '0')), 1e38);
}
