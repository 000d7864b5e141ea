import { setTimeout as sleep } from 'node:timers/promises';
import type { PlatformName } from '../client/client-key.ts';
import { searchSteps } from './paced-steps.ts';
import type { JournalPage, Store } from './store.ts';

/** How often the end of the journal is looked at while somebody waits there. */
const LOOK_EVERY_MS = 500;

/** Read in one step: a millisecond or two of this thread. */
export const STEP_ENTRIES_MAX = 100;

/** Waits for what a platform's clients do. It is to be closed. */
export interface TailWatch {
  /**
   * Resolves once something came behind a cursor that was read to after the watch began, sometimes without cause, and
   * when the tail ends.
   */
  readonly news: (after: string | null) => Promise<void>;
  readonly close: () => void;
}

interface Waiting {
  readonly platform: PlatformName;
  readonly wake: () => void;
}

/** Looks at the end of the journal for all in this process who wait for something new, and only while they do. */
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
          // They may have read less far than this one, from where the journal is followed now.
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
      // Those who wait look for themselves, and say what is wrong.
      this.#wake(() => true);
    } finally {
      this.#isFollowed = false;
    }
  }

  /** Tells of all that came behind a cursor; gives the cursor behind that. */
  async #tell(after: string | null): Promise<string | null> {
    for (let cursor = after; ; ) {
      const page: JournalPage = await searchSteps.run(() =>
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
