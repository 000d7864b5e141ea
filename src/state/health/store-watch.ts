import type { Store } from '../store.ts';
import { healthTexts, type StoreHealth } from './store-health.ts';

/** Looked at also when nobody asks. */
const CHECK_INTERVAL_MS = 60_000;

/** What became known of the store: something is not as it should be, or is so again. */
export interface StoreNews {
  readonly kind: 'trouble' | 'mended';
  readonly text: string;
}

/** Looks after the store: at the start, every minute, and whenever somebody asks how it is. */
export class StoreWatch {
  readonly #store: Store;
  readonly #onNews: (news: StoreNews) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<StoreHealth> | null = null;
  #known: StoreHealth = [];

  constructor(store: Store, onNews: (news: StoreNews) => void) {
    this.#store = store;
    this.#onNews = onNews;
    this.#timer = setInterval(() => this.health(), CHECK_INTERVAL_MS).unref();
    void this.health();
  }

  /** How the store is now. No key is needed to ask, so all who ask at once share one look. */
  health(): Promise<StoreHealth> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** What was found last, without asking the store. */
  get known(): StoreHealth {
    return this.#known;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<StoreHealth> {
    const health = await this.#store.check();
    const before = new Set(healthTexts(this.#known));
    const now = new Set(healthTexts(health));
    this.#known = health;
    for (const text of now.difference(before)) this.#onNews({ kind: 'trouble', text });
    for (const text of before.difference(now)) this.#onNews({ kind: 'mended', text });
    return health;
  }
}
