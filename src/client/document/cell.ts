/** A token, NONE, or SAME as in the event before: payers seldom change more than the order. */
export type Cell = string | 0 | 1;

export const NONE = 0;
const SAME = 1;

export function encodeToken(token: string | null, before: string | null | undefined): Cell {
  if (token === null) return NONE;
  return token === before ? SAME : token;
}

export function decodeToken(cell: Cell, before: string | null | undefined): string | null {
  if (cell === NONE) return null;
  return cell === SAME ? (before ?? null) : cell;
}

/** To the base of 64. */
export const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));

/** Throws for what is no digit. */
export function digitValue(digit: string): number {
  const value = VALUES.get(digit);
  if (value === undefined) throw new Error(`"${digit}" is no digit to the base of 64`);
  return value;
}
