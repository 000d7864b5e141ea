import { CURRENCY_PATTERN } from '#decision/payer/amount.ts';
import { PLATFORM_NAME_FORM_TEXT, PLATFORM_NAME_PATTERN } from '#decision/payer/client-key.ts';
import type { FactRef } from './condition.ts';

/** Rounded facts, with their number of decimals. */
const DECIMALS: ReadonlyMap<string, number> = new Map([
  ['paymentScore', 4],
  ['botWeight', 6],
]);

/**
 * Returns how many decimals the values of a fact have at most. Returns null if every number may occur, or only whole
 * numbers.
 */
export function findFactDecimals({ name }: FactRef): number | null {
  return DECIMALS.get(name) ?? null;
}

export interface TextForm {
  readonly pattern: RegExp;
  readonly words: string;
  /** Makes a different text of the form for each number from 0, to find one that no condition names. */
  readonly createText: (number: number) => string;
}

/** Text facts whose values have a form. A value of another form never occurs. */
const TEXT_FORMS: ReadonlyMap<string, TextForm> = new Map([
  [
    'currency',
    {
      pattern: new RegExp(CURRENCY_PATTERN),
      words: 'a currency is 3 or 4 capital letters or digits',
      // XTS is the currency code that ISO 4217 reserves for testing.
      createText: (number) => (number === 0 ? 'XTS' : number.toString(36).toUpperCase().padStart(4, 'X')),
    },
  ],
  [
    'platform',
    {
      pattern: new RegExp(PLATFORM_NAME_PATTERN),
      words: `a platform name has ${PLATFORM_NAME_FORM_TEXT}`,
      createText: (number) => `other${number === 0 ? '' : `-${number}`}`,
    },
  ],
]);

/** Finds the form of a text fact. Returns null if every text may occur. */
export function findFactTextForm({ name }: Pick<FactRef, 'name'>): TextForm | null {
  return TEXT_FORMS.get(name) ?? null;
}
