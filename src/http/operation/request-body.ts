import type { IncomingMessage } from 'node:http';
import { type TSchema, Type } from '../../json-schema.ts';
import type { Shape } from '../../shapes.ts';
import { BODY_BYTES_MAX, readJson } from '../request/body.ts';
import { bodyOf } from '../request/body-of.ts';
import { malformedBody, refusal, type ShownRefusal } from '../request/problems.ts';

/** The body of an operation as the API document describes it. */
export interface RequestBodySpec {
  /** By media type; each shape is kept under its name. */
  readonly content: Readonly<Record<string, { readonly name: string; readonly example: unknown }>>;
  readonly shapes: Readonly<Record<string, TSchema>>;
  /** It is read line by line, so that no length is too large. */
  readonly onlyLines?: true;
  /** Absent: BODY_BYTES_MAX. */
  readonly bytesMax?: number;
}

/** A body with the way to read it; throws 415, 413 or 400 when it is not valid. Unknown members are ignored, and their names reported. */
export interface RequestBody<Value> extends RequestBodySpec {
  readonly read: (req: IncomingMessage, onIgnored: (members: readonly string[]) => void) => Promise<Value>;
}

/** A JSON body of one shape, which the API document keeps under `name`. */
export function jsonBody<S extends TSchema>(
  name: string,
  schema: S,
  example: Shape<S>,
  bytesMax: number = BODY_BYTES_MAX,
): RequestBody<Shape<S>> {
  const valid = bodyOf(schema);
  const known = new Set(Type.IsObject(schema) ? Object.keys(schema.properties) : []);
  return {
    bytesMax,
    content: { 'application/json': { name, example } },
    shapes: { [name]: schema },
    read: async (req, onIgnored) => {
      const value = await readJson(req, bytesMax);
      const ignored = isRecord(value) ? Object.keys(value).filter((name) => !known.has(name)) : [];
      const body = valid(value);
      if (ignored.length > 0) onIgnored(ignored);
      return body;
    },
  };
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A body that its schema refuses, with the pointer at what is wrong. */
export function malformed(pointer: string, detail: string): ShownRefusal {
  return refusal('malformedBody', 'The body is not valid for the operation.', () =>
    malformedAt(pointer, detail),
  );
}

/** The problem of a body in which one thing is wrong. */
export function malformedAt(pointer: string, detail: string) {
  return malformedBody(`${pointer} ${detail}.`, [{ pointer, detail }]);
}
