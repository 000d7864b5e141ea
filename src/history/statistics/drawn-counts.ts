import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

/**
 * Draws a count with this expectation from a Poisson distribution. When cases depend on each other, the mean of the
 * Poisson distribution is itself drawn from a gamma distribution. `beyondChance` is the variance of that mean divided
 * by the square of the expectation.
 */
export function drawCount(chance: RandomGenerator, expected: number, beyondChance: number): number {
  const mean = beyondChance <= 0 ? expected : expected * drawGamma(chance, 1 / beyondChance) * beyondChance;
  return drawPoisson(chance, mean);
}

/** Draws from the standard normal distribution (Box and Muller, 1958). */
function drawNormal(chance: RandomGenerator): number {
  const radius = Math.sqrt(-2 * Math.log(1 - uniformFloat64(chance)));
  return radius * Math.cos(2 * Math.PI * uniformFloat64(chance));
}

/**
 * Draws from the gamma distribution whose mean and variance are both `shape` (Marsaglia and Tsang, A simple method
 * for generating gamma variables, 2000).
 */
function drawGamma(chance: RandomGenerator, shape: number): number {
  if (shape < 1) return drawGamma(chance, shape + 1) * (1 - uniformFloat64(chance)) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = drawNormal(chance);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - uniformFloat64(chance)) < x ** 2 / 2 + d - d * v + d * Math.log(v))
      return d * v;
  }
}

/**
 * Above this mean the normal distribution is used. The normal distribution is close enough, and counting single cases
 * would take long.
 */
const COUNTED_MEAN_MAX = 500;

function drawPoisson(chance: RandomGenerator, mean: number): number {
  if (mean > COUNTED_MEAN_MAX) return Math.max(0, Math.round(mean + Math.sqrt(mean) * drawNormal(chance)));
  let count = 0;
  for (let left = mean + Math.log(1 - uniformFloat64(chance)); left > 0; count++)
    left += Math.log(1 - uniformFloat64(chance));
  return count;
}
