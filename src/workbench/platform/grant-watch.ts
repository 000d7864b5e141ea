/**
 * The interval, in ms, of the checks. A revoked key is noticed within this time plus the half second for which keys
 * are cached.
 */
const CHECK_MS = 400;

/** Checks again and again whether a key still allows a request that lasts. */
export class GrantWatch {
  /** Resolves when the key no longer allows the request. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  readonly #timer: NodeJS.Timeout;

  constructor(isStillGranted: () => Promise<boolean>) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const check = async () => {
      if (await isStillGranted()) return;
      this.#hasEnded = true;
      this.stop();
      resolve();
    };
    // A failed check is ignored. If keys cannot be read, the request's own work cannot use the store either, and
    // reports that.
    this.#timer = setInterval(() => check().catch(() => {}), CHECK_MS).unref();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/**
 * Yields the chunks of a body until the grant ends. When the grant ends, this generator returns, even if it still
 * waits for a chunk.
 */
export async function* readWhileGranted(
  chunks: AsyncGenerator<Buffer>,
  grant: GrantWatch,
): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = chunks.next();
    // The chunk may fail long after its reader has stopped waiting.
    chunk.catch(() => {});
    const next = await Promise.race([chunk, grant.ended]);
    if (next === undefined || next.done === true) return;
    yield next.value;
  }
}
