import { expect } from 'chai';
import { whatIfThen } from '../../../src/authoring/explain/what-if.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { UNKNOWN_CLIENT } from '../../../src/client/client-state.ts';
import { decideVerdict } from '../../../src/decision/decide.ts';
import { NO_SIGHTINGS } from '../../../src/facts/fact.ts';
import { clientKey } from '../../client/client-keys.ts';
import { currentRules } from '../../service/current-rules.ts';
import { START_MS } from '../../service/movable-clock.ts';

const { decision } = decideVerdict(
  currentRules(),
  {
    client: clientKey(platformName('shop'), 'payer'),
    state: UNKNOWN_CLIENT,
    sightings: NO_SIGHTINGS,
    now: START_MS,
  },
  {
    sellPointKey: 's',
    method: 'card',
    amount: '1',
    currency: null,
    orderRef: 'o-1',
    requestId: 'what-if',
    arm: 'active',
  },
);

describe('the past answer of another version', () => {
  it('follows from the recorded facts and the ladder as it was', async () => {
    const recorded = { ...decision, facts: { ...decision.facts, waitRemainingSeconds: 20 } };
    const then = await whatIfThen(currentRules(), {
      ...recorded,
      ruleVersion: decision.ruleVersion,
      digest: 'other',
    });
    expect(then.missing).to.deep.equal([]);
    expect([then.decision?.['verdict'], then.decision?.['rule']]).to.deep.equal(['WAIT', 'asked-too-early']);
    expect(then.decision?.['waitSeconds']).to.be.a('number');
  });

  it('is unknown when the record lacks a fact that the version uses, which is named', async () => {
    const { unpaidChain: _, ...facts } = decision.facts;
    const then = await whatIfThen(currentRules(), { ...decision, facts });
    expect(then).to.include({ decision: null, rules: null });
    expect(then.missing).to.deep.equal(['unpaidChain']);
  });
});
