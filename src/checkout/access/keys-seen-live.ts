import { LRUCache } from 'lru-cache';
import { StoreUnavailable } from '#state/store-errors.ts';

/**
 * A key that was live when it was last read, and that the store no longer holds. Its callers get 503, because the key
 * may come back.
 */
export class KeyLostByStore extends StoreUnavailable {}

export interface PlatformKeyRef {
  readonly id: string;
  readonly platform: string;
}

interface Admitted<Key> {
  readonly record: Key;
  /**
   * A register says who last accepted the contents of a store that had lost data. This is the version that the
   * register had when the key was read. Null if the version was not known.
   */
  readonly accepted: string | null;
  /** When the key was last read, ms of the process's monotonic clock. */
  readonly readMs: number;
}

/** The size of the cache of keys. */
const ADMITTED_KEYS_MAX = 10_000;

/** After this time without a read, a key may have been revoked and removed in the ordinary way. */
const ADMITTED_MS_MAX = 29 * 24 * 3600_000;

/**
 * If no caller has tried a lost key for this time, the key is no longer shown, because the caller probably has
 * another one.
 */
const LOST_SHOWN_MS = 10 * 60_000;

/**
 * The keys that were live when this process read them. By them the process can tell a key that the store has lost
 * from a key that never existed.
 */
export class KeysSeenLive<Key extends PlatformKeyRef> {
  readonly #admitted = new LRUCache<string, Admitted<Key>>({ max: ADMITTED_KEYS_MAX });
  /** Lost keys by id, each with the time of its last try. */
  readonly #lost = new Map<string, { readonly key: PlatformKeyRef; triedMs: number }>();
  readonly #monotonicMs: () => number;
  readonly #onLost: (key: PlatformKeyRef) => void;

  /** `onLost` is called once for each key that is found to be lost. */
  constructor(monotonicMs: () => number, onLost: (key: PlatformKeyRef) => void) {
    this.#monotonicMs = monotonicMs;
    this.#onLost = onLost;
  }

  /** Notes a live key that was read from the store. */
  noteLive(record: Key, accepted: string | null): void {
    this.#lost.delete(record.id);
    this.#admitted.set(record.id, { record, accepted, readMs: this.#monotonicMs() });
  }

  /** Notes that a key has ended. */
  noteEnded(id: string): void {
    this.#lost.delete(id);
    this.#admitted.delete(id);
  }

  /**
   * Finds a key that the store no longer holds, as it was last read. Returns null if this process never read the key
   * live, or if somebody has since accepted the contents of the store without the key.
   */
  findLostRecord(id: string, accepted: string | null): Key | null {
    const known = this.#admitted.get(id);
    if (known === undefined) return null;
    const isAcceptedSince = known.accepted !== null && accepted !== null && known.accepted !== accepted;
    if (!isAcceptedSince && this.#monotonicMs() - known.readMs < ADMITTED_MS_MAX) return known.record;
    this.noteEnded(id);
    return null;
  }

  /** Notes that a caller with the right secret tried a lost key. */
  noteTried({ id, platform }: Key): void {
    const known = this.#lost.get(id);
    if (known === undefined) this.#onLost({ id, platform });
    this.#lost.set(id, { key: { id, platform }, triedMs: this.#monotonicMs() });
  }

  /** Lists the lost keys that callers still use. */
  listLost(): readonly PlatformKeyRef[] {
    for (const [id, { triedMs }] of this.#lost)
      if (this.#monotonicMs() - triedMs > LOST_SHOWN_MS) this.#lost.delete(id);
    return [...this.#lost.values()].map(({ key }) => key);
  }
}
