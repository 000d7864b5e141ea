import { quote, quoteName } from '../../archive/duck.ts';
import { factColumn } from '../../archive/record-columns.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type Comparison, comparisonsIn } from '../../rules/condition.ts';
import type { RuleSet } from '../../rules/rule-set.ts';

/**
 * The values of one fact, divided so that no comparison of the rule set can tell two values of a cell apart: any
 * one of them stands for all. Cell 0 is a value that was not recorded.
 */
interface FactCells {
  readonly label: string;
  /** The fact's place among the values of a decision. */
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
