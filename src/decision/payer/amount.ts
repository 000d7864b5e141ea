/**
 * A decimal text of the interface (section 2): up to 38 digits and an optional fraction of up to 18 digits, without
 * sign, exponent or blanks.
 */
export const DECIMAL_PATTERN = '^[0-9]{1,38}(\\.[0-9]{1,18})?$';

/** How many digits `DECIMAL_PATTERN` allows after the point. */
const FRACTION_DIGITS_MAX = 18;

export const DECIMAL_CHARACTERS_MAX = 38 + 1 + 18;

/** A currency in rules and records: 3 or 4 capital letters or digits, like EUR. */
export const CURRENCY_PATTERN = '^[A-Z0-9]{3,4}$';

/** A currency in a request. Small letters are read as capitals. */
export const REQUESTED_CURRENCY_PATTERN = '^[A-Za-z0-9]{3,4}$';

/** Writes equal amounts as the same text: `010.50` and `10.5` both become `10.5`. */
export function normalizeAmount(amount: string): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const digits = fraction.replace(/0+$/, '');
  return (whole.replace(/^0+(?=\d)/, '') || '0') + (digits === '' ? '' : `.${digits}`);
}

/** Writes the amount of a fact as a decimal text, also where JavaScript would write 1e-7 or 1e+21. */
export function formatDecimal(amount: unknown): string {
  const text = String(amount);
  if (typeof amount !== 'number' || !text.includes('e')) return text;
  return amount < 1 ? normalizeAmount(amount.toFixed(FRACTION_DIGITS_MAX)) : BigInt(amount).toString();
}

/**
 * Writes an amount with its currency as a client's state stores it, like `25.5 EUR`. Equal amounts have the same
 * text.
 */
export function formatMoney(amount: string, currency: string): string {
  return `${normalizeAmount(amount)} ${currency}`;
}

/** An amount and a currency as people write them, like `25.50 EUR`. */
export const MONEY_PATTERN = `${DECIMAL_PATTERN.slice(0, -1)} ${CURRENCY_PATTERN.slice(1)}`;
const MONEY = new RegExp(MONEY_PATTERN);

/** Converts a text that people write to the form of `formatMoney`. Returns null for other texts. */
export function normalizeMoneyOrNull(text: string): string | null {
  const [amount = '', currency = ''] = text.split(' ');
  return MONEY.test(text) ? formatMoney(amount, currency) : null;
}

export interface Money {
  /** A decimal text. */
  readonly amount: string;
  readonly currency: string;
}

/** Parses a text of `formatMoney`. Returns null for other texts. */
export function parseMoney(text: string): Money | null {
  const [amount, currency] = text.split(' ');
  return amount === undefined || currency === undefined ? null : { amount, currency };
}

/** Sums decimal texts. The sum is exact before it becomes the nearest number: 0.1 and 0.2 are 0.3. */
export function sumAmounts(amounts: readonly string[]): number {
  return Number(formatUnits(amounts.reduce((total, amount) => total + toUnits(amount), 0n)));
}

/** Compares two decimal texts. Returns -1 if `a` is smaller, 0 when both are equal, otherwise 1. */
export function compareAmounts(a: string, b: string): number {
  const difference = toUnits(a) - toUnits(b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Adds two decimal texts exactly. */
export function addAmounts(a: string, b: string): string {
  return normalizeAmount(formatUnits(toUnits(a) + toUnits(b)));
}

/** An amount as a mantissa, which is a whole number, times a power of ten. */
export interface ScaledAmount {
  readonly mantissa: number;
  readonly exponent: number;
}

/** Rounds an amount to the given number of digits, so that a JavaScript number can hold the mantissa exactly. */
export function roundAmountToDigits(amount: string, digits: number): ScaledAmount {
  const units = toUnits(amount).toString();
  const cut = Math.max(0, units.length - digits);
  const kept =
    BigInt(units.slice(0, units.length - cut)) + (Number(units.charAt(units.length - cut)) >= 5 ? 1n : 0n);
  const text = kept.toString();
  const bare = text.replace(/0+$/, '');
  if (bare === '') return { mantissa: 0, exponent: 0 };
  return { mantissa: Number(bare), exponent: cut - FRACTION_DIGITS_MAX + text.length - bare.length };
}

/** Writes a scaled amount as a decimal text. */
export function formatScaledAmount({ mantissa, exponent }: ScaledAmount): string {
  const power = exponent + FRACTION_DIGITS_MAX;
  return normalizeAmount(formatUnits(BigInt(mantissa) * 10n ** BigInt(power)));
}

/** Subtracts `b` from `a` exactly. Returns 0 if `b` is larger. */
export function subtractAmounts(a: string, b: string): string {
  const difference = toUnits(a) - toUnits(b);
  return normalizeAmount(formatUnits(difference < 0n ? 0n : difference));
}

/** Converts a decimal text to the smallest unit that `DECIMAL_PATTERN` can write. */
function toUnits(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS_MAX, '0'));
}

function formatUnits(units: bigint): string {
  const digits = units.toString().padStart(FRACTION_DIGITS_MAX + 1, '0');
  return `${digits.slice(0, -FRACTION_DIGITS_MAX)}.${digits.slice(-FRACTION_DIGITS_MAX)}`;
}
