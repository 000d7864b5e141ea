import { CLIENT_GROUPS } from '../../client/client-group.ts';
import { type FactDomain, type FactValue, YES_NO } from '../../facts/fact.ts';
import { type Comparison, type Condition, type Expected, type FactRef, factsNamed } from '../condition.ts';
import { formatValue } from '../condition-text.ts';
import type { OperatorName } from '../operators.ts';
import { type GroupParams, type Rule, type SignalParams, withoutHoldout } from '../rule-set.ts';
import type { Definition, KnownRules } from './relations.ts';

/** What the rules themselves conclude on the way: the group, the weight of the signals and the bot flag. */
export function definitionsOf(rules: KnownRules): readonly Definition[] {
  const facts = new FactsByName(rules.facts);
  return [groupDefinition(rules, facts), ...botDefinitions(rules, facts)];
}

/** clientGroup is what groups.yaml concludes: the first match, or `otherwise`. */
function groupDefinition({ groups }: KnownRules, facts: FactsByName): Definition {
  const clientGroup = facts.plain('clientGroup');
  const conditions = CLIENT_GROUPS.map((group) => {
    const others = (rules: readonly Rule<GroupParams>[]) =>
      withoutHoldout(rules)
        .filter((rule) => rule.params.group !== group)
        .map((rule) => not(rule.condition));
    const ways = groups.rules.flatMap((rule, index) =>
      rule.params.group === group ? [allOf(rule.condition, ...others(groups.rules.slice(0, index)))] : [],
    );
    const otherwise = groups.otherwise === group ? [allOf(...others(groups.rules))] : [];
    return anyOf(compare(clientGroup, 'notEqual', group), ...ways, ...otherwise);
  });
  return { of: clientGroup, conditions, relations: [] };
}

/** botWeight is the sum over the signals that match; a client who is not new is a bot from the threshold on. */
function botDefinitions({ signals }: KnownRules, facts: FactsByName): readonly Definition[] {
  const botWeight = facts.plain('botWeight');
  const isBot = facts.plain('isBot');
  const matching = signals.rules.map((rule) => ({
    rule,
    matches: inner(signalFact(rule.name), YES_NO),
    weight: rule.params.weight,
  }));
  const reached = compare(botWeight, 'greaterThanInclusive', signals.threshold);
  return [
    {
      of: botWeight,
      conditions: matching.flatMap(({ rule, matches }) => matchesExactly(rule, matches)),
      relations: [{ kind: 'weight', signals: matching, total: botWeight }],
    },
    {
      of: isBot,
      conditions: [
        implies(facts.is('isBot', true), allOf(reached, facts.is('isNewClient', false))),
        implies(allOf(reached, facts.is('isNewClient', false)), facts.is('isBot', true)),
      ],
      relations: [],
    },
  ];
}

/** A signal that somebody may be held out of counts at most when it matches, the others exactly then. */
function matchesExactly({ condition, holdout }: Rule<SignalParams>, matches: FactRef): readonly Condition[] {
  const does = compare(matches, 'equal', true);
  return [implies(does, condition), ...(holdout === undefined ? [implies(condition, does)] : [])];
}

/** How a witness names whether a signal matches. */
export function signalFact(name: string): string {
  return `signal ${name}`;
}

/** The facts of a rule set, to say things about them. */
export class FactsByName {
  readonly #refs = new Map<string, FactRef[]>();

  constructor(refs: readonly FactRef[]) {
    for (const ref of refs) this.#refs.set(ref.name, [...(this.#refs.get(ref.name) ?? []), ref]);
  }

  /** A fact without a window; every rule set has all of them. */
  plain(name: string): FactRef {
    const [ref] = this.#refs.get(name) ?? [];
    if (ref === undefined) throw new Error(`there is no fact "${name}" among those of the rule set`);
    return ref;
  }

  /** A windowed fact, once for each window in use, the shortest first. */
  windows(name: string): readonly FactRef[] {
    return (this.#refs.get(name) ?? []).toSorted((a, b) => a.windowMs - b.windowMs);
  }

  windowed(): readonly (readonly FactRef[])[] {
    const names = [...this.#refs.entries()].filter(([, refs]) => refs[0]?.fact.kind === 'windowed');
    return names.map(([name]) => this.windows(name));
  }

  is(name: string, value: FactValue): Condition {
    return compare(this.plain(name), 'equal', value);
  }

  above(name: string, value: number): Condition {
    return compare(this.plain(name), 'greaterThan', value);
  }
}

/** Something that rules cannot name, but that proofs count on. */
export function inner(label: string, domain: FactDomain): FactRef {
  const fact = { kind: 'plain', domain, unit: null, description: label, read: () => false } as const;
  return { label, name: label, fact, windowMs: 0, index: -1 };
}

/** These conditions stand in no file. */
const NOWHERE = { file: '', line: 0, column: 0 };

export function compare(fact: FactRef, operator: OperatorName, value: Expected): Comparison {
  return { kind: 'comparison', fact, operator, value, at: NOWHERE };
}

export function allOf(...conditions: readonly Condition[]): Condition {
  return { kind: 'all', conditions, at: NOWHERE };
}

export function anyOf(...conditions: readonly Condition[]): Condition {
  return { kind: 'any', conditions, at: NOWHERE };
}

export function not(condition: Condition): Condition {
  return { kind: 'not', condition, at: NOWHERE };
}

export function implies(condition: Condition, consequence: Condition): Condition {
  return anyOf(not(condition), consequence);
}

/** Facts by label, such as `verdicts(10m)`, with values that they can have together. */
export type Example = Readonly<Record<string, FactValue>>;

/** Of a witness, the facts that these conditions name. */
export function exampleOf(
  witness: ReadonlyMap<string, FactValue>,
  conditions: readonly Condition[],
): Example {
  const values = factsNamed(conditions).map(({ label }) => [label, witness.get(label)] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, FactValue] => entry[1] !== undefined));
}

/** `paidCount = 3, hasBinding = true` */
export function formatExample(example: Example): string {
  return Object.entries(example)
    .map(([label, value]) => `${label} = ${formatValue(value)}`)
    .join(', ');
}
