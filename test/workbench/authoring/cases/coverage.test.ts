import { expect } from 'chai';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import { parseRuleSet } from '#decision/rules/parse/parse.ts';
import { countRules } from '#decision/rules/rule-set.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import type { Coverage } from '#workbench/authoring/cases/coverage.ts';
import {
  type Edit,
  editedFiles,
  SOUND_FILES,
  SOUND_VERSION,
  whole,
} from '../../../rule-fixtures/sound-rules.ts';

const GROUPS = [
  'rules:',
  '  - name: blocked',
  '    priority: 20',
  '    conditions: { all: [{ fact: overrideGroup, operator: equal, value: BLOCKED }] }',
  '    event: { type: group, params: { group: BLOCKED } }',
  'otherwise: NEW',
].join('\n');

const SIGNALS = [
  'threshold: 1',
  'rules:',
  '  - name: trapped',
  '    conditions:',
  '      any:',
  '        - { fact: honeypotTriggered, operator: equal, value: true }',
  '        - { fact: jsOk, operator: equal, value: false }',
  '    event: { type: signal, params: { weight: 1 } }',
].join('\n');

const VERDICTS = [
  'conditions:',
  '  bot: { all: [{ fact: isBot, operator: equal, value: true }] }',
  'rules:',
  '  - name: high',
  '    priority: 20',
  '    conditions: { condition: bot }',
  '    event: { type: verdict, params: { verdict: BLOCK, reason: "High." } }',
  '  - name: low',
  '    priority: 10',
  '    conditions: { not: { fact: paidCount, operator: greaterThan, value: 0 } }',
  '    event: { type: verdict, params: { verdict: WAIT, reason: "Low." } }',
  'otherwise: { verdict: GET_NEW, reason: "None." }',
].join('\n');

/** The coverage of small rules by one case with these steps, a line each. */
function coverage(...steps: readonly string[]): Coverage {
  return coverageOf(VERDICTS, ['    steps:', ...steps.map((step) => `      - ${step}`)]);
}

function coverageOf(verdicts: string, caseLines: readonly string[], signals = SIGNALS): Coverage {
  const removed: Edit = () => null;
  const cases = [...SOUND_FILES.keys()].filter((path) => path.startsWith('cases/'));
  const files = editedFiles({
    ...Object.fromEntries(cases.map((path) => [path, removed])),
    'groups.yaml': whole(GROUPS),
    'bot-signals.yaml': whole(signals),
    'verdicts.yaml': whole(verdicts),
    'cases/it.yaml': whole(['cases:', '  - name: a case', ...caseLines].join('\n')),
  });
  const parsed = parseRuleSet(SOUND_VERSION, files);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const report = runCases(compileRuleSet(parsed.rules, 'digest', false), files);
  expect(report.problems).to.deep.equal([]);
  return report.coverage;
}

const at = (file: string, line: number, column: number) => ({ file, line, column });

describe('coverage by cases', () => {
  it('counts groups, signals, verdicts and each otherwise as rules', () => {
    const { rules, untestedRules } = coverage('{ verdict: {} }');
    expect(rules).to.deep.equal({ tested: 2, total: 6, percent: 33 });
    expect(untestedRules).to.deep.equal([
      { name: 'blocked', at: at('groups.yaml', 2, 5), asked: true },
      { name: 'trapped', at: at('bot-signals.yaml', 3, 5), asked: true },
      { name: 'high', at: at('verdicts.yaml', 4, 5), asked: true },
      { name: 'otherwise', at: at('verdicts.yaml', 12, 1), asked: false },
    ]);
  });

  it('counts as many rules as "rules check" does', () => {
    for (const folder of [
      'rules/p2.v10',
      'rules/examples/cards/p3.v1',
      'rules/examples/published/shop/p1.v1',
    ]) {
      const loaded = loadRuleSet(folder);
      if (!loaded.ok) throw new Error(folder);
      const { ruleSet } = loaded;
      const { coverage } = runCases(ruleSet, new Map());
      expect([coverage.rules.total, coverage.untestedRules.length], folder).to.deep.equal([
        countRules(ruleSet),
        countRules(ruleSet),
      ]);
    }
  });

  it('counts what exempts from the signals as a rule, and asks no signal about whom it exempts', () => {
    const exempt = `exempt: { any: [{ fact: overrideGroup, operator: equal, value: TRUSTED }] }\n${SIGNALS}`;
    const covered = (steps: string) => coverageOf(VERDICTS, [`    steps: [${steps}]`], exempt);
    const trust = '{ override: { group: TRUSTED} }';
    const told = ({ untestedRules }: Coverage) =>
      untestedRules.filter(({ at: { file } }) => file === 'bot-signals.yaml');
    expect(told(covered('{ verdict: {} }'))).to.deep.equal([
      { name: 'exempt', at: at('bot-signals.yaml', 1, 9), asked: true },
      { name: 'trapped', at: at('bot-signals.yaml', 4, 5), asked: true },
    ]);
    expect(told(covered(`${trust}, { verdict: {} }`))).to.deep.equal([
      { name: 'trapped', at: at('bot-signals.yaml', 4, 5), asked: false },
    ]);
  });

  it('does not ask rules behind the first match', () => {
    const { untestedRules } = coverage(
      '{ score: { clientHints: { honeypotTriggered: true } } }',
      '{ verdict: {} }',
    );
    expect(untestedRules.map(({ name, asked }) => [name, asked])).to.deep.equal([
      ['blocked', true],
      ['low', false],
      ['otherwise', false],
    ]);
  });

  it('does not ask the rules of verdicts.yaml for a score', () => {
    const { untestedRules } = coverage('{ score: {} }');
    expect(untestedRules.map(({ name, asked }) => [name, asked])).to.deep.equal([
      ['blocked', true],
      ['trapped', true],
      ['high', false],
      ['low', false],
      ['otherwise', false],
    ]);
  });

  it('does not count a rule from which the client of a case is held out', () => {
    const holdout = '    holdout: 10%\n    holdoutMaxAmount: { EUR: "100.00" }';
    const { untestedRules } = coverageOf(
      VERDICTS.replace('    priority: 10\n', `    priority: 10\n${holdout}\n`),
      ['    heldOut: [verdicts/low]', '    steps: [{ verdict: {}, expect: { rule: otherwise } }]'],
    );
    expect(untestedRules.map(({ name, asked }) => [name, asked])).to.deep.equal([
      ['blocked', true],
      ['trapped', true],
      ['high', true],
      ['low', true],
    ]);
  });

  it('lists conditions seen with only one result, or never, with what is missing', () => {
    const { conditions, oneSidedConditions } = coverage(
      '{ score: { clientHints: { honeypotTriggered: true } } }',
      '{ verdict: {} }',
    );
    expect(conditions).to.deep.equal({ tested: 0, total: 5, percent: 0 });
    expect(oneSidedConditions).to.deep.equal([
      {
        rule: 'blocked',
        condition: 'overrideGroup = BLOCKED',
        at: at('groups.yaml', 4, 25),
        missing: 'true',
      },
      {
        rule: 'trapped',
        condition: 'honeypotTriggered = true',
        at: at('bot-signals.yaml', 6, 11),
        missing: 'false',
      },
      { rule: 'trapped', condition: 'jsOk = false', at: at('bot-signals.yaml', 7, 11), missing: 'true' },
      { rule: 'high', condition: 'isBot = true', at: at('verdicts.yaml', 2, 16), missing: 'false' },
      {
        rule: 'low',
        condition: 'paidCount <= 0',
        at: at('verdicts.yaml', 10, 24),
        missing: 'true and false',
      },
    ]);
  });

  it('is complete when every rule decided and every condition was seen with both results', () => {
    const complete = coverage(
      '{ verdict: {} }',
      '{ outcome: { outcome: PAID } }',
      '{ verdict: {} }',
      '{ score: { clientHints: { jsOk: false } } }',
      '{ verdict: {} }',
      '{ score: { clientHints: { honeypotTriggered: true } } }',
      '{ override: BLOCKED }',
      '{ verdict: {} }',
    );
    expect(complete).to.deep.equal({
      rules: { tested: 6, total: 6, percent: 100 },
      conditions: { tested: 5, total: 5, percent: 100 },
      untestedRules: [],
      oneSidedConditions: [],
    });
  });
});
