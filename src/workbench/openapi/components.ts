import { type TSchema, Type } from '#base/json-schema.ts';
import {
  findMomentDescription,
  findSchemaName,
  INSTANT_SCHEMA,
  type Shape,
  toSchemaPointer,
} from '#base/shapes.ts';
import type { ProblemSchema } from '#checkout/http/request/problems.ts';

/** A shape with a name, as a document points at it. */
export interface Pointer {
  readonly $ref: string;
}

/** Parts of one kind that a document defines once, whoever uses them. */
class SharedParts<Part extends object> {
  readonly #kind: string;
  readonly #parts = new Map<string, Part>();
  readonly #names = new Map<string, string>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** A pointer at the part; one that has the name of another part is named after the operation that has it first. */
  keep(name: string, operationId: string, part: Part): Pointer {
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

/** The schemas that a document defines once: those with a name, collected as the others are published. */
export class Components {
  readonly #schemas = new Map<string, unknown>();
  readonly responses = new SharedParts<ResponseObject>('responses');
  readonly examples = new SharedParts<ExampleObject>('examples');

  /** Keeps a shape under a name, also where it is used without one. */
  add(name: string, schema: TSchema): void {
    if (this.#schemas.has(name)) return;
    // The shape may contain itself.
    this.#schemas.set(name, {});
    this.#schemas.set(name, this.#members(schema));
  }

  /** The schema of a shape in words that every tool knows; a pointer when the shape has a name. */
  published(schema: TSchema): Readonly<Record<string, unknown>> {
    const name = findSchemaName(schema);
    if (name === null) return this.#members(schema);
    this.add(name, schema);
    return { $ref: toSchemaPointer(name) };
  }

  schemas(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  }

  /**
   * The members as the document shows them. Moments are text. Four keywords of ours are left out: JSON Schema cannot say
   * `wellFormed`, the guide says `storable`, `instant` is a date-time, and `told` holds what another check looks at, so that
   * the validator reports one fault once.
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
    return typeof value === 'object' && value !== null ? this.published(value) : value;
  }
}

/**
 * A body's schema as callers may fill it in: an optional member may also be null, because `bodyOf` leaves out members
 * that are null or ''. Only the former is described, so that generated clients know one way to say nothing; no length
 * forbids the latter.
 */
export function allowNulls(schema: TSchema): TSchema {
  if (!Type.IsObject(schema)) return schema;
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties).map(([name, member]): [string, TSchema] => {
    const filled = allowNulls(member);
    return [name, required.includes(name) ? filled : orNull(filled)];
  });
  return Object.assign({}, schema, { properties: Object.fromEntries(members) });
}

function orNull(schema: TSchema): TSchema {
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
export type Json = unknown;

export interface HeaderObject {
  readonly description: string;
  /** The header always comes with the answers that name it. */
  readonly required?: true;
  readonly schema: { readonly type: string };
}

export interface ExampleObject {
  readonly summary: string;
  readonly value: Shape<typeof ProblemSchema>;
}

export interface MediaType {
  readonly schema: { readonly $ref?: string; readonly type?: 'string'; readonly allOf?: readonly Json[] };
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, Pointer>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Json>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}
