import { LRUCache } from 'lru-cache';
import { StoreUnavailable } from '#state/store-errors.ts';

/** A key that was live when it was last read is gone from the store: its callers get 503, because it may come back. */
export class KeyLost extends StoreUnavailable {}

export interface LostKey {
  readonly id: string;
  readonly platform: string;
}

interface Admitted<Key> {
  readonly record: Key;
  /** Which acceptance of the store held when it was read; null: that was not known. */
  readonly accepted: string | null;
  /** By the process's monotonic clock. */
  readonly readMs: number;
}

/** As many as a process keeps in its cache of keys. */
const ADMITTED_KEYS_MAX = 10_000;

/** Longer than this after its last reading a key may have been revoked and forgotten in good order. */
const ADMITTED_MS_MAX = 29 * 24 * 3600_000;

/** A lost key that nobody has tried for this long has been replaced by another one. */
const LOST_SHOWN_MS = 10 * 60_000;

/** The keys that this process has seen live, so that one that the store lost does not look like one that never was. */
export class AdmittedKeys<Key extends LostKey> {
  readonly #admitted = new LRUCache<string, Admitted<Key>>({ max: ADMITTED_KEYS_MAX });
  /** Lost ones by their id, with when somebody last tried them. */
  readonly #lost = new Map<string, { readonly key: LostKey; triedMs: number }>();
  readonly #monotonicMs: () => number;
  readonly #onLost: (key: LostKey) => void;

  /** `onLost` is told once of each key that is found to be gone. */
  constructor(monotonicMs: () => number, onLost: (key: LostKey) => void) {
    this.#monotonicMs = monotonicMs;
    this.#onLost = onLost;
  }

  /** Notes a key that was read from the store, and is live. */
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
   * What was known of a key that the store does not hold now; null when it was never live here, or when somebody has
   * accepted the store as it is since then.
   */
  lostRecord(id: string, accepted: string | null): Key | null {
    const known = this.#admitted.get(id);
    if (known === undefined) return null;
    const isAcceptedSince = known.accepted !== null && accepted !== null && known.accepted !== accepted;
    if (!isAcceptedSince && this.#monotonicMs() - known.readMs < ADMITTED_MS_MAX) return known.record;
    this.noteEnded(id);
    return null;
  }

  /** Notes that somebody with the right secret tried a key that is lost. */
  noteTried({ id, platform }: Key): void {
    const known = this.#lost.get(id);
    if (known === undefined) this.#onLost({ id, platform });
    this.#lost.set(id, { key: { id, platform }, triedMs: this.#monotonicMs() });
  }

  /** The lost keys that somebody still uses. */
  lost(): readonly LostKey[] {
    for (const [id, { triedMs }] of this.#lost)
      if (this.#monotonicMs() - triedMs > LOST_SHOWN_MS) this.#lost.delete(id);
    return [...this.#lost.values()].map(({ key }) => key);
  }
}
