import { setTimeout as sleep } from 'node:timers/promises';
import { searchThrottle } from '#base/work/step-throttle.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { JournalPage, Store } from '#state/store.ts';

/** The interval, in ms, at which the journal is read while somebody waits for new entries. */
const LOOK_EVERY_MS = 500;

/** The most entries that are read in one step. A step takes a millisecond or two of this thread. */
export const STEP_ENTRIES_MAX = 100;

/** A watch for new entries of a platform's clients. Its user must close it. */
export interface JournalWatch {
  /**
   * Resolves when there is an entry after the cursor, or when `end` was called. It may also resolve without a new
   * entry. The cursor must have been read after the watch began.
   */
  readonly waitForNews: (after: string | null) => Promise<void>;
  readonly close: () => void;
}

interface Waiting {
  readonly platform: PlatformName;
  readonly wake: () => void;
}

/**
 * Reads new entries of the journal for all readers in this process that wait for them, and only while somebody waits.
 */
export class JournalFollower {
  readonly #store: Pick<Store, 'readJournal'>;
  readonly #waiting = new Set<Waiting>();
  #isFollowed = false;
  #hasEnded = false;

  constructor(store: Pick<Store, 'readJournal'>) {
    this.#store = store;
  }

  watch(platform: PlatformName): JournalWatch {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = { platform, wake: resolve };
    this.#waiting.add(own);
    return {
      waitForNews: (after) => {
        if (this.#hasEnded) resolve();
        else if (!this.#isFollowed) {
          // The other readers may wait at cursors before the one from which the journal is followed now.
          this.#wake((one) => one !== own);
          this.#follow(after);
        }
        return promise;
      },
      close: () => this.#waiting.delete(own),
    };
  }

  /** Wakes all readers. From now on, nobody waits for entries. */
  end(): void {
    this.#hasEnded = true;
    this.#wake(() => true);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async #follow(after: string | null): Promise<void> {
    this.#isFollowed = true;
    try {
      for (let cursor = after; this.#waiting.size > 0 && !this.#hasEnded; ) {
        cursor = await this.#wakeReaders(cursor);
        await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      }
    } catch {
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      // The waiting readers read the journal themselves and report the error.
      this.#wake(() => true);
    } finally {
      this.#isFollowed = false;
    }
  }

  /** Wakes the readers that have entries after a cursor. Returns the cursor after those entries. */
  async #wakeReaders(after: string | null): Promise<string | null> {
    for (let cursor = after; ; ) {
      const page: JournalPage = await searchThrottle.run(() =>
        this.#store.readJournal(cursor, STEP_ENTRIES_MAX),
      );
      const platforms = new Set(page.entries.map(({ platform }) => platform));
      const isForAll = page.gap !== null || page.unreadable !== undefined;
      this.#wake(({ platform }) => isForAll || platforms.has(platform));
      cursor = page.cursor;
      if (page.entries.length < STEP_ENTRIES_MAX) return cursor;
    }
  }

  #wake(isMeant: (one: Waiting) => boolean): void {
    for (const one of this.#waiting) if (isMeant(one)) one.wake();
  }
}
