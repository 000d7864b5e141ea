import { ClockOffset, findMedianOffset } from '#state/clock-offset.ts';
import type { RedisConnection } from './connection/connection.ts';
import { BadReply } from './connection/reply.ts';

/** 2020 and 2100: a server's time lies between them. */
const EPOCH_MS_MIN = Date.UTC(2020);
const EPOCH_MS_MAX = Date.UTC(2100);

/** The clocks of the servers, as known from their answers. */
export class NodeClocks {
  readonly #connection: RedisConnection;
  readonly #clock: () => number;
  readonly #offsets = new Map<string, ClockOffset>();
  #medianMs = 0;

  /** `clock` is this process's own, epoch ms with fractions. */
  constructor(connection: RedisConnection, clock: () => number) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The answer to what also asks for the time, epoch ms, of the server that answers for the key. */
  timed<T extends { readonly time: number }>(key: string, ask: () => Promise<T>): Promise<T> {
    const sentMs = this.#clock();
    return ask().then((answer) => {
      this.#observe(this.#connection.nodeOf(key), sentMs, answer.time);
      return answer;
    });
  }

  #observe(node: string, sentMs: number, storeMs: number): void {
    const arrivedMs = this.#clock();
    if (storeMs < EPOCH_MS_MIN || storeMs > EPOCH_MS_MAX)
      throw new BadReply('a script that tells the time', storeMs);
    const offset = this.#offsets.get(node) ?? new ClockOffset();
    this.#offsets.set(node, offset);
    const before = offset.offsetMs;
    offset.observe({ sentMs, storeMs, arrivedMs });
    if (offset.offsetMs !== before) this.#medianMs = this.#median();
  }

  /** By how much the clock that decides is ahead of this process's: the middle one of all servers' clocks. */
  get offsetMs(): number {
    return this.#medianMs;
  }

  /** By how much one server's clock is ahead of this process's; null while it is not known. */
  offsetOf(node: string): number | null {
    return this.#offsets.get(node)?.offsetMs ?? null;
  }

  /** A server that is gone does not count any more. */
  #median(): number {
    return findMedianOffset(
      this.#connection
        .nodes()
        .map((node) => this.offsetOf(node))
        .filter((offset) => offset !== null),
    );
  }
}
