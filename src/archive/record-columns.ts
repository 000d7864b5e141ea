import { isJsonObject } from '../files/json-object.ts';
import type { TObject, TSchema } from '../json-schema.ts';
import { momentOf, type Shape } from '../shapes.ts';
import { type DuckRow, flagOf, numberOf, textOf } from './duck.ts';

/** A column as Parquet keeps it and as people read it. */
export interface Column {
  readonly name: string;
  /** DuckDB's name of the type. */
  readonly type: ColumnType;
  readonly description: string;
}

type ScalarType =
  | 'VARCHAR'
  | 'BOOLEAN'
  | 'BIGINT'
  | 'UBIGINT'
  | 'DOUBLE'
  /** Epoch ms on the way in, a UTC time stamp in the file. */
  | 'TIMESTAMP_MS';

export type ColumnType = ScalarType | `${ScalarType}[]`;

/** What a cell is written from; times are epoch ms. */
export type RowCell = string | number | boolean | null | readonly (string | number)[];

export type Cells = Record<string, RowCell>;

/** A row of the archive is not what was put into it; the message names the column. */
export class RowDamaged extends Error {
  override readonly name = 'RowDamaged';
}

/**
 * How columns are called that are not called as their members, by path: `at` or `override.group`. Null is for a member
 * without a column, and an empty name for an object whose members' columns have no prefix.
 */
export type ColumnNames = Readonly<Record<string, string | null>>;

/**
 * The columns of a record, made from its list of members: `sellPointKey` is kept as `sell_point_key`, the members of
 * an object behind its name, a list of objects as a list for each member, facts in columns of their own. An absent
 * member is null.
 */
export class RecordColumns<S extends TObject> {
  readonly columns: readonly Column[];
  readonly #members: Field;

  constructor(schema: S, names: ColumnNames = {}) {
    this.#members = objectField(schema, { names, path: '', prefix: '' });
    this.columns = this.#members.columns;
  }

  /** Adds the cells of a record. */
  write(record: Shape<S>, cells: Cells): void {
    this.#members.write(record, cells);
  }

  /** The record that was written so. Throws RowDamaged. */
  read(row: DuckRow): Shape<S> {
    const record = this.#members.read(row);
    if (this.#isWhole(record)) return record;
    throw new RowDamaged('the row is empty');
  }

  /** Each member's reader throws when it lacks what the schema wants. */
  #isWhole(record: unknown): record is Shape<S> {
    return record !== null;
  }
}

/** JSON Schema as far as records use it. */
interface Described {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: unknown;
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: object;
}

/** How one member is kept. What it reads is null where the row has nothing. */
interface Field {
  readonly columns: readonly Column[];
  readonly write: (value: unknown, cells: Cells) => void;
  readonly read: (row: DuckRow) => unknown;
}

interface Place {
  readonly names: ColumnNames;
  readonly path: string;
  readonly prefix: string;
}

function objectField({ properties = {}, required = [] }: Described, place: Place): Field {
  const members = Object.entries(properties).flatMap(([member, schema]) => {
    const field = memberField(schema, member, place);
    return field === null ? [] : [{ member, field, presence: presenceOf(schema, required.includes(member)) }];
  });
  const first = members.find(({ presence, field }) => presence === 'always' && field.columns.length > 0);
  return {
    columns: members.flatMap(({ field }) => field.columns),
    write: (value, cells) => {
      const given = isJsonObject(value) ? value : {};
      for (const { member, field } of members) field.write(given[member], cells);
    },
    read: (row) => {
      if (place.path !== '' && first?.field.read(row) === null) return null;
      const record: Record<string, unknown> = {};
      for (const { member, field, presence } of members) {
        const value = field.read(row);
        if (value !== null || presence === 'nullable') record[member] = value;
        else if (presence === 'always')
          throw new RowDamaged(`${field.columns[0]?.name ?? member} is missing`);
      }
      return record;
    },
  };
}

type Presence = 'always' | 'nullable' | 'optional';

function presenceOf({ anyOf = [] }: Described, isRequired: boolean): Presence {
  if (!isRequired) return 'optional';
  return anyOf.some(({ type }) => type === 'null') ? 'nullable' : 'always';
}

/** Null for a member that has no column. */
function memberField(given: Described, member: string, { names, path, prefix }: Place): Field | null {
  const own = path === '' ? member : `${path}.${member}`;
  const named = names[own];
  if (named === null) return null;
  const schema = given.anyOf?.find(({ type }) => type !== 'null') ?? given;
  const column = named ?? `${prefix}${snakeCase(member)}`;
  if (schema.enum?.length === 1) return constantField(schema.enum[0]);
  if (schema.patternProperties !== undefined) return FACTS;
  if (schema.properties !== undefined)
    return objectField(schema, { names, path: own, prefix: column === '' ? '' : `${column}_` });
  if (schema.items?.properties !== undefined) return listField(schema.items.properties, column);
  return scalarField(schema, column);
}

/** What tells shapes apart is the same in every row. */
function constantField(value: unknown): Field {
  return { columns: [], write: () => undefined, read: () => value };
}

const FACTS: Field = {
  columns: [],
  write: (value, cells) => {
    if (!isJsonObject(value)) return;
    // Forty facts a decision: a list of pairs in between would cost more than all the rest.
    for (const label in value) cells[factColumn(label)] = cellOf(value[label]);
  },
  read: (row) => {
    const facts: Record<string, unknown> = {};
    for (const column in row) {
      const label = factLabel(column);
      const cell = row[column] ?? null;
      if (label !== null && cell !== null) facts[label] = typeof cell === 'bigint' ? Number(cell) : cell;
    }
    return facts;
  },
};

function listField(properties: Readonly<Record<string, Described>>, column: string): Field {
  const members = Object.entries(properties).map(([member, schema]) => ({
    member,
    name: `${column}_${snakeCase(member)}`,
    type: scalarType(schema),
    description: describe(schema),
  }));
  return {
    columns: members.map(({ name, type, description }) => ({ name, type: `${type}[]`, description })),
    write: (value, cells) => {
      const items = Array.isArray(value) ? value.filter(isJsonObject) : null;
      for (const { member, name } of members)
        cells[name] = items === null ? null : cellOf(items.map((item) => item[member]));
    },
    read: (row) => {
      const lists = members.map(({ member, name }) => ({ member, items: itemsOf(row[name]) }));
      const [first = null] = lists.map(({ items }) => items);
      if (first === null) return null;
      return first.map((_, place) =>
        Object.fromEntries(lists.map(({ member, items }) => [member, items?.[place]])),
      );
    },
  };
}

function scalarField(schema: Described, name: string): Field {
  const type = columnType(schema);
  const words = schema.enum === undefined ? null : new Set(schema.enum);
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern) : null;
  return {
    columns: [{ name, type, description: describe(schema) }],
    write: (value, cells) => {
      cells[name] = cellOf(value);
    },
    read: (row) => {
      const value = cellValue(row[name], type);
      if (value === null) return null;
      if (words?.has(value) === false || pattern?.test(String(value)) === false)
        throw new RowDamaged(`${name} is "${value}"`);
      return value;
    },
  };
}

function columnType({ type, items, ...schema }: Described): ColumnType {
  return type === 'array' ? `${scalarType(items ?? {})}[]` : scalarType({ type, ...schema });
}

function scalarType(schema: Described): Exclude<ColumnType, `${string}[]`> {
  if (momentOf(schema) !== null) return 'TIMESTAMP_MS';
  switch (schema.type) {
    case 'string':
      return 'VARCHAR';
    case 'boolean':
      return 'BOOLEAN';
    case 'integer':
      return 'BIGINT';
    case 'number':
      return 'DOUBLE';
    default:
      throw new Error(`a member of the type ${schema.type} has no column: ${schema.description}`);
  }
}

function describe(schema: Described): string {
  return momentOf(schema) ?? String(schema.description);
}

function cellOf(value: unknown): RowCell {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return value;
    default:
      return Array.isArray(value) ? value : null;
  }
}

function cellValue(cell: DuckRow[string] | undefined, type: ColumnType): unknown {
  switch (type) {
    case 'VARCHAR':
      return textOf(cell);
    case 'BOOLEAN':
      return flagOf(cell);
    case 'BIGINT':
    case 'UBIGINT':
    case 'DOUBLE':
    case 'TIMESTAMP_MS':
      return numberOf(cell);
    default:
      return itemsOf(cell);
  }
}

function itemsOf(cell: DuckRow[string] | undefined): readonly unknown[] | null {
  return Array.isArray(cell) ? cell : null;
}

/** `waitFloorMs` is kept as `wait_floor_ms`. */
function snakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const FACT = 'fact_';

const columnsOfFacts = new Map<string, string>();

/** `verdicts(10m)` is kept in the column `fact_verdicts_10m`: many engines take no brackets in a name. */
export function factColumn(label: string): string {
  const known = columnsOfFacts.get(label);
  if (known !== undefined) return known;
  const column = FACT + label.replace('(', '_').replace(')', '');
  columnsOfFacts.set(label, column);
  return column;
}

/** The label of a fact's column; null for any other column. */
export function factLabel(column: string): string | null {
  if (!column.startsWith(FACT)) return null;
  const [name = '', ...window] = column.slice(FACT.length).split('_');
  return window.length === 0 ? name : `${name}(${window.join('_')})`;
}
