import { hash } from 'node:crypto';
import { Type } from '#base/json-schema.ts';
import { withExample } from '#base/shapes.ts';

declare const platformBrand: unique symbol;

/** The name of a tenant. Each tenant has its own keys, clients, orders and counters. */
export type PlatformName = string & { readonly [platformBrand]: true };

export const PLATFORM_NAME_FORM_TEXT =
  'lower-case letters, digits and "-", starting with a letter, at most 63 characters';

export const PLATFORM_NAME_PATTERN = '^[a-z][a-z0-9-]{0,62}$';

const PLATFORM_NAME = new RegExp(PLATFORM_NAME_PATTERN);

export const createPlatformSchema = (description: string) =>
  withExample(
    Type.Unsafe<PlatformName>({ type: 'string', pattern: PLATFORM_NAME_PATTERN, description }),
    'shop',
  );

export function isPlatformName(text: string): text is PlatformName {
  return PLATFORM_NAME.test(text);
}

/** Converts a text to a platform name. Throws RangeError if the text is no platform name. */
export function toPlatformName(text: string): PlatformName {
  if (isPlatformName(text)) return text;
  throw new RangeError(`a platform name has ${PLATFORM_NAME_FORM_TEXT}, unlike "${text}"`);
}

/** The key of one payer of one platform. */
export interface ClientKey {
  readonly platform: PlatformName;
  readonly clientIdKey: string;
  /**
   * 128 bits of a SHA-256 over the salt, the platform and the clientIdKey. Storage names the client by this hash,
   * whatever characters the caller chose.
   */
  readonly hash: string;
}

/** 128 bits in base64url: a salt, or the hash of a client. */
const BITS_128 = /^[A-Za-z0-9_-]{22}$/;

export function isClientHash(value: unknown): value is string {
  return typeof value === 'string' && BITS_128.test(value);
}

/** Makes the keys of the clients of one installation. The same client has another hash in another installation. */
export class ClientKeys {
  readonly salt: string;

  /** Throws RangeError if the salt is malformed. */
  constructor(salt: string) {
    if (!BITS_128.test(salt)) throw new RangeError('a salt of clients has 22 characters of base64url');
    this.salt = salt;
  }

  of(platform: PlatformName, clientIdKey: string): ClientKey {
    const salted = hash('sha256', `${this.salt}/${platform}/${clientIdKey}`, 'base64url');
    return { platform, clientIdKey, hash: salted.slice(0, 22) };
  }
}

/**
 * Returns the first 64 bits of a client's hash as a decimal number. The archive sorts rows by this number. After an
 * erasure only this number is kept, until every copy of the client's rows is gone.
 */
export function toClientNumberText(clientHash: string): string {
  return Buffer.from(clientHash, 'base64url').readBigUInt64BE(0).toString();
}

/** Converts a client number to a hash: the 64 bits of the number, followed by zeros. */
export function convertClientNumberToHash(clientNumber: bigint): string {
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64BE(clientNumber);
  return bytes.toString('base64url');
}

export const DECISION_ID_PATTERN = '^([A-Za-z0-9_-]{22})\\.([1-9][0-9]{0,14})\\.([0-9a-z]{1,11})$';

const DECISION_ID = new RegExp(DECISION_ID_PATTERN);

/**
 * Names one decision by the client's hash, its number for that client, and its time (epoch ms), like
 * `gU2...q.17.mhn1x2a4`. The numbers of an erased client start again. The time distinguishes the client's new
 * decisions from the erased ones.
 */
export function formatDecisionId(clientHash: string, seq: number, at: number): string {
  return `${clientHash}.${seq}.${Math.floor(at).toString(36)}`;
}

interface ParsedDecisionId {
  readonly clientHash: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** Parses a decisionId into client, number and time. Returns null if the text is no decisionId. */
export function parseDecisionId(text: string): ParsedDecisionId | null {
  const [, clientHash, seq, at] = DECISION_ID.exec(text) ?? [];
  if (clientHash === undefined || at === undefined) return null;
  return { clientHash, seq: Number(seq), at: Number.parseInt(at, 36) };
}

/** The digits of base 64. */
export const BASE64_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The value of each digit, by its character code. */
const DIGIT_VALUES: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const value = BASE64_DIGITS.indexOf(String.fromCharCode(code));
  return value === -1 ? undefined : value;
});

/** Parses one digit of base 64. Throws for any other character. */
export function parseBase64Digit(digit: string): number {
  const value = DIGIT_VALUES[digit.charCodeAt(0)];
  if (value === undefined) throw new Error(`"${digit}" is not a base-64 digit`);
  return value;
}

/** Writes a number in base 64 with at least `width` digits. With a width of 0 the number 0 is an empty text. */
export function formatBase64Number(value: number, width: number): string {
  let digits = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 64))
    digits = BASE64_DIGITS.charAt(rest % 64) + digits;
  return digits.padStart(width, BASE64_DIGITS.charAt(0));
}

/** Parses a number that `formatBase64Number` wrote. */
export function parseBase64Number(digits: string): number {
  let number = 0;
  for (const digit of digits) number = number * 64 + parseBase64Digit(digit);
  return number;
}
