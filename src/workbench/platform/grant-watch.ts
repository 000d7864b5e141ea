/** A revoked key is noticed within this time plus the half second for which keys are cached. */
const CHECK_MS = 400;

/** Asks again and again whether a key may still do what it is doing, for requests that last. */
export class GrantWatch {
  /** Resolves when the key must stop. */
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
    // While keys cannot be read nothing is known; the state that is written is away, too, and says so.
    this.#timer = setInterval(() => check().catch(() => {}), CHECK_MS).unref();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The chunks of a body until the grant ends, also while no more of them come. */
export async function* readWhileGranted(
  chunks: AsyncGenerator<Buffer>,
  grant: GrantWatch,
): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = chunks.next();
    // It may fail long after everybody stopped waiting for it.
    chunk.catch(() => {});
    const next = await Promise.race([chunk, grant.ended]);
    if (next === undefined || next.done === true) return;
    yield next.value;
  }
}
