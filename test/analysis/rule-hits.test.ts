import { expect } from 'chai';
import { versionHits } from '../../src/analysis/rule-hits.ts';
import { clientKey, platformName } from '../../src/client/client-key.ts';
import { UNKNOWN_CLIENT } from '../../src/client/client-state.ts';
import { decideVerdict } from '../../src/decision/decide.ts';
import type { Decision } from '../../src/decision/decision.ts';
import { NO_SIGHTINGS } from '../../src/facts/fact.ts';
import { currentRules } from '../service/current-rules.ts';
import { START_MS } from '../service/movable-clock.ts';

const SHOP = platformName('shop');

/** A first verdict, and one that was asked for at once after it. */
function twoVerdicts(): readonly Decision[] {
  const client = clientKey(SHOP, 'payer');
  const ask = (state: typeof UNKNOWN_CLIENT) =>
    decideVerdict(
      currentRules(),
      { client, state, sightings: NO_SIGHTINGS, now: START_MS },
      {
        sellPointKey: 's',
        method: 'card',
        amount: '1',
        currency: null,
        orderRef: 'o-1',
        requestId: 'r',
        arm: 'active',
      },
    );
  const first = ask(UNKNOWN_CLIENT);
  return [ask(first.nextState).decision, first.decision];
}

describe('the hits of a version', () => {
  const decisions = twoVerdicts();

  it('count for each rule how often it held, and how often it decided', () => {
    const { rules, ...rest } = versionHits(currentRules(), decisions, SHOP);
    expect(rest).to.deep.equal({ platform: 'shop', decisions: 2 });
    const [wait] = decisions;
    expect(wait?.verdict).to.equal('WAIT');
    expect(rules.find(({ name }) => name === wait?.rule)).to.deep.include({
      file: 'verdicts.yaml',
      held: 1,
      decided: 1,
    });
  });

  it('leave out decisions of another digest', () => {
    const others = decisions.map((decision) => ({ ...decision, digest: '0'.repeat(64) }));
    const { decisions: counted, rules } = versionHits(currentRules(), others, SHOP);
    expect(counted).to.equal(0);
    expect(rules.every(({ held, decided }) => held === 0 && decided === 0)).to.equal(true);
  });

  it('name every rule with its place, also one that never held', () => {
    const { rules } = versionHits(currentRules(), [], SHOP);
    const { groups, signals, verdicts } = currentRules();
    expect(rules).to.have.length(groups.rules.length + signals.rules.length + verdicts.rules.length);
    expect(rules.every(({ file, line }) => file.endsWith('.yaml') && line > 0)).to.equal(true);
  });
});
