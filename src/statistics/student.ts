import { NORMAL_975 } from './share-interval.ts';

/** The 97.5 % points for one and two degrees of freedom, which the expansion does not meet. */
const FIRST = [12.706204736174698, 4.302652729749462];

/**
 * The 97.5 % point of Student's t: the expansion by powers of 1 / degrees (Abramowitz and Stegun, Handbook of mathematical
 * functions, 26.7.5), which is right to 1 in 800 from three degrees of freedom on.
 */
export function student975(degrees: number): number {
  const x = NORMAL_975;
  const terms = [
    x,
    (x ** 3 + x) / 4,
    (5 * x ** 5 + 16 * x ** 3 + 3 * x) / 96,
    (3 * x ** 7 + 19 * x ** 5 + 17 * x ** 3 - 15 * x) / 384,
    (79 * x ** 9 + 776 * x ** 7 + 1482 * x ** 5 - 1920 * x ** 3 - 945 * x) / 92160,
  ];
  return FIRST[degrees - 1] ?? terms.reduce((sum, term, power) => sum + term / degrees ** power, 0);
}
