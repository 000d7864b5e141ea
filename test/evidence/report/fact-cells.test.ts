import { expect } from 'chai';
import { cellReader, factCells } from '../../../src/evidence/report/fact-cells.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { comparisonsIn } from '../../../src/rules/condition.ts';
import { matcher } from '../../../src/rules/matcher.ts';
import { Workplace } from '../backtest/backtest-history.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';
import { liveBusyMonth } from './busy-month.ts';

describe('the cells of facts', () => {
  it('tell decisions apart exactly where some comparison of the rules does', async () => {
    const place = new Workplace();
    const rules = place.rules('p2.v10');
    place.end();
    const conditions = [...rules.groups.rules, ...rules.signals.rules, ...rules.verdicts.rules];
    const comparisons = comparisonsIn(conditions.map(({ condition }) => condition));
    const lived = await livedEvidence(liveBusyMonth);
    await withEvidence(all(lived.archive), async ({ duck }) => {
      const { sql, rows } = await factCells(duck, rules);
      const read = cellReader(rules);
      const answersTo = (row: (typeof rows)[number]) => {
        const { values, lacking } = read(row);
        expect(lacking).to.deep.equal([]);
        return comparisons.map((comparison) => matcher(comparison)(values)).join();
      };
      const byCell = new Map(rows.map((row) => [row['cell'], answersTo(row)]));
      expect(new Set(byCell.values()).size).to.be.above(20);
      const decisions = await duck.rows(`SELECT *, ${sql} AS cell FROM decisions`);
      for (const row of decisions) expect(answersTo(row)).to.equal(byCell.get(row['cell']));
    });
  });
});
