import { expect } from 'chai';
import { suppose, unfitFact, whatIf, whatIfThen } from '../../../src/authoring/explain/what-if.ts';
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

describe('the answer of a version to supposed facts', () => {
  it('is the decision itself when nothing is supposed', async () => {
    const answer = await whatIf(currentRules(), decision, {});
    expect(answer.decision['verdict']).to.equal('GET_NEW');
    expect(answer.decision['facts']).to.deep.equal(decision.facts);
  });

  it('follows from a supposed fact, with the wait of the supposed ladder', async () => {
    const { decision: answered } = await whatIf(currentRules(), decision, { waitRemainingSeconds: 20 });
    expect(answered['verdict']).to.equal('WAIT');
    expect(answered['waitSeconds']).to.be.a('number');
  });

  it('ignores a supposed fact that no rule uses', async () => {
    const answer = await whatIf(currentRules(), decision, { moonPhase: 'full' });
    expect(answer.decision['facts']).not.to.have.property('moonPhase');
    expect(answer.decision['verdict']).to.equal('GET_NEW');
  });
});

describe('the past answer of another version', () => {
  it('follows from the recorded facts and the ladder as it was', async () => {
    const { decision: waited } = await whatIf(currentRules(), decision, { waitRemainingSeconds: 20 });
    const recorded = { ...decision, facts: { ...decision.facts, waitRemainingSeconds: 20 } };
    const then = await whatIfThen(currentRules(), {
      ...recorded,
      ruleVersion: decision.ruleVersion,
      digest: 'other',
    });
    expect(then.missing).to.deep.equal([]);
    expect([then.decision?.['verdict'], then.decision?.['rule']]).to.deep.equal([
      waited['verdict'],
      waited['rule'],
    ]);
  });

  it('is unknown when the record lacks a fact that the version uses, which is named', async () => {
    const { unpaidChain: _, ...facts } = decision.facts;
    const then = await whatIfThen(currentRules(), { ...decision, facts });
    expect(then).to.include({ decision: null, rules: null });
    expect(then.missing).to.deep.equal(['unpaidChain']);
  });
});

describe('supposing facts of the ladder', () => {
  const at = decision.at;

  it('moves the end of the wait to what remains of it', () => {
    expect(suppose(decision, { waitRemainingSeconds: 30 }).ladderBefore.waitUntil).to.equal(at + 30_000);
  });

  it('ends a served wait now', () => {
    const served = suppose(decision, { waitRemainingSeconds: 0, waitServed: true });
    expect(served.ladderBefore.waitUntil).to.equal(at);
  });

  it('takes level and open attempt as given, and keeps the rest', () => {
    const { ladderBefore } = suppose(decision, { ladderLevel: 2, attemptOpen: true });
    expect(ladderBefore).to.deep.include({ level: 2, attemptOpen: true });
  });
});

describe('a supposed value', () => {
  it('must be one that its fact can have', () => {
    expect(unfitFact(currentRules(), { attemptOpen: true })).to.equal(null);
    expect(unfitFact(currentRules(), { attemptOpen: 1 })).to.deep.equal({
      label: 'attemptOpen',
      allowed: 'must be true or false',
    });
  });

  it('does not matter for a fact that no rule uses', () => {
    expect(unfitFact(currentRules(), { moonPhase: 'full' })).to.equal(null);
  });
});
