import { expect } from 'chai';
import fc from 'fast-check';
import {
  AWAITED_ATTEMPT_MS_MAX,
  AWAITED_ATTEMPTS_MAX,
  addVerdictEvent,
  compactState,
  EVENT_WINDOW_MS_MAX,
  EVENTS_MAX,
  findOrderAmount,
  isNewClient,
  keepUnlessExpired,
  markOrderEventsSettled,
  recordActivity,
  recordScoreActivity,
  UNKNOWN_CLIENT_STATE,
  type VerdictEvent,
} from '#decision/payer/client-state.ts';
import { tallyOutcome } from '#decision/payer/outcomes.ts';
import { encodeClientState, roundTripState } from '#decision/payer/state-document.ts';
import { anyLife, live as lived } from '../../rule-fixtures/random-life.ts';
import { eventAt } from './event-at.ts';

const BINDING = { requisiteRef: 'r', acceptorKeys: ['a'], method: null, expiresAt: null };
const OVERRIDE = { group: 'TRUSTED', reason: 'known', by: 'ann', at: 1, expiresAt: null } as const;

describe('what is known of a client', () => {
  it('is nothing before the first contact, and a score alone does not change that', () => {
    expect(isNewClient(UNKNOWN_CLIENT_STATE)).to.equal(true);
    const hints = {
      scoredAt: 1,
      shown: [{ hint: { kind: 'fingerprint', id: 'f' }, lastAt: 1 }],
      asked: [],
    } as const;
    expect(isNewClient(recordActivity({ ...UNKNOWN_CLIENT_STATE, hints }, 5))).to.equal(true);
  });

  it('is something after a verdict, an outcome, a binding or an override', () => {
    const paid = { outcome: 'PAID', cause: null, occurredAt: 1, token: 'a' } as const;
    const outcomes = tallyOutcome(UNKNOWN_CLIENT_STATE.outcomes, null, paid);
    expect(isNewClient({ ...UNKNOWN_CLIENT_STATE, seq: 1 })).to.equal(false);
    expect(isNewClient({ ...UNKNOWN_CLIENT_STATE, outcomes })).to.equal(false);
    const failed = { outcome: 'UNPAID', cause: 'TECHNICAL', occurredAt: 1, token: 'a' } as const;
    const technical = tallyOutcome(UNKNOWN_CLIENT_STATE.outcomes, null, failed);
    expect(isNewClient({ ...UNKNOWN_CLIENT_STATE, outcomes: technical })).to.equal(false);
    expect(isNewClient({ ...UNKNOWN_CLIENT_STATE, binding: BINDING })).to.equal(false);
    expect(isNewClient({ ...UNKNOWN_CLIENT_STATE, override: OVERRIDE })).to.equal(false);
  });

  it('keeps the time of the first contact, and never goes back in time', () => {
    const first = recordActivity(UNKNOWN_CLIENT_STATE, 100);
    expect(first).to.deep.include({ firstSeenAt: 100, lastAt: 100 });
    expect(recordActivity(first, 50)).to.deep.include({ firstSeenAt: 100, lastAt: 100 });
    expect(recordScoreActivity(first, 150)).to.deep.include({ firstSeenAt: 100, lastAt: 150 });
    expect(recordActivity(first, 150)).to.deep.include({ firstSeenAt: 100, lastAt: 150 });
  });

  it('forgets requests that no window reaches: exactly as old as the longest one is too old', () => {
    const now = 10 * EVENT_WINDOW_MS_MAX;
    const events = [eventAt(now - EVENT_WINDOW_MS_MAX), eventAt(now - EVENT_WINDOW_MS_MAX + 1)];
    expect(rememberEvent(events, eventAt(now)).map(({ at }) => at)).to.deep.equal([
      now - EVENT_WINDOW_MS_MAX + 1,
      now,
    ]);
  });

  it('awaits the outcome of an attempt for 30 days, and of 8 attempts', () => {
    const now = 2 * AWAITED_ATTEMPT_MS_MAX;
    const attempt = { granted: true } as const;
    const remembered = (events: readonly VerdictEvent[]) =>
      rememberEvent(events, eventAt(now)).map(({ at }) => at);
    const tooOld = now - AWAITED_ATTEMPT_MS_MAX;
    expect(remembered([eventAt(tooOld, attempt), eventAt(tooOld + 1, attempt)])).to.deep.equal([
      tooOld + 1,
      now,
    ]);
    const old = now - 2 * EVENT_WINDOW_MS_MAX;
    const many = Array.from({ length: AWAITED_ATTEMPTS_MAX + 3 }, (_, n) => eventAt(old + n, attempt));
    expect(remembered(many)).to.deep.equal([...many.slice(3).map(({ at }) => at), now]);
  });

  it('awaits no outcome that was reported, and none of a request that was not granted', () => {
    const old = eventAt(1, { granted: true });
    const now = 1 + EVENT_WINDOW_MS_MAX;
    expect(rememberEvent([old], eventAt(now))).to.have.lengthOf(2);
    expect(rememberEvent(markOrderEventsSettled([old], 'o'), eventAt(now))).to.have.lengthOf(1);
    expect(rememberEvent([eventAt(1)], eventAt(now))).to.have.lengthOf(1);
  });

  it('gives the amount of an order by its newest attempt, or else by its newest request', () => {
    const asked = [eventAt(1, { amount: '1 EUR' }), eventAt(2, { amount: '2 EUR' })];
    expect(findOrderAmount(asked, 'o')).to.equal('2 EUR');
    expect(findOrderAmount([eventAt(0, { amount: '5 EUR', granted: true }), ...asked], 'o')).to.equal(
      '5 EUR',
    );
    expect(findOrderAmount(asked, 'other')).to.equal(null);
  });

  it(`remembers the newest ${EVENTS_MAX} requests`, () => {
    let events: readonly VerdictEvent[] = [];
    for (let at = 1; at <= EVENTS_MAX + 5; at++) events = rememberEvent(events, eventAt(at));
    expect(events.length).to.equal(EVENTS_MAX);
    expect(events[0]?.at).to.equal(6);
  });

  it('has a binding until the moment it expires', () => {
    const expiring = { ...BINDING, expiresAt: 100 };
    expect(keepUnlessExpired(expiring, 99)).to.equal(expiring);
    expect(keepUnlessExpired(expiring, 100)).to.equal(null);
    expect(keepUnlessExpired(BINDING, 100)).to.equal(BINDING);
    expect(keepUnlessExpired(null, 100)).to.equal(null);
  });
});

const DAY_MS = 24 * 3600_000;

/** The remembered requests after another one. */
function rememberEvent(events: readonly VerdictEvent[], event: VerdictEvent): readonly VerdictEvent[] {
  return addVerdictEvent({ ...UNKNOWN_CLIENT_STATE, events }, event).events;
}

describe('a compacted payer', () => {
  it('always gets the answers of the whole one', () => {
    const moment = fc.constantFrom(1, 0.5, 0.1);
    fc.assert(
      fc.property(anyLife, moment, (life, part) => {
        const whole = lived(life);
        const swept = lived({
          ...life,
          rest: (state, now) => {
            const sweptAt = Math.floor(state.lastAt + part * Math.max(0, now - state.lastAt));
            return roundTripState(compactState(state, sweptAt));
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
      asked: [{ request: 'r', at: 1, changes: 0, knownHints: [] }],
    } as const;
    const state = { ...UNKNOWN_CLIENT_STATE, lastAt: 1, events: [event], hints };
    expect(compactState(state, DAY_MS)).to.deep.equal(state);
    expect(compactState(state, 1 + DAY_MS)).to.deep.equal({ ...state, hints: null });
    expect(encodeClientState(compactState(state, 1 + DAY_MS))).not.to.include('hmac');
    expect(compactState(state, 1 + 30 * DAY_MS)).to.deep.equal({ ...state, hints: null, events: [] });
  });
});
