/** A promise that a server does not keep, or that could not be checked. */
export const WARNING_KINDS = ['clock', 'version', 'eviction', 'append-only', 'memory', 'unchecked'] as const;

export interface StoreWarning {
  readonly kind: (typeof WARNING_KINDS)[number];
  /** For the operator: what is wrong, and what to do. */
  readonly text: string;
}

/** The result of a small test write on one server of the store. */
export interface ServerHealth {
  /** For people: kind and address, without credentials. */
  readonly server: string;
  /** Why the clients that it keeps get 503; null when writes work. */
  readonly failure: string | null;
  /** It is not the store that this process opened, or lost what it held. */
  readonly isAnotherStore?: true;
  /** Another node reaches this server and all others: what is wrong is between this node and the server. */
  readonly onlyHere?: true;
  readonly warnings: readonly StoreWarning[];
  /** How much of its memory limit it uses, 0 to 1; absent without a limit, or when it does not say. */
  readonly memoryUsedShare?: number;
  /** How many keys it has forgotten to stay within its memory; absent when it does not say. */
  readonly evictedKeys?: number;
}

/** The health of the store, server by server: the only one, or each master of a cluster. */
export type StoreHealth = readonly ServerHealth[];

/** Whether this node can serve requests that another could not serve better. */
export function servesClients(health: StoreHealth): boolean {
  return health.some(({ failure }) => failure === null) && !health.some(({ onlyHere = false }) => onlyHere);
}

/** What does not work or needs attention, each in one sentence. */
export function healthTexts(health: StoreHealth): readonly string[] {
  return health.flatMap(({ server, failure, onlyHere, warnings }) => [
    ...(failure === null ? [] : [`The clients on ${server} get 503: ${failure}.`]),
    ...(onlyHere ? [`Another node reaches ${server}: see to the network of this one.`] : []),
    ...warnings.map(({ text }) => text),
  ]);
}

/** Why a server did not take a write, in its own words where it has some. */
export function failureText(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  const told = cause instanceof Error ? cause : error;
  // Redis adds which line of which script it refused.
  return told instanceof Error ? told.message.replace(/\.?( script: [0-9a-f]{40}.*)?$/, '') : String(told);
}

/** How often the store is checked when nobody asks. */
const CHECK_INTERVAL_MS = 60_000;

/** How soon it is said that the store has become another one, or is the known one again. */
const REFUSAL_LOOK_MS = 500;

interface StoreNews {
  readonly kind: 'trouble' | 'mended';
  readonly text: string;
}

interface WatchedStore {
  check(): Promise<StoreHealth>;
  refusal(): string | null;
}

/** Looks after the store: at the start, every minute, and whenever somebody asks how it is. */
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
      setInterval(() => this.health(), CHECK_INTERVAL_MS).unref(),
      setInterval(() => this.#mindRefusal(), REFUSAL_LOOK_MS).unref(),
    ];
    void this.health();
  }

  /** How the store is now. Nobody needs a key to ask, so all who ask at once share one check. */
  health(): Promise<StoreHealth> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** The last finding, without asking the store. */
  get known(): StoreHealth {
    return this.#known;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #mindRefusal(): void {
    const refusal = this.#store.refusal();
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    void this.health();
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
