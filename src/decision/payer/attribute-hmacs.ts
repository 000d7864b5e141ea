import { readSecretId } from './attribute-secrets.ts';
import { PSEUDONYM_MARK } from './attributes.ts';

/** Makes the HMACs of attributes with `pseudonym: true`, so that rules can compare the attributes with constants. */
export interface AttributePseudonymizer {
  /**
   * Returns the pseudonyms of a clear text: under the present secret, and during a change of the secret also under
   * the previous one.
   */
  derivePseudonyms(text: string): readonly string[];
  /**
   * Whether a pseudonym was made under one of the secrets of this object. Only then can it be compared with a
   * constant.
   */
  isComparable(kept: string): boolean;
}

/** For a process without a secret: no constant can be compared with a pseudonym. */
export const NO_ATTRIBUTE_PSEUDONYMIZER: AttributePseudonymizer = {
  derivePseudonyms: () => [],
  isComparable: () => false,
};

/**
 * Creates the HMACs of attributes. Each of `hides` makes the HMAC of a text under one secret. The present secret
 * comes first.
 */
export function combineIntoAttributePseudonymizer(
  ...hides: readonly ((text: string) => string)[]
): AttributePseudonymizer {
  const secretIds = new Set(hides.map((hide) => readSecretId(hide(''))));
  return {
    derivePseudonyms: (text) => hides.map((hide) => `${PSEUDONYM_MARK}${hide(text)}`),
    isComparable: (kept) => secretIds.has(readSecretId(kept)),
  };
}
