import type { Registers } from '../../store.ts';

/**
 * Which layout of keys holds the clients. Earlier: all are where the version before keeps them, and nodes of that
 * version may run beside. Moving: each client is taken into the layout of today when it is next met, or by
 * `state move`. Current: none is left in the earlier one but decisions that end by themselves.
 */
export type LayoutPhase = 'earlier' | 'moving' | 'current';

/** What the fleet knows of the layout. */
export interface StoredLayout {
  readonly phase: LayoutPhase;
  /** Until when decisions of the earlier layout may be found there, epoch ms; null when there never were any. */
  readonly earlierUntil: number | null;
}

const REGISTER = 'layout';

/** The layout register of a store, as this process last saw it. */
export class Layout {
  readonly #registers: Registers;
  readonly #hasEarlierData: () => Promise<boolean>;
  #known: StoredLayout = { phase: 'current', earlierUntil: null };

  /** `hasEarlierData` tells whether a version before has ever written here; asked when no version of today has. */
  constructor(registers: Registers, hasEarlierData: () => Promise<boolean>) {
    this.#registers = registers;
    this.#hasEarlierData = hasEarlierData;
  }

  get phase(): LayoutPhase {
    return this.#known.phase;
  }

  /** Whether decisions and journal entries may lie in the earlier layout. */
  get hasEarlier(): boolean {
    return this.#known.phase !== 'current' || this.#known.earlierUntil !== null;
  }

  /** Reads the register, and writes it where there is none. */
  async open(): Promise<void> {
    const raw = await this.#registers.read(REGISTER);
    if (raw !== null) {
      this.#known = JSON.parse(raw);
      return;
    }
    const phase = (await this.#hasEarlierData()) ? 'earlier' : 'current';
    this.#known = { phase, earlierUntil: null };
    if (!(await this.#registers.compareAndSet(REGISTER, null, JSON.stringify(this.#known))))
      await this.open();
  }

  /** Reads the register again; what this process found out by itself stays when there is none. */
  async refresh(nowMs: number): Promise<void> {
    const raw = await this.#registers.read(REGISTER);
    if (raw === null) return;
    const stored: StoredLayout = JSON.parse(raw);
    const over = stored.earlierUntil !== null && stored.earlierUntil < nowMs;
    this.#known = over ? { ...stored, earlierUntil: null } : stored;
  }

  /** A client was found to be moved, before the register was read again. */
  foundMoving(): void {
    if (this.#known.phase === 'earlier') this.#known = { phase: 'moving', earlierUntil: null };
  }

  /** Begins to move, or tells that all are moved. */
  async change(next: StoredLayout): Promise<void> {
    const raw = await this.#registers.read(REGISTER);
    if (!(await this.#registers.compareAndSet(REGISTER, raw, JSON.stringify(next)))) return this.change(next);
    this.#known = next;
  }
}
