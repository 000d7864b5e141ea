import type { TObject, TSchema } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import { findMomentDescription, type ValueOf } from '#base/shapes.ts';
import {
  type FactColumnTypes,
  getJsonSourceOfFact,
  parseLabelOfFactColumn,
  toColumnOfFactKey,
} from './fact-columns.ts';
import {
  quoteName,
  quoteSql,
  type ResultRow,
  toBooleanOrNull,
  toNumberOrNull,
  toTextOrNull,
} from './query-engine.ts';

export interface ArchiveColumn {
  readonly name: string;
  /** The DuckDB name of the type. */
  readonly type: ColumnType;
  readonly description: string;
}

type ScalarType =
  | 'VARCHAR'
  | 'BOOLEAN'
  | 'BIGINT'
  | 'UBIGINT'
  | 'DOUBLE'
  /** Epoch ms in the row that is written, and a UTC timestamp in the file. */
  | 'TIMESTAMP_MS';

export type ColumnType = ScalarType | `${ScalarType}[]`;

/** A row to be written to the archive. Erasures have no client_hash and name their client in the record. */
export interface JsonRowCells {
  readonly client_hash?: string;
  readonly place: unknown;
  readonly record: unknown;
  /**
   * The labels of the facts that a decision asked for and that were not known. In the decision's record they are
   * null.
   */
  readonly facts_not_known?: readonly string[];
}

/** How the engine reads a record from a line of JSON. */
interface JsonSource {
  /** The member of the line that holds the record, and the type in which the engine reads it. */
  readonly cell: string;
  readonly type: string;
  readonly columns: readonly ColumnFromJson[];
}

export interface ColumnFromJson {
  readonly name: string;
  readonly sql: string;
}

/**
 * Thrown if a row of the archive lacks a value that it must have, or has a value that cannot have been written. The
 * message names the column.
 */
class RowDamaged extends NamedError {}

/**
 * The names of columns that differ from the usual ones. Each key is the path of a member, like `at` or
 * `override.group`, and its value is the name of the column. Null means that the member has no column. An empty name
 * means that the columns of an object's members have no prefix.
 */
type ColumnNames = Readonly<Record<string, string | null>>;

/**
 * The columns of a record, made from its schema. `sellPointKey` becomes `sell_point_key`. The columns of an object's
 * members have the object's name as their prefix. For a list of objects, each member of the objects gets one column,
 * which holds a list. Facts have columns of their own. A missing member is null. The engine makes the columns from
 * JSON, because copying some eighty cells of each decision would take longer than everything else.
 */
export class SchemaColumns<S extends TObject> {
  readonly columns: readonly ArchiveColumn[];
  readonly #names: ColumnNames;
  readonly #members: Field;
  readonly #cell: keyof JsonRowCells;

  constructor(schema: S, names: ColumnNames, cell: keyof JsonRowCells = 'record') {
    this.#names = names;
    this.#cell = cell;
    this.#members = createObjectField(schema, { names, path: '', prefix: '' });
    this.columns = this.#members.columns;
  }

  /** Returns the column of a member that is kept in a single column. */
  columnOf(member: string): string {
    return this.#names[member] ?? toSnakeCase(member);
  }

  source(facts: FactColumnTypes): JsonSource {
    const { type = 'JSON', columns } = this.#members.source(this.#cell, facts);
    return { cell: this.#cell, type, columns };
  }

  /** Reads the record from a row of the archive. Throws RowDamaged. */
  read(row: ResultRow): ValueOf<S> {
    const record = this.#members.read(row);
    if (this.#isWhole(record)) return record;
    throw new RowDamaged('the row is empty');
  }

  /** A record that is not null is whole, because the reader of each member throws when a required member is missing. */
  #isWhole(record: unknown): record is ValueOf<S> {
    return record !== null;
  }
}

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

/** How one member is kept. `read` returns null if the row has no value. */
interface Field {
  readonly columns: readonly ArchiveColumn[];
  /** Returns how the engine reads the member. `path` is SQL for the member. */
  readonly source: (path: string, facts: FactColumnTypes) => FieldSource;
  readonly read: (row: ResultRow) => unknown;
}

interface FieldSource {
  /** The type in which the engine reads the member from JSON. Missing if nothing is read. */
  readonly type?: string;
  readonly columns: readonly ColumnFromJson[];
}

interface Place {
  readonly names: ColumnNames;
  readonly path: string;
  readonly prefix: string;
}

function createObjectField({ properties = {}, required = [] }: Described, place: Place): Field {
  const members = Object.entries(properties).flatMap(([member, schema]) => {
    const field = createMemberField(schema, member, place);
    return field === null
      ? []
      : [{ member, field, presence: getPresence(schema, required.includes(member)) }];
  });
  const first = members.find(({ presence, field }) => presence === 'always' && field.columns.length > 0);
  return {
    columns: members.flatMap(({ field }) => field.columns),
    source: (path, facts) => {
      const sources = members.map(({ member, field }) => ({
        member,
        ...field.source(`${path}.${quoteName(member)}`, facts),
      }));
      return {
        ...createStructType(
          sources.flatMap(({ member, type }) => (type === undefined ? [] : [[member, type]])),
        ),
        columns: sources.flatMap(({ columns }) => columns),
      };
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

/** Returns the DuckDB type of an object with these members. Returns no type if there are none. */
function createStructType(members: readonly (readonly [string, string])[]): Pick<FieldSource, 'type'> {
  if (members.length === 0) return {};
  return { type: `STRUCT(${members.map(([name, type]) => `${quoteName(name)} ${type}`).join(', ')})` };
}

type Presence = 'always' | 'nullable' | 'optional';

function getPresence({ anyOf = [] }: Described, isRequired: boolean): Presence {
  if (!isRequired) return 'optional';
  return anyOf.some(({ type }) => type === 'null') ? 'nullable' : 'always';
}

/** Creates the field of a member. Returns null for a member that has no column. */
function createMemberField(given: Described, member: string, { names, path, prefix }: Place): Field | null {
  const own = path === '' ? member : `${path}.${member}`;
  const named = names[own];
  if (named === null) return null;
  const schema = given.anyOf?.find(({ type }) => type !== 'null') ?? given;
  const column = named ?? `${prefix}${toSnakeCase(member)}`;
  if (schema.enum?.length === 1) {
    const [value] = schema.enum;
    // A member with one possible value distinguishes schemas. It is the same in every row, so no column keeps it.
    return { columns: [], source: () => ({ columns: [] }), read: () => value };
  }
  if (schema.patternProperties !== undefined)
    return own === 'facts' ? FACTS : createJsonField(schema, column);
  if (schema.properties !== undefined)
    return createObjectField(schema, { names, path: own, prefix: column === '' ? '' : `${column}_` });
  if (schema.items?.properties !== undefined) return createListField(schema.items.properties, column);
  return createScalarField(schema, column);
}

/**
 * The column of a fact is null in two cases: the fact was not asked for, or it had no value. This column lists the
 * facts that were asked for and had no value.
 */
export const FACTS_NOT_KNOWN_ARCHIVE_COLUMN = {
  name: 'facts_not_known',
  type: 'VARCHAR[]',
  description:
    'Labels of the facts that were asked for and had no value, like "jsOk"; their columns are null',
} as const satisfies ArchiveColumn;

/** Returns SQL: whether a fact was asked for and had no value. */
export function isFactNotKnownSql(label: string): string {
  return `coalesce(list_contains(${FACTS_NOT_KNOWN_ARCHIVE_COLUMN.name}, ${quoteSql(label)}), false)`;
}

const FACTS: Field = {
  columns: [],
  source: (path, facts) => ({
    ...createStructType([
      ...new Map(
        [...facts]
          .map(([key, type]) => getJsonSourceOfFact(key, type))
          .map(({ label, type }) => [label, type]),
      ),
    ]),
    columns: [...facts].map(([key, type]) => {
      const { label, sql } = getJsonSourceOfFact(key, type);
      return { name: toColumnOfFactKey(key), sql: sql(`${path}.${quoteName(label)}`) };
    }),
  }),
  read: (row) => {
    const facts: Record<string, unknown> = {};
    const notKnown = new Set(toItems(row[FACTS_NOT_KNOWN_ARCHIVE_COLUMN.name]));
    for (const column in row) {
      const label = parseLabelOfFactColumn(column);
      const cell = row[column] ?? null;
      if (label === null || (cell === null && !notKnown.has(label))) continue;
      facts[label] = typeof cell === 'bigint' ? Number(cell) : cell;
    }
    return facts;
  },
};

/** Creates the field of an object whose members may have any name. Its column keeps the object as JSON text. */
function createJsonField(schema: Described, name: string): Field {
  return {
    columns: [{ name, type: 'VARCHAR', description: `${describe(schema)}; as JSON` }],
    source: (path) => ({ type: 'JSON', columns: [{ name, sql: `${path}::VARCHAR` }] }),
    read: (row) => {
      const text = toTextOrNull(row[name]);
      return text === null ? null : JSON.parse(text);
    },
  };
}

function createListField(properties: Readonly<Record<string, Described>>, column: string): Field {
  const members = Object.entries(properties).map(([member, schema]) => ({
    member,
    name: `${column}_${toSnakeCase(member)}`,
    type: getScalarType(schema),
    description: describe(schema),
  }));
  return {
    columns: members.map(({ name, type, description }) => ({ name, type: `${type}[]`, description })),
    source: (path) => ({
      type: `${createStructType(members.map(({ member, type }) => [member, type])).type}[]`,
      columns: members.map(({ member, name }) => ({
        name,
        sql: `list_transform(${path}, lambda item: item.${quoteName(member)})`,
      })),
    }),
    read: (row) => {
      const lists = members.map(({ member, name }) => ({ member, items: toItems(row[name]) }));
      const [first = null] = lists.map(({ items }) => items);
      if (first === null) return null;
      return first.map((_, place) =>
        Object.fromEntries(lists.map(({ member, items }) => [member, items?.[place]])),
      );
    },
  };
}

function createScalarField(schema: Described, name: string): Field {
  const type = getColumnType(schema);
  const words = schema.enum === undefined ? null : new Set(schema.enum);
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern) : null;
  return {
    columns: [{ name, type, description: describe(schema) }],
    source: (path) =>
      type === 'TIMESTAMP_MS'
        ? { type: 'BIGINT', columns: [{ name, sql: `make_timestamp_ms(${path})::TIMESTAMP_MS` }] }
        : { type, columns: [{ name, sql: path }] },
    read: (row) => {
      const value = readCellValue(row[name], type);
      if (value === null) return null;
      if (words?.has(value) === false || pattern?.test(String(value)) === false)
        throw new RowDamaged(`${name} is "${value}"`);
      return value;
    },
  };
}

function getColumnType({ type, items, ...schema }: Described): ColumnType {
  return type === 'array' ? `${getScalarType(items ?? {})}[]` : getScalarType({ type, ...schema });
}

function getScalarType(schema: Described): Exclude<ColumnType, `${string}[]`> {
  if (findMomentDescription(schema) !== null) return 'TIMESTAMP_MS';
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
  return findMomentDescription(schema) ?? String(schema.description);
}

function readCellValue(cell: ResultRow[string] | undefined, type: ColumnType): unknown {
  switch (type) {
    case 'VARCHAR':
      return toTextOrNull(cell);
    case 'BOOLEAN':
      return toBooleanOrNull(cell);
    case 'BIGINT':
    case 'UBIGINT':
    case 'DOUBLE':
    case 'TIMESTAMP_MS':
      return toNumberOrNull(cell);
    default:
      return toItems(cell);
  }
}

function toItems(cell: ResultRow[string] | undefined): readonly unknown[] | null {
  return Array.isArray(cell) ? cell : null;
}

/** Writes `waitFloorMs` as `wait_floor_ms`. */
function toSnakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
