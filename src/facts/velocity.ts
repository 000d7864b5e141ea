import { EVENT_WINDOW_MS_MAX, EVENTS_MAX, type VerdictEvent } from '../client/client-state.ts';
import { count, type FactContext, type WindowedFact } from './fact.ts';

/** What a distinct count cannot see: requests before the ones that are remembered. */
const COUNTED_AMONG = `Counted among the newest ${EVENTS_MAX} requests.`;

/** How often and how changeably the client asks for verdicts. */
export const VELOCITY_FACTS = {
  verdicts: velocity('requests', 'Verdict requests of this client.', (events) => events.length),
  attempts: velocity('requests', 'Verdicts that let a requisite be shown, before this request.', (events) =>
    countWhere(events, (event) => event.granted),
  ),
  earlyRequests: velocity('requests', 'Verdict requests made before an imposed wait was over.', (events) =>
    countWhere(events, (event) => event.early),
  ),
  distinctMethods: distinct('methods', 'Different payment methods asked for.', (event) => event.method),
  distinctAmounts: distinct(
    'amounts',
    'Different amounts asked for; 10 EUR and 10 USD are two, 10 and 10.00 are one.',
    (event) => event.amount,
  ),
  distinctOrders: distinct('orders', 'Different orders asked for.', (event) => event.order),
  distinctSellPoints: distinct('points', 'Different points of sale.', (event) => event.sellPoint),
  distinctFingerprints: distinct(
    'devices',
    'Different fingerprints of the scores that preceded the requests.',
    (event) => event.fingerprint,
  ),
  distinctIps: distinct(
    'addresses',
    'Different IP addresses of the scores that preceded the requests.',
    (event) => event.ip,
  ),
} as const satisfies Record<string, WindowedFact>;

function velocity(
  unit: string,
  description: string,
  read: (events: readonly VerdictEvent[]) => number,
  bound = `Counted up to ${EVENTS_MAX}.`,
): WindowedFact {
  return {
    kind: 'windowed',
    domain: count(EVENTS_MAX),
    unit,
    description: `${description} ${bound}`,
    longestWindowMs: EVENT_WINDOW_MS_MAX,
    sharing: null,
    read: (context, windowMs) => read(eventsWithin(context, windowMs)),
  };
}

function distinct(
  unit: string,
  description: string,
  pick: (event: VerdictEvent) => string | null,
): WindowedFact {
  return velocity(unit, description, (events) => countDistinct(events, pick), COUNTED_AMONG);
}

/** Events are in time order, so a window is a tail of them. */
function eventsWithin({ state, now }: FactContext, windowMs: number): readonly VerdictEvent[] {
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
  // Most payers ask once or twice, and a set costs more than all the rest.
  const [only] = events;
  if (events.length < 2) return only === undefined || pick(only) === null ? 0 : 1;
  const seen = new Set<string>();
  for (const event of events) {
    const value = pick(event);
    if (value !== null) seen.add(value);
  }
  return seen.size;
}
