import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import { isInSeconds, toEpochMs } from '../../client/instant.ts';
import { type TSchema, Type } from '../../json-schema.ts';
import type { Shape } from '../../shapes.ts';
import { type HttpProblem, malformedBody, type PointedDetail } from './problems.ts';

/** How many faults one answer lists. */
const FAULTS_LISTED_MAX = 20;

/**
 * Stops at the first fault, because most bodies have none and looking for all costs time. Members that no schema
 * knows are taken out, so that nothing later meets what was never checked.
 */
const ajv = bodyAjv({ allErrors: false, removeAdditional: 'all' });

/** Finds all faults of a body that was refused. Bodies are small, so there is little to find. */
const thoroughAjv = bodyAjv({ allErrors: true });

function bodyAjv(options: Options): Ajv2020 {
  // The compiler and the test of the API document check the schemas; once more at every start takes twice as long.
  const made = new Ajv2020({ strict: true, validateSchema: false, meta: false, ...options });
  made.addKeyword({
    keyword: 'wellFormed',
    type: 'string',
    schemaType: 'boolean',
    validate: (_schema: boolean, value: string) => value.isWellFormed(),
  });
  // Told to readers of the document; something else checks it.
  made.addKeyword({ keyword: 'told' });
  made.addKeyword({
    keyword: 'instant',
    schemaType: 'boolean',
    validate: (_schema: boolean, value: unknown) => toEpochMs(value) !== null && !isInSeconds(value),
  });
  return made;
}

/**
 * A validator that gives the members the schema knows, and throws 400 with a pointer at everything that is wrong.
 * An optional member that is null or empty counts as absent, because many languages write absent members so.
 */
export function bodyOf<S extends TSchema>(schema: S): (value: unknown) => Shape<S> {
  // Compiled when they are first asked: compiling those of all operations was a fifth of the start.
  let validate: ValidateFunction<Shape<S>> | null = null;
  let findFaults: ValidateFunction | null = null;
  return (value) => {
    validate ??= ajv.compile<Shape<S>>(schema);
    if (validate(value)) return value;
    leaveOutBlanks(schema, value);
    if (validate(value)) return value;
    findFaults ??= thoroughAjv.compile(schema);
    findFaults(value);
    throw refusalOf(findFaults.errors ?? []);
  };
}

/** Takes optional members that are null or '' out of an object, and out of the objects in it. */
function leaveOutBlanks(schema: TSchema, value: unknown): void {
  if (!Type.IsObject(schema) || typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const given: unknown = Reflect.get(value, name);
    const isBlank = given === null || given === '';
    if (isBlank && !schema.required?.includes(name)) Reflect.deleteProperty(value, name);
    else leaveOutBlanks(member, given);
  }
}

function refusalOf(errors: readonly ErrorObject[]): HttpProblem {
  const faults = errors.slice(0, FAULTS_LISTED_MAX).map(faultOf);
  const [first] = faults;
  if (first === undefined) return malformedBody('The body is not valid for the operation.');
  const where = first.pointer === '' ? 'The body' : first.pointer;
  const others = errors.length === 1 ? '' : ` There are ${errors.length} faults; see errors.`;
  return malformedBody(`${where} ${first.detail}.${others}`, faults);
}

function faultOf(error: ErrorObject): PointedDetail {
  const missing: unknown = error.params['missingProperty'];
  const pointer =
    error.keyword === 'required' ? `${error.instancePath}/${String(missing)}` : error.instancePath;
  return { pointer, detail: explain(error) };
}

/** What is wrong and what is allowed, in words. */
function explain({ keyword, params, message, instancePath }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return `must be ${article(String(params['type']))}`;
    case 'minLength':
      return 'must not be empty';
    case 'maxLength':
      return `must have at most ${params['limit']} characters`;
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
      return 'must be well-formed Unicode, without lone surrogates';
    case 'instant':
      return 'must be a moment like "2026-11-21T10:00:00Z", or milliseconds since 1970 (13 digits; seconds have 10)';
    case 'enum':
      return `must be one of ${String(params['allowedValues']).replaceAll(',', ', ')}`;
    case 'pattern':
      return instancePath.endsWith('toPayCurrency')
        ? 'must be 3 or 4 letters or digits, like "EUR"'
        : 'must be a decimal number of at most 38 digits and 18 decimals, like "250.00", without sign, exponent or blank';
    default:
      return message ?? 'is not valid';
  }
}

function article(type: string): string {
  switch (type) {
    case 'string':
      return 'a JSON string';
    case 'object':
      return 'a JSON object';
    case 'array':
      return 'a JSON array';
    case 'boolean':
      return 'true or false';
    case 'number':
      return 'a JSON number';
    case 'integer':
      return 'a whole JSON number';
    default:
      return type;
  }
}
