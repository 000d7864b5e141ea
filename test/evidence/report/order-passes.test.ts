import { expect } from 'chai';
import { makeJudged, passOverOrders, talliesOf } from '../../../src/evidence/report/order-passes.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';

const RULES = 71;

const judgement = (...matched: readonly number[]) => {
  const flags = Array.from({ length: RULES }, (_, rule) => matched.includes(rule));
  return { matched: flags, decided: flags, decisive: flags };
};

const JUDGED = new Map([
  ['0', judgement(0, 70)],
  ['1', judgement(69)],
]);

describe('the passes over orders', () => {
  it('give the same in one pass as in many, also for more rules than a number has bits', async () => {
    const lived = await livedEvidence(liveBusyMonth);
    const passed = (decisionsMax: number) =>
      withEvidence(all(lived.archive), async (evidence) => {
        const { duck, span } = evidence;
        await duck.run("CREATE TEMP TABLE places AS SELECT 1 AS place, 'EUR' AS currency, '' AS shown");
        await makeJudged(duck, JUDGED);
        const counted: number[] = [];
        const parts = {
          cell: '(fact_paidCount > 0)::UBIGINT',
          byDevice: true,
          place: { sql: '1', join: '' },
        };
        await passOverOrders(evidence, { ...parts, onProgress: (done) => counted.push(done) }, decisionsMax);
        expect(counted.at(-1)).to.equal(span.decisions);
        const byDevice = Array.from({ length: RULES }, (_, rule) => rule === 70);
        const tallies = await talliesOf(duck, byDevice);
        return {
          passes: counted.length,
          found: Array.from({ length: RULES + 1 }, (_, rule) => tallies(rule, '')),
        };
      });
    const [one, many] = [await passed(1_000_000), await passed(40)];
    expect([one.passes, many.passes > 5]).to.deep.equal([1, true]);
    expect(many.found).to.deep.equal(one.found);
    const matching = one.found.flatMap(({ matched, orders }, rule) =>
      matched > 0 && orders.paid > 0 ? [rule] : [],
    );
    expect(matching).to.deep.equal([0, 69, 70, RULES]);
  });
});
