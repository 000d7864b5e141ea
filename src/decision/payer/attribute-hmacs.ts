import { readSecretId } from './attribute-secrets.ts';
import { PSEUDONYM_MARK } from './attributes.ts';

/** The HMACs of attributes with `pseudonym: true`, by which rules compare them with constants. */
export interface AttributeHmacs {
  /**
   * Returns the pseudonyms of a clear text: under the present secret, and during a change of the secret also under
   * the previous one.
   */
  derivePseudonyms(text: string): readonly string[];
  /**
   * Whether a pseudonym was made under one of these secrets. A constant cannot be compared with any other pseudonym.
   */
  isComparable(kept: string): boolean;
}

/** The HMACs of a process without a secret. With them no constant can be compared with a pseudonym. */
export const NO_ATTRIBUTE_HMACS: AttributeHmacs = { derivePseudonyms: () => [], isComparable: () => false };

/**
 * Creates the HMACs of attributes. Each of `hides` makes the HMAC of a text under one secret. The present secret
 * comes first.
 */
export function createHmacs(...hides: readonly ((text: string) => string)[]): AttributeHmacs {
  const secretIds = new Set(hides.map((hide) => readSecretId(hide(''))));
  return {
    derivePseudonyms: (text) => hides.map((hide) => `${PSEUDONYM_MARK}${hide(text)}`),
    isComparable: (kept) => secretIds.has(readSecretId(kept)),
  };
}
