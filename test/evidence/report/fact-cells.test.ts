import { expect } from 'chai';
import fc from 'fast-check';
import { factColumn } from '../../../src/archive/record-columns.ts';
import { factCells, valuesOf, vectorCodes } from '../../../src/evidence/report/fact-cells.ts';
import { comparisonsIn } from '../../../src/rules/condition.ts';
import { matcher } from '../../../src/rules/matcher.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { Workplace } from '../backtest/backtest-history.ts';

describe('the cells of facts', () => {
  let rules: RuleSet;
  before(() => {
    const place = new Workplace();
    rules = place.rules('p2.v10');
    place.end();
  });
  const cells = () => factCells(rules, new Set(rules.facts.map(({ label }) => factColumn(label))));

  it('each have a value, and any two differ in some comparison', () => {
    const all = [...rules.groups.rules, ...rules.signals.rules, ...rules.verdicts.rules];
    for (const { index, values } of cells()) {
      const comparisons = comparisonsIn(all.map(({ condition }) => condition)).filter(
        ({ fact }) => fact.index === index,
      );
      const answers = values.map((value) => {
        const row = rules.facts.map(() => value);
        return comparisons.map((comparison) => matcher(comparison)(row)).join();
      });
      expect(new Set(answers).size).to.be.above(1);
    }
  });

  it('are encoded and decoded without a change', () => {
    const facts = cells();
    const codes = vectorCodes(facts);
    const picks = fc.tuple(...facts.map(({ values }) => fc.nat(values.length - 1)));
    fc.assert(
      fc.property(picks, (chosen) => {
        const cellOf = new Map(facts.map((fact, place) => [fact.label, BigInt((chosen[place] ?? 0) + 1)]));
        const numbers = codes.map(({ facts: some }) =>
          some.reduceRight(
            (rest, { label, cells: size }) => (cellOf.get(label) ?? 0n) + BigInt(size) * rest,
            0n,
          ),
        );
        const values = valuesOf(codes, numbers, rules.facts.length);
        for (const [place, { index, values: ofFact }] of facts.entries())
          expect(values?.[index]).to.equal(ofFact[chosen[place] ?? 0]);
      }),
    );
  });

  it('do not exist for a fact that was not recorded', () => {
    const facts = factCells(rules, new Set());
    expect(facts.every(({ sql, values }) => sql === '0' && values.length === 0)).to.equal(true);
    expect(valuesOf(vectorCodes(facts), [0n], rules.facts.length)).to.equal(null);
  });
});
