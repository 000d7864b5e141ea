import { type Edit, edits, swap } from './sound-rules.ts';

/** Declares attributes in the `ruleset.yaml` of the sound rules. */
export function declaring(attributes: string): Edit {
  return edits((sound) => `${sound}\nattributes: ${attributes}\n`);
}

export const CHECKOUT_ATTRIBUTES =
  '{ cardCountry: { type: text, length: 2 }, ipCountry: { type: text, length: 2 }, emailAgeDays: { type: number, unit: days }, usualAmount: { type: number, unit: currency units }, cartCategory: { type: text, oneOf: [games, food] }, returning: { type: boolean } }';

/** The sound rules with these attributes, whose first verdict rule asks for `comparison` in place of the group. */
export function asking(comparison: string, attributes = CHECKOUT_ATTRIBUTES) {
  return {
    'ruleset.yaml': declaring(attributes),
    'verdicts.yaml': swap('{ fact: clientGroup, operator: equal, value: BLOCKED }', comparison),
  };
}
