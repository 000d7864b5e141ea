import { NamedError } from '#base/named-error.ts';

/** Counts running work by owner. */
export class PerOwnerCounter {
  readonly #counts = new Map<string, number>();

  getCount(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  get ownerCount(): number {
    return this.#counts.size;
  }

  increment(name: string): void {
    this.#counts.set(name, this.getCount(name) + 1);
  }

  decrement(name: string): void {
    const left = this.getCount(name) - 1;
    if (left === 0) this.#counts.delete(name);
    else this.#counts.set(name, left);
  }
}

export interface FairQueueLimits {
  /** How many tasks of all owners run at once. */
  readonly atOnceMax: number;
  /** How many tasks of one owner run at once. It is a function if the limit can change. */
  readonly ownerMax: number | (() => number);
  /** How many tasks of one owner may wait. With 0, a task that cannot run immediately is refused. */
  readonly waitingMax: number;
  /** How many tasks of all owners may wait. */
  readonly allWaitingMax?: number;
  /** An owner whose tasks go first and may always wait. `kept` of the running tasks are reserved for this owner. */
  readonly first?: { readonly owner: string; readonly kept: number };
}

/** Returns limits by which `count` tasks run at once and all others wait. */
export function createConcurrencyLimits(count: number): FairQueueLimits {
  return { atOnceMax: count, ownerMax: count, waitingMax: Number.POSITIVE_INFINITY };
}

/** The queue accepts no more work, neither to run nor to wait. */
export class QueueFull extends NamedError {}

/** Runs work fairly between owners: an owner with much work waits for its own work and does not delay others. */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #underWay = new PerOwnerCounter();
  #allUnderWay = 0;
  /** The waiting tasks by owner. The owner whose turn is next comes first. No owner has an empty list. */
  readonly #waiting = new Map<string, readonly (() => void)[]>();

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get waitingOwnerCount(): number {
    return this.#waiting.size;
  }

  /** Whether the owner has as many tasks waiting as it may have. */
  isOwnerFull(owner: string): boolean {
    return (this.#waiting.get(owner)?.length ?? 0) >= this.#limits.waitingMax;
  }

  /** Whether more work of the owner would be refused. */
  isFull(owner: string): boolean {
    const { allWaitingMax = Number.POSITIVE_INFINITY, first } = this.#limits;
    if (this.#mayBegin(owner)) return false;
    if (this.isOwnerFull(owner)) return true;
    const others = [...this.#waiting].filter(([one]) => one !== first?.owner);
    return owner !== first?.owner && others.reduce((sum, [, some]) => sum + some.length, 0) >= allWaitingMax;
  }

  /**
   * Runs `work` when its turn comes. Throws QueueFull, or the reason of a signal that was aborted before the turn
   * came.
   */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.isFull(owner))
      throw new QueueFull(`${this.#underWay.getCount(owner)} of ${owner} are under way`);
    if (this.#mayBegin(owner)) this.#begin(owner);
    else await this.#turn(owner, signal);
    try {
      return await work();
    } finally {
      this.#underWay.decrement(owner);
      this.#allUnderWay--;
      this.#toEnd(owner);
      this.#letNext();
    }
  }

  get #ownerMax(): number {
    const { ownerMax } = this.#limits;
    return typeof ownerMax === 'number' ? ownerMax : ownerMax();
  }

  #mayBegin(owner: string): boolean {
    const { atOnceMax, first } = this.#limits;
    if (this.#underWay.getCount(owner) >= this.#ownerMax || this.#allUnderWay >= atOnceMax) return false;
    if (first === undefined || owner === first.owner) return true;
    return this.#allUnderWay - this.#underWay.getCount(first.owner) < atOnceMax - first.kept;
  }

  #begin(owner: string): void {
    this.#underWay.increment(owner);
    this.#allUnderWay++;
  }

  async #turn(owner: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), resolve]);
    const leave = () => {
      this.#leave(owner, resolve);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave);
    await promise.finally(() => signal?.removeEventListener('abort', leave));
  }

  #leave(owner: string, turn: () => void): void {
    const others = this.#waiting.get(owner)?.filter((one) => one !== turn) ?? [];
    if (others.length > 0) this.#waiting.set(owner, others);
    else this.#waiting.delete(owner);
  }

  /** Moves an owner behind all other waiting owners. This is done after each turn of the owner. */
  #toEnd(owner: string): void {
    const own = this.#waiting.get(owner);
    if (own === undefined) return;
    this.#waiting.delete(owner);
    this.#waiting.set(owner, own);
  }

  #letNext(): void {
    const { first } = this.#limits;
    const owners = [...(first === undefined ? [] : [first.owner]), ...this.#waiting.keys()];
    const next = owners.find((owner) => this.#waiting.has(owner) && this.#mayBegin(owner));
    const [turn] = next === undefined ? [] : (this.#waiting.get(next) ?? []);
    if (next === undefined || turn === undefined) return;
    this.#leave(next, turn);
    this.#toEnd(next);
    this.#begin(next);
    turn();
    // The owner's limit may have risen.
    this.#letNext();
  }
}
