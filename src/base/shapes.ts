import { type Static, type TObject, type TProperties, type TSchema, Type } from './json-schema.ts';
import { KEY_CHARACTERS_MAX } from './key-length.ts';

/**
 * Functions that build schemas of requests and answers: JSON Schemas with TypeScript types. Files that need many of
 * them import all as `s`.
 */

/** A text of 1 to `maxLength` code points of well-formed Unicode, without U+0000. */
export function text(maxLength: number, description: string, example?: string) {
  return withExample(Type.String({ minLength: 1, maxLength, storable: true, description }), example);
}

export function key(description: string, example?: string) {
  return text(KEY_CHARACTERS_MAX, description, example);
}

export function choice<const T extends readonly string[]>(values: T, description: string) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });
}

/** One of some values. The description explains each value. */
export function describedChoice<const T extends string>(
  meanings: Readonly<Record<T, string>>,
  description: string,
) {
  const told = Object.entries(meanings).map(([value, text]) => `${value}: ${text}`);
  return Type.Unsafe<T>({
    type: 'string',
    enum: Object.keys(meanings),
    description: `${description}. ${told.join('; ')}`,
  });
}

/** One of several named schemas, chosen by the value of a member. Several values may choose the same schema. */
export function oneOf<const T extends Readonly<Record<string, TSchema>>>(
  member: string,
  shapes: T,
  description: string,
) {
  // Without `mapping`, a discriminator would take the names of the schemas for the values of the member.
  const mapping = Object.entries(shapes).map(([value, one]) => {
    const name = findSchemaName(one);
    if (name === null) throw new Error(`the shape for ${member} "${value}" has no name`);
    return [value, toSchemaPointer(name)];
  });
  return Type.Unsafe<Static<T[keyof T]>>({
    description,
    oneOf: [...new Set(Object.values(shapes))],
    discriminator: { propertyName: member, mapping: Object.fromEntries(mapping) },
  });
}

const EXAMPLE = Symbol('what a value could be');

/** Adds an example value to a schema, for the API document. */
export function withExample<S extends TSchema>(schema: S, example: unknown): S {
  return Object.assign(schema, { [EXAMPLE]: example });
}

/** Returns the example value that `withExample` added to a schema. */
export function findExample(schema: object): unknown {
  return Reflect.get(schema, EXAMPLE);
}

/** The cursor at which the next page of a list begins. */
export const nextPageCursorSchema = Type.Union([
  Type.String({ description: 'Pass it as `after` to get the next page; null on the last page' }),
  Type.Null(),
]);

export const plainText = (description: string, example?: string) =>
  withExample(Type.String({ description }), example);

export const DIGEST_EXAMPLE = '4c1f0d5e8b7a6c93d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9';

/** A digest over the files of a rule set. */
export const digestText = (description: string) => plainText(description, DIGEST_EXAMPLE);
export const yesNo = (description: string) => Type.Boolean({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const percent = (description: string) => Type.Number({ minimum: 0, maximum: 100, description });
/** A schema with a single value. A member with this schema tells the schemas of a union apart. */
export const literal = <const Name extends string>(name: Name) => choice([name], `Always "${name}"`);

/** The form of every moment in the API. */
export const INSTANT_SCHEMA = { type: 'string', format: 'date-time' } as const;

/** A date and time in the body of a request. The parser of bodies checks it by the keyword `instant`. */
export const requestInstantSchema = Type.Unsafe<string>({
  instant: true,
  description: 'A date and time (RFC 3339), like "2026-11-21T10:00:00Z"',
});

/** A moment that is stored as text. */
export const instantText = (description: string) =>
  withExample(Type.Unsafe<string>({ ...INSTANT_SCHEMA, description }), '2026-11-21T10:00:00.000Z');

export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export function shape<P extends TProperties>(description: string, properties: P) {
  return Type.Object(properties, { description });
}

/** Lists the names of a schema's members in their sequence. */
export function listMemberNames<P extends TProperties>({
  properties,
}: TObject<P>): readonly (string & keyof P)[] {
  return Object.keys(properties).filter((name): name is string & keyof P => Object.hasOwn(properties, name));
}

export function list<S extends TSchema>(schema: S, description: string) {
  return Type.Array(schema, { description });
}

const MOMENT = Symbol('what happens at a moment');

/** A moment in epoch ms, as `epochMs` declares it. TypeScript accepts every number as an EpochMs. */
export type EpochMs = number & { readonly [MOMENT]?: never };

/** A moment in epoch ms. Answers over HTTP write it as RFC 3339 in UTC. */
export function epochMs(description: string) {
  const schema = Type.Unsafe<EpochMs>({
    type: 'integer',
    minimum: 0,
    description: `${description}; milliseconds since 1970`,
  });
  return Object.assign(schema, { [MOMENT]: description });
}

/** The type of a schema's values in answers over HTTP. */
export type WithMomentsAsText<T> = T extends number
  ? typeof MOMENT extends keyof T
    ? string
    : T
  : T extends string
    ? T
    : T extends object
      ? { readonly [Name in keyof T]: WithMomentsAsText<T[Name]> }
      : T;

/** Returns the description of a moment that `epochMs` declares. Returns null for any other schema. */
export function findMomentDescription(schema: object): string | null {
  const description: unknown = Reflect.get(schema, MOMENT);
  return typeof description === 'string' ? description : null;
}

/** Copies a value and writes its moments as RFC 3339 in UTC. */
type Writer = (value: unknown) => unknown;

const AS_IT_IS: Writer = (value) => value;

const writers = new WeakMap<object, Writer>();

/**
 * Creates the function that writes the moments in values of a schema as text. The service itself uses epoch ms. Only
 * the numbers that the schema declares by `epochMs` are moments.
 */
export function createMomentWriter(shape: object): Writer {
  const known = writers.get(shape);
  if (known !== undefined) return known;
  let writer: Writer = AS_IT_IS;
  // A schema may contain itself.
  writers.set(shape, (value) => writer(value));
  writer = buildMomentWriter(shape);
  if (writer === AS_IT_IS) writers.set(shape, AS_IT_IS);
  return writer;
}

function buildMomentWriter(shape: object): Writer {
  if (findMomentDescription(shape) !== null)
    return (value) => (typeof value === 'number' ? formatInstant(value) : value);
  const { properties = {}, items, anyOf = [], oneOf = anyOf, ...more } = Object(shape);
  const whole: readonly Writer[] = oneOf.map(createMomentWriter).filter(writesSome);
  const members = Object.entries(properties)
    .map(([name, part]): [string, Writer] => [name, createMomentWriter(Object(part))])
    .filter(([, write]) => writesSome(write));
  const parts: readonly unknown[] = [items, ...Object.values(Object(more.patternProperties))];
  const each = parts.filter(isSchema).map(createMomentWriter).find(writesSome);
  if (whole.length === 0 && members.length === 0 && each === undefined) return AS_IT_IS;
  // The variants of a union use the same names for moments, so the writer of each variant may be applied.
  return (value) =>
    writeParts(
      whole.reduce((sum, write) => write(sum), value),
      members,
      each,
    );
}

function writeParts(
  value: unknown,
  members: readonly (readonly [name: string, write: Writer])[],
  each: Writer | undefined,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return each === undefined ? value : value.map(each);
  const written = new Map<string, unknown>(Object.entries(value));
  if (each !== undefined) for (const [name, one] of written) written.set(name, each(one));
  for (const [name, write] of members) if (written.has(name)) written.set(name, write(written.get(name)));
  return Object.fromEntries(written);
}

function writesSome(write: Writer): boolean {
  return write !== AS_IT_IS;
}

function formatInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function isSchema(part: unknown): part is object {
  return typeof part === 'object' && part !== null;
}

const NAME = Symbol('name of a shape');

/** Names a schema. The API document defines it once under this name and refers to it elsewhere. */
export function named<S extends TSchema>(name: string, schema: S): S {
  return Object.assign(schema, { [NAME]: name });
}

/** Returns the name of a schema. Returns null if it has none. */
export function findSchemaName(schema: object): string | null {
  const name: unknown = Reflect.get(schema, NAME);
  return typeof name === 'string' ? name : null;
}

/** Returns the pointer to the definition of a named schema in the API document. */
export function toSchemaPointer(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The immutable type of the values that a schema describes. */
export type ValueOf<S extends TSchema> = Immutable<Static<S>>;

/**
 * Returns a function that takes an object literal with every member of T, optional members included. A forgotten
 * member is a compile error.
 */
export function createFullLiteralChecker<T>() {
  return <Given extends T>(given: Given & Forgotten<Exclude<keyof T, keyof Given>>): T => given;
}

type Forgotten<Name> = [Name] extends [never] ? unknown : { readonly forgotten: Name };

type Immutable<T> = T extends string | number
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Immutable<T[Name]> }
      : T;
