import { expect } from 'chai';
import {
  type ArmTotals,
  computeDifferences,
  findVetoes,
  type Metric,
  recommendVersion,
  type Veto,
} from '#history/evidence/experiment/recommendation.ts';

/** An arm of 4,000 clients in which so many of each thousand have one of each, and nobody more. */
function arm(version: string, ofThousand: Partial<Record<Metric, number>>): ArmTotals {
  const clients = 4000;
  const totals = Object.entries({ value: 500, amount: 500, ...ofThousand }).map(([metric, part]) => {
    const sum = 4 * part;
    return [metric, { clients, seen: sum, sum, size: sum, squares: sum }] as const;
  });
  const figures = { share: 0.5, clients, unknown: 0, unreported: null };
  return { version, ...figures, totals: new Map(totals.filter(isMetric)) };
}

function isMetric<T>(entry: readonly [string, T]): entry is readonly [Metric, T] {
  return entry[0] !== '';
}

const ACTIVE = arm('p2.v10', { unpaidRequisites: 200, reversals: 100, reversedAmount: 100 });
const PRICED = { reversals: true, requisites: true };
const UNPRICED = { reversals: false, requisites: false };

const recommended = (vetoes: readonly Veto[], ...candidates: readonly ArmTotals[]) => {
  const { version, takeBack } = recommendVersion(ACTIVE, candidates, vetoes);
  return { version, takeBack };
};

describe('the recommendation of an experiment', () => {
  const [good, better, worse] = [
    arm('p2.v11', { value: 580 }),
    arm('p2.v12', { value: 620 }),
    arm('p2.v11', { value: 400 }),
  ];

  it('activates the candidate with more value, the best of several', () => {
    expect(recommended([], good)).to.deep.equal({ version: 'p2.v11', takeBack: [] });
    expect(recommended([], good, better)).to.deep.equal({ version: 'p2.v12', takeBack: [] });
  });

  it('recommends nothing on a difference that may be chance', () => {
    const candidates = [arm('p2.v11', { value: 505 }), arm('p2.v12', { value: 495 })];
    expect(recommended([], ...candidates)).to.deep.equal({ version: null, takeBack: [] });
  });

  it('withdraws a candidate with less value, and keeps the active version once all are worse', () => {
    expect(recommended([], worse)).to.deep.equal({ version: 'p2.v10', takeBack: ['p2.v11'] });
    const alike = { ...ACTIVE, version: 'p2.v12' };
    expect(recommended([], worse, alike)).to.deep.equal({ version: null, takeBack: ['p2.v11'] });
  });

  it('goes by the value alone: what it counts as a cost is no other reason', () => {
    const milder = arm('p2.v11', { value: 580, unpaidRequisites: 400, reversals: 200, reversedAmount: 200 });
    expect(findVetoes(ACTIVE, [milder], PRICED)).to.deep.equal([]);
    expect(recommended([], milder).version).to.equal('p2.v11');
  });

  it('lets harm without a price, and less lasting money, veto a candidate, but no taking back', () => {
    const harmful = { unpaidRequisites: 400, reversals: 300, reversedAmount: 300, amount: 400 };
    const candidate = arm('p2.v11', { value: 580, ...harmful });
    const vetoes = findVetoes(ACTIVE, [candidate], UNPRICED);
    expect(vetoes.map(({ veto, why }) => [veto, why])).to.deep.equal([
      ['money', 'lasting money 400 against 500 for each 1,000 clients'],
      [
        'reversals',
        'reversals 300 against 100 for each 1,000 clients, their money 300 against 100 for each 1,000 clients',
      ],
      ['requisites', 'unpaid requisites 400 against 200 for each 1,000 clients'],
    ]);
    expect(recommended(vetoes, candidate)).to.deep.equal({ version: null, takeBack: [] });
    expect(recommended(vetoes, arm('p2.v11', { value: 400, ...harmful })).takeBack).to.deep.equal(['p2.v11']);
  });

  it('says nothing of arms that cannot be compared', () => {
    const all = { veto: 'sampleRatio', version: null, why: '' } as const;
    expect(recommended([all], worse)).to.deep.equal({ version: null, takeBack: [] });
    const unreported = (sum: number) => ({ clients: 4000, seen: 900, sum, size: 900, squares: 900 });
    const one = { ...worse, unknown: 900, unreported: unreported(400) };
    const vetoes = findVetoes({ ...ACTIVE, unknown: 100, unreported: unreported(-400) }, [one], PRICED);
    const missing = 'outcomesMissing: 900 of p2.v11, 100 of p2.v10';
    expect(vetoes.map(({ veto, why }) => `${veto}: ${why}`)).to.include(missing);
    expect(recommended(vetoes, one, better)).to.deep.equal({ version: 'p2.v12', takeBack: [] });
  });

  it('is empty without clients of the active version', () => {
    expect(recommendVersion(null, [ACTIVE])).to.deep.equal({ version: null, takeBack: [], errorBound: 0.01 });
  });

  it('compares every candidate with the active version by every metric that clients have', () => {
    const told = computeDifferences(ACTIVE, [good]);
    expect(told.map(({ metric }) => metric)).to.deep.equal(['value', 'amount']);
    expect(told[0]?.value).to.be.closeTo(0.08, 1e-9);
  });
});
