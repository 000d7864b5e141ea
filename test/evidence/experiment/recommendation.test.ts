import { expect } from 'chai';
import { recommendedShare, twoLadders } from '../../../scripts/bench/measures/experiment.ts';
import {
  type ArmTotals,
  differencesOf,
  type Metric,
  recommendationOf,
} from '../../../src/evidence/experiment/recommendation.ts';

/** An arm of 4,000 clients in which so many of each thousand have one of each, and nobody more. */
function arm(version: string, ofThousand: Partial<Record<Metric, number>>): ArmTotals {
  const clients = 4000;
  const names: readonly Metric[] = ['paid', 'unpaid', 'money.EUR.paid'];
  const totals = names.map((metric) => {
    const sum = 4 * (ofThousand[metric] ?? 0);
    return [metric, { clients, sum, squares: sum }] as const;
  });
  return { version, share: 0.5, clients, unknown: 0, totals: new Map(totals) };
}

const ACTIVE = arm('p2.v10', { paid: 500, unpaid: 300, 'money.EUR.paid': 500 });

const recommended = (...candidates: readonly ArmTotals[]) => {
  const { version, takeBack } = recommendationOf(ACTIVE, candidates);
  return { version, takeBack };
};

describe('the recommendation of an experiment', () => {
  it('activates the candidate with more paid orders, the best of several', () => {
    const [good, better] = [
      arm('p2.v11', { paid: 580, unpaid: 300, 'money.EUR.paid': 580 }),
      arm('p2.v12', { paid: 620, unpaid: 300, 'money.EUR.paid': 620 }),
    ];
    expect(recommended(good)).to.deep.equal({ version: 'p2.v11', takeBack: [] });
    expect(recommended(good, better)).to.deep.equal({ version: 'p2.v12', takeBack: [] });
  });

  it('withdraws a candidate with fewer paid orders, and keeps the active version once all are worse', () => {
    const worse = arm('p2.v11', { paid: 400, unpaid: 300, 'money.EUR.paid': 400 });
    expect(recommended(worse)).to.deep.equal({ version: 'p2.v10', takeBack: ['p2.v11'] });
    expect(recommended(worse, { ...ACTIVE, version: 'p2.v12' })).to.deep.equal({
      version: null,
      takeBack: ['p2.v11'],
    });
  });

  it('counts fewer unpaid orders as better only where a loss of paid ones is ruled out', () => {
    const many = (totals: ArmTotals, times: number): ArmTotals => ({
      ...totals,
      clients: totals.clients * times,
      totals: new Map(
        [...totals.totals].map(([metric, { clients, sum, squares }]) => [
          metric,
          { clients: clients * times, sum: sum * times, squares: squares * times },
        ]),
      ),
    });
    const fewer = arm('p2.v11', { paid: 500, unpaid: 200, 'money.EUR.paid': 500 });
    expect(recommended(fewer)).to.deep.equal({ version: null, takeBack: [] });
    const { version } = recommendationOf(many(ACTIVE, 20), [many(fewer, 20)]);
    expect(version).to.equal('p2.v11');
  });

  it('leaves to people a candidate that gains in one metric and loses in another', () => {
    const mixed = arm('p2.v11', { paid: 620, unpaid: 420, 'money.EUR.paid': 500 });
    expect(recommended(mixed)).to.deep.equal({ version: null, takeBack: [] });
  });

  it('is empty without clients of the active version', () => {
    expect(recommendationOf(null, [ACTIVE])).to.deep.equal({ version: null, takeBack: [], errorBound: 0.01 });
  });

  it('compares every candidate with the active version by every metric that differs among the clients', () => {
    const other = arm('p2.v11', { paid: 580, unpaid: 300, 'money.EUR.paid': 580 });
    const told = differencesOf(ACTIVE, [other]);
    expect(told.map(({ metric }) => metric)).to.deep.equal(['paid', 'unpaid', 'money.EUR.paid']);
    expect(told[0]?.value).to.be.closeTo(0.08, 1e-9);
  });
});

describe('an experiment in a known world', () => {
  it('recommends nothing for equal versions', () => {
    const waits = [30, 300, 1800] as const;
    const same = ['a', 'b', 'c'].map((version) => ({ version, share: 1 / 3, waits }));
    expect(recommendedShare(30, same, 1500)).to.equal(0);
  });

  it('has the true differences of two ladders within its intervals at every look', () => {
    const { atTheEnd, always } = twoLadders(10, 40_000, 1500).covered;
    expect(Math.min(atTheEnd, ...always.values())).to.be.at.least(9);
  });
});
