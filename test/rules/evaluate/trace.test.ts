import { expect } from 'chai';
import fc from 'fast-check';
import { verdictRule } from '../../../src/decision/assess.ts';
import type { FactValue } from '../../../src/facts/fact.ts';
import { type ConditionTrace, traceCondition, traceRuleSet } from '../../../src/rules/evaluate/trace.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { randomVerdicts, valuesOf } from '../../rule-fixtures/random-rules.ts';
import { edited, whole } from '../../rule-fixtures/sound-rules.ts';

const VERDICTS = [
  'conditions:',
  '  regular:',
  '    all:',
  '      - { fact: paidCount, operator: greaterThanInclusive, value: 2 }',
  'rules:',
  '  - name: nested',
  '    description: All kinds of conditions.',
  '    priority: 20',
  '    conditions:',
  '      any:',
  '        - not: { condition: regular }',
  '        - all:',
  '            - { fact: currency, operator: in, value: [EUR, USD] }',
  '            - { fact: verdicts, params: { window: 10m }, operator: lessThan, value: 3 }',
  '    event: { type: verdict, params: { verdict: BLOCK, reason: "Nested." } }',
  '  - name: behind',
  '    priority: 10',
  '    conditions: { all: [{ fact: amount, operator: greaterThan, value: 0 }] }',
  '    event: { type: verdict, params: { verdict: WAIT, reason: "Behind." } }',
  'otherwise: { verdict: GET_NEW, reason: "None." }',
].join('\n');

const rules = edited({ 'verdicts.yaml': whole(VERDICTS) });

/** The first value of each fact's domain, but for those named. */
function values(named: Readonly<Record<string, FactValue>>, of: RuleSet = rules): readonly FactValue[] {
  return of.facts.map(({ label, fact }) => named[label] ?? valuesOf(fact.domain)[0] ?? false);
}

function comparisons(trace: ConditionTrace): readonly string[] {
  switch (trace.kind) {
    case 'all':
    case 'any':
      return trace.conditions.flatMap(comparisons);
    case 'not':
    case 'reference':
      return comparisons(trace.condition);
    case 'comparison': {
      const { fact, operator, expected, seen, passed, at } = trace;
      return [`${at.file}:${at.line} ${fact} ${seen} ${operator} ${expected}: ${passed}`];
    }
    default:
      return trace satisfies never;
  }
}

describe('the trace of a rule set', () => {
  it('shows every comparison with its value, its result and its place, also behind a decided one', async () => {
    const { verdicts } = await traceRuleSet(
      rules,
      values({ paidCount: 1, currency: 'GBP', 'verdicts(10m)': 7, amount: 5 }),
    );
    expect(verdicts.map(({ name, condition }) => [name, comparisons(condition)])).to.deep.equal([
      [
        'nested',
        [
          'verdicts.yaml:4 paidCount 1 greaterThanInclusive 2: false',
          'verdicts.yaml:13 currency GBP in EUR,USD: false',
          'verdicts.yaml:14 verdicts(10m) 7 lessThan 3: false',
        ],
      ],
      ['behind', ['verdicts.yaml:18 amount 5 greaterThan 0: true']],
    ]);
  });

  it('keeps the tree of conditions as it is written, each node with its result', () => {
    const [nested] = rules.verdicts.rules;
    if (nested === undefined) throw new Error('there is a rule');
    const seen = values({ paidCount: 1, currency: 'EUR', 'verdicts(10m)': 7 });
    const outline = (trace: ConditionTrace): unknown => {
      const inner =
        'conditions' in trace
          ? trace.conditions.map(outline)
          : 'condition' in trace
            ? [outline(trace.condition)]
            : [];
      return [trace.kind, trace.passed, ...inner];
    };
    expect(outline(traceCondition(nested.condition, seen))).to.deep.equal([
      'any',
      true,
      ['not', true, ['reference', false, ['all', false, ['comparison', false]]]],
      ['all', false, ['comparison', true], ['comparison', false]],
    ]);
  });

  it('marks rules after the first match as not evaluated, with what they would have given', async () => {
    const { verdicts } = await traceRuleSet(rules, values({ paidCount: 0, amount: 5 }));
    expect(verdicts.map(({ name, asked, matched, gives }) => [name, asked, matched, gives])).to.deep.equal([
      ['nested', true, true, 'BLOCK'],
      ['behind', false, true, 'WAIT'],
    ]);
  });

  it('evaluates every rule when none matches', async () => {
    const none = values({ paidCount: 9, currency: 'GBP', 'verdicts(10m)': 7, amount: 0 });
    const { verdicts } = await traceRuleSet(rules, none);
    expect(verdicts.map(({ asked, matched }) => [asked, matched])).to.deep.equal([
      [true, false],
      [true, false],
    ]);
  });

  it('evaluates every signal, whichever match', async () => {
    const { signals } = await traceRuleSet(rules, values({ honeypotTriggered: true, jsOk: true }));
    expect(signals.every(({ asked }) => asked)).to.equal(true);
    expect(signals.find(({ name }) => name === 'honeypot')).to.include({ matched: true, gives: 4 });
  });

  it('throws when a compiled rule and json-rules-engine differ', async () => {
    const [first, ...rest] = rules.verdicts.rules;
    if (first === undefined) throw new Error('there is a rule');
    const broken = { ...first, matches: (seen: readonly FactValue[]) => !first.matches(seen) };
    const wrong = { ...rules, verdicts: { ...rules.verdicts, rules: [broken, ...rest] } };
    const error = await traceRuleSet(wrong, values({ paidCount: 0 })).catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error');
    expect(String(error)).to.equal(
      'Error: json-rules-engine and the compiled rule "nested" disagree: true and false',
    );
  });

  it('refuses values that lack one of the facts', async () => {
    const error = await traceRuleSet(rules, values({}).slice(0, -1)).catch((thrown: unknown) => thrown);
    expect(String(error)).to.match(/^Error: the (value of|decision has no value for) /);
  });

  it('agrees with the core on which rule is first, over random rules and facts', async () => {
    const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(randomVerdicts(5), picks, async (text, choices) => {
        const random = edited({ 'verdicts.yaml': whole(text) });
        const seen = random.facts.map(({ fact, index }) => {
          const domain = valuesOf(fact.domain);
          return domain[(choices[index % choices.length] ?? 0) % domain.length] ?? false;
        });
        const { verdicts } = await traceRuleSet(random, seen);
        const first = verdicts.find(({ asked, matched }) => asked && matched)?.name ?? 'otherwise';
        expect(first).to.equal(verdictRule(random, seen).rule);
      }),
      { numRuns: 40 },
    );
  });
});
