import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

/** When clients were last erased, epoch ms, by client number. */
export type ErasureTimes = ReadonlyMap<string, number>;

interface ErasureSources {
  readonly store: Pick<Store, 'unshippedErasures'>;
  /** Null if there is no archive. */
  readonly archive: { readErasureTimes(): Promise<ErasureTimes> } | null;
  /** Null if there is no ledger. */
  readonly ledger: { findErasureTime(clientHash: string): number | undefined } | null;
}

/**
 * Finds when clients were last erased. The store knows an erasure until its journal is shipped, the archive for 30
 * days, and the ledger forever. These sources are asked only if a report names a payer without a state. Calls that
 * come while the sources are being read share the next read.
 */
export class ErasureFinder {
  readonly #sources: ErasureSources;
  #next: Promise<readonly ErasureTimes[]> | null = null;
  #free: Promise<unknown> = Promise.resolve();

  constructor(sources: ErasureSources) {
    this.#sources = sources;
  }

  /**
   * Returns when the client was last erased, epoch ms. Returns null if no erasure is known. Throws StoreUnavailable
   * if a source cannot be read.
   */
  async findLastErasure(client: Pick<ClientKey, 'hash'>): Promise<number | null> {
    const number = toClientNumberText(client.hash);
    const times = (await this.#times()).map((known) => known.get(number));
    const known = [...times, this.#sources.ledger?.findErasureTime(client.hash)].filter(
      (at) => at !== undefined,
    );
    return known.length === 0 ? null : Math.max(...known);
  }

  #times(): Promise<readonly ErasureTimes[]> {
    if (this.#next !== null) return this.#next;
    const next = this.#free.then(() => {
      this.#next = null;
      return this.#read();
    });
    this.#free = next.catch(() => {});
    this.#next = next;
    return next;
  }

  /** Reads the store first, because shipping moves erasures from the store to the archive. */
  async #read(): Promise<readonly ErasureTimes[]> {
    const { store, archive } = this.#sources;
    const unshipped = new Map<string, number>();
    for (const { clientNumber: number, at } of await store.unshippedErasures())
      unshipped.set(number, Math.max(at, unshipped.get(number) ?? 0));
    if (archive === null) return [unshipped];
    try {
      return [unshipped, await archive.readErasureTimes()];
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      throw new StoreUnavailable('the archive cannot be read, and may know that the payer was erased', {
        cause,
      });
    }
  }
}
