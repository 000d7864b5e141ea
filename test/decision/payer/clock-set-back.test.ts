import { expect } from 'chai';
import fc from 'fast-check';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-set-back.ts';
import { getRemainingWaitMs } from '#decision/payer/ladder.ts';
import { anyState } from '../../rule-fixtures/random-states.ts';
import { paid, unpaid } from './told-orders.ts';

const DAY_MS = 24 * 3600_000;

/** All moments that a state notes. */
function momentsOf({ events, endedWaits, outcomes, hints, firstSeenAt, lastVerdictAt }: ClientState) {
  const { recent, older } = outcomes;
  const reports = recent.flatMap((order) => [order, ...(order.reports ?? [])]);
  const asked = hints === null ? [] : [{ at: hints.scoredAt }, ...hints.asked];
  return [
    ...[...events, ...endedWaits, ...asked].map(({ at }) => at),
    ...reports.map(({ occurredAt }) => occurredAt),
    ...(hints?.shown ?? []).map(({ lastAt }) => lastAt),
    ...[firstSeenAt, lastVerdictAt, older.lastPaidAt, older.lastUnpaidAt].filter((at) => at !== null),
  ];
}

/** The place of each number among them all. */
function ranks(numbers: readonly number[]): readonly number[] {
  const sorted = [...new Set(numbers)].toSorted((a, b) => a - b);
  return numbers.map((number) => sorted.indexOf(number));
}

describe('a payer whose clock came back', () => {
  const aheadMs = fc.integer({ min: 2001, max: 400 * DAY_MS });

  it('waits as long as was left, and was seen at no later time than now', () => {
    fc.assert(
      fc.property(anyState, aheadMs, (state, ahead) => {
        const now = state.lastAt - ahead;
        const back = moveStateBack(state, now);
        expect(back.lastAt).to.equal(now);
        expect(getRemainingWaitMs(back.ladder, now)).to.equal(getRemainingWaitMs(state.ladder, state.lastAt));
        const moments = momentsOf(back);
        // Later by a millisecond for each that must stay after the one before.
        for (const at of moments) expect(at).to.be.at.most(now + moments.length);
        expect(moveStateBack(back, now)).to.equal(back);
      }),
    );
  });

  it('keeps the order of all that happened', () => {
    fc.assert(
      fc.property(anyState, aheadMs, (state, ahead) => {
        const before = momentsOf(state);
        const after = momentsOf(moveStateBack(state, state.lastAt - ahead));
        expect(ranks(after)).to.deep.equal(ranks(before));
      }),
    );
  });

  it('keeps a payment later than the reversal that was reported before the clock was ahead', () => {
    const reports = [unpaid(1000, 'REVERSED'), paid(90_000)];
    const order = { token: 'order', outcome: 'PAID', cause: null, occurredAt: 90_000, reports } as const;
    const outcomes = { ...UNKNOWN_CLIENT_STATE.outcomes, paidCount: 1, recent: [order] };
    const state = { ...UNKNOWN_CLIENT_STATE, firstSeenAt: 1000, lastAt: 190_000, outcomes };
    const [back] = moveStateBack(state, 60_000).outcomes.recent;
    expect(back?.reports?.map(({ occurredAt }) => occurredAt)).to.deep.equal([1000, 1001]);
    expect(back?.occurredAt).to.equal(1001);
  });

  it('is the same while clocks differ by no more than two seconds', () => {
    fc.assert(
      fc.property(anyState, fc.integer({ min: -DAY_MS, max: 2000 }), (state, ahead) => {
        expect(moveStateBack(state, state.lastAt - ahead)).to.equal(state);
      }),
    );
  });
});
