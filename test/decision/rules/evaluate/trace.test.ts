import { expect } from 'chai';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { toEngineConditions } from '#decision/rules/evaluate/engine.ts';
import { type ConditionTrace, traceCondition, traceRuleSet } from '#decision/rules/evaluate/trace.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { valuesOf } from '../../../rule-fixtures/random-rules.ts';
import { edited, edits, swap, whole } from '../../../rule-fixtures/sound-rules.ts';

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
function values(
  named: Readonly<Record<string, NullableFactValue>>,
  of: RuleSet = rules,
): readonly NullableFactValue[] {
  return of.facts.map((ref) => {
    const value = named[ref.label];
    return value === undefined ? (valuesOf(ref)[0] ?? false) : value;
  });
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
    expect(outline(traceCondition(nested.written, seen, NO_ATTRIBUTE_PSEUDONYMIZER))).to.deep.equal([
      'any',
      true,
      ['not', true, ['reference', false, ['all', false, ['comparison', false]]]],
      ['all', false, ['comparison', true], ['comparison', false]],
    ]);
  });

  it('shows a "not" as written, which does not hold of what is not known', async () => {
    const dormant = edited({
      'verdicts.yaml': whole(
        [
          'rules:',
          '  - name: dormant',
          '    priority: 1',
          '    conditions: { not: { fact: secondsSinceLastVerdict, operator: lessThan, value: 100 } }',
          '    event: { type: verdict, params: { verdict: BLOCK, reason: "Dormant." } }',
          'otherwise: { verdict: GET_NEW, reason: "None." }',
        ].join('\n'),
      ),
    });
    const traced = async (seconds: number | null) => {
      const seen = values({ secondsSinceLastVerdict: seconds }, dormant);
      const [rule] = (await traceRuleSet(dormant, seen)).verdicts;
      if (rule?.condition.kind !== 'not') throw new Error('the rule begins with "not"');
      return [rule.matched, rule.condition.passed, ...comparisons(rule.condition)];
    };
    const compared = (seen: number | null, passed: boolean) =>
      `verdicts.yaml:4 secondsSinceLastVerdict ${seen} lessThan 100: ${passed}`;
    expect(await traced(100)).to.deep.equal([true, true, compared(100, false)]);
    expect(await traced(99)).to.deep.equal([false, false, compared(99, true)]);
    expect(await traced(null)).to.deep.equal([false, false, compared(null, false)]);
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
    const broken = { ...first, matches: (seen: readonly NullableFactValue[]) => !first.matches(seen) };
    const wrong = { ...rules, verdicts: { ...rules.verdicts, rules: [broken, ...rest] } };
    const error = await traceRuleSet(wrong, values({ paidCount: 0 })).catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error');
    expect(String(error)).to.equal(
      'Error: json-rules-engine and the compiled rule "nested" disagree: true and false',
    );
  });
});

const WITH_NAMES = {
  'verdicts.yaml': edits(
    swap(
      'rules:\n',
      'conditions:\n  stopped: { any: [{ condition: busy }, { fact: clientGroup, operator: in, value: [BLOCKED] }] }\n  busy: { not: { all: [{ fact: verdicts, params: { window: 60s }, operator: lessThan, value: 3 }] } }\nrules:\n',
    ),
    swap(
      '      all:\n        - { fact: clientGroup, operator: equal, value: BLOCKED }',
      '      condition: stopped',
    ),
  ),
};

describe('the rules as json-rules-engine sees them', () => {
  it('keep references by name and windows as params, with each "not" moved to the comparisons', () => {
    const condition = edited(WITH_NAMES).verdicts.rules[0]?.condition;
    if (condition?.kind !== 'reference') throw new Error('the rule is a reference');
    expect(toEngineConditions(condition)).to.deep.equal({ condition: 'stopped' });
    expect(toEngineConditions(condition.condition)).to.deep.equal({
      any: [{ condition: 'busy' }, { fact: 'clientGroup', operator: 'in', value: ['BLOCKED'] }],
    });
    const [busy] = condition.condition.kind === 'any' ? condition.condition.conditions : [];
    if (busy?.kind !== 'reference') throw new Error('the first way is a reference');
    expect(toEngineConditions(busy.condition)).to.deep.equal({
      any: [{ fact: 'verdicts', params: { window: '1m' }, operator: 'greaterThanInclusive', value: 3 }],
    });
  });

  it('put a bare comparison under "all", which the engine needs on top', () => {
    const condition = edited({}).verdicts.rules[0]?.condition;
    const [comparison] = condition?.kind === 'all' ? condition.conditions : [];
    if (comparison === undefined) throw new Error('the rule has a comparison');
    expect(toEngineConditions(comparison)).to.deep.equal({
      all: [{ fact: 'clientGroup', operator: 'equal', value: 'BLOCKED' }],
    });
  });

  it('are all evaluated, matching or not', async () => {
    const { engines, facts } = edited(WITH_NAMES);
    const seen = new Map<string, number | string | boolean>([
      ['clientGroup', 'NEW'],
      ['verdicts(1m)', 3],
      ['isBot', true],
      ['overrideGroup', 'NONE'],
      ['waitRemainingSeconds', 0],
    ]);
    const values = facts.map(({ label }) => seen.get(label) ?? false);
    expect(Object.fromEntries(await engines.verdicts.evaluateRules(values))).to.deep.equal({
      'client-blocked': true,
      'bot-blocked': true,
      'asked-too-early': false,
      'attempt-unpaid': false,
      'show-bound-requisite': false,
      'wait-served': false,
    });
  });

  it('are run for several decisions at once without losing any', async () => {
    const { engines, facts, verdicts } = edited(WITH_NAMES);
    const blocked = (isBlocked: boolean) =>
      facts.map(({ label }) => (label === 'clientGroup' ? (isBlocked ? 'BLOCKED' : 'NEW') : 0));
    const asked = Array.from({ length: 20 }, (_, place) => place % 2 === 0);
    const found = await Promise.all(asked.map((one) => engines.verdicts.evaluateRules(blocked(one))));
    expect(found.map((matched) => matched.get('client-blocked'))).to.deep.equal(asked);
    expect(found.every((matched) => matched.size === verdicts.rules.length)).to.equal(true);
  });

  it('fail loudly when a value is missing, instead of not matching', async () => {
    const { engines, facts } = edited({});
    const values = facts.slice(0, 3).map(() => 0);
    const failure = await engines.verdicts.evaluateRules(values).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).to.be.an('error').with.property('message', 'the decision has no value for clientGroup');
  });
});
