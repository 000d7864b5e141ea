import { setTimeout as sleep } from 'node:timers/promises';
import { searchThrottle } from '#base/work/step-throttle.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { JournalPage, Store } from '#state/store.ts';

/** How often the journal's end is read while somebody waits for more. */
const LOOK_EVERY_MS = 500;

/** Read in one step: a millisecond or two of this thread. */
export const STEP_ENTRIES_MAX = 100;

/** Waits for what a platform's clients do. Its user must close it. */
export interface TailWatch {
  /**
   * Resolves once something came after a cursor that was read to since the watch began, sometimes without cause, and
   * when the tail ends.
   */
  readonly news: (after: string | null) => Promise<void>;
  readonly close: () => void;
}

interface Waiting {
  readonly platform: PlatformName;
  readonly wake: () => void;
}

/** Reads the journal's end for everybody in this process who waits for something new, and only while they wait. */
export class JournalTail {
  readonly #store: Pick<Store, 'readJournal'>;
  readonly #waiting = new Set<Waiting>();
  #isFollowed = false;
  #hasEnded = false;

  constructor(store: Pick<Store, 'readJournal'>) {
    this.#store = store;
  }

  watch(platform: PlatformName): TailWatch {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = { platform, wake: resolve };
    this.#waiting.add(own);
    return {
      news: (after) => {
        if (this.#hasEnded) resolve();
        else if (!this.#isFollowed) {
          // Their cursors may lie before the place from which the journal is followed now.
          this.#wake((one) => one !== own);
          this.#follow(after);
        }
        return promise;
      },
      close: () => this.#waiting.delete(own),
    };
  }

  /** Nobody waits any more, now or later. */
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
        cursor = await this.#tell(cursor);
        await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      }
    } catch {
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
      // The waiting readers read for themselves and report what is wrong.
      this.#wake(() => true);
    } finally {
      this.#isFollowed = false;
    }
  }

  /** Wakes the readers of what came after a cursor, and returns the cursor after that. */
  async #tell(after: string | null): Promise<string | null> {
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
