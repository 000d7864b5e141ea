import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { TSchema } from 'typebox';
import { toEpochMs } from '../../client/instant.ts';
import type { Shape } from '../../shapes.ts';
import { malformedBody } from './problems.ts';

// Members that no schema knows are taken out, so that nothing later meets what was never checked.
const ajv = new Ajv2020({ allErrors: false, strict: true, removeAdditional: 'all' });
ajv.addKeyword({
  keyword: 'wellFormed',
  type: 'string',
  schemaType: 'boolean',
  validate: (_schema: boolean, value: string) => value.isWellFormed(),
});
ajv.addKeyword({
  keyword: 'instant',
  schemaType: 'boolean',
  validate: (_schema: boolean, value: unknown) => toEpochMs(value) !== null,
});

/** A validator that gives the members the schema knows, and throws 400 with a pointer at what is wrong. */
export function bodyOf<S extends TSchema>(schema: S): (value: unknown) => Shape<S> {
  const validate: ValidateFunction<Shape<S>> = ajv.compile<Shape<S>>(schema);
  return (value) => {
    if (validate(value)) return value;
    throw refusal(validate.errors?.[0]);
  };
}

function refusal(error: ErrorObject | undefined) {
  if (error === undefined) return malformedBody('The body is not valid for the operation.');
  const missing: unknown = error.params['missingProperty'];
  const pointer =
    error.keyword === 'required' ? `${error.instancePath}/${String(missing)}` : error.instancePath;
  const detail = explain(error);
  const where = pointer === '' ? 'The body' : pointer;
  return malformedBody(`${where} ${detail}.`, [{ pointer, detail }]);
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
    case 'wellFormed':
      return 'must be well-formed Unicode, without lone surrogates';
    case 'instant':
      return 'must be a moment like "2026-11-21T10:00:00Z" or milliseconds since 1970';
    case 'enum':
      return `must be one of ${String(params['allowedValues']).replaceAll(',', ', ')}`;
    case 'pattern':
      return instancePath.endsWith('toPayCurrency')
        ? 'must be 3 or 4 letters or digits, like "EUR"'
        : 'must be a decimal number of at most 20 digits and 10 decimals, like "250.00", without sign, exponent or blank';
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
    default:
      return type;
  }
}
