import type { RedisConnection } from './connection/connection.ts';
import type { NodeClocks } from './node-clocks.ts';

/** Reads the clock of the server that answers, from replies that begin with it. */
export class ServerTime {
  readonly #connection: RedisConnection;
  readonly #clocks: NodeClocks;
  readonly #clock: () => number;

  /** `clock` is this process's own, epoch ms with fractions. */
  constructor(connection: RedisConnection, clocks: NodeClocks, clock: () => number) {
    this.#connection = connection;
    this.#clocks = clocks;
    this.#clock = clock;
  }

  /** The reply of a script whose first item is the server's time, epoch ms. */
  async observed(key: string, ask: () => Promise<unknown>): Promise<readonly unknown[]> {
    const sentMs = this.#clock();
    const reply = await ask();
    const arrivedMs = this.#clock();
    const items: readonly unknown[] = Array.isArray(reply) ? reply : [];
    this.#clocks.observe(this.#connection.nodeOf(key), { sentMs, storeMs: Number(items[0]), arrivedMs });
    return items;
  }
}
