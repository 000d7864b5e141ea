import { ENDED_WAITS_WINDOW_MS, toShortHash } from '#decision/payer/client-state.ts';
import type { Registers } from '#state/store.ts';

/** The number of waits that one person may end in 24 hours, over all payers. */
export const WAITS_ENDED_BY_PERSON_MAX = 30;

const REGISTER = 'ended waits';

type Noted = readonly (readonly [at: number, wait: string])[];

/** Counts, over the whole fleet, the waits that each person ended in the last 24 hours. */
export class WaitEndingLimit {
  readonly #registers: Registers;

  constructor(registers: Registers) {
    this.#registers = registers;
  }

  /**
   * Notes that a person ends the wait of a decision. A repetition for the same decision is not counted again. If the
   * person has ended too many waits, returns false and notes nothing. `now` is epoch ms.
   */
  async admit(person: string, decisionId: string, now: number): Promise<boolean> {
    const wait = toShortHash(decisionId);
    for (;;) {
      const before = await this.#registers.read(REGISTER);
      const noted: Readonly<Record<string, Noted>> = JSON.parse(before ?? '{}');
      const recent = Object.entries(noted).flatMap(([who, waits]) => {
        const kept = waits.filter(([at]) => at > now - ENDED_WAITS_WINDOW_MS);
        return kept.length === 0 ? [] : [[who, kept] as const];
      });
      const own = recent.find(([who]) => who === person)?.[1] ?? [];
      if (own.some(([, one]) => one === wait)) return true;
      if (own.length >= WAITS_ENDED_BY_PERSON_MAX) return false;
      const next = Object.fromEntries([...recent, [person, [...own, [now, wait]]]]);
      if (await this.#registers.compareAndSet(REGISTER, before, JSON.stringify(next))) return true;
    }
  }
}
