/** To the base of 64. */
export const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** Throws for what is no digit. */
export function digitValue(digit: string): number {
  const value = VALUES.get(digit);
  if (value === undefined) throw new Error(`"${digit}" is no digit to the base of 64`);
  return value;
}
