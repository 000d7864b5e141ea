import { formatAttributeFactLabel, parseAttributeNameFromLabel } from '#decision/facts/attribute.ts';
import type { SharingQuestions, Sightings } from '#decision/facts/fact.ts';
import { listColumnsOfAttribute, parseLabelOfFactColumn } from '#history/archive/fact-columns.ts';
import { type QueryEngine, quoteName, quoteSql } from '#history/archive/query-engine.ts';
import { isFactNotKnownSql } from '#history/archive/record-columns.ts';
import { readColumnNames } from './evidence.ts';

/**
 * A column that counts the clients with the same value of an attribute. `on_attribute_63617264_3600000` is the column
 * of `card`, whose name is in hexadecimal, for a window of 3600000 ms.
 */
export interface ValueCountColumn {
  readonly name: string;
  readonly attribute: string;
  readonly windowMs: number;
}

const VALUE_COLUMN = /^on_attribute_([0-9a-f]+)_(\d+)$/;

export function listValueCountColumns({ attributes = [] }: SharingQuestions): readonly ValueCountColumn[] {
  const names = attributes.flatMap(({ declared: { name }, windowsMs }) =>
    // The name is in hexadecimal, because the engine does not distinguish capital and small letters.
    windowsMs.map((windowMs) => `on_attribute_${Buffer.from(name).toString('hex')}_${windowMs}`),
  );
  return parseValueCountColumns([...new Set(names)]);
}

export function parseValueCountColumns(names: readonly string[]): readonly ValueCountColumn[] {
  return names.flatMap((name) => {
    const [, hex, windowMs] = VALUE_COLUMN.exec(name) ?? [];
    if (hex === undefined) return [];
    return [{ name, attribute: Buffer.from(hex, 'hex').toString(), windowMs: Number(windowMs) }];
  });
}

/** Lists the counts for these columns. A count is 0 if the client has no value of the attribute. */
export function listValueCountsOfSightings(
  { attributes }: Sightings,
  columns: readonly ValueCountColumn[],
): readonly number[] {
  return columns.map(({ attribute, windowMs }) => attributes?.get(attribute)?.get(windowMs) ?? 0);
}

/**
 * Renders the SQL for the attributes of a verdict's request, as JSON. The SQL gives null if no attribute is recorded.
 */
export async function attributesSql(duck: QueryEngine): Promise<string> {
  const columns = await readColumnNames(duck, 'decisions');
  const names = new Set(
    columns.flatMap((column) => parseAttributeNameFromLabel(parseLabelOfFactColumn(column) ?? '') ?? []),
  );
  if (names.size === 0) return 'NULL::VARCHAR';
  const members = [...names].map((name) => {
    const known = listColumnsOfAttribute(name).flatMap(([column]) =>
      columns.includes(column) ? [quoteName(column)] : [],
    );
    const values = known.map((column) => `to_json(${column})::VARCHAR`);
    const isAsked = [
      isFactNotKnownSql(formatAttributeFactLabel(name)),
      ...known.map((column) => `${column} IS NOT NULL`),
    ];
    const start = quoteSql(`${JSON.stringify(name)}:`);
    return `if(${isAsked.join(' OR ')}, ${start} || coalesce(${values.join(', ')}, 'null'), NULL)`;
  });
  return `'{' || nullif(concat_ws(',', ${members.join(', ')}), '') || '}'`;
}
