import type { Figure } from './figure.ts';

export interface ScenarioRun {
  /**
   * Whether to run fewer rounds and shorter loads. Such a run shows that the scenario works, not how good the service
   * is.
   */
  readonly quick: boolean;
  /** Prints a line of progress to standard error. */
  readonly report: (line: string) => void;
}

/**
 * A fault of the service, and what is measured meanwhile. A scenario runs in a process of its own and starts what it
 * needs on 127.0.0.1. Everything that it started is removed when its process ends.
 */
export interface Scenario {
  /** The NAME in `npm run chaos -- NAME`. */
  readonly name: string;
  /** A sentence that says what is done and what must hold. */
  readonly does: string;
  /** The programs without which the scenario is not run. Absent means none. */
  readonly needs?: readonly string[];
  /** The time, in seconds, after which the runner ends the scenario and reports it as missed. */
  readonly limitSeconds: number;
  readonly run: (run: ScenarioRun) => Promise<readonly Figure[]>;
}
