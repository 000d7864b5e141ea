import { type Static, type TObject, type TProperties, type TSchema, Type } from './json-schema.ts';
import { KEY_CHARACTERS_MAX } from './key-length.ts';

/** The words in which the shapes of requests and answers are written: JSON Schema, with types from it. */

/** A text of 1 to `maxLength` code points of well-formed Unicode. */
export function text(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, wellFormed: true, description });
}

export function key(description: string) {
  return text(KEY_CHARACTERS_MAX, description);
}

export function choice<const T extends readonly string[]>(values: T, description: string) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });
}

/** One of some values, each with its meaning, which the description tells. */
export function meaning<const T extends string>(meanings: Readonly<Record<T, string>>, description: string) {
  const told = Object.entries(meanings).map(([value, text]) => `${value}: ${text}`);
  return Type.Unsafe<T>({
    type: 'string',
    enum: Object.keys(meanings),
    description: `${description}. ${told.join('; ')}`,
  });
}

/** One of some named shapes that a member tells apart. Shapes are by the values of that member; one may have several. */
export function oneOf<const T extends Readonly<Record<string, TSchema>>>(
  member: string,
  shapes: T,
  description: string,
) {
  // Without it a discriminator would mean the names of the shapes, not the values of the member.
  const mapping = Object.entries(shapes).map(([value, one]) => {
    const name = nameOf(one);
    if (name === null) throw new Error(`the shape for ${member} "${value}" has no name`);
    return [value, pointerTo(name)];
  });
  return Type.Unsafe<Static<T[keyof T]>>({
    description,
    oneOf: [...new Set(Object.values(shapes))],
    discriminator: { propertyName: member, mapping: Object.fromEntries(mapping) },
  });
}

export const word = (description: string) => Type.String({ description });
export const yesNo = (description: string) => Type.Boolean({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const percent = (description: string) => Type.Number({ minimum: 0, maximum: 100, description });
/** The one value that a member has, which tells shapes apart. */
export const always = <const Name extends string>(name: Name) => choice([name], `Always "${name}"`);

/** The forms of an instant. As milliseconds, what somebody counted in seconds is refused, so that none lie in between. */
export const INSTANT = [
  { type: 'string', format: 'date-time' },
  { type: 'integer', minimum: 100_000_000_000, maximum: 8_640_000_000_000_000 },
] as const;

export const instant = Type.Unsafe<string | number>({
  instant: true,
  description: 'A moment: RFC 3339 like "2026-11-21T10:00:00Z", or milliseconds since 1970 (not seconds)',
});

export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export function shape<P extends TProperties>(description: string, properties: P) {
  return Type.Object(properties, { description });
}

/** The names of the members of a shape, in its order. */
export function membersOf<P extends TProperties>({ properties }: TObject<P>): readonly (string & keyof P)[] {
  return Object.keys(properties).filter((name): name is string & keyof P => Object.hasOwn(properties, name));
}

export function list<S extends TSchema>(schema: S, description: string) {
  return Type.Array(schema, { description });
}

const MOMENT = Symbol('what happens at a moment');

/** A moment in milliseconds since 1970. */
export function epochMs(description: string) {
  const schema = Type.Integer({ minimum: 0, description: `${description}; milliseconds since 1970` });
  return Object.assign(schema, { [MOMENT]: description });
}

/** What happens at a moment that `epochMs` describes; null for what is no moment. */
export function momentOf(schema: object): string | null {
  const description: unknown = Reflect.get(schema, MOMENT);
  return typeof description === 'string' ? description : null;
}

const NAME = Symbol('name of a shape');

/** A shape that the API document keeps once, under this name, wherever it is used. */
export function named<S extends TSchema>(name: string, schema: S): S {
  return Object.assign(schema, { [NAME]: name });
}

/** The name of a shape that has one. */
export function nameOf(schema: object): string | null {
  const name: unknown = Reflect.get(schema, NAME);
  return typeof name === 'string' ? name : null;
}

/** Where the API document keeps a shape of this name. */
export function pointerTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** What a shape describes, as nobody may change it. */
export type Shape<S extends TSchema> = Immutable<Static<S>>;

/** Takes a literal that names every member of T, the optional ones too: to forget one is a compile error. */
export function complete<T>() {
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
