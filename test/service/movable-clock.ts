/** 2026-01-01, a Thursday: where the clock of every running service starts. */
export const START_MS = Date.UTC(2026, 0, 1);

/** A clock that the test moves. */
export class MovableClock {
  #nowMs = START_MS;

  readonly now = (): number => this.#nowMs;

  moveSeconds(seconds: number): void {
    this.#nowMs += seconds * 1000;
  }
}
