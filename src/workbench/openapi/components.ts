import { type TSchema, Type } from '#base/json-schema.ts';
import {
  findMomentDescription,
  findSchemaName,
  INSTANT_SCHEMA,
  toSchemaPointer,
  type ValueOf,
} from '#base/shapes.ts';
import type { ProblemSchema } from '#checkout/http/request/problems.ts';

/** A reference to a named part of a document. */
export interface ReferenceObject {
  readonly $ref: string;
}

/** Parts of one kind that a document defines once, however many operations use them. */
class SharedParts<Part extends object> {
  readonly #kind: string;
  readonly #parts = new Map<string, Part>();
  readonly #names = new Map<string, string>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  /**
   * Keeps a part and returns a pointer to it. If another part has the name already, the part is named after the first
   * operation that uses it.
   */
  keep(name: string, operationId: string, part: Part): ReferenceObject {
    const text = JSON.stringify(part);
    const own = `${name}Of${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`;
    const kept = this.#names.get(text) ?? (this.#parts.has(name) ? own : name);
    this.#names.set(text, kept);
    this.#parts.set(kept, part);
    return { $ref: `#/components/${this.#kind}/${kept}` };
  }

  all(): Readonly<Record<string, Part>> {
    return Object.fromEntries([...this.#parts].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  }
}

/**
 * Collects the schemas with a name, which a document defines once. They are found while other schemas are published.
 */
export class Components {
  readonly #schemas = new Map<string, unknown>();
  readonly responses = new SharedParts<ResponseObject>('responses');
  readonly examples = new SharedParts<ExampleObject>('examples');

  /** Keeps a schema under a name, even if it is used without a name. */
  add(name: string, schema: TSchema): void {
    if (this.#schemas.has(name)) return;
    // The name is set before the members are collected, because the schema may contain itself.
    this.#schemas.set(name, {});
    this.#schemas.set(name, this.#members(schema));
  }

  /** Returns a schema in keywords that every tool knows, or a pointer if the schema has a name. */
  toPublished(schema: TSchema): Readonly<Record<string, unknown>> {
    const name = findSchemaName(schema);
    if (name === null) return this.#members(schema);
    this.add(name, schema);
    return { $ref: toSchemaPointer(name) };
  }

  schemas(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  }

  /**
   * Returns the members as the document shows them. Moments are text. Four keywords of our own are replaced: JSON
   * Schema cannot express `wellFormed`, the guide explains `storable`, and `instant` becomes a date-time. `told`
   * holds keywords that another check tests, so that the validator does not report the same fault twice. The document
   * shows these keywords.
   */
  #members(schema: object): Readonly<Record<string, unknown>> {
    const { instant, wellFormed, storable, told, ...rest } = {
      instant: false,
      wellFormed: false,
      storable: false,
      told: {},
      ...schema,
    };
    const members = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, this.#value(value)]),
    );
    const moment = findMomentDescription(schema);
    if (moment !== null) return { ...INSTANT_SCHEMA, description: moment };
    return instant ? { ...members, ...told, ...INSTANT_SCHEMA } : { ...members, ...told };
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    return typeof value === 'object' && value !== null ? this.toPublished(value) : value;
  }
}

/**
 * Adapts a body's schema to what callers may send. An optional member may also be null, because `createBodyValidator`
 * leaves out members that are null or ''. Only null is described, so that generated clients know one way to leave a
 * member empty. No minimum length forbids ''.
 */
export function allowNullMembers(schema: TSchema): TSchema {
  if (!Type.IsObject(schema)) return schema;
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties).map(([name, member]): [string, TSchema] => {
    const filled = allowNullMembers(member);
    return [name, required.includes(name) ? filled : allowNull(filled)];
  });
  return Object.assign({}, schema, { properties: Object.fromEntries(members) });
}

function allowNull(schema: TSchema): TSchema {
  const {
    type,
    enum: values,
    minLength: _,
    told,
    ...rest
  }: Readonly<Record<string, unknown>> = { ...schema };
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { minLength: __, ...checked }: Readonly<Record<string, unknown>> = { ...(told ?? {}) };
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { ...rest, told: checked, type: [type, 'null'], ...withNull };
}

/** A JSON value of the document that tools read and this code does not. */
export type JsonValue = unknown;

export interface HeaderObject {
  readonly description: string;
  /** Present if the header comes with every answer that names it. */
  readonly required?: true;
  readonly schema: { readonly type: string };
}

export interface ExampleObject {
  readonly summary: string;
  readonly value: ValueOf<typeof ProblemSchema>;
}

export interface MediaType {
  readonly schema: {
    readonly $ref?: string;
    readonly type?: 'string';
    readonly allOf?: readonly JsonValue[];
  };
  readonly example?: JsonValue;
  readonly examples?: Readonly<Record<string, ReferenceObject>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, JsonValue>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}
