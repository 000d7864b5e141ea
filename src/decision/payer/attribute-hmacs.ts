import { readSecretId } from './attribute-secrets.ts';
import { PSEUDONYM_MARK } from './attributes.ts';

/** How texts of attributes with `pseudonym: true` are kept here, so that rules can compare them with constants. */
export interface AttributeHmacs {
  /** A clear text as it is kept: under the present secret, and while that changes also under the one before. */
  keptAs(text: string): readonly string[];
  /** Whether a kept text was made under one of these secrets: a constant says nothing about any other. */
  isComparable(kept: string): boolean;
}

/** Without a secret no constant is compared with what is kept. */
export const NO_SECRET: AttributeHmacs = { keptAs: () => [], isComparable: () => false };

/** Each of `hides` makes the HMAC of a text under one secret; the present secret comes first. */
export function createHmacs(...hides: readonly ((text: string) => string)[]): AttributeHmacs {
  const secretIds = new Set(hides.map((hide) => readSecretId(hide(''))));
  return {
    keptAs: (text) => hides.map((hide) => `${PSEUDONYM_MARK}${hide(text)}`),
    isComparable: (kept) => secretIds.has(readSecretId(kept)),
  };
}
