import { expect } from 'chai';
import fc from 'fast-check';
import { chooseVerdictRule } from '#decision/assess.ts';
import { NO_SHARING_QUESTION, type NullableFactValue } from '#decision/facts/fact.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { type FactRef, isPseudonymFact } from '#decision/rules/condition.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { DECLARING, randomVerdicts, readingsOf, valuesOf } from '../../../rule-fixtures/random-rules.ts';
import { edited, whole } from '../../../rule-fixtures/sound-rules.ts';

const RULES_A_RUN = 20;
/** Every run of the suite draws others; building json-rules-engine's rules is what costs. */
const RUNS = 100;

function withVerdicts(verdicts: string): RuleSet {
  return compileWithOtherHmacs(
    edited({ 'verdicts.yaml': whole(verdicts), 'ruleset.yaml': DECLARING }),
    HMACS,
  );
}

/** While the secret of pseudonyms changes. */
const HMACS = createAttributePseudonymizer(['the present secret', 'the secret before']);

/** The values with those of pseudonyms as decisions have them, under either secret. */
function asKept(ref: FactRef, values: readonly NullableFactValue[]): readonly NullableFactValue[] {
  if (!isPseudonymFact(ref)) return values;
  return values.flatMap((value): readonly NullableFactValue[] =>
    typeof value === 'string' ? [...HMACS.derivePseudonyms(value)] : [value],
  );
}

/** A value for each fact, picked by `choices`. */
function pick(facts: readonly FactRef[], choices: readonly number[]): readonly NullableFactValue[] {
  return facts.map((ref) => {
    const values = asKept(ref, readingsOf(ref));
    return values[(choices[ref.index % choices.length] ?? 0) % values.length] ?? null;
  });
}

/** The rule set with a single rule of one comparison, and the place of the fact that it asks for. */
function single(comparison: string): { readonly rules: RuleSet; readonly place: number } {
  const rules = withVerdicts(
    [
      'rules:',
      '  - name: single',
      '    priority: 1',
      `    conditions: { all: [${comparison}] }`,
      '    event: { type: verdict, params: { verdict: BLOCK, reason: "Matched." } }',
      'otherwise: { verdict: GET_NEW, reason: "None matched." }',
    ].join('\n'),
  );
  const condition = rules.verdicts.rules[0]?.condition;
  const compared = condition?.kind === 'all' ? condition.conditions[0] : undefined;
  if (compared?.kind !== 'comparison') throw new Error('the rule has one comparison');
  return { rules, place: compared.fact.index };
}

/** What the matcher and the engine say when the fact has this value. */
async function judged(
  { rules, place }: ReturnType<typeof single>,
  value: NullableFactValue,
): Promise<{ matcher: boolean; engine: boolean }> {
  const values = rules.facts.map((ref) => (ref.index === place ? value : (valuesOf(ref)[0] ?? 0)));
  const engine = [...(await rules.engines.verdicts.evaluateRules(values)).values()];
  return { matcher: rules.verdicts.rules[0]?.matches(values) === true, engine: engine[0] === true };
}

/** Values of the fact for which a comparison holds, and for which not. */
const BOUNDARIES: readonly (readonly [
  comparison: string,
  holds: readonly NullableFactValue[],
  not: readonly NullableFactValue[],
])[] = [
  ['{ fact: paidCount, operator: equal, value: 2 }', [2], [1, 3]],
  ['{ fact: paidCount, operator: notEqual, value: 2 }', [1], [2]],
  ['{ fact: paidCount, operator: lessThan, value: 2 }', [1], [2, 3]],
  ['{ fact: paidCount, operator: lessThanInclusive, value: 2 }', [1, 2], [3]],
  ['{ fact: paidCount, operator: greaterThan, value: 2 }', [3], [1, 2]],
  ['{ fact: paidCount, operator: greaterThanInclusive, value: 2 }', [2, 3], [1]],
  ['{ fact: paidCount, operator: in, value: [1, 3] }', [1, 3], [2]],
  ['{ fact: paidCount, operator: notIn, value: [1, 3] }', [2], [1]],
  ['{ fact: paymentScore, operator: greaterThanInclusive, value: 0.75 }', [0.75, 0.7501], [0.7499]],
  ['{ fact: verdicts, params: { window: 10m }, operator: greaterThan, value: 63 }', [64], [63]],
  ['{ fact: amount, operator: multipleOf, value: 1000 }', [0, 1000, 3000], [1, 999.99, 1500]],
  ['{ fact: amount, operator: multipleOf, value: 0.1 }', [0.1, 0.3, 0.7, 1.1, 12_345.6], [0.25, 0.31, 1e-7]],
  ['{ fact: amount, operator: multipleOf, value: 0.05 }', [0.15, 4.35, 1e21], [0.12, 4.36]],
  ['{ fact: amount, operator: notMultipleOf, value: 0.1 }', [0.25], [0.3]],
  ['{ not: { fact: amount, operator: multipleOf, value: 50 } }', [49.99], [0, 50, 1e38]],
  ['{ fact: secondsSinceLastPaid, operator: multipleOf, value: 60 }', [0, 120], [61, null]],
  ['{ fact: secondsSinceLastPaid, operator: notMultipleOf, value: 60 }', [61], [120, null]],
  ['{ not: { fact: secondsSinceLastPaid, operator: multipleOf, value: 60 } }', [61], [120, null]],
  ['{ fact: isBot, operator: equal, value: false }', [false], [true]],
  ['{ fact: isBot, operator: notEqual, value: false }', [true], [false]],
  ['{ fact: clientGroup, operator: in, value: [NEW, PAYING] }', ['NEW'], ['STICKY']],
  ['{ fact: clientGroup, operator: notEqual, value: NEW }', ['STICKY'], ['NEW']],
  ['{ fact: method, operator: equal, value: card }', ['card'], ['cards', 'Card']],
  ['{ fact: method, operator: notIn, value: [card] }', ['ca'], ['card']],
  ['{ fact: secondsSinceLastPaid, operator: greaterThan, value: 60 }', [61], [60, null]],
  ['{ fact: secondsSinceLastPaid, operator: lessThan, value: 60 }', [59], [60, null]],
  ['{ fact: secondsSinceLastPaid, operator: notEqual, value: 60 }', [61], [60, null]],
  ['{ fact: secondsSinceLastPaid, operator: notIn, value: [60, 61] }', [62], [60, null]],
  ['{ fact: secondsSinceLastPaid, operator: in, value: [60, 61] }', [60], [62, null]],
  ['{ not: { fact: secondsSinceLastPaid, operator: lessThan, value: 60 } }', [60], [59, null]],
  ['{ not: { fact: secondsSinceLastPaid, operator: notIn, value: [60] } }', [60], [59, null]],
  ['{ fact: jsOk, operator: equal, value: false }', [false], [true, null]],
  ['{ fact: jsOk, operator: notEqual, value: true }', [false], [true, null]],
  ['{ fact: jsOk, operator: known, value: false }', [null], [true, false]],
  ['{ not: { fact: jsOk, operator: known, value: false } }', [true, false], [null]],
];

describe('compiled rules', () => {
  for (const [comparison, holds, not] of BOUNDARIES) {
    it(`judge ${comparison} as the engine does`, async () => {
      const rule = single(comparison);
      for (const value of [...holds, ...not]) {
        const matches = holds.includes(value);
        expect(await judged(rule, value), String(value)).to.deep.equal({ matcher: matches, engine: matches });
      }
    });
  }

  it('compare a pseudonym with constants under both secrets while they change', async () => {
    const asks = (operator: string, value: string) =>
      `{ fact: attribute, params: { name: cardBin }, operator: ${operator}, value: ${value} }`;
    const [present = '', former = ''] = HMACS.derivePseudonyms('411111');
    const [other = '', formerOther = ''] = HMACS.derivePseudonyms('400000');
    expect(present).not.to.equal(former);
    for (const [comparison, holds, not] of [
      [asks('equal', '"411111"'), [present, former], [other, formerOther, null, '411111']],
      [asks('notEqual', '"411111"'), [other, formerOther], [present, former, null]],
      [asks('in', '["411111", "400000"]'), [present, former, other, formerOther], [null, '400000']],
      [asks('notIn', '["411111"]'), [other, formerOther], [present, former, null]],
      [`{ not: ${asks('equal', '"411111"')} }`, [other, formerOther], [present, former, null]],
      [asks('known', 'true'), [present, former, other], [null]],
    ] as const) {
      const rule = single(comparison);
      for (const value of [...holds, ...not]) {
        const matches = holds.some((one) => one === value);
        const told = `${comparison} of ${value}`;
        expect(await judged(rule, value), told).to.deep.equal({ matcher: matches, engine: matches });
      }
    }
  });

  it('keep the clear constants for proofs, and make their HMACs once', () => {
    const { rules } = single(
      '{ fact: attribute, params: { name: cardBin }, operator: equal, value: "411111" }',
    );
    const [rule] = rules.verdicts.rules;
    expect(JSON.stringify(rule?.condition)).to.include('411111').and.not.to.include('hmac:');
    let asked = 0;
    const counting = { ...HMACS, derivePseudonyms: (text: string) => [text, String(++asked)] };
    const ready = compileWithOtherHmacs(rules, counting).verdicts.rules[0];
    const once = asked;
    for (let time = 0; time < 3; time++) ready?.matches(rules.facts.map(() => null));
    expect([once, asked]).to.deep.equal([1, 1]);
  });

  it('stay what they are where no pseudonym is compared with a constant', () => {
    const rules = edited({});
    expect(compileWithOtherHmacs(rules, HMACS)).to.equal(rules);
  });

  it('compare two attributes, and nothing where one of them is not known', async () => {
    const country = (name: string) => `{ fact: attribute, params: { name: ${name} } }`;
    const { rules } = single(
      `{ fact: attribute, params: { name: cardCountry }, operator: notEqual, value: ${country('ipCountry')} }`,
    );
    for (const [card, ip, holds] of [
      ['DE', 'FR', true],
      ['DE', 'DE', false],
      ['DE', null, false],
      [null, 'FR', false],
      [null, null, false],
    ] as const) {
      const values = rules.facts.map((ref) =>
        ref.attribute === 'cardCountry' ? card : ref.attribute === 'ipCountry' ? ip : (valuesOf(ref)[0] ?? 0),
      );
      const [engine] = (await rules.engines.verdicts.evaluateRules(values)).values();
      expect([rules.verdicts.rules[0]?.matches(values), engine], `${card} ${ip}`).to.deep.equal([
        holds,
        holds,
      ]);
    }
  });

  it(`agree with json-rules-engine on ${RULES_A_RUN * RUNS} random rules and facts, and on which one is first`, async () => {
    let pairs = 0;
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(
        randomVerdicts(RULES_A_RUN),
        fc.array(fc.nat(1000), { minLength: 61, maxLength: 61 }),
        async (verdicts, choices) => {
          const rules = withVerdicts(verdicts);
          const values = pick(rules.facts, choices);
          const engine = await rules.engines.verdicts.evaluateRules(values);
          const found = [...engine].filter(([, matched]) => matched).map(([name]) => name);
          const matching = rules.verdicts.rules
            .filter((rule) => rule.matches(values))
            .map(({ name }) => name);
          expect(found.toSorted()).to.deep.equal(matching.toSorted());
          expect(engine.size).to.equal(RULES_A_RUN);
          const first = rules.verdicts.rules
            .filter(({ name }) => engine.get(name) === true)
            .toSorted((a, b) => b.priority - a.priority)[0];
          expect(chooseVerdictRule(rules, values).rule).to.equal(first?.name ?? 'otherwise');
          pairs += RULES_A_RUN;
          matched += matching.length;
        },
      ),
      { numRuns: RUNS },
    );
    expect(pairs).to.equal(RULES_A_RUN * RUNS);
    // Both answers must be common, or the agreement would say little.
    expect(matched).to.be.within(0.1 * pairs, 0.9 * pairs);
  });

  it('ask for each window and mark that the sharing facts use, once', () => {
    expect(edited({}).sharing).to.deep.equal({
      fingerprint: { ...NO_SHARING_QUESTION, windowsMs: [86_400_000], marks: ['paying'] },
      ip: { ...NO_SHARING_QUESTION, windowsMs: [86_400_000, 3_600_000], marks: ['paying'] },
    });
    const asked = edited({
      'verdicts.yaml': whole(
        JSON.stringify({
          rules: [
            {
              name: 'busy',
              priority: 1,
              conditions: {
                any: [
                  { fact: 'verdictsOnIp', params: { window: '2h' }, operator: 'greaterThan', value: 9 },
                  { fact: 'unpaidOrdersOnIp', params: { window: '7d' }, operator: 'greaterThan', value: 9 },
                ],
              },
              event: { type: 'verdict', params: { verdict: 'BLOCK', reason: 'r' } },
            },
          ],
          otherwise: { verdict: 'GET_NEW', reason: 'r' },
        }),
      ),
    });
    expect(asked.sharing.ip).to.deep.include({
      marks: ['paying', 'unpaidOrders'],
      verdictWindowsMs: [7_200_000],
      notes: { verdicts: true, unpaidOrders: true },
    });
  });
});
