import { type ClientKey, toClientNumber } from '#decision/payer/client-key.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

/** By the number of a client: when it was last erased, epoch ms. */
export type ErasureTimes = ReadonlyMap<string, number>;

interface ErasureSources {
  readonly store: Pick<Store, 'unshippedErasures'>;
  /** Null without an archive. */
  readonly archive: { erasureTimes(): Promise<ErasureTimes> } | null;
  /** Null without a ledger. */
  readonly ledger: { timeOf(clientHash: string): number | undefined } | null;
}

/**
 * When clients were last erased, as far as somebody still knows: the store until its journal is shipped, the archive
 * for 30 days, the ledger for good. Only reports about payers without a state ask, and those that come while the
 * sources are being read share the next reading.
 */
export class KnownErasures {
  readonly #sources: ErasureSources;
  #next: Promise<readonly ErasureTimes[]> | null = null;
  #free: Promise<unknown> = Promise.resolve();

  constructor(sources: ErasureSources) {
    this.#sources = sources;
  }

  /** Epoch ms; null where no erasure is known. Throws StoreUnavailable when a source cannot be read. */
  async lastErasure(client: Pick<ClientKey, 'hash'>): Promise<number | null> {
    const number = toClientNumber(client.hash);
    const times = (await this.#times()).map((known) => known.get(number));
    const known = [...times, this.#sources.ledger?.timeOf(client.hash)].filter((at) => at !== undefined);
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

  /** The store first: shipping takes an erasure from there to the archive. */
  async #read(): Promise<readonly ErasureTimes[]> {
    const { store, archive } = this.#sources;
    const unshipped = new Map<string, number>();
    for (const { clientNumber: number, at } of await store.unshippedErasures())
      unshipped.set(number, Math.max(at, unshipped.get(number) ?? 0));
    if (archive === null) return [unshipped];
    try {
      return [unshipped, await archive.erasureTimes()];
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      throw new StoreUnavailable('the archive cannot be read, and may know that the payer was erased', {
        cause,
      });
    }
  }
}
