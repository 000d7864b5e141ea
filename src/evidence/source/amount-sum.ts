const DIGITS = 12;

/** A sum of amounts without the last digits of doubles, which nobody asked for; small amounts keep theirs. */
export function amountSum(sum: number): number {
  return Number(sum.toPrecision(DIGITS));
}
