import { randomUUID } from 'node:crypto';

/** The processes that are one node of the fleet together: one alone, or the workers of one supervisor. */
export interface Peers {
  /** Whether this process speaks for the node: it reports to the fleet and ships to the archive. */
  readonly leads: boolean;
  /** The name of the node in the fleet, the same for all its processes. */
  readonly nodeId: string;
  /** How many processes the node has, this one included; each keeps to its share of the node's limits. */
  readonly workers: number;
  /** The process that an operator sees and stops. */
  readonly pid: number;
  /**
   * Registers this process's answer on a topic, and gives a function that asks all processes, this one included.
   * Answers travel as JSON. A process that does not answer in time is left out or, with `inherit`, represented by its
   * last answer. `inherit` is called in one of the remaining processes with the last answer of one that is gone; only
   * one topic may have it.
   */
  topic<T>(
    name: string,
    answer: (argument: string) => Promise<T>,
    inherit?: (left: T) => void,
  ): (argument: string) => Promise<readonly T[]>;
  /** Says that this process serves; resolves when all do. `line` is shown to the operator. */
  ready(line: string): Promise<void>;
  onDrain(drain: (signal: NodeJS.Signals) => void): void;
}

/** One process that is its own node. */
export function alone(): Peers {
  return {
    leads: true,
    nodeId: randomUUID(),
    workers: 1,
    pid: process.pid,
    topic: (_name, answer) => async (argument) => [await answer(argument)],
    ready: async (line) => console.log(line),
    onDrain: (drain) => {
      process.on('SIGTERM', drain);
      process.on('SIGINT', drain);
    },
  };
}
