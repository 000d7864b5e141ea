import { expect } from 'chai';
import { type Experiment, experimentOf } from '../../../src/evidence/experiment/experiment-report.ts';
import { armNet, onlyRuleLacking } from '../../../src/evidence/report/arm-net.ts';
import { MONEY_ALONE } from '../../../src/rollout/objective.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';

const SOUND = edited({});
const CHAIN = /\n {2}- name: blocked-by-unpaid-chain\n[\s\S]*?BLOCKED \} \}\n/;
const without = (text: string) => text.replace(CHAIN, '');
const WITHOUT = edited({ 'groups.yaml': without });

describe('two versions that a trial compares', () => {
  it('differ in one rule alone where the other lacks it, wherever the rest is written', () => {
    expect(onlyRuleLacking(SOUND, WITHOUT)).to.equal('groups/blocked-by-unpaid-chain');
    expect(onlyRuleLacking(WITHOUT, SOUND)).to.equal(null);
  });

  it('differ in more where a rule is another, two are gone, or the ladder is longer', () => {
    const stricter = edited({
      'groups.yaml': swap('greaterThanInclusive, value: 4 }', 'greaterThanInclusive, value: 3 }'),
    });
    const ladder = { 'ladder.yaml': swap('[30s, 5m, 30m]', '[30s, 5m, 40m]') };
    for (const other of [SOUND, stricter, edited(ladder), edited({ ...ladder, 'groups.yaml': without })])
      expect(onlyRuleLacking(SOUND, other)).to.equal(null);
  });
});

describe('the net of a rule by a trial', () => {
  const figures = { value: 2, low: -1, high: 4, clientsToGo: null };
  const nothing = experimentOf(
    { from: null, to: null, decisions: 0, gaps: [], silences: [], torn: false },
    null,
    [],
    [],
  );
  const none = { young: 0, capped: 0, requisites: 0, waits: 0, lostAfterWait: 0, waitsEnded: 0 };
  const arm = { ...none, share: 0.5, matureShare: 1, money: {} };
  const orders = { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 };
  const found: Experiment = {
    ...nothing,
    version: 'p2.v10',
    objective: { ...MONEY_ALONE, currency: 'EUR' },
    arms: [
      { ...arm, orders, version: 'p2.v10', clients: 100 },
      { ...arm, orders, version: 'p2.v11', clients: 10 },
    ],
    differences: ['value', 'paid'].map((metric) => ({ version: 'p2.v11', metric, ...figures })),
  };

  const unknown = { amount: null, reversals: null, requisites: null };

  it('is what the other arm did more, for each client of the arm that has the rule', () => {
    expect(armNet(found, 'p2.v11', true)).to.deep.equal({
      by: 'trial',
      currency: 'EUR',
      clients: 100,
      ...unknown,
      payments: { value: 200, low: -100, high: 400 },
      value: { value: -200, low: -400, high: 100 },
    });
    expect(armNet(found, 'p2.v11', false)).to.deep.equal({
      by: 'trial',
      currency: 'EUR',
      clients: 10,
      ...unknown,
      payments: { value: -20, low: -40, high: 10 },
      value: { value: 20, low: -10, high: 40 },
    });
  });

  it('is not known where arms cannot be compared, nor without a value; harm is no obstacle', () => {
    const vetoed = (veto: 'sharedDevices' | 'outcomesMissing' | 'money', version: string | null) =>
      armNet({ ...found, vetoes: [{ veto, version, why: '' }] }, 'p2.v11', true);
    expect(vetoed('sharedDevices', null)).to.equal(null);
    expect(vetoed('outcomesMissing', 'p2.v11')).to.equal(null);
    expect(vetoed('outcomesMissing', 'p2.v12')).not.to.equal(null);
    expect(vetoed('money', 'p2.v11')).not.to.equal(null);
    expect(armNet({ ...found, differences: [] }, 'p2.v11', true)).to.equal(null);
  });
});
