import { TOO_MANY_AT_ONCE } from '../request/refusals.ts';

export interface SearchLimits {
  /** Searches under way at once, of all platforms. */
  readonly underWayMax: number;
  /** Of these, searches of one platform. */
  readonly platformMax: number;
  /** Searches of one platform that wait for their turn. */
  readonly waitingMax: number;
}

/**
 * What a search has found stays in memory until it is answered, and what it reads of the archive is read on a thread
 * beside this one: a few at once are enough. A page of the console asks for some.
 */
export const SEARCH_LIMITS: SearchLimits = { underWayMax: 4, platformMax: 2, waitingMax: 64 };

/** Lets searches run, few of a platform at a time: a platform that asks for many waits for its own, and for no other's. */
export class SearchTurns {
  readonly #limits: SearchLimits;
  /** The platform of each search that is under way. */
  readonly #underWay: string[] = [];
  /** By platform, in the order in which the platforms have their turn; none is empty. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: SearchLimits) {
    this.#limits = limits;
  }

  /** Runs a search when its turn has come; throws 429 when too many of its platform wait already. */
  async run<T>(platform: string, search: () => Promise<T>): Promise<T> {
    await this.#turn(platform);
    try {
      return await search();
    } finally {
      this.#underWay.splice(this.#underWay.indexOf(platform), 1);
      this.#letNext();
    }
  }

  #turn(platform: string): Promise<void> {
    const waiting = this.#waiting.get(platform) ?? [];
    if (waiting.length >= this.#limits.waitingMax) throw TOO_MANY_AT_ONCE.problem('platform');
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    this.#waiting.set(platform, waiting);
    this.#letNext();
    return promise;
  }

  #letNext(): void {
    const { underWayMax, platformMax } = this.#limits;
    if (this.#underWay.length >= underWayMax) return;
    for (const [platform, waiting] of this.#waiting) {
      if (this.#underWay.filter((one) => one === platform).length >= platformMax) continue;
      const [first, ...others] = waiting;
      this.#waiting.delete(platform);
      // At the end of the row: the other platforms come first.
      if (others.length > 0) this.#waiting.set(platform, others);
      this.#underWay.push(platform);
      first?.();
      return;
    }
  }
}
