import { expect } from 'chai';
import fc from 'fast-check';
import { type DecisionStanding, decideVerdict } from '#decision/decide.ts';
import type { Decision } from '#decision/decision.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { predictNextVerdict } from '#decision/next-verdict.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { anyLife, live } from '../rule-fixtures/random-life.ts';
import { NOW } from '../rule-fixtures/random-states.ts';
import { edited } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';
import { clientKey } from './payer/client-keys.ts';

const RULES = edited({});
const CLIENT = clientKey(toPlatformName('demo'), 'payer-1');

function standing(state: ClientState, now: number, client = CLIENT): DecisionStanding {
  return { client, state, sightings: NO_SIGHTINGS, now };
}

/** Asks some seconds after the first request. */
function askAfter(...seconds: readonly number[]) {
  let state = UNKNOWN_CLIENT_STATE;
  let decision: Decision | null = null;
  for (const second of seconds) {
    const result = decideVerdict(RULES, standing(state, NOW + second * 1000), REQUEST);
    [state, decision] = [result.nextState, result.decision];
  }
  if (decision === null) throw new Error('nothing was asked');
  return { state, decision };
}

describe('the next verdict of a payer', () => {
  it('is what the same request would be answered at that moment', () => {
    fc.assert(
      fc.property(anyLife, (life) => {
        for (const { before, decision: made } of live(life).verdicts) {
          const input = standing(before, made.at, clientKey(life.platform, 'payer-1'));
          const { decision } = decideVerdict(life.rules, input, REQUEST);
          const { at, verdict, rule, reason, waitSeconds } = decision;
          const wait = waitSeconds === undefined ? {} : { waitSeconds };
          const { now } = predictNextVerdict(life.rules, input, decision);
          expect(now).to.deep.equal({ at, verdict, ...wait, rule, reason });
        }
      }),
      { numRuns: 50 },
    );
  });

  it('says what follows the wait that is due, for a request that is not early', () => {
    const { state, decision } = askAfter(0, 1);
    const { now, afterWait } = predictNextVerdict(RULES, standing(state, NOW + 5000), decision);
    expect(now).to.deep.include({ verdict: 'WAIT', rule: 'asked-too-early', waitSeconds: 300 });
    expect(afterWait).to.deep.include({ verdict: 'GET_NEW', rule: 'wait-served', at: NOW + 31_000 });
  });

  it('says what follows the wait that the next request would begin', () => {
    const { state, decision } = askAfter(0);
    const { asked, now, afterWait } = predictNextVerdict(RULES, standing(state, NOW + 5000), decision);
    expect(asked).to.deep.equal({
      like: 'lastVerdict',
      amount: '25',
      currency: 'EUR',
      method: 'card',
      sellPointKey: 'shop-1',
    });
    expect(now).to.deep.include({ verdict: 'WAIT', rule: 'attempt-unpaid', waitSeconds: 30 });
    expect(afterWait).to.deep.include({ verdict: 'GET_NEW', rule: 'wait-served', at: NOW + 35_000 });
  });

  it('is BLOCK during a wait, and after it, for whoever is blocked', () => {
    const { state, decision } = askAfter(0, 1);
    const override = {
      group: 'BLOCKED',
      reason: 'a stolen card',
      by: 'ann',
      at: NOW,
      expiresAt: null,
    } as const;
    const { now, afterWait } = predictNextVerdict(
      RULES,
      standing({ ...state, override }, NOW + 5000),
      decision,
    );
    expect([now, afterWait].map((one) => one?.rule)).to.deep.equal(['client-blocked', 'client-blocked']);
  });

  it('supposes an ordinary request where no verdict is kept', () => {
    const { asked, now, afterWait } = predictNextVerdict(
      RULES,
      standing(UNKNOWN_CLIENT_STATE, NOW),
      undefined,
    );
    expect(asked).to.deep.include({ like: 'ordinary', amount: '100', currency: 'EUR', method: 'card' });
    expect([now.verdict, afterWait]).to.deep.equal(['GET_NEW', null]);
  });
});
