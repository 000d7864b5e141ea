/** A decimal number: `units` divided by 10 to the power of `decimals`. */
interface Decimal {
  readonly units: bigint;
  readonly decimals: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * Returns the shortest decimal that reads as this number. That is how people wrote the number: 0.3, not
 * 0.299999999999999988.
 */
function toDecimal(number: number): Decimal {
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = NUMBER.exec(String(number)) ?? [];
  const decimals = fraction.length - Number(exponent);
  const units = BigInt(`${sign}${whole}${fraction}`);
  return decimals >= 0 ? { units, decimals } : { units: units * 10n ** BigInt(-decimals), decimals: 0 };
}

/** Converts two decimals to units of the finer one. */
function toCommonUnit(one: Decimal, other: Decimal): readonly [one: bigint, other: bigint, decimals: number] {
  const decimals = Math.max(one.decimals, other.decimals);
  const scaled = (decimal: Decimal) => decimal.units * 10n ** BigInt(decimals - decimal.decimals);
  return [scaled(one), scaled(other), decimals];
}

/**
 * Whether a number is a whole multiple of a number above 0. The two numbers are compared as decimals, so 0.3 is a
 * multiple of 0.1.
 */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  if (!Number.isFinite(value)) return false;
  const [units, by] = toCommonUnit(toDecimal(value), toDecimal(divisor));
  return units % by === 0n;
}

/** Finds the least multiple above a value of 0 or more. */
export function getLeastMultipleAbove(value: number, divisor: number): number {
  const [units, by, decimals] = toCommonUnit(toDecimal(value), toDecimal(divisor));
  return Number(`${(units / by + 1n) * by}e-${decimals}`);
}
