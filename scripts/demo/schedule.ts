/** An event. It may schedule further events. */
type Act = () => Promise<void> | void;

interface Planned {
  /** Epoch ms. */
  readonly at: number;
  readonly act: Act;
}

/** The planned events of a simulated time. They run one after the other. */
export class Schedule {
  /** The latest event comes first, so that the next one is taken from the end. */
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

  /** Runs all events that are planned before the end. Sets the clock to the time of each event, and then to the end. */
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
