import { expect } from 'chai';
import fc from 'fast-check';
import { type DecisionStanding, decideScore, decideVerdict } from '#decision/decide.ts';
import type { ScoreAnswer } from '#decision/decision.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { setOverride } from '#decision/payer/changes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, chooseEventTime, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { ASKED_SCORES_MAX, HINTS_VALID_MS } from '#decision/payer/hints.ts';
import { roundTripState } from '#decision/payer/state-document.ts';
import type { ScoreRequest } from '#decision/requests.ts';
import { declaring } from '../rule-fixtures/declared-attributes.ts';
import { anyLife, anyScoreRequest, anyVerdictRequest, live } from '../rule-fixtures/random-life.ts';
import { NOW } from '../rule-fixtures/random-states.ts';
import { edited, swap } from '../rule-fixtures/sound-rules.ts';
import { clientKey } from './payer/client-keys.ts';

const HOUR_MS = 3_600_000;
const RULES = edited({});
const CLIENT = clientKey(toPlatformName('demo'), 'payer-1');
const PAGE: ScoreRequest = {
  sellPointKey: 'shop-1',
  method: 'card',
  amount: '25',
  currency: null,
  fingerprint: null,
  ip: null,
  jsOk: false,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
};

function standing(state: ClientState, now: number): DecisionStanding {
  return { client: CLIENT, state, sightings: NO_SIGHTINGS, now };
}

describe('a score that is repeated within 24 hours', () => {
  it('has the same answer, whatever other scores came between and however much time passed', () => {
    const requests = fc.uniqueArray(anyScoreRequest, {
      minLength: 1,
      maxLength: ASKED_SCORES_MAX,
      selector: (request) => JSON.stringify(request),
    });
    const gapMs = fc.constantFrom(0, 1, 60_000, 10 * 60_000, HOUR_MS, 6 * HOUR_MS, 11 * HOUR_MS);
    const asked = fc.array(fc.record({ which: fc.nat(), gapMs }), { maxLength: 20 });
    fc.assert(
      fc.property(anyLife, requests, asked, (life, scores, steps) => {
        const first = new Map<ScoreRequest, { readonly at: number; readonly answer: ScoreAnswer }>();
        const lived = live(life);
        let { state, now } = lived;
        // Expiring bindings and overrides count as events, and a score of this life may be one of those below.
        const hints = state.hints === null ? null : { ...state.hints, asked: [] };
        state = { ...state, binding: null, override: null, hints };
        for (const { which, gapMs } of steps) {
          now += gapMs;
          const request = scores[which % scores.length] ?? PAGE;
          const { answer, nextState } = decideScore(life.rules, standing(state, now), request);
          state = roundTripState(nextState);
          const before = first.get(request);
          const at = chooseEventTime(state, now);
          if (before !== undefined && at - before.at < HINTS_VALID_MS)
            expect(answer).to.deep.equal(before.answer);
          else first.set(request, { at, answer });
        }
      }),
      { numRuns: 150 },
    );
  });

  it('has the same answer, although the secret of the HMACs was changed in between', () => {
    const rules = edited({
      'ruleset.yaml': declaring('{ card: { type: text, pseudonym: true }, country: { type: text } }'),
      'groups.yaml': swap(
        '\nrules:\n',
        `
rules:
  - name: one-card
    priority: 1001
    conditions:
      all:
        - { fact: secondsSinceFingerprintFirstSeen, operator: greaterThan, value: 60 }
        - { fact: knownFingerprints, operator: equal, value: 1 }
        - { fact: attribute, params: { name: card }, operator: known, value: true }
    event: { type: group, params: { group: BLOCKED } }
`,
      ),
    });
    const [country, other] = [{ country: 'DE' }, { ...PAGE, fingerprint: 'other-new', ip: 'i' }];
    const before = {
      ...PAGE,
      fingerprint: 'before',
      ip: 'i',
      attributes: { card: 'hmac:before', ...country },
    };
    const after = {
      ...before,
      fingerprint: 'after',
      ip: 'j',
      attributes: { card: 'hmac:after', ...country },
      former: { fingerprint: 'before', ip: 'i', attributes: { card: 'hmac:before' } },
    };
    const earlier = decideScore(rules, standing(UNKNOWN_CLIENT_STATE, NOW - HOUR_MS), {
      ...before,
      amount: '1',
    });
    const first = decideScore(rules, standing(roundTripState(earlier.nextState), NOW), before);
    expect(first.answer.clientGroup).to.equal('BLOCKED');
    const second = decideScore(rules, standing(roundTripState(first.nextState), NOW + 1000), other);
    expect(second.answer.clientGroup, 'another device').not.to.equal('BLOCKED');
    let state = roundTripState(second.nextState);
    for (const laterMs of [2000, 3000]) {
      const again = decideScore(rules, standing(state, NOW + laterMs), after);
      expect(again.answer, `after ${laterMs} ms`).to.deep.equal(first.answer);
      state = roundTripState(again.nextState);
    }
    const moved = { ...after, sellPointKey: 'shop-2' };
    expect(
      decideScore(rules, standing(state, NOW + 4000), moved).answer,
      'another request',
    ).not.to.deep.equal(first.answer);
  });

  /** A payer who asked for so many verdicts in a minute that the released rules flag it as a bot. */
  function burst(): ClientState {
    let state = UNKNOWN_CLIENT_STATE;
    for (let second = 0; second < 60; second++) {
      const [request] = fc.sample(anyVerdictRequest, 1);
      if (request === undefined) throw new Error('there is a request');
      state = decideVerdict(RULES, standing(state, NOW + second * 500), request).nextState;
    }
    return state;
  }

  it('is answered as of its first time until something other than a score happens, be it in the same millisecond', () => {
    const human = { ...PAGE, jsOk: true, userAgentPresent: true };
    const then = NOW + 30_000;
    const first = decideScore(RULES, standing(burst(), then), human);
    expect(first.answer.isBot).to.equal(true);
    const [request] = fc.sample(anyVerdictRequest, 1);
    if (request === undefined) throw new Error('there is a request');
    const later = then + HOUR_MS;
    const repeated = decideScore(RULES, standing(first.nextState, later), human);
    expect(repeated.answer).to.deep.equal(first.answer);
    const other = decideScore(RULES, standing(first.nextState, later), { ...human, amount: '26' });
    expect(other.answer.isBot).to.equal(false);
    for (const [state, at] of [
      [first.nextState, then],
      [repeated.nextState, later],
    ] as const) {
      const { nextState } = decideVerdict(RULES, standing(state, at), request);
      expect(decideScore(RULES, standing(roundTripState(nextState), later), human).answer.isBot).to.equal(
        false,
      );
    }
  });

  it('is answered anew when an override has expired', () => {
    const override = { group: 'BLOCKED', reason: 'r', by: 'b', at: NOW, expiresAt: NOW + 1000 } as const;
    const blocked = setOverride(UNKNOWN_CLIENT_STATE, override, NOW);
    const first = decideScore(RULES, standing(blocked, NOW), PAGE);
    expect(first.answer.clientGroup).to.equal('BLOCKED');
    const groupAfter = (ms: number) =>
      decideScore(RULES, standing(first.nextState, NOW + ms), PAGE).answer.clientGroup;
    expect(groupAfter(999)).to.equal('BLOCKED');
    expect(groupAfter(1000)).to.equal('NEW');
  });
});
