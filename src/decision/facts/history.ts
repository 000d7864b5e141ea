import { parseMoney, sumAmounts } from '#decision/payer/amount.ts';
import {
  EVENT_WINDOW_MS_MAX,
  EVENTS_MAX,
  keepUnlessExpired,
  type VerdictEvent,
} from '#decision/payer/client-state.ts';
import { DAY_COUNT_MAX, type DayTally, TALLIED_METHODS_MAX } from '#decision/payer/day-tallies.ts';
import { getRemainingWaitMs } from '#decision/payer/ladder.ts';
import { findSettledAmount, OUTCOME_CAUSES, type Outcome, type OutcomeCause } from '#decision/payer/order.ts';
import {
  countOrdersWithCause,
  countUnpaidChain,
  findLastCause,
  findLastOutcome,
  findLastPaidAt,
  findLastReversalAt,
  findLastUnpaidAt,
  listOrdersWithOutcomeSince,
  RECENT_OUTCOMES_MAX,
  UNPAID_CHAIN_MAX,
} from '#decision/payer/outcomes.ts';
import { computePaymentScore } from '#decision/payer/payment-score.ts';
import {
  countDistinctMethods,
  createDayWindowFact,
  listAttemptedAmountsOfDays,
  TALLIED_METHODS_DOMAIN,
  TALLIED_REQUESTS_DOMAIN,
} from './day-windows.ts';
import {
  booleanFact,
  countSecondsSince,
  createCountDomain,
  type Fact,
  type FactContext,
  MONEY_DOMAIN,
  plainFact,
  SECONDS_DOMAIN,
  secondsSinceFact,
  toOnDemandFact,
  type WindowedFact,
  windowedFact,
  wordFactIfKnown,
} from './fact.ts';

const ANY_COUNT = createCountDomain(Number.MAX_SAFE_INTEGER);

/** Facts about the client's past orders, and about people's decisions on the client. */
export const HISTORY_FACTS = {
  isNewClient: booleanFact(
    'The platform has asked for no verdict yet, this request included, and no outcome (technical ones included), binding or override is known.',
    ({ isNew }) => isNew,
  ),
  paidCount: plainFact(
    ANY_COUNT,
    'orders',
    'Orders whose final outcome is PAID.',
    ({ state }) => state.outcomes.paidCount,
  ),
  unpaidCount: plainFact(
    ANY_COUNT,
    'orders',
    'Orders whose final outcome is UNPAID; technical failures and orders that were turned away are not counted.',
    ({ state }) => state.outcomes.unpaidCount,
  ),
  finalCount: plainFact(
    ANY_COUNT,
    'orders',
    'Orders with a final outcome: paidCount + unpaidCount.',
    ({ state }) => state.outcomes.paidCount + state.outcomes.unpaidCount,
  ),
  unpaidChain: plainFact(
    createCountDomain(UNPAID_CHAIN_MAX),
    'orders',
    `UNPAID outcomes since the last PAID one, counted up to ${UNPAID_CHAIN_MAX}.`,
    ({ state }) => countUnpaidChain(state.outcomes),
  ),
  lastOutcome: plainFact(
    { type: 'enum', values: ['NONE', 'PAID', 'UNPAID'] },
    null,
    'The newest final outcome; NONE when there is none.',
    ({ state }) => findLastOutcome(state.outcomes) ?? 'NONE',
  ),
  lastCause: toOnDemandFact(
    wordFactIfKnown(
      OUTCOME_CAUSES,
      `The cause in the current result of the newest order that paidOrders, unpaidOrders or technicalOrders counts, among the newest ${RECENT_OUTCOMES_MAX} final orders.`,
      { of: 'a payer without such an order, or whose newest one has no cause', mistakenFor: 'NONE' },
      ({ state }) => findLastCause(state.outcomes),
    ),
  ),
  paymentScore: plainFact(
    { type: 'number', integer: false, min: 0, max: 1 },
    null,
    'Smoothed share of PAID among final outcomes, 4 decimals; 0.5 with no final outcome.',
    ({ state: { outcomes }, smoothing }) =>
      computePaymentScore(outcomes.paidCount, outcomes.paidCount + outcomes.unpaidCount, smoothing),
  ),
  secondsSinceFirstSeen: plainFact(
    SECONDS_DOMAIN,
    'seconds',
    'Since the first contact of any kind.',
    ({ state, now }) => countSecondsSince(state.firstSeenAt ?? now, now),
  ),
  secondsSinceLastPaid: secondsSinceFact(
    'the newest PAID outcome',
    'a payer without a PAID order',
    ({ state }) => findLastPaidAt(state.outcomes),
  ),
  secondsSinceLastUnpaid: secondsSinceFact(
    'the newest UNPAID outcome',
    'a payer without an UNPAID order',
    ({ state }) => findLastUnpaidAt(state.outcomes),
  ),
  secondsSinceLastReversal: toOnDemandFact(
    secondsSinceFact(
      `money of an order was last taken back, fully or partly, among the newest ${RECENT_OUTCOMES_MAX} final orders`,
      'a payer without a reversed order',
      ({ state }) => findLastReversalAt(state.outcomes),
    ),
  ),
  hasBinding: booleanFact(
    'The platform bound the client to a requisite, and the binding has not expired.',
    ({ state, now }) => keepUnlessExpired(state.binding, now) !== null,
  ),
  overrideGroup: plainFact(
    { type: 'enum', values: ['NONE', 'BLOCKED', 'TRUSTED'] },
    null,
    'The group that a person set for this client; NONE if nobody did or it has expired.',
    ({ state, now }) => keepUnlessExpired(state.override, now)?.group ?? 'NONE',
  ),
} as const satisfies Record<string, Fact>;

/** The longest window of facts about final orders in ms. */
const ORDER_WINDOW_MS_MAX = 90 * 24 * 3600_000;

const FINAL_ORDERS_NOTE = `Counted among the newest ${RECENT_OUTCOMES_MAX} final orders.`;

/** Facts about the orders that the client tried to pay lately, and about the orders that were paid. */
export const ORDER_FACTS = {
  paidOrders: createOutcomeFact('Orders that became PAID.', 'PAID'),
  unpaidOrders: createOutcomeFact('Orders that became UNPAID, as unpaidCount counts them.', 'UNPAID'),
  declinedOrders: createCauseFact('DECLINED', 'Orders whose payment was declined.'),
  expiredOrders: createCauseFact('EXPIRED', 'Orders that the payer let expire.'),
  cancelledOrders: createCauseFact('CANCELLED', 'Orders that the payer cancelled.'),
  reversedOrders: createCauseFact(
    'REVERSED',
    'Orders that were paid and fully taken back, like chargebacks and refunds.',
  ),
  technicalOrders: createCauseFact(
    'TECHNICAL',
    'Orders that failed technically; paidOrders and unpaidOrders do not count them.',
  ),
  paidAmount: windowedFact(
    MONEY_DOMAIN,
    'currency units',
    `Sum of the orders that became PAID, in the currency of the request: captured minus taken back, or the requested amount if no report says. ${FINAL_ORDERS_NOTE}`,
    ORDER_WINDOW_MS_MAX,
    ({ state, request, now }, windowMs) => {
      const paid = listOrdersWithOutcomeSince(state.outcomes, 'PAID', now - windowMs);
      return sumInCurrency(
        request.currency,
        paid.map((order) => findSettledAmount(order) ?? ''),
      );
    },
  ),
  attemptedAmount: createDayWindowFact({
    domain: MONEY_DOMAIN,
    unit: 'currency units',
    description: `Sum of this request and of earlier orders for which a requisite was shown, in the currency of the request. Each order counts once with its newest amount, in a window above a day once a day. Scores do not count. Counted among the newest ${EVENTS_MAX} requests; sums of earlier days are rounded to 7 digits.`,
    within: (context, windowMs) =>
      sumInCurrency(context.request.currency, listAttemptedAmounts(context, windowMs)),
    onDays: (seen, { request, asked }) =>
      sumInCurrency(request.currency, listAttemptedAmountsOfDays(seen, asked)),
  }),
} as const satisfies Record<string, WindowedFact>;

function createCauseFact(cause: OutcomeCause, description: string): WindowedFact {
  return windowedFact(
    createCountDomain(RECENT_OUTCOMES_MAX),
    'orders',
    `${description} Counted by the current result of the order and its time. ${FINAL_ORDERS_NOTE}`,
    ORDER_WINDOW_MS_MAX,
    ({ state, now }, windowMs) => countOrdersWithCause(state.outcomes, cause, now - windowMs),
  );
}

function createOutcomeFact(description: string, result: Outcome): WindowedFact {
  return windowedFact(
    createCountDomain(RECENT_OUTCOMES_MAX),
    'orders',
    `${description} ${FINAL_ORDERS_NOTE}`,
    ORDER_WINDOW_MS_MAX,
    ({ state, now }, windowMs) => listOrdersWithOutcomeSince(state.outcomes, result, now - windowMs).length,
  );
}

/** Lists the amounts of the orders that were attempted within the window, each order with its newest attempt. */
function listAttemptedAmounts({ state, asked, now }: FactContext, windowMs: number): readonly string[] {
  const attempts = state.events.filter(
    (event) => event.at > now - windowMs && (event.granted || event === asked),
  );
  const newest = new Map(attempts.map((event: VerdictEvent) => [event.order, event.amount]));
  return [...newest.values()];
}

/** Sums the texts of `formatMoney` that are in this currency. */
function sumInCurrency(currency: string, texts: readonly string[]): number {
  const amounts = texts.map(parseMoney).filter((money) => money?.currency === currency);
  return Math.min(sumAmounts(amounts.map((money) => money?.amount ?? '0')), 1e38);
}

/** Facts about the client's position on the cooldown ladder before this request is decided. */
export const COOLDOWN_FACTS = {
  attemptOpen: booleanFact(
    'A requisite was granted and no payment followed yet.',
    ({ ladder }) => ladder.attemptOpen,
  ),
  ladderLevel: plainFact(
    createCountDomain(20),
    'levels',
    'Level of the last wait; 0 if none was imposed since the last payment or long absence.',
    ({ ladder }) => ladder.level,
  ),
  waitRemainingSeconds: plainFact(
    SECONDS_DOMAIN,
    'seconds',
    'The rest of the imposed wait, rounded up; 0 if no wait is due.',
    ({ ladder, now }) => Math.ceil(getRemainingWaitMs(ladder, now) / 1000),
  ),
  waitServed: booleanFact(
    'A wait was imposed and is over.',
    ({ ladder, now }) => ladder.waitUntil !== null && getRemainingWaitMs(ladder, now) === 0,
  ),
  secondsSinceLastVerdict: secondsSinceFact(
    'the verdict request before this one',
    'a payer who asked for no verdict before',
    ({ previousVerdictAt }) => previousVerdictAt,
  ),
} as const satisfies Record<string, Fact>;

/** A sentence for the descriptions of facts that count only the newest requests. */
const REQUESTS_NOTE = `Counted among the newest ${EVENTS_MAX} requests.`;

/** Facts about how often the client asks for verdicts, and how much its requests differ. */
export const VELOCITY_FACTS = {
  verdicts: createRequestFact(
    'Verdict requests of this client.',
    () => true,
    ({ granted, waited, blocked }) => granted + waited + blocked,
  ),
  attempts: createRequestFact(
    'Verdicts that let a requisite be shown, before this request.',
    (event) => event.granted,
    (tally) => tally.granted,
  ),
  waits: createRequestFact(
    'Verdicts of this client that were WAIT, before this request.',
    (event) => event.waited,
    (tally) => tally.waited,
  ),
  blocks: createRequestFact(
    'Verdicts of this client that were BLOCK, before this request.',
    (event) => event.blocked,
    (tally) => tally.blocked,
  ),
  earlyRequests: createRequestFact(
    'Verdict requests that came before an imposed wait was over.',
    (event) => event.early,
    (tally) => tally.early,
  ),
  distinctMethods: createDayWindowFact({
    domain: TALLIED_METHODS_DOMAIN,
    domainWithinDay: createCountDomain(EVENTS_MAX),
    unit: 'methods',
    description: `Different payment methods asked for. ${REQUESTS_NOTE} Of earlier days ${TALLIED_METHODS_MAX} methods are remembered.`,
    within: (context, windowMs) =>
      countDistinct(listEventsWithin(context, windowMs), (event) => event.method),
    onDays: countDistinctMethods,
  }),
  distinctAmounts: createDistinctFact(
    'amounts',
    'Different amounts asked for; 10 EUR and 10 USD are two, 10 and 10.00 are one.',
    (event) => event.amount,
  ),
  distinctOrders: createDistinctFact('orders', 'Different orders asked for.', (event) => event.order),
  distinctSellPoints: createDistinctFact('points', 'Different points of sale.', (event) => event.sellPoint),
  distinctFingerprints: createDistinctFact(
    'devices',
    'Different fingerprints of the scores that preceded the requests.',
    (event) => event.fingerprint,
  ),
  distinctIps: createDistinctFact(
    'addresses',
    'Different IP addresses of the scores that preceded the requests.',
    (event) => event.ip,
  ),
} as const satisfies Record<string, WindowedFact>;

/** Creates a fact that counts the requests of one kind. `tally` returns how many requests of a day are of that kind. */
function createRequestFact(
  description: string,
  isCounted: (event: VerdictEvent) => boolean,
  tally: (day: DayTally) => number,
): WindowedFact {
  return createDayWindowFact({
    domain: TALLIED_REQUESTS_DOMAIN,
    domainWithinDay: createCountDomain(EVENTS_MAX),
    unit: 'requests',
    description: `${description} Counted up to ${EVENTS_MAX}, and up to ${DAY_COUNT_MAX} of each answer for each earlier day.`,
    within: (context, windowMs) => countWhere(listEventsWithin(context, windowMs), isCounted),
    onDays: ({ events, tallies }) =>
      tallies.reduce((total, day) => total + tally(day), countWhere(events, isCounted)),
  });
}

function createDistinctFact(
  unit: string,
  description: string,
  pick: (event: VerdictEvent) => string | null,
): WindowedFact {
  return windowedFact(
    createCountDomain(EVENTS_MAX),
    unit,
    `${description} ${REQUESTS_NOTE}`,
    EVENT_WINDOW_MS_MAX,
    (context, windowMs) => countDistinct(listEventsWithin(context, windowMs), pick),
  );
}

/** Returns the events within a window. Events are sorted by time, so these are the last ones of the list. */
function listEventsWithin({ state, now }: FactContext, windowMs: number): readonly VerdictEvent[] {
  const { events } = state;
  let first = events.length;
  while (first > 0 && (events[first - 1]?.at ?? 0) > now - windowMs) first--;
  return first === 0 ? events : events.slice(first);
}

function countWhere(events: readonly VerdictEvent[], holds: (event: VerdictEvent) => boolean): number {
  let total = 0;
  for (const event of events) if (holds(event)) total++;
  return total;
}

function countDistinct(
  events: readonly VerdictEvent[],
  pick: (event: VerdictEvent) => string | null,
): number {
  // Most payers ask once or twice. A set would cost more than the rest of this function.
  const [only] = events;
  if (events.length < 2) return only === undefined || pick(only) === null ? 0 : 1;
  const seen = new Set<string>();
  for (const event of events) {
    const value = pick(event);
    if (value !== null) seen.add(value);
  }
  return seen.size;
}
