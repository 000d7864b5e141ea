import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** The number of steps between 0 and 1, which is as many as one draw of the generator tells apart without bias. */
const STEPS = 2 ** 30;

/** Draws random values that are the same for the same seed on every machine. */
export class Chance {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  constructor(seed: number) {
    this.#generator = xoroshiro128plus(seed);
  }

  /** Draws a whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return uniformInt(this.#generator, low, high);
  }

  /** Draws a number from `low` up to `high`. */
  between(low: number, high: number): number {
    return low + ((high - low) * this.whole(0, STEPS - 1)) / STEPS;
  }

  happens(share: number): boolean {
    return this.between(0, 1) < share;
  }

  oneOf<T>(first: T, ...others: readonly T[]): T {
    return others[this.whole(0, others.length) - 1] ?? first;
  }

  /**
   * Draws an amount as people spend them: half are below the median, a few far above it. With `spread` 0 it is always
   * the median.
   */
  around(median: number, spread: number): number {
    const three = this.between(-1, 1) + this.between(-1, 1) + this.between(-1, 1);
    return median * Math.exp(spread * three);
  }
}
