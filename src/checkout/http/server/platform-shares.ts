import { CountsByOwner, FairQueue } from '#base/work/turns.ts';
import { BUSY, WORK_UNDER_WAY_MAX } from './concurrency-limit.ts';

/**
 * While several platforms have work, each has so many decided at once, and the others wait in front: whoever asks for
 * little is held up by a few of each neighbour's requests instead of by all of them. A bound of all together would let
 * many platforms of one person keep another's waiting.
 */
const OWNER_AT_ONCE_MIN = 8;

/**
 * While the event loop is used less than this and somebody waits, a platform may have twice as many at each look: the
 * store may be far away. Where it is near, many at once would only make each iteration of the event loop long.
 */
const HAS_PAUSES = 0.75;

/**
 * While several platforms have work, so many requests of each begin in one iteration of the event loop. All that many
 * connections sent meanwhile is read in one iteration, and a neighbour's next request only after what that began.
 */
const BEGUN_AN_ITERATION = 2;

/**
 * A platform counts as having work for so many looks after its last: a minute of those in which anybody had some. What one
 * alone has under way is worked off before the first request of another.
 */
const SEEN_LOOKS = 1200;

/** Lets a few requests of each owner begin in an iteration of the event loop, and the others in those that follow. */
class LoopIterations {
  #begun = new CountsByOwner();
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Of all owners. */
  waiting = 0;

  begin(owner: string, start: () => void): void {
    if (this.#begun.size === 0) setImmediate(() => this.#next());
    if (this.#begun.of(owner) < BEGUN_AN_ITERATION) {
      this.#begun.take(owner);
      start();
    } else {
      this.waiting++;
      const others = this.#waiting.get(owner);
      if (others === undefined) this.#waiting.set(owner, [start]);
      else others.push(start);
    }
  }

  #next(): void {
    this.#begun = new CountsByOwner();
    for (const [owner, starts] of this.#waiting) {
      const next = starts.splice(0, BEGUN_AN_ITERATION);
      if (starts.length === 0) this.#waiting.delete(owner);
      this.waiting -= next.length;
      for (const start of next) this.begin(owner, start);
    }
  }
}

/**
 * Keeps platforms from each other's work: while several have some, each begins and decides a few requests at a time. An
 * owner is a platform, or nobody that is known.
 */
export class PlatformFairness {
  /** Of what is under way or waits to begin, how much is known to be whose. */
  readonly #owners = new CountsByOwner();
  readonly #iterations = new LoopIterations();
  #ownerAtOnce = OWNER_AT_ONCE_MIN;
  readonly #turns = new FairQueue({
    atOnceMax: Number.POSITIVE_INFINITY,
    ownerMax: () => this.#ownerAtOnce,
    waitingMax: WORK_UNDER_WAY_MAX,
  });
  /** The look at which a platform was last known to have work. */
  readonly #seenAtLook = new Map<string, number>();
  #looks = 0;

  /** How many requests wait to begin, of all owners. */
  get waitingToBegin(): number {
    return this.#iterations.waiting;
  }

  /** Whether several platforms had work of late. */
  get isContended(): boolean {
    return this.#seenAtLook.size > 1;
  }

  /** Whether an owner has less under way than an equal share of `limit`. */
  hasLessThanShare(owner: string, limit: number): boolean {
    const own = this.#owners.of(owner);
    const owners = this.#owners.size + (own === 0 ? 1 : 0);
    return own < limit / owners;
  }

  /** Begins the owner's request in this iteration of the event loop or, when he has begun enough in it, in one of the next. */
  begin(owner: string, start: () => void): void {
    this.#owners.take(owner);
    this.#iterations.begin(owner, () => {
      this.#owners.giveBack(owner);
      start();
    });
  }

  /** Notes whose some work under way is. */
  take(owner: string): void {
    this.#owners.take(owner);
    this.#seenAtLook.set(owner, this.#looks);
  }

  giveBack(owner: string): void {
    this.#owners.giveBack(owner);
  }

  /** Decides at once, or where several platforms have work when the owner's turn has come. */
  inTurn<T>(owner: string, decide: () => Promise<T>): Promise<T> {
    return this.isContended ? this.#turns.run(owner, decide) : decide();
  }

  /** Adjusts to how much of the event loop's time was used since the last look, 0 to 1. */
  observe(utilization: number): void {
    this.#looks++;
    for (const [owner, look] of this.#seenAtLook)
      if (this.#looks - look > SEEN_LOOKS) this.#seenAtLook.delete(owner);
    this.#ownerAtOnce = this.#nextOwnerAtOnce(utilization);
  }

  #nextOwnerAtOnce(utilization: number): number {
    if (utilization > BUSY || this.#turns.waiting === 0) return OWNER_AT_ONCE_MIN;
    return utilization > HAS_PAUSES ? this.#ownerAtOnce : Math.min(WORK_UNDER_WAY_MAX, this.#ownerAtOnce * 2);
  }
}
