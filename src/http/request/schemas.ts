import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type Static, type TSchema, Type } from 'typebox';
import { DECIMAL_PATTERN } from '../../client/amount.ts';
import { OVERRIDE_GROUPS } from '../../client/client-state.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '../../client/outcomes.ts';
import { malformedBody } from './problems.ts';

/** A text of 1 to `maxLength` code points of well-formed Unicode. */
export function text(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, wellFormed: true, description });
}

export function choice<const T extends readonly string[]>(values: T, description: string) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], description });
}

const KEY_LENGTH = 256;

const sellPointKey = text(KEY_LENGTH, 'Stable identifier of the point of sale');
const clientIdKey = text(KEY_LENGTH, 'Stable identifier of the client');
const orderRef = text(KEY_LENGTH, "Caller's order identifier, opaque to the service");
const amountRequested = Type.String({
  pattern: DECIMAL_PATTERN,
  description: 'Amount as a JSON string with a decimal number, like "250.00"',
});
const toPayCurrency = Type.String({
  pattern: '^[A-Za-z0-9]{3,4}$',
  description: "ISO 4217 code; the platform's currency when absent",
});
const instant = Type.Unsafe<string | number>({
  instant: true,
  description: 'A moment: RFC 3339 like "2026-11-21T10:00:00Z", or milliseconds since 1970',
});

/** Contract, section 2.1. */
export const ScoreBodySchema = Type.Object({
  sellPointKey,
  clientIdKey,
  amountRequested,
  selectedMethodKey: text(KEY_LENGTH, 'Selected or preferred payment method'),
  toPayCurrency: Type.Optional(toPayCurrency),
  fingerprint: Type.Optional(text(KEY_LENGTH, "Caller's stable browser or device fingerprint")),
  ip: Type.Optional(text(64, 'Client IP as the caller sees it')),
  userAgent: Type.Optional(text(512, 'Client User-Agent')),
  clientHints: Type.Optional(
    Type.Object({
      jsOk: Type.Optional(Type.Boolean({ description: 'The page executed JavaScript' })),
      honeypotTriggered: Type.Optional(Type.Boolean({ description: 'A trap field was filled in' })),
    }),
  ),
});

/** Contract, section 2.3. */
export const VerdictBodySchema = Type.Object({
  sellPointKey,
  clientIdKey,
  method: text(KEY_LENGTH, 'Method for which the requisite is requested'),
  amountRequested,
  orderRef,
  toPayCurrency: Type.Optional(toPayCurrency),
});

export const OutcomeBodySchema = Type.Object({
  clientIdKey,
  orderRef,
  outcome: choice(OUTCOMES, 'The final result of the order'),
  cause: Type.Optional(choice(OUTCOME_CAUSES, 'Why; TECHNICAL counts neither way')),
  occurredAt: Type.Optional(instant),
});

export const BindingBodySchema = Type.Object({
  requisiteRef: text(KEY_LENGTH, 'Reference to the bound requisite'),
  acceptorKeys: Type.Array(text(KEY_LENGTH, 'An acceptor'), { minItems: 1, maxItems: 20 }),
  method: Type.Optional(text(KEY_LENGTH, 'The only method that the binding fits; absent: all')),
  expiresAt: Type.Optional(instant),
});

export const OverrideBodySchema = Type.Object({
  group: choice(OVERRIDE_GROUPS, 'The group that the client is put into'),
  reason: text(1000, 'Why, for whoever reads it later'),
  by: text(KEY_LENGTH, 'Who decided it'),
  expiresAt: Type.Optional(instant),
});

/** What an Idempotency-Key may be: visible ASCII. */
export const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x7e]{1,255}$';

/** How many decisions one answer lists. */
export const DECISIONS_LISTED = { default: 50, max: 500 } as const;

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
export function bodyOf<S extends TSchema>(schema: S): (value: unknown) => Static<S> {
  const validate: ValidateFunction<Static<S>> = ajv.compile<Static<S>>(schema);
  return (value) => {
    if (validate(value)) return value;
    throw refusal(validate.errors?.[0]);
  };
}

/** Epoch ms of an `instant`; null when it is none. */
export function toEpochMs(value: unknown): number | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'string' || !INSTANT.test(value) || !isCalendarDay(value.slice(0, 10))) return null;
  const ms = Date.parse(value);
  return ms >= 0 ? ms : null;
}

const INSTANT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/** Date.parse takes 30 February for 2 March. */
function isCalendarDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
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
