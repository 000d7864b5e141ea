/**
 * Builds JSON Schemas with the function names of TypeBox's `Type`, and derives TypeScript types from them. TypeBox
 * itself consists of 373 modules. Loading them took a fifth of every start and of the memory of an idle node, and the
 * service needs only these functions.
 */

declare const TYPE: unique symbol;

/** Any JSON Schema. */
export type TSchema = object;

/** A schema that carries the type of its values. */
export interface Typed<T> {
  readonly [TYPE]?: T;
}

/** The type of the values that a schema describes. */
export type Static<S> = S extends Typed<infer T> ? T : unknown;

export type TProperties = Readonly<Record<string, TSchema>>;

export interface TObject<P extends TProperties = TProperties> extends Typed<ObjectOf<P>> {
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties: P;
}

const OPTIONAL = Symbol('may be absent');

interface Optional {
  readonly [OPTIONAL]: true;
}

type OptionalIn<P> = { [Name in keyof P]: P[Name] extends Optional ? Name : never }[keyof P];

type ObjectOf<P> = Flat<
  { -readonly [Name in Exclude<keyof P, OptionalIn<P>>]: Static<P[Name]> } & {
    -readonly [Name in OptionalIn<P>]?: Static<P[Name]>;
  }
>;

type Flat<T> = { [Name in keyof T]: T[Name] };

/** Gives a schema its type. */
function typed<T>(schema: object): Typed<T> {
  return schema;
}

export const Type = {
  String: (options: object = {}) => typed<string>({ type: 'string', ...options }),
  Number: (options: object = {}) => typed<number>({ type: 'number', ...options }),
  Integer: (options: object = {}) => typed<number>({ type: 'integer', ...options }),
  Boolean: (options: object = {}) => typed<boolean>({ type: 'boolean', ...options }),
  Null: () => typed<null>({ type: 'null' }),
  True: (options: object = {}) => typed<true>({ type: 'boolean', const: true, ...options }),
  Unknown: (options: object = {}) => typed<unknown>({ ...options }),
  /** A schema that the other functions cannot express. */
  Unsafe: <T>(schema: object) => typed<T>({ ...schema }),
  Array: <S extends TSchema>(items: S, options: object = {}) =>
    typed<Static<S>[]>({ type: 'array', items, ...options }),
  Union: <const S extends readonly TSchema[]>(anyOf: S, options: object = {}) =>
    typed<Static<S[number]>>({ anyOf, ...options }),
  /** An object whose members may have any name. */
  Record: <S extends TSchema>(values: S, options: object = {}) =>
    typed<Record<string, Static<S>>>({ type: 'object', patternProperties: { '^.*$': values }, ...options }),
  /** A member that may be missing. */
  Optional: <S extends TSchema>(schema: S): S & Optional => ({ ...schema, [OPTIONAL]: true }),
  Object: <P extends TProperties>(properties: P, options: object = {}): TObject<P> => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  IsObject: (schema: TSchema): schema is TObject => 'properties' in schema,
};
