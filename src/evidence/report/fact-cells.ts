import { quote, quoteName } from '../../archive/duck.ts';
import { factColumn } from '../../archive/record-columns.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import { OTHERWISE } from '../../decision/decision.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type Comparison, comparisonsIn } from '../../rules/condition.ts';
import type { RuleSet, Verdict } from '../../rules/rule-set.ts';

/**
 * The values of one fact, divided so that no comparison of the rule set can tell two values of a cell apart: any
 * one of them stands for all. Cell 0 is a value that was not recorded.
 */
interface FactCells {
  readonly label: string;
  readonly index: number;
  /** Number of cells, cell 0 included. */
  readonly cells: number;
  /** SQL that gives the cell of a row of `decisions`. */
  readonly sql: string;
  /** A value of each cell but cell 0. */
  readonly values: readonly FactValue[];
}

/**
 * The cells of every recorded fact that the rules compare. The facts of a million decisions fall into some hundred
 * combinations of cells, so that the rules need be asked only so often; the one evaluator decides what operators
 * mean: it is asked about a value of each cell. `recorded` are the existing columns.
 */
export function factCells(rules: RuleSet, recorded: ReadonlySet<string>): readonly FactCells[] {
  const conditions = [...rules.groups.rules, ...rules.signals.rules, ...rules.verdicts.rules];
  const comparisons = comparisonsIn(conditions.map(({ condition }) => condition));
  const byFact = Map.groupBy(comparisons, ({ fact }) => fact.label);
  return [...byFact.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined || first.fact.fact.kind === 'concluded') return [];
    return [cellsOfFact(first, same, recorded)];
  });
}

function cellsOfFact(
  { fact: { label, index, fact } }: Comparison,
  comparisons: readonly Comparison[],
  recorded: ReadonlySet<string>,
): FactCells {
  const column = factColumn(label);
  const divided = recorded.has(column)
    ? divide(quoteName(column), fact.domain.type, comparisons)
    : { sql: '0', values: [] };
  return { label, index, cells: divided.values.length + 1, ...divided };
}

type Divided = Pick<FactCells, 'sql' | 'values'>;

function divide(
  column: string,
  type: 'number' | 'boolean' | 'enum' | 'text',
  comparisons: readonly Comparison[],
): Divided {
  const constants = comparisons.map(({ value }) => (Array.isArray(value) ? value : [value]));
  switch (type) {
    case 'boolean':
      return {
        sql: `CASE WHEN ${column} THEN 2 WHEN NOT ${column} THEN 1 ELSE 0 END`,
        values: [false, true],
      };
    case 'number':
      return betweenNumbers(column, [...new Set(constants.flat().filter((one) => typeof one === 'number'))]);
    case 'enum':
    case 'text':
      return bySets(
        column,
        constants.map((set) => set.filter((one) => typeof one === 'string')),
      );
    default:
      return type satisfies never;
  }
}

/** Below the first number, the first number itself, between it and the second, ... */
function betweenNumbers(column: string, numbers: readonly number[]): Divided {
  const sorted = numbers.toSorted((a, b) => a - b);
  const [first = 0] = sorted;
  const last = sorted.at(-1) ?? 0;
  const values = sorted.flatMap((number, place) => {
    const next = sorted[place + 1];
    return [number, next === undefined ? last + 1 + Math.abs(last) : (number + next) / 2];
  });
  const steps = sorted.map((number) => {
    const literal = Number.isSafeInteger(number) ? String(number) : `${number}::DOUBLE`;
    return `(${column} >= ${literal})::INT + (${column} > ${literal})::INT`;
  });
  return {
    sql: `coalesce(1 + ${['0', ...steps].join(' + ')}, 0)`,
    values: [first - 1 - Math.abs(first), ...values],
  };
}

/** By which of the compared sets of texts hold the value. */
function bySets(column: string, sets: readonly (readonly string[])[]): Divided {
  const distinct = [...new Map(sets.map((set) => [JSON.stringify(set), new Set(set)])).values()];
  const cellOf = (text: string) => distinct.map((set) => (set.has(text) ? '1' : '0')).join('');
  const members = new Map(distinct.flatMap((set) => [...set]).map((text) => [cellOf(text), text]));
  const cells = [...members.entries()].filter(([cell]) => cell.includes('1'));
  const tests = cells.map(([cell], place) => {
    const holds = distinct.map((set, number) => {
      const list = [...set].map(quote).join(', ');
      return `${column} ${cell[number] === '1' ? 'IN' : 'NOT IN'} (${list})`;
    });
    return `WHEN ${holds.join(' AND ')} THEN ${place + 2}`;
  });
  return {
    sql: `CASE WHEN ${column} IS NULL THEN 0 ${tests.join(' ')} ELSE 1 END`,
    values: [textOutside(new Set(distinct.flatMap((set) => [...set]))), ...cells.map(([, text]) => text)],
  };
}

/** A text that is in none of the sets. */
function textOutside(texts: ReadonlySet<string>): string {
  let outside = 'other';
  while (texts.has(outside)) outside += '+';
  return outside;
}

/** A code stays below 2^63, which a BIGINT holds. */
const CODE_MAX = 2 ** 63;

/** Cells of several facts in one number: the remainder by the first fact's number of cells is its cell, and so on. */
export interface VectorCode {
  readonly facts: readonly FactCells[];
  readonly sql: string;
}

/** Packs the cells of all facts into as few codes as possible; one empty code without facts. */
export function vectorCodes(facts: readonly FactCells[]): readonly VectorCode[] {
  const groups: FactCells[][] = [[]];
  let size = 1;
  for (const fact of facts) {
    if (size * fact.cells >= CODE_MAX) {
      groups.push([]);
      size = 1;
    }
    groups.at(-1)?.push(fact);
    size *= fact.cells;
  }
  return groups.map((group) => ({ facts: group, sql: codeSql(group) }));
}

/** `c1 + n1 * (c2 + n2 * c3)`, in BIGINT. */
function codeSql(facts: readonly FactCells[]): string {
  return facts.reduceRight((rest, { sql, cells }) => `((${sql})::BIGINT + ${cells} * ${rest})`, '0::BIGINT');
}

/**
 * The values of a decision whose codes these are, each standing for all of its cell; the facts that the rules
 * conclude themselves are false, as before a decision. Null when a fact was not recorded.
 */
export function valuesOf(
  codes: readonly VectorCode[],
  numbers: readonly bigint[],
  length: number,
): readonly FactValue[] | null {
  const values: FactValue[] = new Array<FactValue>(length).fill(false);
  for (const [place, { facts }] of codes.entries()) {
    let rest = numbers[place] ?? 0n;
    for (const fact of facts) {
      const value = fact.values[Number(rest % BigInt(fact.cells)) - 1];
      if (value === undefined) return null;
      values[fact.index] = value;
      rest /= BigInt(fact.cells);
    }
  }
  return values;
}

/** A rule as a report names it; `otherwise` stands for what holds when no rule of its file matches. */
export interface NamedRule {
  readonly file: 'groups.yaml' | 'bot-signals.yaml' | 'verdicts.yaml';
  readonly name: string;
  /** Of a verdict rule. */
  readonly verdict: Verdict | null;
}

/** The rules' judgement of one decision; each rule by its index in `namedRules`. */
export interface Judgement {
  /** Rules whose condition holds; `otherwise` where no rule of the file does. */
  readonly matched: readonly number[];
  /** The group rule and the verdict rule that gave the answer, and the signals that raised the bot flag. */
  readonly decided: readonly number[];
  /** Rules without which the verdict or the bot flag would have been another. */
  readonly decisive: readonly number[];
}

/** All rules of a rule set in the order of its files. */
export function namedRules({ groups, signals, verdicts }: RuleSet): readonly NamedRule[] {
  return [
    ...groups.rules.map(({ name }) => ({ file: 'groups.yaml', name, verdict: null }) as const),
    { file: 'groups.yaml', name: OTHERWISE, verdict: null },
    ...signals.rules.map(({ name }) => ({ file: 'bot-signals.yaml', name, verdict: null }) as const),
    ...verdicts.rules.map(
      ({ name, params }) => ({ file: 'verdicts.yaml', name, verdict: params.verdict }) as const,
    ),
    { file: 'verdicts.yaml', name: OTHERWISE, verdict: verdicts.otherwise.verdict },
  ];
}

/** Asks a rule set about recorded values, as it is and without each of its rules. */
export class Judge {
  readonly #rules: RuleSet;
  readonly #without: readonly (RuleSet | null)[];

  constructor(rules: RuleSet) {
    this.#rules = rules;
    this.#without = rulesWithoutEach(rules);
  }

  judge(values: readonly FactValue[]): Judgement {
    const { groups, signals, verdicts } = this.#rules;
    const { values: concluded, isBot } = conclude(this.#rules, values, false);
    const inGroups = groups.rules.map((rule) => rule.matches(concluded));
    const inSignals = signals.rules.map((rule) => rule.matches(concluded));
    const inVerdicts = verdicts.rules.map((rule) => rule.matches(concluded));
    const holds = [
      ...inGroups,
      !inGroups.includes(true),
      ...inSignals,
      ...inVerdicts,
      !inVerdicts.includes(true),
    ];
    const matched = holds.flatMap((held, place) => (held ? [place] : []));
    const signalsFrom = groups.rules.length + 1;
    const verdictsFrom = signalsFrom + signals.rules.length;
    const first = (from: number) => matched.filter((place) => place >= from).slice(0, 1);
    const raised = matched.filter((place) => isBot && place >= signalsFrom && place < verdictsFrom);
    return {
      matched,
      decided: [...first(0), ...raised, ...first(verdictsFrom)],
      decisive: this.#decisive(matched, values),
    };
  }

  #decisive(matched: readonly number[], values: readonly FactValue[]): readonly number[] {
    const answer = answerOf(this.#rules, values);
    return matched.filter((place) => {
      const without = this.#without[place];
      return without !== null && without !== undefined && answerOf(without, values) !== answer;
    });
  }
}

/** What a verdict says to the caller, as far as rules choose it. */
function answerOf(rules: RuleSet, values: readonly FactValue[]): string {
  const { values: concluded, isBot } = conclude(rules, values, false);
  return `${verdictRule(rules, concluded).params.verdict} ${isBot}`;
}

/** By place in `namedRules`; nothing can be left out of `otherwise`. */
function rulesWithoutEach(rules: RuleSet): readonly (RuleSet | null)[] {
  const { groups, signals, verdicts } = rules;
  const others = <Rule>(all: readonly Rule[], place: number) => all.filter((_, other) => other !== place);
  return [
    ...groups.rules.map((_, place) => ({
      ...rules,
      groups: { ...groups, rules: others(groups.rules, place) },
    })),
    null,
    ...signals.rules.map((_, place) => ({
      ...rules,
      signals: { ...signals, rules: others(signals.rules, place) },
    })),
    ...verdicts.rules.map((_, place) => ({
      ...rules,
      verdicts: { ...verdicts, rules: others(verdicts.rules, place) },
    })),
    null,
  ];
}
