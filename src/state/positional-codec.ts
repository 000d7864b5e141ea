import { isJsonObject } from '#base/files/json-object.ts';
import type { TObject } from '#base/json-schema.ts';
import type { ValueOf } from '#base/shapes.ts';

/**
 * Encodes objects as arrays in which a position stands for each member. They have a third of the size of objects with
 * names. First come all flags as the digits of one number, then the required members, then the optional ones. Missing
 * members at the end and constants are left out. An object that is read has its members in the sequence of the shape.
 */
export class PositionalCodec<S extends TObject> {
  readonly #row: Row;

  constructor(schema: S) {
    this.#row = createRow(schema);
  }

  write(record: ValueOf<S>): string {
    return JSON.stringify(this.#row.write(record));
  }

  read(text: string): ValueOf<S> {
    const record = this.#row.read(JSON.parse(text));
    if (this.#isWhole(record)) return record;
    throw new TypeError(`no record is stored as ${text}`);
  }

  /** Whether a record was read completely. */
  #isWhole(record: unknown): record is ValueOf<S> {
    return record !== null;
  }
}

/** The part of JSON Schema that records use. */
interface Described {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Described[];
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

interface Row {
  readonly write: (record: unknown) => readonly unknown[] | null;
  readonly read: (cells: unknown) => Readonly<Record<string, unknown>> | null;
}

interface Member {
  readonly name: string;
  readonly kind: 'constant' | 'flag' | 'record' | 'plain';
  readonly constant: unknown;
  readonly row: Row | null;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

function createRow({ properties = {}, required = [] }: Described): Row {
  const members = Object.entries(properties).map(([name, schema]) =>
    toMember(name, schema, required.includes(name)),
  );
  const flags = members.filter(({ kind }) => kind === 'flag');
  const placed = members.filter(({ kind }) => kind === 'record' || kind === 'plain');
  const cells = [...placed.filter(({ isRequired }) => isRequired), ...placed.filter((m) => !m.isRequired)];
  const first = flags.length === 0 ? 0 : 1;
  const places = members.map((member) => ({
    member,
    place: member.kind === 'flag' ? flags.indexOf(member) : cells.indexOf(member) + first,
  }));
  return {
    write: (record) => {
      if (!isJsonObject(record)) return null;
      const row: unknown[] = flags.length === 0 ? [] : [encodeFlags(flags.map(({ name }) => record[name]))];
      for (const { name, row: inner } of cells) row.push(inner?.write(record[name]) ?? record[name] ?? null);
      while (row.at(-1) === null) row.pop();
      return row;
    },
    read: (row) => {
      if (!Array.isArray(row)) return null;
      const record: Record<string, unknown> = {};
      for (const { member, place } of places) {
        const value = readMember(member, member.kind === 'flag' ? readFlagDigit(row[0], place) : row[place]);
        if (value !== null || member.isNullable) record[member.name] = value;
      }
      return record;
    },
  };
}

function toMember(name: string, given: Described, isRequired: boolean): Member {
  const isNullable = given.anyOf?.some(({ type }) => type === 'null') === true;
  const schema = given.anyOf?.find(({ type }) => type !== 'null') ?? given;
  const common = { name, isRequired, isNullable, constant: null, row: null };
  if (schema.enum?.length === 1) return { ...common, kind: 'constant', constant: schema.enum[0] };
  if (schema.type === 'boolean') return { ...common, kind: 'flag' };
  if (schema.properties !== undefined) return { ...common, kind: 'record', row: createRow(schema) };
  return { ...common, kind: 'plain' };
}

/**
 * Reads a member from its digit in the number of flags, or from its item in the array. Returns null if it has
 * neither.
 */
function readMember({ kind, constant, row }: Member, cell: unknown): unknown {
  switch (kind) {
    case 'constant':
      return constant;
    case 'flag':
      return cell === 0 ? null : cell === 2;
    case 'record':
      return row?.read(cell) ?? null;
    case 'plain':
      return cell ?? null;
    default:
      return kind satisfies never;
  }
}

/**
 * Writes flags as a number to the base of three, the first flag in the last digit: 0 for missing, 1 for false, 2 for
 * true.
 */
function encodeFlags(flags: readonly unknown[]): number {
  return flags.reduceRight<number>((sum, flag) => 3 * sum + (flag === true ? 2 : flag === false ? 1 : 0), 0);
}

function readFlagDigit(flags: unknown, place: number): number {
  return Math.floor(Number(flags) / 3 ** place) % 3;
}
