import { expect } from 'chai';
import fc from 'fast-check';
import { compact, UNKNOWN_CLIENT } from '../../src/client/client-state.ts';
import { asStored, encodeClientState } from '../../src/client/state-document.ts';
import { anyLife, live } from '../rule-fixtures/random-life.ts';
import { eventAt } from './event-at.ts';

const DAY_MS = 24 * 3600_000;

describe('a compacted payer', () => {
  it('always gets the answers of the whole one', () => {
    const moment = fc.constantFrom(1, 0.5, 0.1);
    fc.assert(
      fc.property(anyLife, moment, (life, part) => {
        const whole = live(life);
        const swept = live({
          ...life,
          rest: (state, now) => {
            const sweptAt = Math.floor(state.lastAt + part * Math.max(0, now - state.lastAt));
            return asStored(compact(state, sweptAt));
          },
        });
        expect(swept.verdicts.map(({ decision }) => decision)).to.deep.equal(
          whole.verdicts.map(({ decision }) => decision),
        );
        expect(swept.scores).to.deep.equal(whole.scores);
        expect(swept.state.outcomes).to.deep.equal(whole.state.outcomes);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps attempts whose outcome is awaited for 30 days, and no device or address after a day', () => {
    const event = { ...eventAt(1), granted: true, settled: false };
    const hints = {
      scoredAt: 1,
      shown: [{ hint: { kind: 'ip', id: 'hmac' }, lastAt: 1 }],
      asked: [{ request: 'r', at: 1, changes: 0, knew: [] }],
    } as const;
    const state = { ...UNKNOWN_CLIENT, lastAt: 1, events: [event], hints };
    expect(compact(state, DAY_MS)).to.deep.equal(state);
    expect(compact(state, 1 + DAY_MS)).to.deep.equal({ ...state, hints: null });
    expect(encodeClientState(compact(state, 1 + DAY_MS))).not.to.include('hmac');
    expect(compact(state, 1 + 30 * DAY_MS)).to.deep.equal({ ...state, hints: null, events: [] });
  });
});
