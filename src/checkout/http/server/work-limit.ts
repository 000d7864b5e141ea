import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { ConcurrencyLimit, type MeasuredLoad } from './concurrency-limit.ts';
import { PlatformFairness } from './platform-fairness.ts';

/**
 * The share of the limit that scores may use. Scores are refused first, because a checkout can do without a score,
 * but not without the verdict at its end.
 */
const SCORE_SHARE = 0.75;

/** The interval between two measurements of the work. Nothing is measured while there is no work. */
const TICK_MS = 50;

/**
 * Tracks the work under way. ConcurrencyLimit decides how much work there may be, and PlatformFairness which platform
 * is next.
 */
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

  /** Whether one more request of this kind would exceed the limit. */
  isFull(operation: 'score' | 'verdict'): boolean {
    return this.#underWay + this.#shares.waitingToBegin >= this.#limitOf(operation);
  }

  /**
   * Whether an owner has less work under way than an equal share of the limit. If so, one more request of this owner
   * is accepted although the limit is reached. The request only waits for its turn.
   */
  hasShare(operation: 'score' | 'verdict', owner: string): boolean {
    return this.#shares.hasLessThanShare(owner, this.#limitOf(operation));
  }

  /** Whether several platforms have had work recently. */
  get isContended(): boolean {
    return this.#shares.isContended;
  }

  /**
   * Begins a request in this iteration of the event loop, or in a later one if its owner has begun enough in this
   * one.
   */
  begin(owner: string, start: () => void): void {
    this.#shares.begin(owner, start);
  }

  /** Notes that a request under way belongs to this owner. `run` releases the request at its end. */
  assignToOwner(owner: string): void {
    this.#shares.take(owner);
  }

  /** Calls `decide` at once. While several platforms have work, the call waits for the owner's turn. */
  inTurn<T>(owner: string, decide: () => Promise<T>): Promise<T> {
    return this.#shares.inTurn(owner, decide);
  }

  /** Runs work and counts it as under way. At the end, `owner` returns the owner to which the work was assigned. */
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

  /**
   * Waits for the caller's body without counting the request as work under way, because the body may take seconds and
   * costs nothing.
   */
  async waitUncounted<T>(wait: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    this.#underWay--;
    try {
      return await wait();
    } finally {
      this.#underWay++;
      this.#tookMs -= performance.now() - beganMs;
    }
  }

  /** Adjusts to the load since the last measurement. */
  observe(load: MeasuredLoad): void {
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
    // On SQLite, requests that arrive together finish together, so a short moment without work says little. A process
    // is idle only after a whole interval without work.
    const isIdle = this.#underWayMax === 0;
    this.#underWayMax = this.#underWay;
    this.#finished = 0;
    this.#tookMs = 0;
    if (!isIdle || this.#timer === null) return;
    // An idle process keeps no timer, and starts again with the highest limit.
    clearInterval(this.#timer);
    this.#timer = null;
    this.#concurrency.reset();
  }
}
