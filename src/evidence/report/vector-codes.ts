import type { FactValue } from '../../facts/fact.ts';
import type { FactCells } from './fact-cells.ts';

/** A code stays below 2^63, which a BIGINT holds. */
const CODE_MAX = 2 ** 63;

/** Cells of several facts in one number: the remainder by the first fact's number of cells is its cell, and so on. */
export interface VectorCode {
  readonly facts: readonly FactCells[];
  readonly sql: string;
}

/** As few codes as the cells of all facts need; one empty code when there are no facts. */
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
