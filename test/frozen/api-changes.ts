import { createCallerApiDocument } from '#workbench/platform/caller-document.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';

/** A JSON value of an API document. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** The documents of the API, by whom they are for. */
export const DOCUMENTS = { callers: () => createCallerApiDocument(''), platforms: createPlatformDocument };

/** Texts for people, and what only narrows: none of it is what a program of another version relies on. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'description',
  'summary',
  'example',
  'examples',
  'title',
  'tags',
  'info',
  'servers',
  'security',
  'pattern',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'maxItems',
  'minItems',
  'headers',
]);

/** Answers in which a new value of a choice would leave a caller without a way on. */
const CLOSED_CHOICES: ReadonlySet<string> = new Set(['verdict', 'clientGroup']);

/** What of an API document a program relies on. */
export function essence(document: Json): Json {
  if (Array.isArray(document)) return document.map(essence);
  if (!isObject(document)) return document;
  const kept = Object.entries(document).filter(([name, value]) => !LEFT_OUT.has(name) || isSchemaOf(value));
  return Object.fromEntries(kept.map(([name, value]) => [name, essence(value)]));
}

/** An object as JSON would have it. */
export function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

/** A member that is called like one of the texts: `title` of a problem. */
function isSchemaOf(value: Json): boolean {
  return isObject(value) && ('type' in value || '$ref' in value || 'anyOf' in value || 'oneOf' in value);
}

/**
 * What breaks for programs that were written by the frozen document, each as its place and what it was. What is sent must still be
 * taken: nothing new is required, no value of a choice is gone. What is answered must still be there: no member is gone or
 * may be missing now, nothing has another type, and verdict and clientGroup have no new values.
 */
export function breaks(frozen: Json, now: Json): readonly string[] {
  return new Comparison(frozen, now).all();
}

type Direction = 'sent' | 'answered';

class Comparison {
  readonly #frozen: Json;
  readonly #now: Json;
  readonly #found: string[] = [];
  readonly #seen = new Set<string>();

  constructor(frozen: Json, now: Json) {
    this.#frozen = frozen;
    this.#now = now;
  }

  all(): readonly string[] {
    for (const [path, methods] of entries(at(this.#frozen, 'paths')))
      for (const [method, operation] of entries(methods))
        this.#operation(`${method.toUpperCase()} ${path}`, operation, at(this.#now, 'paths', path, method));
    return this.#found;
  }

  #operation(place: string, frozen: Json, now: Json): void {
    if (now === null) {
      this.#say(place, 'is gone');
      return;
    }
    this.#parameters(place, items(at(frozen, 'parameters')), items(at(now, 'parameters')));
    for (const [type, { schema }] of contents(at(frozen, 'requestBody', 'content')))
      this.#schema(`${place} body`, schema, at(now, 'requestBody', 'content', type, 'schema'), 'sent');
    for (const [status, response] of entries(at(frozen, 'responses'))) {
      const answer = this.#resolved(this.#frozen, response);
      const there = this.#resolved(this.#now, at(now, 'responses', status));
      if (there === null) this.#say(`${place} ${status}`, 'is gone');
      for (const [type, { schema }] of contents(at(answer, 'content')))
        this.#schema(`${place} ${status}`, schema, at(there, 'content', type, 'schema'), 'answered');
    }
  }

  #parameters(place: string, frozen: readonly Json[], now: readonly Json[]): void {
    const named = (all: readonly Json[]) =>
      new Map(all.map((one) => [`${at(one, 'in')} ${at(one, 'name')}`, one]));
    const before = named(frozen);
    for (const [name, one] of named(now))
      if (at(one, 'required') === true && at(before.get(name) ?? null, 'required') !== true)
        this.#say(`${place} ${name}`, 'is required now');
    for (const [name, one] of before) {
      const there = named(now).get(name) ?? null;
      if (there === null) this.#say(`${place} ${name}`, 'is gone');
      else this.#schema(`${place} ${name}`, at(one, 'schema'), at(there, 'schema'), 'sent');
    }
  }

  #schema(place: string, frozenSchema: Json, nowSchema: Json, direction: Direction): void {
    const frozen = this.#resolved(this.#frozen, frozenSchema);
    const now = this.#resolved(this.#now, nowSchema);
    const key = JSON.stringify([at(frozenSchema, '$ref'), at(nowSchema, '$ref'), direction]);
    if (at(frozenSchema, '$ref') !== null && this.#seen.has(key)) return;
    this.#seen.add(key);
    if (frozen === null) return;
    if (now === null) {
      this.#say(place, 'is gone');
      return;
    }
    this.#choice(place, items(at(frozen, 'enum')), items(at(now, 'enum')), direction);
    if (JSON.stringify(at(frozen, 'type')) !== JSON.stringify(at(now, 'type')))
      this.#say(place, `was ${JSON.stringify(at(frozen, 'type'))} and is ${JSON.stringify(at(now, 'type'))}`);
    this.#required(place, items(at(frozen, 'required')), items(at(now, 'required')), direction);
    for (const [name, schema] of entries(at(frozen, 'properties')))
      this.#schema(`${place}.${name}`, schema, at(now, 'properties', name), direction);
    this.#schema(`${place}[]`, at(frozen, 'items'), at(now, 'items'), direction);
    for (const union of ['oneOf', 'anyOf', 'allOf']) {
      const there = items(at(now, union));
      for (const [index, one] of items(at(frozen, union)).entries())
        this.#schema(
          `${place} ${union} ${index}`,
          one,
          sameVariant(one, there) ?? there[index] ?? null,
          direction,
        );
    }
  }

  #choice(place: string, frozen: readonly Json[], now: readonly Json[], direction: Direction): void {
    if (frozen.length === 0) return;
    for (const value of frozen)
      if (now.length > 0 && !now.includes(value) && direction === 'sent')
        this.#say(place, `takes ${value} no more`);
    const isClosed = direction === 'answered' && CLOSED_CHOICES.has(place.slice(place.lastIndexOf('.') + 1));
    for (const value of now) if (isClosed && !frozen.includes(value)) this.#say(place, `may be ${value} now`);
  }

  #required(place: string, frozen: readonly Json[], now: readonly Json[], direction: Direction): void {
    const [must, may] = direction === 'sent' ? [now, frozen] : [frozen, now];
    for (const name of must)
      if (!may.includes(name))
        this.#say(`${place}.${name}`, direction === 'sent' ? 'is required now' : 'may be missing now');
  }

  #resolved(document: Json, schema: Json): Json {
    const reference = at(schema, '$ref');
    return typeof reference === 'string' ? at(document, ...reference.replace('#/', '').split('/')) : schema;
  }

  #say(place: string, what: string): void {
    this.#found.push(`${place} ${what}`);
  }
}

/** A variant of a union goes by its name, or by its one type, wherever it stands. */
function sameVariant(one: Json, all: readonly Json[]): Json | undefined {
  const name = at(one, '$ref');
  if (name !== null) return all.find((other) => at(other, '$ref') === name);
  return all.find((other) => JSON.stringify(other) === JSON.stringify(one));
}

function isObject(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What lies there; null when nothing does. */
function at(value: Json, ...path: readonly string[]): Json {
  let found = value;
  for (const name of path)
    found = isObject(found) && Object.hasOwn(found, name) ? (found[name] ?? null) : null;
  return found;
}

function items(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function entries(value: Json): readonly (readonly [string, Json])[] {
  return isObject(value) ? Object.entries(value) : [];
}

function contents(value: Json): readonly (readonly [string, { readonly schema: Json }])[] {
  return entries(value).map(([type, one]) => [type, { schema: at(one, 'schema') }]);
}
