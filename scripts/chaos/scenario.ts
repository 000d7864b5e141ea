import type { Figure } from './figure.ts';

/** What a scenario is given by the runner. */
export interface ScenarioRun {
  /** Fewer rounds and shorter loads: shows that the scenario works, not how the service stands. */
  readonly quick: boolean;
  /** Says what is going on, a line at a time; goes to standard error. */
  readonly report: (line: string) => void;
}

/**
 * One fault that is done to the service, with what is measured meanwhile. It runs in a process of its own and
 * starts what it needs on 127.0.0.1; processes and folders that it leaves go with that process.
 */
export interface Scenario {
  /** What `npm run chaos -- NAME` calls it. */
  readonly name: string;
  /** What is done and what must hold, in a sentence. */
  readonly does: string;
  /** Programs without which it is not run; none when absent. */
  readonly needs?: readonly string[];
  /** The runner gives the scenario up after this long, and reports it as missed. */
  readonly limitSeconds: number;
  readonly run: (run: ScenarioRun) => Promise<readonly Figure[]>;
}
