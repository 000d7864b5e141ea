import { NamedError } from '../named-error.ts';
/** How much is under way, by name; a name with nothing under way is forgotten. */
export class Shares {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** How many names have something under way. */
  get size(): number {
    return this.#counts.size;
  }

  take(name: string): void {
    this.#counts.set(name, this.of(name) + 1);
  }

  giveBack(name: string): void {
    const left = this.of(name) - 1;
    if (left === 0) this.#counts.delete(name);
    else this.#counts.set(name, left);
  }
}

export interface TurnLimits {
  /** At once, of all owners together. */
  readonly atOnceMax: number;
  /** Of these, of one owner; a function where it changes. */
  readonly ownerMax: number | (() => number);
  /** Waiting for a turn, of one owner; none: what cannot begin at once is refused. */
  readonly waitingMax: number;
  /** Waiting of all owners together. */
  readonly allWaitingMax?: number;
  /** An owner who goes before all others, waits however many others do, and to whom so many of the turns at once are kept. */
  readonly first?: { readonly owner: string; readonly kept: number };
}

/** So many turns at once, whoever takes them; the others wait. */
export function atOnce(count: number): TurnLimits {
  return { atOnceMax: count, ownerMax: count, waitingMax: Number.POSITIVE_INFINITY };
}

/** As many have their turn, or wait for it, as may. */
export class TooManyTurns extends NamedError {}

/** Lets work begin, few of an owner at a time: an owner who asks for much waits for his own, and for no other's. */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #underWay = new Shares();
  #allUnderWay = 0;
  /** By owner, in the order in which the owners have their turn; none is empty. */
  readonly #waiting = new Map<string, readonly (() => void)[]>();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** How many owners wait for a turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether one more of the owner would be refused. */
  isFull(owner: string): boolean {
    const { waitingMax, allWaitingMax = Number.POSITIVE_INFINITY, first } = this.#limits;
    if (this.#mayBegin(owner)) return false;
    if ((this.#waiting.get(owner)?.length ?? 0) >= waitingMax) return true;
    const others = [...this.#waiting].filter(([one]) => one !== first?.owner);
    return owner !== first?.owner && others.reduce((sum, [, some]) => sum + some.length, 0) >= allWaitingMax;
  }

  /** Works when the owner's turn has come. Throws TooManyTurns, and the reason of a signal that came before the turn. */
  async run<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.isFull(owner)) throw new TooManyTurns(`${this.#underWay.of(owner)} of ${owner} are under way`);
    if (this.#mayBegin(owner)) this.#begin(owner);
    else await this.#turn(owner, signal);
    try {
      return await work();
    } finally {
      this.#underWay.giveBack(owner);
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
    if (this.#underWay.of(owner) >= this.#ownerMax || this.#allUnderWay >= atOnceMax) return false;
    if (first === undefined || owner === first.owner) return true;
    return this.#allUnderWay - this.#underWay.of(first.owner) < atOnceMax - first.kept;
  }

  #begin(owner: string): void {
    this.#underWay.take(owner);
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

  /** An owner who has had a turn comes after all who wait. */
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
    // The bound of an owner may have grown.
    this.#letNext();
  }
}
