import { expect } from 'chai';
import { isNamed, recordedDecision } from '../../src/decision/decision.ts';
import { decisionFor, newClient, T0 } from '../state/clients.ts';

describe('a recorded decision', () => {
  const client = newClient();
  const decision = decisionFor(client, 3, 'order-1', T0);
  const ofBefore = `${client.hash}.3`;

  it('is named by its own id, and by the one that it had before ids told the time', () => {
    expect(isNamed(decision.decisionId, decision)).to.equal(true);
    expect(isNamed(ofBefore, decision)).to.equal(true);
  });

  it('is not named by the id of another number, time or client', () => {
    const others = [decisionFor(client, 4, 'order-1', T0), decisionFor(client, 3, 'order-1', T0 + 1)];
    for (const { decisionId } of [...others, decisionFor(newClient(), 3, 'order-1', T0)])
      expect(isNamed(decisionId, decision), decisionId).to.equal(false);
    for (const id of ['', `${client.hash}.30`, 'nonsense']) expect(isNamed(id, decision), id).to.equal(false);
  });

  it('of before gets the id that it would have now', () => {
    expect(recordedDecision({ ...decision, decisionId: ofBefore })).to.deep.equal(decision);
    expect(recordedDecision(decision)).to.equal(decision);
  });
});
