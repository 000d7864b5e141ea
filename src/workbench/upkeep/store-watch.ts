import type { StoreHealth } from '#state/store-health.ts';

/**
 * Tells whether this node should get requests. It should if it reaches at least one server of the store, and no
 * server is out of reach for this node alone.
 */
export function isFitToServe(health: StoreHealth): boolean {
  return health.some(({ failure }) => failure === null) && !health.some(({ onlyHere = false }) => onlyHere);
}

/** Lists what does not work or needs attention, each in one sentence. */
export function listHealthProblems(health: StoreHealth): readonly string[] {
  return health.flatMap(({ server, failure, onlyHere, warnings }) => [
    ...(failure === null ? [] : [`The clients on ${server} get 503: ${failure}.`]),
    ...(onlyHere ? [`Another node reaches ${server}: see to the network of this one.`] : []),
    ...warnings.map(({ text }) => text),
  ]);
}

/** How often the store is checked if nobody asks. */
const CHECK_INTERVAL_MS = 60_000;

/** How soon the node notices that the store has been replaced by another one, or that the known store is back. */
const REFUSAL_LOOK_MS = 500;

interface StoreNews {
  readonly kind: 'trouble' | 'mended';
  readonly text: string;
}

interface WatchedStore {
  check(): Promise<StoreHealth>;
  refusal(): string | null;
}

/** Checks the store at the start, every minute, and whenever somebody asks. */
export class StoreWatch {
  readonly #store: WatchedStore;
  readonly #onNews: (news: StoreNews) => void;
  readonly #timers: readonly NodeJS.Timeout[];
  #refusal: string | null = null;
  #looking: Promise<StoreHealth> | null = null;
  #known: StoreHealth = [];

  constructor(store: WatchedStore, onNews: (news: StoreNews) => void) {
    this.#store = store;
    this.#onNews = onNews;
    this.#timers = [
      setInterval(() => this.checkHealth(), CHECK_INTERVAL_MS).unref(),
      setInterval(() => this.#mindRefusal(), REFUSAL_LOOK_MS).unref(),
    ];
    void this.checkHealth();
  }

  /** Checks the store now. Anybody may ask for this without a key, so all who ask at the same time share one check. */
  checkHealth(): Promise<StoreHealth> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** The result of the last check. Reading it does not ask the store. */
  get lastHealth(): StoreHealth {
    return this.#known;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #mindRefusal(): void {
    const refusal = this.#store.refusal();
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    void this.checkHealth();
  }

  async #look(): Promise<StoreHealth> {
    const health = await this.#store.check();
    const before = new Set(listHealthProblems(this.#known));
    const now = new Set(listHealthProblems(health));
    this.#known = health;
    for (const text of now.difference(before)) this.#onNews({ kind: 'trouble', text });
    for (const text of before.difference(now)) this.#onNews({ kind: 'mended', text });
    return health;
  }
}
