import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runCases } from '../../src/authoring/cases/cases.ts';
import { prove } from '../../src/authoring/prove.ts';
import { formatProblems, loadRuleSet, readRuleFiles } from '../../src/rules/folder/rule-folder.ts';
import { RULES_DIR } from '../rule-fixtures/sound-rules.ts';

const EXAMPLES = join(RULES_DIR, 'examples');

describe('the rule sets to start from', () => {
  it('are those named in the guide', () => {
    expect(readdirSync(EXAMPLES).toSorted()).to.deep.equal(['bank-transfers', 'cards', 'digital-goods']);
  });

  for (const name of readdirSync(EXAMPLES)) {
    const folder = join(EXAMPLES, name, 'p3.v1');
    const files = readRuleFiles(folder, []) ?? new Map<string, string>();
    const loaded = loadRuleSet(folder);
    if (!loaded.ok) throw new Error(formatProblems(folder, loaded.problems));
    const { ruleSet } = loaded;

    it(`${name}: pass all their cases, which reach every rule and condition`, () => {
      const { problems, failures, coverage } = runCases(ruleSet, files);
      expect({ problems, failures }).to.deep.equal({ problems: [], failures: [] });
      expect([coverage.rules.percent, coverage.conditions.percent]).to.deep.equal([100, 100]);
    });

    it(`${name}: have nothing that a check would find or note`, () => {
      expect(prove(ruleSet, files)).to.deep.equal({ findings: [], notes: [] });
    });

    it(`${name}: show a named ladder, a time of day, amounts and a holdout`, () => {
      const { rules } = ruleSet.verdicts;
      expect(rules.some(({ params }) => params.ladder !== null)).to.equal(true);
      expect([...ruleSet.groups.rules, ...rules].some(({ holdout }) => holdout !== undefined)).to.equal(true);
      const facts = ruleSet.facts.map((fact) => fact.name);
      expect(facts).to.include('hourOfDay');
      expect(facts).to.include('paidOrders');
    });
  }
});
