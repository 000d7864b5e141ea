import { InvalidArgumentError } from './errors.ts';

/** The interface's limit for identifiers and methods, in code points (section 8). */
const KEY_LENGTH_MAX = 256;
const REQUEST_ID = /^[A-Za-z0-9._~:/+=-]{1,128}$/;
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;
const DECIMAL = /^\d+(\.\d+)?$/;

/** Checks an identifier or a method: well-formed text of 1 to 256 characters. Throws InvalidArgumentError. */
export function checkIdentifier(name: string, value: unknown): asserts value is string {
  const text = requireText(name, value);
  if (text === '') throw new InvalidArgumentError(name, 'must not be empty');
  if ([...text].length <= KEY_LENGTH_MAX) return;
  throw new InvalidArgumentError(name, `must have at most ${KEY_LENGTH_MAX} characters`);
}

/** Checks an amount. It is a string, so that no number format can change it. Throws InvalidArgumentError. */
export function checkAmount(name: string, value: unknown): void {
  if (typeof value === 'string' && DECIMAL.test(value)) return;
  throw new InvalidArgumentError(name, 'must be a string with a decimal number, like "25.00"');
}

/**
 * Percent-encodes a segment of a path. Throws InvalidArgumentError for "." and "..", because every URL parser
 * resolves them as steps in the path, even if they are encoded. The path would then name something else.
 */
export function encodePathSegment(name: string, value: unknown): string {
  checkIdentifier(name, value);
  if (value === '.' || value === '..') {
    throw new InvalidArgumentError(name, 'must not be "." or "..", which cannot stand in a path');
  }
  return encodeURIComponent(value);
}

/** Checks an Idempotency-Key or an access key: 1 to 255 visible ASCII characters. */
export function checkHeaderValue(name: string, value: unknown): asserts value is string {
  if (typeof value === 'string' && VISIBLE_ASCII.test(value)) return;
  throw new InvalidArgumentError(name, 'must be 1 to 255 visible ASCII characters without spaces');
}

export function checkRequestId(name: string, value: unknown): void {
  if (typeof value === 'string' && REQUEST_ID.test(value)) return;
  throw new InvalidArgumentError(name, 'must be 1 to 128 letters, digits or any of . _ ~ : / + = -');
}

/** Checks a duration or a count: a whole number of at least `min`. */
export function checkWholeNumber(name: string, value: unknown, min: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return;
  throw new InvalidArgumentError(name, `must be a whole number of at least ${min}`);
}

/** Returns the part of the URL before `/v1/`, without a slash at its end. Throws InvalidArgumentError. */
export function requireBaseUrl(value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  const whole = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '';
  if (whole && url.username === '') return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  throw new InvalidArgumentError('baseUrl', 'must be an http or https URL, like https://scoring.example.com');
}

/** Formats a JSON body. Members that are undefined are left out. */
export function formatJson(name: string, value: object): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new InvalidArgumentError(name, 'cannot be written as JSON', { cause });
  }
}

/** Formats a query like `?a=1&b=2`, without members that are undefined. Returns an empty text if none is left. */
export function formatQuery(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(
    given.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

function requireText(name: string, value: unknown): string {
  if (typeof value !== 'string')
    throw new InvalidArgumentError(name, `must be a string, not ${nameType(value)}`);
  // A lone surrogate would be sent as U+FFFD, which would name something else.
  if (/\p{Surrogate}/u.test(value)) throw new InvalidArgumentError(name, 'must be well-formed Unicode');
  if (value.includes('\0')) throw new InvalidArgumentError(name, 'must not contain U+0000');
  return value;
}

function nameType(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
