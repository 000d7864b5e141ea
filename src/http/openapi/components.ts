import type { TSchema } from '../../json-schema.ts';
import { INSTANT, nameOf, pointerTo } from '../../shapes.ts';

/** A shape with a name, as a document points at it. */
export interface Pointer {
  readonly $ref: string;
}

/** The schemas that a document defines once: those with a name, collected as the others are published. */
export class Components {
  readonly #schemas = new Map<string, unknown>();

  /** Keeps a shape under a name, wherever else it stands without one. */
  add(name: string, schema: TSchema): void {
    if (this.#schemas.has(name)) return;
    // It may hold itself.
    this.#schemas.set(name, {});
    this.#schemas.set(name, this.#members(schema));
  }

  pointerTo(name: string): Pointer {
    return { $ref: pointerTo(name) };
  }

  /** The schema of a shape in words that every tool knows; a pointer when the shape has a name. */
  published(schema: TSchema): Readonly<Record<string, unknown>> {
    const name = nameOf(schema);
    if (name === null) return this.#members(schema);
    this.add(name, schema);
    return { ...this.pointerTo(name) };
  }

  /** All that were met, by name. */
  schemas(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  }

  /**
   * Three keywords are our own: `wellFormed` cannot be said in JSON Schema, `instant` is a date-time or a count of
   * milliseconds, and `told` holds what something else checks, so that a fault is one fault to the validator.
   */
  #members(schema: object): Readonly<Record<string, unknown>> {
    const { instant, wellFormed, told, ...rest } = {
      instant: false,
      wellFormed: false,
      told: {},
      ...schema,
    };
    const members = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, this.#value(value)]),
    );
    return instant ? { ...members, ...told, oneOf: INSTANT } : { ...members, ...told };
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    return typeof value === 'object' && value !== null ? this.published(value) : value;
  }
}
