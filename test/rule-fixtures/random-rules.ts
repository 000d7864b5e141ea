import fc from 'fast-check';
import { parseDuration } from '#base/duration.ts';
import { createAttributeFact } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import type { Fact, FactValue, NullableFactValue, WindowedFact } from '#decision/facts/fact.ts';
import { listFittingOperators, type OperatorName } from '#decision/rules/condition.ts';
import type { Edit } from './sound-rules.ts';

/** A condition as a rule file writes it; JSON is YAML. */
type Written = Readonly<Record<string, unknown>>;

const TEXTS = ['card', 'transfer', 'eur'] as const;
const CURRENCIES = ['EUR', 'USD', 'USDT'] as const;
const WINDOWS = ['1m', '10m', '24h'] as const;
const EQUALITY = ['equal', 'notEqual'] as const;
const ORDER = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'] as const;

interface NamedFact {
  readonly name: string;
  readonly fact: Fact;
}

/** Few values, so that what is compared is often equal or one step away. */
const NUMBERS = [0, 1, 2, 3, 4, 0.25, 0.5, 0.75] as const;

/** Values that a fact may have, few enough to meet those that rules ask for. */
export function valuesOf({ name, fact: { domain } }: NamedFact): readonly FactValue[] {
  switch (domain.type) {
    case 'number':
      return NUMBERS.filter(
        (value) => value >= domain.min && value <= domain.max && (!domain.integer || Number.isInteger(value)),
      );
    case 'boolean':
      return [true, false];
    case 'enum':
      return domain.values;
    case 'text':
      return name === 'currency' ? CURRENCIES : TEXTS;
    default:
      return domain satisfies never;
  }
}

/** The same, and having no value where that may be. */
export function readingsOf(named: NamedFact): readonly NullableFactValue[] {
  return named.fact.absence === undefined ? valuesOf(named) : [...valuesOf(named), null];
}

function comparison(name: string, fact: Fact): fc.Arbitrary<Written> {
  const value = fc.constantFrom(...valuesOf({ name, fact }));
  const asked = fc.constantFrom(...listFittingOperators(fact)).chain((operator) =>
    fc.record({
      fact: fc.constant(name),
      operator: fc.constant(operator),
      value: expected(operator, value),
    }),
  );
  if (fact.kind === 'listed') {
    const lists = fc.constantFrom('blocked-devices', 'trusted-shops');
    return fc.tuple(asked, lists).map(([written, list]) => ({ ...written, params: { list } }));
  }
  if (fact.kind !== 'windowed') return asked;
  const counted = fact.ofAttribute === undefined ? {} : { name: 'card' };
  return fc
    .tuple(asked, fc.constantFrom(...windowsFor(fact)))
    .map(([written, window]) => ({ ...written, params: { ...counted, window } }));
}

/** The windows that the fact may be counted over. */
function windowsFor({ windowRefusal, wholeDaysAboveMs }: WindowedFact): readonly string[] {
  const windows = [...WINDOWS, ...(wholeDaysAboveMs === undefined ? [] : ['2d', '30d'])];
  return windows.filter((window) => (windowRefusal?.(parseDuration(window) ?? 0) ?? null) === null);
}

function expected(operator: OperatorName, value: fc.Arbitrary<FactValue>): fc.Arbitrary<unknown> {
  if (operator === 'known') return fc.boolean();
  if (operator === 'multipleOf' || operator === 'notMultipleOf')
    return value.map((divisor) => (typeof divisor === 'number' && divisor > 0 ? divisor : 1));
  return operator === 'in' || operator === 'notIn' ? fc.array(value, { minLength: 1, maxLength: 3 }) : value;
}

const ATTRIBUTES = {
  cardCountry: { type: 'text', length: 8 },
  ipCountry: { type: 'text' },
  emailAgeDays: { type: 'number', unit: 'days' },
  accountAgeDays: { type: 'number', unit: 'days' },
  usualAmount: { type: 'number', unit: 'currency units' },
  cartCategory: { type: 'text', oneOf: ['games', 'food'] },
  returning: { type: 'boolean' },
  cardBin: { type: 'text', pseudonym: true },
} as const;

/** The attribute whose values are counted. */
const COUNTED = { card: { type: 'text', pseudonym: true } } as const;

/** Adds the attributes that random rules ask for to a `ruleset.yaml`. */
export const DECLARING: Edit = (sound) =>
  `${sound}\nattributes: ${JSON.stringify({ ...ATTRIBUTES, ...COUNTED })}\n`;

/** Facts that are compared with each other, by their names; `amount` is a fact of its own. */
const PAIRS = [
  ['cardCountry', 'ipCountry'],
  ['cartCategory', 'ipCountry'],
  ['emailAgeDays', 'accountAgeDays'],
  ['usualAmount', 'amount'],
  ['amount', 'usualAmount'],
] as const;

function named(name: string): Written {
  return name === 'amount' ? { fact: name } : { fact: 'attribute', params: { name } };
}

const OF_ATTRIBUTES = Object.entries(ATTRIBUTES).map(([name, { type, ...more }]) => {
  const declared = { name, type, length: 64, unit: null, oneOf: null, pseudonym: false, ...more };
  return comparison('attribute', createAttributeFact(declared)).map((written) => ({
    ...written,
    ...named(name),
  }));
});

const OF_PAIRS = PAIRS.map(([one, other]) =>
  fc
    .constantFrom<OperatorName>(...(/Country/.test(other) ? EQUALITY : [...EQUALITY, ...ORDER]))
    .map((operator) => ({ ...named(one), operator, value: named(other) })),
);

const OF_FACTS = [...FACTS].flatMap(([name, fact]) =>
  fact.kind === 'attribute' ? [] : [comparison(name, fact)],
);

const ANY_COMPARISON = fc.oneof(...OF_FACTS, ...OF_ATTRIBUTES, ...OF_PAIRS);

/** A condition that starts with all, any, not or condition, nested `depth` levels at most. */
function boolean(depth: number, names: readonly string[]): fc.Arbitrary<Written> {
  const inner = depth <= 1 ? ANY_COMPARISON : fc.oneof(ANY_COMPARISON, boolean(depth - 1, names));
  const list = fc.array(inner, { minLength: 1, maxLength: 3 });
  const kinds = [
    list.map((all) => ({ all })),
    list.map((any) => ({ any })),
    inner.map((not) => ({ not })),
    ...(names.length === 0 ? [] : [fc.constantFrom(...names).map((condition) => ({ condition }))]),
  ];
  return fc.oneof(...kinds);
}

/** Each may refer to those before it. */
const NAMED = fc.record({
  first: boolean(2, []),
  second: boolean(2, ['first']),
  third: boolean(3, ['first', 'second']),
});

/** The text of a `verdicts.yaml` with so many rules of random conditions and priorities. */
export function randomVerdicts(ruleCount: number): fc.Arbitrary<string> {
  const priorities = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), {
    minLength: ruleCount,
    maxLength: ruleCount,
  });
  const conditions = fc.array(boolean(3, ['first', 'second', 'third']), {
    minLength: ruleCount,
    maxLength: ruleCount,
  });
  return fc.tuple(NAMED, priorities, conditions).map(([named, order, tops]) => {
    const rules = tops.map((top, n) => ({
      name: `rule-${n}`,
      priority: order[n],
      conditions: top,
      event: { type: 'verdict', params: { verdict: 'BLOCK', reason: 'Matched.' } },
    }));
    const otherwise = { verdict: 'GET_NEW', reason: 'None matched.', payerText: 'Please go ahead.' };
    return JSON.stringify({ conditions: named, rules, otherwise });
  });
}
