import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { ConcurrencyLimit, type SeenLoad } from './concurrency-limit.ts';
import { PlatformFairness } from './platform-shares.ts';

/** A checkout can do without a score, but not without the verdict at its end: scores are refused first. */
const SCORE_SHARE = 0.75;

/** How often there is a look at the work, as long as there is some. */
const TICK_MS = 50;

/** Knows the work under way: how much of it there may be (ConcurrencyLimit), and whose it is (PlatformFairness). */
export class WorkLimit {
  readonly #concurrency = new ConcurrencyLimit();
  readonly #shares = new PlatformFairness();
  #underWay = 0;
  #underWayMax = 0;
  #finished = 0;
  #tookMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #used: EventLoopUtilization = performance.eventLoopUtilization();

  get limit(): number {
    return this.#concurrency.limit;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Whether one more request of this kind would be too much. */
  isFull(operation: 'score' | 'verdict'): boolean {
    return this.#underWay + this.#shares.waitingToBegin >= this.#limitOf(operation);
  }

  /**
   * Whether an owner has less under way than an equal share of the limit: then one
   * more of it is taken although the limit is reached, and waits for what others have too much of.
   */
  hasShare(operation: 'score' | 'verdict', owner: string): boolean {
    return this.#shares.hasLessThanShare(owner, this.#limitOf(operation));
  }

  /** Whether several platforms had work of late. */
  get isContended(): boolean {
    return this.#shares.isContended;
  }

  /** Begins the owner's request in this iteration of the event loop or, when he has begun enough in it, in one of the next. */
  begin(owner: string, start: () => void): void {
    this.#shares.begin(owner, start);
  }

  /** Notes whose some work under way is; `run` reads it at its end. */
  own(owner: string): void {
    this.#shares.take(owner);
  }

  /** Decides at once, or where several platforms have work when the owner's turn has come. */
  inTurn<T>(owner: string, decide: () => Promise<T>): Promise<T> {
    return this.#shares.inTurn(owner, decide);
  }

  /** `owner` tells at the end whose the work was known to be. */
  async run<T>(work: () => Promise<T>, owner: () => string | null = () => null): Promise<T> {
    const beganMs = performance.now();
    this.#underWay++;
    this.#underWayMax = Math.max(this.#underWayMax, this.#underWay);
    this.#watch();
    try {
      return await work();
    } finally {
      const whose = owner();
      if (whose !== null) this.#shares.giveBack(whose);
      this.#underWay--;
      this.#finished++;
      this.#tookMs += performance.now() - beganMs;
    }
  }

  /** Waiting for the caller's body does not count as work under way: it may take seconds and costs nothing. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    this.#underWay--;
    try {
      return await wait();
    } finally {
      this.#underWay++;
      this.#tookMs -= performance.now() - beganMs;
    }
  }

  /** Adjusts to what was seen since the last look. */
  observe(load: SeenLoad): void {
    this.#shares.observe(load.utilization);
    this.#concurrency.observe(load);
  }

  #limitOf(operation: 'score' | 'verdict'): number {
    return this.limit * (operation === 'score' ? SCORE_SHARE : 1);
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#used = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #tick(): void {
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    const meanMs = this.#finished === 0 ? null : Math.max(0, this.#tookMs / this.#finished);
    this.observe({ utilization, underWayMax: this.#underWayMax, meanMs });
    // On SQLite all that arrived together is finished together: that nothing is under way just now says little.
    const isIdle = this.#underWayMax === 0;
    this.#underWayMax = this.#underWay;
    this.#finished = 0;
    this.#tookMs = 0;
    if (!isIdle || this.#timer === null) return;
    // An idle process has nothing to look at: it keeps no timer and starts again from the beginning.
    clearInterval(this.#timer);
    this.#timer = null;
    this.#concurrency.reset();
  }
}
