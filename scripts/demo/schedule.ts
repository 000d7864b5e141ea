/** What happens at a moment; it may schedule more. */
type Act = () => Promise<void> | void;

interface Planned {
  /** Epoch ms. */
  readonly at: number;
  readonly act: Act;
}

/** What happens in a made-up time, one thing after the other. */
export class Schedule {
  /** The latest first, so that the next one is taken from the end. */
  readonly #planned: Planned[] = [];

  add(at: number, act: Act): void {
    let [low, high] = [0, this.#planned.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#planned[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    this.#planned.splice(low, 0, { at, act });
  }

  /** Does all that is planned before the end, with the clock at its moment, and leaves the clock at the end. */
  async run(clock: { now: number }, endMs: number): Promise<void> {
    for (;;) {
      const next = this.#planned.at(-1);
      if (next === undefined || next.at >= endMs) break;
      this.#planned.pop();
      clock.now = Math.max(clock.now, next.at);
      await next.act();
    }
    clock.now = Math.max(clock.now, endMs);
  }
}
