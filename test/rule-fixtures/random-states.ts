import fc from 'fast-check';
import { noteAttributeValues } from '#decision/payer/attribute-values.ts';
import type { Binding, ClientState, Override, VerdictEvent } from '#decision/payer/client-state.ts';
import { EVENTS_MAX, OVERRIDE_GROUPS } from '#decision/payer/client-state.ts';
import { NO_DAY_TALLIES, type PackedDayTallies, tallyRequests } from '#decision/payer/day-tallies.ts';
import type { Hint, Hints } from '#decision/payer/hints.ts';
import { addShownDeviceToPacked } from '#decision/payer/known-devices.ts';
import type { Ladder } from '#decision/payer/ladder.ts';
import {
  type OrderOutcome,
  OUTCOME_CAUSES,
  type Outcome,
  type ReportedResult,
} from '#decision/payer/order.ts';
import {
  compareOrdersByTime,
  findCountedOutcome,
  type OutcomeTally,
  RECENT_OUTCOMES_MAX,
  type RecentOrder,
  summarizeOlderOutcomes,
} from '#decision/payer/outcomes.ts';

/** 2026-01-01. */
export const NOW = Date.UTC(2026, 0, 1);

const DAY_MS = 86_400_000;

/** A moment of the last two days, often exactly a round time ago. */
const past = fc.oneof(
  fc.integer({ min: 0, max: 2 * DAY_MS }).map((age) => NOW - age),
  fc.constantFrom(0, 1, 999, 1000, 59_999, 60_000, 60_001, 3_600_000, DAY_MS).map((age) => NOW - age),
);
const future = fc.integer({ min: 1, max: 30 * DAY_MS }).map((ahead) => NOW + ahead);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const token = fc.constantFrom('aaaaaa', 'bbbbbb', 'cccccc', 'dddddd');
const money = fc.constantFrom('25 EUR', '0.1 EUR', '0.2 EUR', '3 USDT');
const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });

const event: fc.Arbitrary<VerdictEvent> = fc.record({
  at: past,
  early: fc.boolean(),
  granted: fc.boolean(),
  waited: fc.boolean(),
  blocked: fc.boolean(),
  settled: fc.boolean(),
  method: token,
  amount: fc.oneof(token, money),
  order: token,
  sellPoint: token,
  fingerprint: maybe(token),
  ip: maybe(token),
});

const ladder: fc.Arbitrary<Ladder> = fc.record({
  level: fc.nat(20),
  attemptOpen: fc.boolean(),
  waitUntil: maybe(fc.oneof(past, future)),
});

const byTime = (a: { readonly at: number }, b: { readonly at: number }) => a.at - b.at;

const result: fc.Arbitrary<ReportedResult> = fc.constantFrom<ReportedResult[]>(
  { outcome: 'PAID', cause: null },
  ...[null, ...OUTCOME_CAUSES].map((cause) => ({ outcome: 'UNPAID', cause }) as const),
);

const report: fc.Arbitrary<OrderOutcome> = fc
  .record({ result, occurredAt: past })
  .map(({ result: told, occurredAt }) => ({ ...told, occurredAt }));

const order: fc.Arbitrary<RecentOrder> = fc
  .record(
    {
      told: report,
      token: fc.string({ minLength: 6, maxLength: 6, unit: fc.constantFrom(...'abcXYZ-_09') }),
      amount: money,
      reports: fc.array(report, { minLength: 2, maxLength: 3 }),
    },
    { requiredKeys: ['told', 'token'] },
  )
  .map(({ told, ...rest }) => ({ ...told, ...rest }));

/** Some recent outcomes, and a summary of older ones that fits their number. */
const outcomes: fc.Arbitrary<OutcomeTally> = fc
  .record({
    recent: fc
      .uniqueArray(order, { maxLength: RECENT_OUTCOMES_MAX, selector: ({ token }) => token })
      .map((recent) => recent.toSorted(compareOrdersByTime)),
    olderPaid: fc.nat(500),
    olderUnpaid: fc.nat(500),
    olderTechnical: fc.nat(9),
    lastPaidAt: past,
    lastUnpaidAt: past,
    unpaidChain: fc.nat(500),
  })
  .map(({ recent, olderPaid, olderUnpaid, olderTechnical, ...older }) => {
    const counted = (wanted: Outcome | null) =>
      recent.filter((known) => findCountedOutcome(known) === wanted).length;
    const tally = {
      paidCount: counted('PAID') + olderPaid,
      unpaidCount: counted('UNPAID') + olderUnpaid,
      neitherCount: counted(null) + olderTechnical,
      recent,
      older,
    };
    return { ...tally, older: summarizeOlderOutcomes(tally) };
  });

const hint: fc.Arbitrary<Hint> = fc
  .record({
    kind: fc.constantFrom('fingerprint', 'ip', 'noScript', 'script', 'trap', 'userAgent', 'automated', 'app'),
    name: fc.oneof(text, token),
  })
  .map(({ kind, name }) => ({ kind, id: kind === 'fingerprint' || kind === 'ip' ? name : '' }));

const said: fc.Arbitrary<Hint> = fc
  .record({ name: text, value: fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)) })
  .map((attribute) => ({ kind: 'attribute', id: '', attribute }));

const hints: fc.Arbitrary<Hints> = fc.record({
  scoredAt: past,
  shown: fc.array(fc.record({ hint: fc.oneof({ weight: 8, arbitrary: hint }, said), lastAt: past }), {
    maxLength: 8,
  }),
  asked: fc.array(
    fc.record({
      request: token,
      at: past,
      changes: fc.nat(),
      knownHints: fc.array(hint, { maxLength: 4 }),
      devices: fc.record({ fingerprints: fc.nat(8), ips: fc.nat(8) }),
    }),
    {
      maxLength: 8,
    },
  ),
});

/** Devices that were shown one after the other within the last 80 days. */
const devices: fc.Arbitrary<string> = fc
  .array(fc.record({ id: token, at: fc.nat(80 * DAY_MS).map((age) => NOW - age) }), { maxLength: 12 })
  .map((shown) =>
    shown
      .toSorted(byTime)
      .reduce((packed, { id, at }) => addShownDeviceToPacked(packed, { id, formerId: null }, at), ''),
  );

/** Requests of the last 40 days that are remembered by day. */
const dayTallies: fc.Arbitrary<PackedDayTallies> = fc
  .array(
    fc
      .record({ asked: event, age: fc.nat(40 * DAY_MS) })
      .map(({ asked, age }) => ({ ...asked, at: NOW - age })),
    { maxLength: 20 },
  )
  .map((asked) => tallyRequests(NO_DAY_TALLIES, asked.toSorted(byTime), new Set(asked), NOW));

/** Values of attributes that verdicts of the last days had. */
const attributeValues: fc.Arbitrary<string> = fc
  .array(fc.record({ name: fc.constantFrom('card', 'mail'), value: token, age: fc.nat(6 * DAY_MS) }), {
    maxLength: 20,
  })
  .map((seen) =>
    seen
      .toSorted((one, other) => other.age - one.age)
      .reduce((packed, { name, value, age }) => noteAttributeValues(packed, [[name, value]], NOW - age), ''),
  );

const binding: fc.Arbitrary<Binding> = fc.record({
  requisiteRef: text,
  acceptorKeys: fc.array(text, { minLength: 1, maxLength: 3 }),
  method: maybe(fc.constantFrom('card', 'transfer')),
  expiresAt: maybe(fc.oneof(past, future)),
});

const override: fc.Arbitrary<Override> = fc.record({
  group: fc.constantFrom(...OVERRIDE_GROUPS),
  reason: text,
  by: text,
  at: past,
  expiresAt: maybe(fc.oneof(past, future)),
});

/** Any state that a client can be in at NOW. */
export const anyState: fc.Arbitrary<ClientState> = fc
  .record({
    seq: fc.nat(),
    firstSeenAt: maybe(fc.oneof(past, fc.constant(0))),
    lastAt: fc.constant(NOW),
    lastVerdictAt: maybe(past),
    changes: fc.nat(),
    ladder,
    lastVerdictBlocked: fc.boolean(),
    lastWaitMs: fc.nat(365 * DAY_MS),
    lastWaitLadder: maybe(fc.constantFrom('patient', 'slow-methods')),
    events: fc.array(event, { maxLength: EVENTS_MAX }).map((events) => events.toSorted(byTime)),
    outcomes,
    hints: maybe(hints),
    knownDevices: fc.record({ fingerprints: devices, ips: devices }),
    dayTallies,
    attributeValues,
    binding: maybe(binding),
    override: maybe(override),
    stage: maybe(fc.record({ since: past, blocked: fc.boolean(), waited: fc.boolean(), bot: fc.boolean() })),
    endedWaits: fc.array(fc.record({ seq: fc.nat(), at: past }), { maxLength: 3 }),
  })
  .map((state) => {
    const isWaiting = state.ladder.level > 0 && state.lastWaitMs > 0;
    return isWaiting ? state : { ...state, lastWaitMs: 0, lastWaitLadder: null };
  });
