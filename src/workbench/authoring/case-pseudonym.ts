import { hash } from 'node:crypto';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import { PSEUDONYM_MARK } from '#decision/payer/attributes.ts';

/** Creates the pseudonyms of cases. Nothing of a case is stored, so they need no secret. */
export const deriveCasePseudonym: Pseudonymize = (kind, value) =>
  hash('sha256', `${kind} ${value}`, 'base64url').slice(0, 22);

/**
 * Computes the HMACs of attributes, both of those in cases and of those of the example payers that are found when
 * rules are examined. No secret is involved, so any two of these HMACs can be compared.
 */
export const CASE_HMACS: AttributePseudonymizer = {
  derivePseudonyms: (text) => [`${PSEUDONYM_MARK}${deriveCasePseudonym('attribute', text)}`],
  isComparable: () => true,
};
