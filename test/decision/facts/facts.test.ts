import { expect } from 'chai';
import fc from 'fast-check';
import { FACTS } from '#decision/facts/catalogue.ts';
import {
  CLIENTS_ON_DEVICE_MAX,
  type Conclusions,
  type Fact,
  type FactContext,
  type FactDomain,
  type FactValue,
  NO_SIGHTINGS,
  NOBODY_SEEN,
  type NullableFactValue,
} from '#decision/facts/fact.ts';
import { ORDER_FACTS } from '#decision/facts/history.ts';
import { KNOWN_DEVICE_FACTS } from '#decision/facts/known-devices.ts';
import { CALENDAR_FACTS, SHARING_FACTS } from '#decision/facts/request.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  type ClientState,
  isNewClient,
  UNKNOWN_CLIENT_STATE,
  type VerdictEvent,
} from '#decision/payer/client-state.ts';
import { type DayTally, unpackDayTallies } from '#decision/payer/day-tallies.ts';
import { getKnownHints, type KnownHints } from '#decision/payer/hints.ts';
import { addShownDeviceToPacked } from '#decision/payer/known-devices.ts';
import type { Outcome } from '#decision/payer/order.ts';
import type { OutcomeTally } from '#decision/payer/outcomes.ts';
import { anyState, NOW } from '../../rule-fixtures/random-states.ts';
import { eventAt } from '../payer/event-at.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NO_HINTS = getKnownHints(null, NOW);

const WINDOWS_MS = [1000, MINUTE_MS, 3_600_000, DAY_MS] as const;

const UNBOUND: Conclusions = { clientGroup: 'NEW', botWeight: 0, isBot: false };

function contextOf(state: Partial<ClientState>, more: Partial<FactContext> = {}): FactContext {
  const known = { ...UNKNOWN_CLIENT_STATE, ...state };
  return {
    state: known,
    isNew: isNewClient(known),
    ladder: known.ladder,
    previousVerdictAt: known.lastVerdictAt,
    sightings: NO_SIGHTINGS,
    hints: getKnownHints(known.hints, NOW),
    request: { amount: 25, currency: 'EUR', method: 'card', sellPointKey: 'shop-1' },
    smoothing: { prior: 0.5, weight: 2 },
    isListed: (list) => list === 'blocked-devices',
    attributes: {},
    asked: null,
    platform: toPlatformName('demo'),
    timeZone: 'UTC',
    now: NOW,
    ...more,
  };
}

const anyCount = fc.integer({ min: 0, max: CLIENTS_ON_DEVICE_MAX });
const count = fc.record({
  clients: anyCount,
  verdicts: anyCount,
  paying: anyCount,
  unpaid: anyCount,
  blocked: anyCount,
  unpaidOrders: anyCount,
});
const sighted = fc
  .array(count, { minLength: 4, maxLength: 4 })
  .map((counts) => new Map(WINDOWS_MS.map((windowMs, n) => [windowMs, counts[n] ?? NOBODY_SEEN])));

const anyContext: fc.Arbitrary<FactContext> = fc
  .record({
    state: anyState,
    isNew: fc.boolean(),
    sightings: fc.record({ fingerprint: sighted, ip: sighted }),
    request: fc.record({
      amount: fc.double({ min: 0, max: 1e20, noNaN: true }),
      currency: fc.constantFrom('EUR', 'USDT'),
      method: fc.constantFrom('card', 'transfer', 'cash'),
      sellPointKey: fc.string({ minLength: 1 }),
    }),
  })
  .map((drawn) => contextOf(drawn.state, drawn));

const anyConclusions: fc.Arbitrary<Conclusions> = fc.record({
  clientGroup: fc.constantFrom('NEW', 'STICKY', 'PAYING', 'TRUSTED', 'BLOCKED'),
  botWeight: fc.integer({ min: 0, max: 500_000 }),
  isBot: fc.boolean(),
});

/** The value of a fact; a concluded one from `conclusions`. */
function read(
  name: string,
  context: FactContext,
  windowMs = MINUTE_MS,
  conclusions = UNBOUND,
): NullableFactValue {
  const fact = FACTS.get(name);
  if (fact === undefined) throw new Error(`there is no fact ${name}`);
  return readFact(fact, context, windowMs, conclusions);
}

function readFact(
  fact: Fact,
  context: FactContext,
  windowMs: number,
  conclusions: Conclusions,
): NullableFactValue {
  switch (fact.kind) {
    case 'plain':
    case 'circumstantial':
    case 'attribute':
      return fact.read(context);
    case 'windowed':
      return fact.read(context, windowMs);
    case 'listed':
      return fact.read(context, 'blocked-devices');
    case 'concluded':
      return fact.read(conclusions);
    default:
      return fact satisfies never;
  }
}

function inDomain(value: FactValue, domain: FactDomain): boolean {
  switch (domain.type) {
    case 'number':
      return (
        typeof value === 'number' &&
        value >= domain.min &&
        value <= domain.max &&
        (!domain.integer || Number.isSafeInteger(value))
      );
    case 'boolean':
      return typeof value === 'boolean';
    case 'enum':
      return typeof value === 'string' && domain.values.includes(value);
    case 'text':
      return typeof value === 'string' && value !== '';
    default:
      return domain satisfies never;
  }
}

type Naive = (context: FactContext) => NullableFactValue;

function wasShown({ hints }: ClientState, wanted: string): boolean {
  return (hints?.shown ?? []).some(({ hint, lastAt }) => hint.kind === wanted && lastAt > NOW - DAY_MS);
}

/** The remembered orders that count, or that count as `wanted`. */
function naiveOrders({ recent }: ClientState['outcomes'], wanted?: Outcome) {
  return recent.filter(
    ({ outcome, cause }) => cause !== 'TECHNICAL' && (wanted === undefined || outcome === wanted),
  );
}

function naiveLast({ outcomes }: ClientState, wanted: Outcome): number | null {
  const { lastPaidAt, lastUnpaidAt } = outcomes.older;
  let last = wanted === 'PAID' ? lastPaidAt : lastUnpaidAt;
  for (const { occurredAt } of naiveOrders(outcomes, wanted)) last = occurredAt;
  return last;
}

function naiveSeconds(then: number | null): number | null {
  if (then === null) return null;
  const seconds = Math.floor((NOW - then) / 1000);
  return seconds > 999_999_999 ? 999_999_999 : seconds;
}

function isLive(item: { readonly expiresAt: number | null } | null): boolean {
  return item !== null && (item.expiresAt === null || item.expiresAt > NOW);
}

/** The devices in a packed list, read as one number of 54 bits each. */
function naiveDevices(packed: string) {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return (packed.match(/.{9}/gs) ?? []).map((text) => {
    let bits = 0n;
    for (const digit of text) bits = bits * 64n + BigInt(digits.indexOf(digit));
    const name = Number(bits >> 32n);
    return { name, minute: Number((bits >> 9n) % 2n ** 23n), day: Number(bits % 512n) };
  });
}

function naiveFirstSeen({ hints, state }: FactContext, kind: 'fingerprints' | 'ips'): number | null {
  const id = hints[kind].at(-1);
  if (id === undefined) return null;
  const named = addShownDeviceToPacked('', { id, formerId: null }, NOW);
  const [wanted] = naiveDevices(named);
  const known = naiveDevices(state.knownDevices[kind]).find(({ name }) => name === wanted?.name);
  const minutes = known === undefined ? 0 : (Math.floor(NOW / MINUTE_MS) % 2 ** 23) - known.minute;
  const sinceFirst = state.firstSeenAt === null ? Number.POSITIVE_INFINITY : NOW - state.firstSeenAt;
  return Math.floor(Math.min(minutes * MINUTE_MS, sinceFirst) / 1000);
}

function naiveKnown({ hints, state }: FactContext, kind: 'fingerprints' | 'ips'): number | null {
  return hints[kind].length === 0 ? null : naiveDevices(state.knownDevices[kind]).length;
}

function isFresh({ state: { hints } }: FactContext): boolean {
  return hints !== null && hints.scoredAt > NOW - DAY_MS;
}

/** Every fact without a window, computed as its description says it. */
const NAIVE: Readonly<Record<string, Naive>> = {
  isNewClient: ({ isNew }) => isNew,
  paidCount: ({ state }) => state.outcomes.paidCount,
  unpaidCount: ({ state }) => state.outcomes.unpaidCount,
  finalCount: ({ state }) => state.outcomes.paidCount + state.outcomes.unpaidCount,
  unpaidChain: ({ state }) => {
    let chain = state.outcomes.older.unpaidChain;
    for (const { outcome } of naiveOrders(state.outcomes)) chain = outcome === 'PAID' ? 0 : chain + 1;
    return Math.min(chain, 20);
  },
  lastOutcome: ({ state }) => {
    const [last] = naiveOrders(state.outcomes).slice(-1);
    const { lastPaidAt, lastUnpaidAt } = state.outcomes.older;
    if (last !== undefined) return last.outcome;
    if (lastPaidAt === null && lastUnpaidAt === null) return 'NONE';
    return (lastPaidAt ?? -1) >= (lastUnpaidAt ?? -1) ? 'PAID' : 'UNPAID';
  },
  // orders.test.ts has it where the newest order counts for nothing.
  lastCause: ({ state }) => state.outcomes.recent.at(-1)?.cause ?? null,
  // orders.test.ts has it of orders of which a part was taken back.
  secondsSinceLastReversal: ({ state }) => {
    const reversed = state.outcomes.recent.filter(({ cause }) => cause === 'REVERSED');
    return reversed.length === 0
      ? null
      : naiveSeconds(Math.max(...reversed.map(({ occurredAt }) => occurredAt)));
  },
  paymentScore: ({ state: { outcomes } }) => {
    const final = outcomes.paidCount + outcomes.unpaidCount;
    return final === 0 ? 0.5 : Math.round(((outcomes.paidCount + 1) / (final + 2)) * 10_000) / 10_000;
  },
  secondsSinceFirstSeen: ({ state }) => (state.firstSeenAt === null ? 0 : naiveSeconds(state.firstSeenAt)),
  secondsSinceLastPaid: ({ state }) => naiveSeconds(naiveLast(state, 'PAID')),
  secondsSinceLastUnpaid: ({ state }) => naiveSeconds(naiveLast(state, 'UNPAID')),
  hasBinding: ({ state }) => isLive(state.binding),
  overrideGroup: ({ state }) => (isLive(state.override) ? (state.override?.group ?? 'NONE') : 'NONE'),
  attemptOpen: ({ ladder }) => ladder.attemptOpen,
  ladderLevel: ({ ladder }) => ladder.level,
  waitRemainingSeconds: ({ ladder: { waitUntil } }) =>
    waitUntil === null || waitUntil <= NOW ? 0 : Math.ceil((waitUntil - NOW) / 1000),
  waitServed: ({ ladder: { waitUntil } }) => waitUntil !== null && waitUntil <= NOW,
  secondsSinceLastVerdict: ({ previousVerdictAt }) => naiveSeconds(previousVerdictAt),
  scoredBefore: isFresh,
  honeypotTriggered: ({ state }) => wasShown(state, 'trap'),
  jsOk: ({ state }) => {
    if (wasShown(state, 'noScript')) return false;
    return wasShown(state, 'script') ? true : null;
  },
  userAgentPresent: ({ state }) => wasShown(state, 'userAgent'),
  userAgentIsAutomated: (context) => (isFresh(context) ? wasShown(context.state, 'automated') : null),
  userAgentIsApp: (context) => (isFresh(context) ? wasShown(context.state, 'app') : null),
  fingerprintPresent: ({ state }) => wasShown(state, 'fingerprint'),
  ipPresent: ({ state }) => wasShown(state, 'ip'),
  secondsSinceFingerprintFirstSeen: (context) => naiveFirstSeen(context, 'fingerprints'),
  secondsSinceIpFirstSeen: (context) => naiveFirstSeen(context, 'ips'),
  knownFingerprints: (context) => naiveKnown(context, 'fingerprints'),
  knownIps: (context) => naiveKnown(context, 'ips'),
  amount: ({ request }) => request.amount,
  currency: ({ request }) => request.currency,
  method: ({ request }) => request.method,
  platform: ({ platform }) => platform,
  sellPointKey: ({ request }) => request.sellPointKey,
  bindingFitsMethod: ({ state: { binding }, request }) =>
    isLive(binding) && (binding?.method === null || binding?.method === request.method),
  listed: ({ isListed }) => isListed('blocked-devices'),
  hourOfDay: ({ now, timeZone }) =>
    Number(new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(now)),
  dayOfWeek: ({ now, timeZone }) =>
    new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' }).format(now).toUpperCase(),
};

function distinct(pick: (event: VerdictEvent) => string | null) {
  return (events: readonly VerdictEvent[]) =>
    new Set(events.map(pick).filter((value) => value !== null)).size;
}

/** Every fact over a window of events, from the events inside it. */
const NAIVE_VELOCITY: Readonly<Record<string, (events: readonly VerdictEvent[]) => number>> = {
  verdicts: (events) => events.length,
  attempts: (events) => events.filter(({ granted }) => granted).length,
  waits: (events) => events.filter(({ waited }) => waited).length,
  blocks: (events) => events.filter(({ blocked }) => blocked).length,
  earlyRequests: (events) => events.filter(({ early }) => early).length,
  distinctMethods: distinct(({ method }) => method),
  distinctAmounts: distinct(({ amount }) => amount),
  distinctOrders: distinct(({ order }) => order),
  distinctSellPoints: distinct(({ sellPoint }) => sellPoint),
  distinctFingerprints: distinct(({ fingerprint }) => fingerprint),
  distinctIps: distinct(({ ip }) => ip),
};

/** Every count over whole days, from the requests of those days and the tallies of forgotten ones. */
const NAIVE_DAYS: Readonly<
  Record<string, (events: readonly VerdictEvent[], tallies: readonly DayTally[]) => number>
> = {
  verdicts: (events, tallies) =>
    events.length + total(tallies, ({ granted, waited, blocked }) => granted + waited + blocked),
  attempts: (events, tallies) =>
    events.filter(({ granted }) => granted).length + total(tallies, ({ granted }) => granted),
  waits: (events, tallies) =>
    events.filter(({ waited }) => waited).length + total(tallies, ({ waited }) => waited),
  blocks: (events, tallies) =>
    events.filter(({ blocked }) => blocked).length + total(tallies, ({ blocked }) => blocked),
  earlyRequests: (events, tallies) =>
    events.filter(({ early }) => early).length + total(tallies, ({ early }) => early),
  distinctMethods: (events, tallies) =>
    new Set([...events.map(({ method }) => method.slice(0, 4)), ...tallies.flatMap(({ methods }) => methods)])
      .size,
};

function total(tallies: readonly DayTally[], count: (tally: DayTally) => number): number {
  return tallies.reduce((sum, tally) => sum + count(tally), 0);
}

describe('facts', () => {
  it('each have a naive twin in this test', () => {
    // A test below compares all of them with the sightings.
    const sharing = Object.keys(SHARING_FACTS);
    const concluded = ['clientGroup', 'botWeight', 'isBot'];
    // What it is, a rule set declares; attribute.test.ts has the values.
    const declared = ['attribute', 'distinctAttribute', 'clientsOnAttribute'];
    // orders.test.ts has theirs.
    const orders = Object.keys(ORDER_FACTS);
    const facts = [NAIVE, NAIVE_VELOCITY].flatMap((naive) => Object.keys(naive));
    const named = [...facts, ...orders, ...sharing, ...concluded, ...declared];
    expect([...FACTS.keys()].filter((name) => !named.includes(name))).to.deep.equal([]);
    expect(named.filter((name) => !FACTS.has(name))).to.deep.equal([]);
  });

  it('each have a description that is a sentence, and a unit when they are numbers with one', () => {
    for (const [name, { description }] of FACTS) expect(description, name).to.match(/^[A-Z].*\.$/s);
  });

  for (const [name, naive] of Object.entries(NAIVE)) {
    it(`give ${name} its described value`, () => {
      fc.assert(
        fc.property(anyContext, (context) => {
          expect(read(name, context)).to.equal(naive(context));
        }),
      );
    });
  }

  for (const [name, naive] of Object.entries(NAIVE_VELOCITY)) {
    it(`count ${name} inside each window`, () => {
      fc.assert(
        fc.property(anyContext, fc.constantFrom(...WINDOWS_MS), (context, windowMs) => {
          const inside = context.state.events.filter(({ at }) => at > NOW - windowMs);
          expect(read(name, context, windowMs)).to.equal(naive(inside));
        }),
      );
    });
  }

  for (const [name, naive] of Object.entries(NAIVE_DAYS)) {
    it(`count ${name} on whole days in each window above a day`, () => {
      fc.assert(
        fc.property(anyContext, fc.constantFrom(2, 3, 7, 30), (context, days) => {
          const { events, dayTallies } = context.state;
          const first = Math.floor(NOW / DAY_MS) - days + 1;
          const seen = events.filter(({ at }) => at >= first * DAY_MS);
          const tallies = unpackDayTallies(dayTallies).filter(({ day }) => day >= first);
          expect(read(name, context, days * DAY_MS)).to.equal(naive(seen, tallies));
        }),
      );
    });
  }

  it('are never less in a longer window: within a day, of two days, of thirty', () => {
    fc.assert(
      fc.property(anyContext, fc.nat(2 * DAY_MS), (context, laterMs) => {
        const later = { ...context, now: NOW + laterMs };
        for (const name of [...Object.keys(NAIVE_DAYS), 'attemptedAmount']) {
          const values = [HOUR_MS, DAY_MS, 2 * DAY_MS, 3 * DAY_MS, 30 * DAY_MS].map((windowMs) =>
            Number(read(name, later, windowMs)),
          );
          expect(values, name).to.deep.equal(values.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  it('leave out an event exactly as old as the window, and count one a millisecond younger', () => {
    const seen = (at: number) => eventAt(at, { fingerprint: 'f', ip: 'i' });
    for (const windowMs of WINDOWS_MS) {
      const edge = contextOf({ events: [seen(NOW - windowMs)] });
      const inside = contextOf({ events: [NOW - windowMs, NOW - windowMs + 1, NOW].map(seen) });
      for (const name of ['verdicts', 'distinctMethods', 'distinctIps']) {
        expect(read(name, edge, windowMs), name).to.equal(0);
      }
      expect(read('verdicts', inside, windowMs)).to.equal(2);
    }
  });

  it('take the clients on a device from the sightings of the window, or 0', () => {
    const sightings = {
      fingerprint: new Map([
        [MINUTE_MS, { clients: 4, verdicts: 9, paying: 1, unpaid: 2, blocked: 3, unpaidOrders: 10 }],
      ]),
      ip: new Map([
        [MINUTE_MS, { clients: 8, verdicts: 11, paying: 5, unpaid: 6, blocked: 7, unpaidOrders: 12 }],
      ]),
    };
    const context = contextOf({}, { sightings, hints: { ...NO_HINTS, fingerprints: ['f'], ips: ['i'] } });
    const names = ['clients', 'payingClients', 'unpaidClients', 'blockedClients', 'verdicts', 'unpaidOrders'];
    expect(names.map((name) => read(`${name}OnFingerprint`, context))).to.deep.equal([4, 1, 2, 3, 9, 10]);
    expect(names.map((name) => read(`${name}OnIp`, context))).to.deep.equal([8, 5, 6, 7, 11, 12]);
    expect(names.map((name) => read(`${name}OnIp`, context, DAY_MS))).to.deep.equal([0, 0, 0, 0, 0, 0]);
  });

  it('are not known where nothing tells them: of what never happened, and of no device or score', () => {
    const context = contextOf({});
    const unknown = [...FACTS].filter(([, fact]) => readFact(fact, context, MINUTE_MS, UNBOUND) === null);
    expect(unknown.map(([name]) => name)).to.deep.equal([
      'lastCause',
      'secondsSinceLastPaid',
      'secondsSinceLastUnpaid',
      'secondsSinceLastReversal',
      'secondsSinceLastVerdict',
      ...Object.keys(SHARING_FACTS),
      'jsOk',
      'userAgentIsAutomated',
      'userAgentIsApp',
      ...Object.keys(KNOWN_DEVICE_FACTS),
      'attribute',
      'clientsOnAttribute',
    ]);
    expect(read('secondsSinceFirstSeen', context)).to.equal(0);
  });

  it('are known of a score as far as it went', () => {
    const hints = { ...NO_HINTS, scored: true };
    const seen = (known: Partial<KnownHints>) => {
      const context = contextOf({}, { hints: { ...hints, ...known } });
      return ['jsOk', 'userAgentIsAutomated', 'clientsOnIp'].map((name) => read(name, context));
    };
    expect(seen({})).to.deep.equal([null, false, null]);
    expect(seen({ jsOk: true, ips: ['i'] })).to.deep.equal([true, false, 0]);
    expect(seen({ jsOk: false, userAgentIsAutomated: true })).to.deep.equal([false, true, null]);
  });

  it('are at most 999999999 seconds for what happened in 1970', () => {
    const outcomes: OutcomeTally = {
      ...UNKNOWN_CLIENT_STATE.outcomes,
      paidCount: 1,
      recent: [{ outcome: 'PAID', cause: null, occurredAt: 0, token: 'a' }],
    };
    expect(read('secondsSinceLastPaid', contextOf({ outcomes }))).to.equal(999_999_999);
  });

  it('repeat what earlier rules concluded', () => {
    const conclusions = { clientGroup: 'TRUSTED', botWeight: 3.5, isBot: true } as const;
    const context = contextOf({});
    expect(read('clientGroup', context, 0, conclusions)).to.equal('TRUSTED');
    expect(read('botWeight', context, 0, conclusions)).to.equal(3.5);
    expect(read('isBot', context, 0, conclusions)).to.equal(true);
  });

  it('are always within their declared domain, or not known where they say of whom', () => {
    fc.assert(
      fc.property(
        anyContext,
        anyConclusions,
        fc.constantFrom(...WINDOWS_MS),
        (context, conclusions, windowMs) => {
          for (const [name, fact] of FACTS) {
            const value = readFact(fact, context, windowMs, conclusions);
            const isPossible = value === null ? fact.absence !== undefined : inDomain(value, fact.domain);
            expect(isPossible, `${name} is ${value}`).to.equal(true);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** The calendar facts of a platform at a time in UTC. */
function wall(instant: string, timeZone: string) {
  const circumstances = { platform: toPlatformName('demo'), timeZone, now: Date.parse(instant) };
  return {
    hour: CALENDAR_FACTS.hourOfDay.read(circumstances),
    day: CALENDAR_FACTS.dayOfWeek.read(circumstances),
  };
}

describe('the calendar facts', () => {
  it('use the time zone of the platform, not that of the machine', () => {
    const instant = '2026-01-04T23:30:00Z';
    expect(wall(instant, 'UTC')).to.deep.equal({ hour: 23, day: 'SUNDAY' });
    expect(wall(instant, 'Asia/Kolkata')).to.deep.equal({ hour: 5, day: 'MONDAY' });
    expect(wall(instant, 'America/Los_Angeles')).to.deep.equal({ hour: 15, day: 'SUNDAY' });
  });

  it('leave out the hour that summer time skips', () => {
    expect(wall('2026-03-29T00:59:59Z', 'Europe/Berlin').hour).to.equal(1);
    expect(wall('2026-03-29T01:00:00Z', 'Europe/Berlin').hour).to.equal(3);
  });

  it('repeat the hour that the end of summer time repeats', () => {
    const hours = ['00:30', '01:30', '02:30'].map(
      (time) => wall(`2026-10-25T${time}:00Z`, 'Europe/Berlin').hour,
    );
    expect(hours).to.deep.equal([2, 2, 3]);
  });

  it('begin the day at midnight, hour 0', () => {
    expect(wall('2026-07-05T21:59:59.999Z', 'Europe/Berlin')).to.deep.equal({ hour: 23, day: 'SUNDAY' });
    expect(wall('2026-07-05T22:00:00.000Z', 'Europe/Berlin')).to.deep.equal({ hour: 0, day: 'MONDAY' });
  });
});
