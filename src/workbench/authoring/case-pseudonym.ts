import { hash } from 'node:crypto';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import { PSEUDONYM_MARK } from '#decision/payer/attributes.ts';

/** Creates the pseudonyms of cases. Nothing of a case is stored, so they need no secret. */
export const deriveCasePseudonym: Pseudonymize = (kind, value) =>
  hash('sha256', `${kind} ${value}`, 'base64url').slice(0, 22);

/**
 * Computes the HMACs of attributes in cases, and of the example payers that are found when rules are examined. All of
 * them are treated as kept under one secret.
 */
export const CASE_HMACS: AttributePseudonymizer = {
  derivePseudonyms: (text) => [`${PSEUDONYM_MARK}${deriveCasePseudonym('attribute', text)}`],
  isComparable: () => true,
};
