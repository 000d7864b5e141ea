import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SeededRandom } from './seeded-random.ts';

interface Task {
  readonly dueMs: number;
  readonly work: () => void;
}

/** No seed needs nearly as many; one that does loops for ever. */
const STEPS_MAX = 20_000;

/**
 * Runs everything between processes one step at a time, in an order that the seed chooses among all due tasks. Time
 * is virtual and jumps to the next task when none is due.
 */
export class Scheduler {
  readonly #random: SeededRandom;
  readonly #stepMs: number;
  #tasks: Task[] = [];
  #nowMs: number;

  /** Each step takes up to `stepMs`. */
  constructor(random: SeededRandom, startMs: number, stepMs: number) {
    this.#random = random;
    this.#nowMs = startMs;
    this.#stepMs = stepMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Does `work` as a step of its own, not before `delayMs` have passed. */
  later(work: () => void, delayMs = 0): void {
    this.#tasks.push({ dueMs: this.#nowMs + delayMs, work });
  }

  pause(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.later(resolve, delayMs);
    return promise;
  }

  /** Runs until nothing is left to do. Throws when that does not happen. */
  async run(): Promise<void> {
    for (let steps = 0; this.#tasks.length > 0; steps++) {
      if (steps === STEPS_MAX) throw new Error(`still busy after ${STEPS_MAX} steps`);
      this.#takeNext()();
      // Lets every promise that the step settled have its effects before the next step.
      await nextTurn();
      this.#nowMs += this.#random.whole(0, this.#stepMs);
    }
  }

  #takeNext(): () => void {
    const earliestMs = Math.min(...this.#tasks.map(({ dueMs }) => dueMs));
    this.#nowMs = Math.max(this.#nowMs, earliestMs);
    const due = this.#tasks.filter(({ dueMs }) => dueMs <= this.#nowMs);
    const next = due[this.#random.whole(0, due.length - 1)];
    if (next === undefined) throw new Error('no task is due');
    this.#tasks = this.#tasks.filter((task) => task !== next);
    return next.work;
  }
}
