import { ClockOffsetEstimator, computeMedianOffset } from '#state/clock-offset.ts';
import type { RedisConnection } from './connection/connection.ts';
import { BadReply } from './connection/reply.ts';

/** The time that a server reports must lie between these limits, 2020 and 2100. */
const EPOCH_MS_MIN = Date.UTC(2020);
const EPOCH_MS_MAX = Date.UTC(2100);

/** Estimates the clocks of the servers from their answers. */
export class ServerClocks {
  readonly #connection: RedisConnection;
  readonly #clock: () => number;
  readonly #offsets = new Map<string, ClockOffsetEstimator>();
  #medianMs = 0;

  /** `clock` is this process's own clock, epoch ms with fractions. */
  constructor(connection: RedisConnection, clock: () => number) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /**
   * Makes a call whose answer contains the time (epoch ms) of the server that answers for the key, and estimates the
   * server's clock from it.
   */
  timed<T extends { readonly time: number }>(key: string, ask: () => Promise<T>): Promise<T> {
    const sentMs = this.#clock();
    return ask().then((answer) => {
      this.#observe(this.#connection.serverOf(key), sentMs, answer.time);
      return answer;
    });
  }

  #observe(node: string, sentMs: number, storeMs: number): void {
    const arrivedMs = this.#clock();
    if (storeMs < EPOCH_MS_MIN || storeMs > EPOCH_MS_MAX)
      throw new BadReply('a script that tells the time', storeMs);
    const offset = this.#offsets.get(node) ?? new ClockOffsetEstimator();
    this.#offsets.set(node, offset);
    const before = offset.offsetMs;
    offset.observe({ sentMs, storeMs, arrivedMs });
    if (offset.offsetMs !== before) this.#medianMs = this.#median();
  }

  /**
   * How far the store's clock is ahead of this process's clock, in ms. The store's clock is the median of all
   * servers' clocks.
   */
  get offsetMs(): number {
    return this.#medianMs;
  }

  /** How far one server's clock is ahead of this process's clock, in ms. Null if it is not known. */
  offsetOf(node: string): number | null {
    return this.#offsets.get(node)?.offsetMs ?? null;
  }

  /** Returns the median of the offsets of all servers that still belong to the store. */
  #median(): number {
    return computeMedianOffset(
      this.#connection
        .servers()
        .map((node) => this.offsetOf(node))
        .filter((offset) => offset !== null),
    );
  }
}
