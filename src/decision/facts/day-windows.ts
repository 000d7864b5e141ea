import { EVENT_WINDOW_MS_MAX, EVENTS_MAX, type VerdictEvent } from '#decision/payer/client-state.ts';
import {
  DAY_COUNT_MAX,
  type DayTally,
  TALLIED_DAYS_MAX,
  TALLIED_METHODS_MAX,
  toDayNumber,
  toTalliedMethod,
  unpackDayTallies,
} from '#decision/payer/day-tallies.ts';
import { createCountDomain, type FactContext, type FactDomain, type WindowedFact } from './fact.ts';

const DAY_MS = 24 * 3600_000;

/**
 * The most requests that a window can have. For each day, attempts, waits and refusals are each counted up to
 * DAY_COUNT_MAX. The newest requests are counted in addition.
 */
const REQUESTS_MAX = TALLIED_DAYS_MAX * 3 * DAY_COUNT_MAX + EVENTS_MAX;

/** The domain of a count of requests, whatever its window. */
export const TALLIED_REQUESTS_DOMAIN = createCountDomain(REQUESTS_MAX);

/** The domain of a count of methods, whatever its window. */
export const TALLIED_METHODS_DOMAIN = createCountDomain(EVENTS_MAX + TALLIED_METHODS_MAX);

/** The sentence that explains windows above a day, for the descriptions of facts that have such windows. */
export const WHOLE_DAYS_NOTE = `A window above a day counts whole days of UTC, today included: up to ${TALLIED_DAYS_MAX}d.`;

/** The remembered requests of some whole days of UTC. The last day is today. */
export interface RememberedRequests {
  readonly events: readonly VerdictEvent[];
  /** Counts of the requests that are no longer among the events. */
  readonly tallies: readonly DayTally[];
}

interface TalliedFact {
  /** The domain for every window. `domainWithinDay` is a narrower one for windows up to a day. */
  readonly domain: FactDomain;
  readonly domainWithinDay?: FactDomain;
  readonly unit: string;
  readonly description: string;
  /** Computes the fact for a window up to a day. */
  readonly within: (context: FactContext, windowMs: number) => number;
  /**
   * Computes the fact for a window of several whole days. The result is never less than that of `within` for a
   * shorter window.
   */
  readonly onDays: (seen: RememberedRequests, context: FactContext) => number;
}

/** Creates a fact that is exact for windows up to a day, and that counts whole days for longer windows. */
export function createDayWindowFact({
  unit,
  description,
  within,
  onDays,
  ...domains
}: TalliedFact): WindowedFact {
  return {
    kind: 'windowed',
    ...domains,
    unit,
    description: `${description} ${WHOLE_DAYS_NOTE}`,
    longestWindowMs: TALLIED_DAYS_MAX * DAY_MS,
    wholeDaysAboveMs: EVENT_WINDOW_MS_MAX,
    sharing: null,
    read: (context, windowMs) =>
      windowMs <= EVENT_WINDOW_MS_MAX
        ? within(context, windowMs)
        : onDays(findDaysSeen(context, windowMs), context),
  };
}

function findDaysSeen({ state, now }: FactContext, windowMs: number): RememberedRequests {
  const before = toDayNumber(now) - windowMs / DAY_MS;
  return {
    events: state.events.filter(({ at }) => toDayNumber(at) > before),
    tallies: unpackDayTallies(state.dayTallies).filter(({ day }) => day > before),
  };
}

/** Counts the different payment methods of some days. */
export function countDistinctMethods({ events, tallies }: RememberedRequests): number {
  const methods = new Set(events.map(({ method }) => method));
  const names = new Set(events.map(({ method }) => toTalliedMethod(method)));
  const older = new Set(tallies.flatMap((tally) => tally.methods).filter((name) => !names.has(name)));
  return methods.size + older.size;
}

/**
 * Lists the amounts of the orders that were attempted on some days, in the form of `formatMoney`. Each order is
 * counted once a day, with its newest attempt. `asked` is the request that is being decided.
 */
export function listAttemptedAmountsOfDays(
  { events, tallies }: RememberedRequests,
  asked: VerdictEvent | null,
): readonly string[] {
  const attempts = events.filter((event) => event.granted || event === asked);
  const newest = new Map(attempts.map((event) => [`${event.order} ${toDayNumber(event.at)}`, event.amount]));
  const older = tallies.flatMap((tally) => [...tally.amounts].map(([currency, sum]) => `${sum} ${currency}`));
  return [...newest.values(), ...older];
}
