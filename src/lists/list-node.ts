import type { ListedEntry, ListSubject, SharedLists } from '../decision/shared-lists.ts';
import { LIST_CHANGES_MAX, type ListLog } from '../state/list-log.ts';
import { ListCopy } from './list-copy.ts';

/** A change reaches a node within this and the time of a read; well below the 2 s that are promised. */
const FOLLOW_INTERVAL_MS = 500;

/** A copy that could not be compared with the store for this long counts as stale. */
const LISTS_STALE_MS = 10_000;

/** Entries that ended this long ago are removed. */
const ENDED_KEPT_MS = 3600_000;
const SWEEP_INTERVAL_MS = 60_000;

/** How a node's copy of the shared lists is. */
export interface ListsReport {
  readonly lists: number;
  readonly entries: number;
  /** Since the copy was last compared with the store, ms; null: never yet. */
  readonly ageMs: number | null;
  readonly isStale: boolean;
}

export interface ListNodeParts {
  readonly listLog: ListLog;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly onTrouble?: (message: string, error: unknown) => void;
}

/**
 * A node's copy of the shared lists. It follows the store by asking what changed since; decisions ask the copy
 * alone. While the store is away the copy stays as it is, and catches up when it is back.
 */
export class ListNode implements SharedLists {
  readonly #parts: ListNodeParts;
  #copy = new ListCopy();
  #epoch: string | null = null;
  #syncedAtMs: number | null = null;
  #sweptAtMs = performance.now();
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isTroubled = false;

  constructor(parts: ListNodeParts) {
    this.#parts = parts;
  }

  /** Reads all lists once, then keeps following in the background until `stop`. */
  async start(): Promise<void> {
    await this.sync();
    this.#followLater();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  get copy(): ListCopy {
    return this.#copy;
  }

  find(list: string, subject: ListSubject, now: number): ListedEntry | null {
    return this.#copy.membership.find(list, subject, now);
  }

  report(): ListsReport {
    const ageMs = this.#syncedAtMs === null ? null : performance.now() - this.#syncedAtMs;
    const { size } = this.#copy;
    const isStale = ageMs === null || ageMs > LISTS_STALE_MS;
    return { lists: this.#copy.lists().length, entries: size, ageMs, isStale };
  }

  /** Takes over all that was written before this call; throws StoreUnavailable when the store is away. */
  async sync(): Promise<void> {
    // One that is under way may have read before the caller's own change.
    await this.#running?.catch(() => {});
    this.#running ??= this.#read().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    const asked = performance.now();
    for (let copy = this.#copy, isNew = copy.version === 0; ; ) {
      const page = await this.#parts.listLog.read(copy.version, LIST_CHANGES_MAX);
      const isOther = page.epoch !== this.#epoch || page.latest < copy.version;
      const hasMissed = !isNew && copy.version < page.horizon;
      this.#epoch = page.epoch;
      if ((isOther && copy.version > 0) || hasMissed) {
        copy = new ListCopy();
        isNew = true;
        continue;
      }
      for (const record of page.records) copy.take(record);
      if (page.records.length < LIST_CHANGES_MAX) {
        copy.version = Math.max(copy.version, page.latest);
        this.#copy = copy;
        this.#syncedAtMs = asked;
        return;
      }
    }
  }

  #followLater(): void {
    this.#timer = setTimeout(() => this.#follow(), FOLLOW_INTERVAL_MS).unref();
  }

  async #follow(): Promise<void> {
    try {
      await this.sync();
      await this.#sweep();
      this.#isTroubled = false;
    } catch (error) {
      if (!this.#isTroubled) this.#parts.onTrouble?.('the shared lists cannot be followed', error);
      this.#isTroubled = true;
    }
    if (this.#timer !== null) this.#followLater();
  }

  /** Removes what ended long ago, unless somebody has renewed it meanwhile. */
  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAtMs < SWEEP_INTERVAL_MS) return;
    this.#sweptAtMs = performance.now();
    const endedBefore = this.#parts.clock() - ENDED_KEPT_MS;
    const ended = this.#copy
      .lists()
      .flatMap((entries) => [...entries.values()])
      .filter(({ expiresAt }) => expiresAt !== null && expiresAt < endedBefore)
      .slice(0, LIST_CHANGES_MAX);
    if (ended.length === 0) return;
    await this.#parts.listLog.write(ended.map(({ id, version }) => ({ id, text: null, expected: version })));
  }
}
