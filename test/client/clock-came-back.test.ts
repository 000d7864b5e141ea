import { expect } from 'chai';
import fc from 'fast-check';
import { withClockBack } from '../../src/client/clock-came-back.ts';
import { waitRemainingMs } from '../../src/client/ladder.ts';
import { anyState } from '../rule-fixtures/random-states.ts';

const DAY_MS = 24 * 3600_000;

describe('a payer whose clock came back', () => {
  const aheadMs = fc.integer({ min: 2001, max: 400 * DAY_MS });

  it('waits as long as was left, and was seen at no later time than now', () => {
    fc.assert(
      fc.property(anyState, aheadMs, (state, ahead) => {
        const now = state.lastAt - ahead;
        const back = withClockBack(state, now);
        expect(back.lastAt).to.equal(now);
        expect(waitRemainingMs(back.ladder, now)).to.equal(waitRemainingMs(state.ladder, state.lastAt));
        for (const { at } of [...back.events, ...back.endedWaits]) expect(at).to.be.at.most(now);
        for (const { occurredAt } of back.outcomes.recent) expect(occurredAt).to.be.at.most(now);
        for (const at of [back.firstSeenAt, back.lastVerdictAt]) expect(at ?? now).to.be.at.most(now);
        expect(withClockBack(back, now)).to.equal(back);
      }),
    );
  });

  it('keeps the order of what happened', () => {
    fc.assert(
      fc.property(anyState, aheadMs, (state, ahead) => {
        const times = withClockBack(state, state.lastAt - ahead).events.map(({ at }) => at);
        const before = state.events.map(({ at }) => at);
        const isSorted = (some: readonly number[]) =>
          some.every((at, index) => at >= (some[index - 1] ?? at));
        if (isSorted(before) && before.every((at) => at > state.lastAt - ahead))
          expect(isSorted(times)).to.equal(true);
      }),
    );
  });

  it('is the same while clocks differ by no more than two seconds', () => {
    fc.assert(
      fc.property(anyState, fc.integer({ min: -DAY_MS, max: 2000 }), (state, ahead) => {
        expect(withClockBack(state, state.lastAt - ahead)).to.equal(state);
      }),
    );
  });
});
