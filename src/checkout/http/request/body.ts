import type { IncomingMessage } from 'node:http';
import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import { type TSchema, Type } from '#base/json-schema.ts';
import { hasNulCharacter } from '#base/key-length.ts';
import type { ValueOf } from '#base/shapes.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { formatNameHint } from '#decision/rules/problem.ts';
import {
  createMalformedBodyProblem,
  declareRefusal,
  HttpProblem,
  type PointedDetail,
  type Refusal,
} from './problems.ts';

/**
 * The largest body. No valid request comes near this size: all fields at their limits in 4-byte characters take less
 * than 16 KiB.
 */
export const BODY_BYTES_MAX = 32 * 1024;

/** Reads the JSON value of a request body. Throws 415, 413 or 400. */
export async function readJson(req: IncomingMessage, bytesMax: number = BODY_BYTES_MAX): Promise<unknown> {
  requireContentType(req, 'application/json');
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) throw createLargeBodyRefusal(bytesMax).problem();
  return parseUniqueMembers(decodeText(await readWholeBody(req, bytesMax)));
}

/** Throws 415 unless the body has one of these types, in UTF-8 and not compressed. */
export function requireContentType(req: IncomingMessage, ...wanted: readonly string[]): void {
  if (!wanted.some((type) => type === readContentType(req))) {
    throw UNSUPPORTED_TYPE.problem(`Content-Type must be ${wanted.join(' or ')}, once, and in UTF-8.`);
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw UNSUPPORTED_TYPE.problem('Content-Encoding is not supported.');
}

/** Returns the media type. Returns null if there is none or more than one, or if the charset is not UTF-8. */
export function readContentType(req: IncomingMessage): string | null {
  const given = req.headersDistinct['content-type'] ?? [];
  const [header] = given;
  if (header === undefined || given.length > 1) return null;
  if (header === 'application/json') return header;
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset) ? type : null;
}

/** A byte order mark is kept, so that JSON.parse refuses it, as the grammar demands. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Throws 400 if the bytes are not UTF-8 or there are no bytes. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes.length === 0) throw createMalformedBodyProblem('The body is empty.');
  try {
    return UTF8.decode(bytes);
  } catch {
    throw createMalformedBodyProblem('The body is not valid UTF-8.');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.startsWith('\uFEFF'))
      throw createMalformedBodyProblem('The body starts with a byte order mark; send plain UTF-8.');
    throw createMalformedBodyProblem('The body is not valid JSON.');
  }
}

/** The tokens of JSON other than numbers and words. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}]/g;

/**
 * Parses JSON. Throws 400 if an object has a member twice, because JSON.parse would silently keep the last value. A
 * quick count comes first: if the text cannot contain more names than the parsed value has members, no name occurs
 * twice. Otherwise all names are compared.
 */
export function parseUniqueMembers(text: string): unknown {
  const value = parseJson(text);
  if (countPossibleNames(text) !== countMembers(value)) refuseRepeatedMember(text);
  return value;
}

const QUOTE = 0x22;
const BLANK_MAX = 0x20;

/**
 * Returns the largest number of members that a JSON text can have, repeated members included. The function counts the
 * quotes that a colon follows. It also counts a quote before a colon within a string value, so the number may be too
 * large.
 */
function countPossibleNames(text: string): number {
  let names = 0;
  for (let colon = text.indexOf(':'); colon !== -1; colon = text.indexOf(':', colon + 1)) {
    let before = colon - 1;
    while (text.charCodeAt(before) <= BLANK_MAX) before--;
    if (text.charCodeAt(before) === QUOTE) names++;
  }
  return names;
}

/** Counts the members of all objects in a value. It is not recursive, because a body may be nested 16,000 deep. */
function countMembers(value: unknown): number {
  let members = 0;
  const unseen: unknown[] = [value];
  for (let next = unseen.pop(); next !== undefined; next = unseen.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const below: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    if (below !== next) members += below.length;
    for (const one of below) if (typeof one === 'object' && one !== null) unseen.push(one);
  }
  return members;
}

function refuseRepeatedMember(text: string): void {
  const open: Set<string>[] = [];
  for (const [token, isName] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (isName !== undefined) {
      const name = String(JSON.parse(token.slice(0, -isName.length)));
      const names = open.at(-1);
      if (names?.has(name) === true)
        throw createMalformedBodyProblem(
          `The body has the member ${JSON.stringify(name.slice(0, 100))} twice.`,
        );
      names?.add(name);
    }
  }
}

/** Reads the body by events, which is three times as fast as an iterator. Most bodies are read here. */
function readWholeBody(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  // The connection closed before the body was read, for example while the key was looked up. No event will follow.
  if (req.destroyed) return Promise.reject(createIncompleteBodyProblem());
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else {
      req.off('data', take).pause();
      reject(createLargeBodyRefusal(bytesMax).problem());
    }
  };
  req.on('data', take).on('end', () => resolve(Buffer.concat(chunks, bytes)));
  // Every request closes at some time. An error with its stack is created only if the body is incomplete.
  req.on('close', () => req.readableEnded || reject(createIncompleteBodyProblem()));
  return promise;
}

/** Creates the problem for a body of which only a part arrived, because the connection ended. */
export function createIncompleteBodyProblem(): HttpProblem {
  return createMalformedBodyProblem('The connection ended before the whole body had arrived.');
}

export function createLargeBodyRefusal(bytesMax: number): Refusal {
  return declareRefusal(
    'body-too-large',
    `The body has more than ${bytesMax} bytes.`,
    // The rest of the body is not read, so no other request can follow on this connection.
    () =>
      new HttpProblem(413, 'body too large', `The body must have at most ${bytesMax} bytes.`, {
        headers: { Connection: 'close' },
      }),
  );
}

export const UNSUPPORTED_TYPE = declareRefusal(
  'unsupported-type',
  'The operation does not take this Content-Type or charset, or the body is compressed.',
  (detail: string) => new HttpProblem(415, 'unsupported content type', detail),
  'Content-Type must be application/json, once, and in UTF-8.',
);

const FAULTS_LISTED_MAX = 20;

/**
 * This validator stops at the first fault, because most bodies have none and a search for all faults costs time. It
 * removes members that the schema does not know, so that no later code sees unchecked members.
 */
const ajv = createBodyAjv({ allErrors: false, removeAdditional: 'all' });

/**
 * This validator lists all faults of a refused body. With each fault it returns the schema (`verbose`), so that a
 * misspelt member gets a suggestion. Bodies are small, so the search is short.
 */
const thoroughAjv = createBodyAjv({ allErrors: true, verbose: true });

/** This validator leaves unknown members in the body, so that they are refused. */
const strictAjv = createBodyAjv({ allErrors: false });

function createBodyAjv(options: Options): Ajv2020 {
  // The compiler and a test of the API document check the schemas. A check at every start would double the time of
  // the start.
  const common = { strict: true, allowUnionTypes: true, validateSchema: false, meta: false };
  const made = new Ajv2020({ ...common, ...options });
  made.addKeyword({
    keyword: 'wellFormed',
    type: 'string',
    schemaType: 'boolean',
    validate: (_schema: boolean, value: string) => value.isWellFormed(),
  });
  // One keyword checks well-formedness and U+0000 together, because each keyword on a text adds allocations to every
  // verdict request.
  made.addKeyword({
    keyword: 'storable',
    type: 'string',
    schemaType: 'boolean',
    validate: (_schema: boolean, value: string) => value.isWellFormed() && !hasNulCharacter(value),
  });
  // This keyword is for readers of the API document. The validator ignores it, and the operation itself checks the
  // value.
  made.addKeyword({ keyword: 'told' });
  made.addKeyword({
    keyword: 'instant',
    schemaType: 'boolean',
    validate: (_schema: boolean, value: unknown) => typeof value === 'string' && toEpochMs(value) !== null,
  });
  return made;
}

/**
 * Creates a function that returns the members which the schema knows, and throws 400 with a pointer to every fault.
 * An optional member that is null or empty is treated as missing, because many languages write missing members so. If
 * strict, an unknown member is refused at any depth, because it may be misspelt.
 */
export function createBodyValidator<S extends TSchema>(
  schema: S,
  isStrict = true,
): (value: unknown) => ValueOf<S> {
  const checked = isStrict ? closeSchema(schema) : schema;
  // The schema is compiled at first use, because compiling the schemas of all operations took a fifth of the start.
  let validate: ValidateFunction<ValueOf<S>> | null = null;
  let findFaults: ValidateFunction | null = null;
  return (value) => {
    validate ??= (isStrict ? strictAjv : ajv).compile<ValueOf<S>>(checked);
    if (validate(value)) return value;
    leaveOutBlanks(schema, value);
    if (validate(value)) return value;
    findFaults ??= thoroughAjv.compile(checked);
    findFaults(value);
    throw toRefusal(findFaults.errors ?? []);
  };
}

/** Copies a schema so that its objects allow no further members. */
export function closeSchema(schema: TSchema): TSchema {
  return Object.assign({}, schema, closeSchemaPart(schema));
}

function closeSchemaPart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closeSchemaPart);
  if (typeof part !== 'object' || part === null) return part;
  const parts = Object.fromEntries(
    Object.entries(part).map(([name, below]) => [name, closeSchemaPart(below)]),
  );
  const isShape = parts['type'] === 'object' && 'properties' in parts;
  return Object.assign({}, part, parts, isShape ? { additionalProperties: false } : {});
}

/** Removes optional members that are null or empty from an object and from the objects in it. */
function leaveOutBlanks(schema: TSchema, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if ('patternProperties' in schema) leaveOutBlankMembers(value);
  if (!Type.IsObject(schema)) return;
  for (const [name, member] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const given: unknown = Reflect.get(value, name);
    const isBlank = given === null || given === '';
    if (isBlank && !schema.required?.includes(name)) Reflect.deleteProperty(value, name);
    else leaveOutBlanks(member, given);
  }
}

/**
 * Removes the members that are null or empty from an object whose members may have any name. All members of such an
 * object are optional.
 */
function leaveOutBlankMembers(value: object): void {
  for (const [name, given] of Object.entries(value))
    if (given === null || given === '') Reflect.deleteProperty(value, name);
}

function toRefusal(errors: readonly ErrorObject[]): HttpProblem {
  const faults = errors.slice(0, FAULTS_LISTED_MAX).map(toFault);
  const [first] = faults;
  if (first === undefined) return createMalformedBodyProblem('The body is not valid for the operation.');
  const where = first.pointer === '' ? 'The body' : first.pointer;
  const others = errors.length === 1 ? '' : ` There are ${errors.length} faults; see errors.`;
  return createMalformedBodyProblem(`${where} ${first.detail}.${others}`, faults);
}

function toFault(error: ErrorObject): PointedDetail {
  // The pointer names the member that is missing or unknown, or whose name is refused.
  const member: unknown =
    error.params['missingProperty'] ?? error.params['additionalProperty'] ?? error.propertyName;
  const below =
    member === undefined
      ? ''
      : `/${String(member).slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const pointer = error.instancePath + below;
  return { pointer, detail: explainFault(error) };
}

/** Describes a fault and what is allowed. */
function explainFault(error: ErrorObject): string {
  const { keyword, params, message, instancePath, parentSchema, data, propertyName } = error;
  const ofName = propertyName === undefined ? '' : 'has a name that ';
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'propertyNames':
      return 'has a name that is not allowed';
    case 'maxProperties':
      return `must have at most ${params['limit']} members`;
    case 'additionalProperties':
      return `is not known${formatNameHint(String(params['additionalProperty']), Object.keys(Object(parentSchema?.['properties'])))}`;
    case 'type':
      return `must be ${[params['type']].flat().map(nameType).join(' or ')}`;
    case 'minLength':
      return `${ofName}must not be empty`;
    case 'maxLength':
      return `${ofName}must have at most ${params['limit']} characters`;
    case 'minItems':
      return `must have at least ${params['limit']} ${params['limit'] === 1 ? 'item' : 'items'}`;
    case 'maxItems':
      return `must have at most ${params['limit']} items`;
    case 'exclusiveMinimum':
      return `must be above ${params['limit']}`;
    case 'minimum':
      return `must be at least ${params['limit']}`;
    case 'maximum':
      return `must be at most ${params['limit']}`;
    case 'wellFormed':
      return NOT_WELL_FORMED;
    case 'storable':
      return hasNulCharacter(String(data)) ? 'must not contain U+0000' : NOT_WELL_FORMED;
    case 'instant':
      return 'must be a moment like "2026-11-21T10:00:00Z"';
    case 'enum':
      return `must be one of ${String(params['allowedValues']).replaceAll(',', ', ')}`;
    case 'pattern':
      return instancePath.endsWith('toPayCurrency')
        ? 'must be 3 or 4 letters or digits, like "EUR"'
        : 'must be a decimal number of at most 38 digits and 18 decimals, like "250.00", without sign, exponent or space';
    default:
      return message ?? 'is not valid';
  }
}

const NOT_WELL_FORMED = 'must be well-formed Unicode, without lone surrogates';

function nameType(type: unknown): string {
  return ARTICLES[String(type)] ?? String(type);
}

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a JSON string',
  object: 'a JSON object',
  array: 'a JSON array',
  boolean: 'true or false',
  number: 'a JSON number',
  integer: 'a whole JSON number',
};
