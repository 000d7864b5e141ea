import { hash } from 'node:crypto';
import { type Address, isPublicAddress, parseAddress } from './addresses.ts';

/** Why a hint of a request says nothing about the payer, so that it is ignored. */
export const UNUSABLE_HINT_REASONS = ['placeholder', 'notAnAddress', 'notPublic'] as const;

export type UnusableHintReason = (typeof UNUSABLE_HINT_REASONS)[number];

/** A hint that was sent and is ignored. */
export interface UnusableHint {
  readonly field: 'fingerprint' | 'ip';
  readonly why: UnusableHintReason;
}

/** Texts that libraries and forms send for a missing value. They are compared without case and blanks. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  '0',
  '-',
  '--',
  '?',
  '[]',
  '{}',
  '[objectobject]',
  'empty',
  'error',
  'false',
  'n/a',
  'na',
  'nan',
  'nil',
  'none',
  'notavailable',
  'null',
  'true',
  'unavailable',
  'undefined',
  'unknown',
  ...['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'].map((algorithm) => hash(algorithm, '')),
]);

/** Texts that checkouts send for payers without an account. */
const GUESTS: ReadonlySet<string> = new Set(['anon', 'anonymous', 'default', 'guest', 'visitor']);

/** A nil UUID, a UUID of equal digits, or hex text of eight or more equal digits. */
const ALL_EQUAL_HEX = /^([0-9a-f])\1{7,}$/;

/** Whether a text stands for a missing value and is therefore the same for many payers. */
export function isPlaceholder(text: string): boolean {
  const plain = text.toLowerCase().replaceAll(/\s+/g, '');
  return PLACEHOLDERS.has(plain) || ALL_EQUAL_HEX.test(plain.replaceAll('-', ''));
}

/** Whether a clientIdKey is one that all payers without an account share. */
export function isPlaceholderClient(clientIdKey: string): boolean {
  return isPlaceholder(clientIdKey) || GUESTS.has(clientIdKey.trim().toLowerCase());
}

/** The fingerprint and the address of a request. */
export interface BodyDevice {
  readonly fingerprint: string | null;
  readonly address: Address | null;
  readonly unusableHints: readonly UnusableHint[];
}

/** Reads the device of a request. A value that says nothing about the payer is ignored. */
export function readDevice(body: { readonly fingerprint?: string; readonly ip?: string }): BodyDevice {
  const fingerprint = body.fingerprint ?? null;
  const isMissing = fingerprint !== null && isPlaceholder(fingerprint);
  const parsed = body.ip === undefined ? null : parseAddress(body.ip);
  const why = body.ip === undefined ? null : findAbsentReason(body.ip, parsed);
  const unusableHints: UnusableHint[] = isMissing ? [{ field: 'fingerprint', why: 'placeholder' }] : [];
  if (why !== null) unusableHints.push({ field: 'ip', why });
  return {
    fingerprint: isMissing ? null : fingerprint,
    address: why === null ? parsed : null,
    unusableHints,
  };
}

function findAbsentReason(ip: string, address: Address | null): UnusableHintReason | null {
  if (address === null) return isPlaceholder(ip) ? 'placeholder' : 'notAnAddress';
  return isPublicAddress(address) ? null : 'notPublic';
}
