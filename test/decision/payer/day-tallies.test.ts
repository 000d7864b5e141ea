import { expect } from 'chai';
import fc from 'fast-check';
import { parseMoney, sumAmounts } from '#decision/payer/amount.ts';
import {
  addVerdictEvent,
  type ClientState,
  compactState,
  markOrderEventsSettled,
  UNKNOWN_CLIENT_STATE,
  type VerdictEvent,
} from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-set-back.ts';
import { NO_DAY_TALLIES, tallyRequests, unpackDayTallies } from '#decision/payer/day-tallies.ts';
import { roundTripState } from '#decision/payer/state-document.ts';
import { eventAt } from './event-at.ts';

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 0, 15, 12);

const ANSWERS = {
  granted: { granted: true },
  waited: { waited: true },
  early: { waited: true, early: true },
  blocked: { blocked: true },
} as const;

const anyRequest: fc.Arbitrary<Partial<VerdictEvent>> = fc
  .record({
    answer: fc.constantFrom(...Object.values(ANSWERS)),
    method: fc.constantFrom('cardcc', 'transf', 'cashhh'),
    amount: fc.constantFrom('25 EUR', '0.1 EUR', '7.35 USD'),
    order: fc.constantFrom('aaaaaa', 'bbbbbb', 'cccccc'),
  })
  .map(({ answer, ...asked }) => ({ ...asked, ...answer }));

const gapMs = fc.constantFrom(0, 1, HOUR_MS, 5 * HOUR_MS, DAY_MS - 1, DAY_MS, 3 * DAY_MS, 31 * DAY_MS);

/** The payer after another request, as a store gives it back. */
function askOnce(state: ClientState, event: VerdictEvent): ClientState {
  return roundTripState({ ...state, ...addVerdictEvent(state, event), lastAt: event.at });
}

const dayOf = (at: number) => Math.floor(at / DAY_MS);

/** What is known of each of the last 30 days, from the remembered requests and the tallies together. */
function known({ events, dayTallies }: ClientState, now: number) {
  const newest = new Map(
    events.filter(({ granted }) => granted).map((event) => [`${event.order} ${dayOf(event.at)}`, event]),
  );
  return Array.from({ length: 30 }, (_, ago) => {
    const day = dayOf(now) - ago;
    const own = events.filter(({ at }) => dayOf(at) === day);
    const tallies = unpackDayTallies(dayTallies).filter((tally) => tally.day === day);
    const count = (kind: 'granted' | 'waited' | 'blocked' | 'early') =>
      own.filter((event) => event[kind]).length + tallies.reduce((sum, tally) => sum + tally[kind], 0);
    const amounts = [
      ...[...newest.values()].filter(({ at }) => dayOf(at) === day).map(({ amount }) => amount),
      ...tallies.flatMap((tally) => [...tally.amounts].map(([currency, sum]) => `${sum} ${currency}`)),
    ].map(parseMoney);
    const sum = (currency: string) =>
      sumAmounts(amounts.map((money) => (money?.currency === currency ? money.amount : '0')));
    const methods = [
      ...own.map(({ method }) => method.slice(0, 4)),
      ...tallies.flatMap((one) => one.methods),
    ];
    return {
      answers: [count('granted'), count('waited'), count('blocked'), count('early')],
      methods: [...new Set(methods)].toSorted(),
      amounts: [sum('EUR'), sum('USD')],
    };
  });
}

/** The same from all requests that ever were. */
function naivelyKnown(all: readonly VerdictEvent[], now: number) {
  return known({ ...UNKNOWN_CLIENT_STATE, events: all }, now);
}

describe('the requests of a payer by day', () => {
  it('are as all requests give them, whenever the requests themselves are forgotten', () => {
    const step = fc.record({
      request: anyRequest,
      gap: gapMs,
      isReported: fc.boolean(),
      isSwept: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let [state, now, all]: [ClientState, number, VerdictEvent[]] = [UNKNOWN_CLIENT_STATE, NOW, []];
        for (const { request, gap, isReported, isSwept } of steps) {
          now += gap;
          const event = eventAt(now, request);
          all.push(event);
          state = askOnce(state, event);
          if (isReported) state = { ...state, events: markOrderEventsSettled(state.events, event.order) };
          if (isSwept) state = roundTripState(compactState(state, now));
          expect(known(state, now)).to.deep.equal(naivelyKnown(all, now));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('take nothing while a payer was asked within a day alone', () => {
    let state = askOnce(UNKNOWN_CLIENT_STATE, eventAt(NOW));
    expect(state.dayTallies).to.equal(NO_DAY_TALLIES);
    state = askOnce(state, eventAt(NOW + DAY_MS - 1));
    expect(state.dayTallies).to.equal(NO_DAY_TALLIES);
  });

  it('take at most 12 bytes for each day on which the payer asked, beside the names of methods and currencies', () => {
    const requests = fc.array(
      anyRequest.map((request) => ({ ...request, amount: '123456.78 EUR' })),
      {
        minLength: 1,
        maxLength: 5,
      },
    );
    fc.assert(
      fc.property(fc.array(requests, { minLength: 1, maxLength: 29 }), (days) => {
        const asked = days.flatMap((one, day) =>
          one.map((request) => eventAt(NOW - (29 - day) * DAY_MS, request)),
        );
        const dayTallies = tallyRequests(
          NO_DAY_TALLIES,
          asked,
          new Set(asked.filter(({ granted }) => granted)),
          NOW,
        );
        const [rows = '', ...names] = dayTallies.split(' ');
        expect(rows.length).to.be.at.most(3 + 12 * days.length);
        expect(names.join('').length).to.be.at.most(3 * 4 + 3);
      }),
    );
  });

  it('are forgotten when no window of 30 days reaches them', () => {
    const state = askOnce(askOnce(UNKNOWN_CLIENT_STATE, eventAt(NOW)), eventAt(NOW + 2 * DAY_MS));
    const midnight = (dayOf(NOW) + 30) * DAY_MS;
    expect(
      unpackDayTallies(compactState(state, midnight - 1).dayTallies).map(({ day }) => day),
    ).to.deep.equal([dayOf(NOW), dayOf(NOW) + 2]);
    expect(unpackDayTallies(compactState(state, midnight).dayTallies).map(({ day }) => day)).to.deep.equal([
      dayOf(NOW) + 2,
    ]);
    expect(compactState(state, midnight + 2 * DAY_MS).dayTallies).to.equal(NO_DAY_TALLIES);
  });

  it('count each order once a day, by its newest grant of that day, and once more on another day', () => {
    const asked = [
      eventAt(NOW, { granted: true, amount: '10 EUR' }),
      eventAt(NOW + HOUR_MS, { granted: true, amount: '15 EUR' }),
      eventAt(NOW + 2 * HOUR_MS, { blocked: true, amount: '99 EUR' }),
      eventAt(NOW + DAY_MS, { granted: true, amount: '20 EUR' }),
    ];
    let state = asked.reduce(askOnce, UNKNOWN_CLIENT_STATE);
    state = { ...state, events: markOrderEventsSettled(state.events, 'o') };
    const tallies = unpackDayTallies(compactState(state, NOW + 3 * DAY_MS).dayTallies);
    expect(tallies.map(({ granted, blocked, amounts }) => [granted, blocked, ...amounts])).to.deep.equal([
      [2, 1, ['EUR', '15']],
      [1, 0, ['EUR', '20']],
    ]);
  });

  it('keep 63 of each answer, sums of seven digits, and the eight methods that were asked for last', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      eventAt(NOW + n, { granted: true, order: `order${n}`, amount: '1234567.89 EUR', method: `m${n % 10}` }),
    );
    const [tally] = unpackDayTallies(tallyRequests(NO_DAY_TALLIES, many, new Set(many), NOW));
    expect(tally?.granted).to.equal(63);
    expect(Number(tally?.amounts.get('EUR'))).to.be.closeTo(123_456_789, 1000);
    expect(tally?.methods).to.have.lengthOf(8);
    expect(tally?.methods).to.not.include.members(['m0--', 'm1--']);
  });

  it('lose nothing when a clock comes back, and are of no later day than today', () => {
    const requests = fc.array(fc.record({ request: anyRequest, gap: gapMs }), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(requests, fc.integer({ min: 2001, max: 60 * DAY_MS }), (steps, aheadMs) => {
        let [state, now] = [UNKNOWN_CLIENT_STATE, NOW];
        for (const { request, gap } of steps) {
          now += gap;
          state = askOnce(state, eventAt(now, request));
        }
        const back = moveStateBack(state, now - aheadMs);
        const sum = ({ dayTallies }: ClientState) =>
          unpackDayTallies(dayTallies).reduce(
            (total, { granted, waited, blocked }) => total + granted + waited + blocked,
            0,
          );
        expect(sum(back)).to.equal(sum(state));
        for (const { day } of unpackDayTallies(back.dayTallies))
          expect(day).to.be.at.most(dayOf(now - aheadMs));
        expect(roundTripState(back)).to.deep.equal(back);
      }),
    );
  });
});
