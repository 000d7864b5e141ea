import type { Figure } from './figure.ts';

export interface ScenarioRun {
  /** Fewer rounds and shorter loads: shows that the scenario works, not how good the service is. */
  readonly quick: boolean;
  /** Prints a line of progress to standard error. */
  readonly report: (line: string) => void;
}

/**
 * One fault of the service, and what is measured meanwhile. It runs in a process of its own and starts what it needs
 * on 127.0.0.1; its processes and folders are removed with that process.
 */
export interface Scenario {
  /** The NAME in `npm run chaos -- NAME`. */
  readonly name: string;
  /** A sentence: what is done and what must hold. */
  readonly does: string;
  /** Programs without which it is not run; none when absent. */
  readonly needs?: readonly string[];
  /** The runner ends the scenario after this time, and reports it as missed. */
  readonly limitSeconds: number;
  readonly run: (run: ScenarioRun) => Promise<readonly Figure[]>;
}
