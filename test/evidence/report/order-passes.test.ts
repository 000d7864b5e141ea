import { expect } from 'chai';
import { orderPasses, type PassResult } from '../../../src/evidence/report/order-passes.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';

const JUDGEMENT = { matched: [0, 70], decided: [0], decisive: [] };

const PARTS = {
  codes: [{ facts: [], sql: '(fact_paidCount > 0)::BIGINT' }],
  judge: ([paid]: readonly bigint[]) => (paid === 0n ? JUDGEMENT : { ...JUDGEMENT, matched: [69] }),
  rules: 71,
  byDevice: false,
  place: { sql: '7', join: '' },
};

describe('the passes over orders', () => {
  it('give the same in one pass as in many, also for more rules than a number has bits', async () => {
    const lived = await livedEvidence(liveBusyMonth);
    const passed = (decisionsMax: number) =>
      withEvidence(all(lived.archive), async (evidence) => {
        const passes: PassResult[] = [];
        for await (const pass of orderPasses(evidence, PARTS, decisionsMax)) passes.push(pass);
        return passes;
      });
    const [one, many] = [await passed(1_000_000), await passed(40)];
    expect([one.length, many.length > 5]).to.deep.equal([1, true]);
    expect(totals(many)).to.deep.equal(totals(one));
    const places = one.flatMap(({ orders }) => orders.flatMap(({ matched }) => matched));
    expect([...new Set(places)].toSorted((a, b) => a - b)).to.deep.equal([0, 69, 70]);
  });
});

function totals(passes: readonly PassResult[]) {
  const sums: Record<string, number> = {};
  const add = (name: string, count: number) => {
    sums[name] = (sums[name] ?? 0) + count;
  };
  for (const { decisions, orders } of passes) {
    for (const group of decisions) add('decisions', group.decisions);
    for (const { matched, status, orders: count } of orders) add(`${matched.join()} ${status}`, count);
  }
  return sums;
}
