import { FairQueue, PerOwnerCounter } from '#base/work/fair-queue.ts';
import { BUSY_UTILIZATION, WORK_UNDER_WAY_MAX } from './concurrency-limit.ts';

/**
 * While several platforms have work, at most this many requests of each are decided at once, and the others queue. A
 * platform with little work then waits for a few requests of each other platform, and not for all. The bound is for
 * each platform alone. With one bound for all, a person with many platforms could keep the platforms of others
 * waiting.
 */
const OWNER_AT_ONCE_MIN = 8;

/**
 * If the event loop is used less than this and requests queue, a platform's bound doubles at each measurement,
 * because the store may be far away. With a near store, a higher bound would only make each iteration of the event
 * loop longer.
 */
const HAS_PAUSES = 0.75;

/**
 * While several platforms have work, at most this many requests of each begin in one iteration of the event loop.
 * Node reads in one iteration everything that has arrived on all connections. The next request of another platform is
 * read only after the work that began in this iteration.
 */
const BEGUN_AN_ITERATION = 2;

/**
 * A platform is taken to have work for this many measurements after its last request. That is one minute, counted
 * only while there is work. Without this time, a platform alone could have many requests under way, and the first
 * request of another platform would wait for all of them.
 */
const SEEN_LOOKS = 1200;

/** Starts a few requests of each owner in an iteration of the event loop, and the rest in the following ones. */
class LoopIterations {
  #begun = new PerOwnerCounter();
  readonly #waiting = new Map<string, (() => void)[]>();
  /** The number of waiting requests of all owners. */
  waiting = 0;

  begin(owner: string, start: () => void): void {
    if (this.#begun.ownerCount === 0) setImmediate(() => this.#next());
    if (this.#begun.getCount(owner) < BEGUN_AN_ITERATION) {
      this.#begun.increment(owner);
      start();
    } else {
      this.waiting++;
      const others = this.#waiting.get(owner);
      if (others === undefined) this.#waiting.set(owner, [start]);
      else others.push(start);
    }
  }

  #next(): void {
    this.#begun = new PerOwnerCounter();
    for (const [owner, starts] of this.#waiting) {
      const next = starts.splice(0, BEGUN_AN_ITERATION);
      if (starts.length === 0) this.#waiting.delete(owner);
      this.waiting -= next.length;
      for (const start of next) this.begin(owner, start);
    }
  }
}

/**
 * Protects platforms from each other's load. While several platforms have work, each begins and decides only a few
 * requests at a time. An owner is a platform, or the empty text for requests whose key is unknown.
 */
export class PlatformFairness {
  /** The requests under way or waiting to begin, whose owner is known. */
  readonly #owners = new PerOwnerCounter();
  readonly #iterations = new LoopIterations();
  #ownerAtOnce = OWNER_AT_ONCE_MIN;
  readonly #turns = new FairQueue({
    atOnceMax: Number.POSITIVE_INFINITY,
    ownerMax: () => this.#ownerAtOnce,
    waitingMax: WORK_UNDER_WAY_MAX,
  });
  /** The number of the measurement at which a platform was last known to have work. */
  readonly #seenAtLook = new Map<string, number>();
  #looks = 0;

  /** The number of requests that wait to begin, of all owners. */
  get waitingToBegin(): number {
    return this.#iterations.waiting;
  }

  /** Whether several platforms have had work recently. */
  get isContended(): boolean {
    return this.#seenAtLook.size > 1;
  }

  /** Whether an owner has less work under way than an equal share of `limit`. */
  hasLessThanShare(owner: string, limit: number): boolean {
    const own = this.#owners.getCount(owner);
    const owners = this.#owners.ownerCount + (own === 0 ? 1 : 0);
    return own < limit / owners;
  }

  /**
   * Begins a request in this iteration of the event loop, or in a later one if its owner has begun enough in this
   * one.
   */
  begin(owner: string, start: () => void): void {
    this.#owners.increment(owner);
    this.#iterations.begin(owner, () => {
      this.#owners.decrement(owner);
      start();
    });
  }

  /** Notes that a request under way belongs to this owner. */
  take(owner: string): void {
    this.#owners.increment(owner);
    this.#seenAtLook.set(owner, this.#looks);
  }

  giveBack(owner: string): void {
    this.#owners.decrement(owner);
  }

  /** Calls `decide` at once. While several platforms have work, the call waits for the owner's turn. */
  inTurn<T>(owner: string, decide: () => Promise<T>): Promise<T> {
    return this.isContended ? this.#turns.run(owner, decide) : decide();
  }

  /** Adjusts to the share of the event loop's time that was used since the last measurement, 0 to 1. */
  observe(utilization: number): void {
    this.#looks++;
    for (const [owner, look] of this.#seenAtLook)
      if (this.#looks - look > SEEN_LOOKS) this.#seenAtLook.delete(owner);
    this.#ownerAtOnce = this.#nextOwnerAtOnce(utilization);
  }

  #nextOwnerAtOnce(utilization: number): number {
    if (utilization > BUSY_UTILIZATION || this.#turns.waitingOwnerCount === 0) return OWNER_AT_ONCE_MIN;
    return utilization > HAS_PAUSES ? this.#ownerAtOnce : Math.min(WORK_UNDER_WAY_MAX, this.#ownerAtOnce * 2);
  }
}
