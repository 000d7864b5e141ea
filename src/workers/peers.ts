import { randomUUID } from 'node:crypto';

/** The processes that are one node of the fleet together: one alone, or the workers of one supervisor. */
export interface Peers {
  /** Whether this process speaks for the node: it reports to the fleet, ships to the archive, greets newcomers. */
  readonly leads: boolean;
  /** Names the node to the fleet, whichever of its processes speaks for it. */
  readonly nodeId: string;
  /** How many processes the node has, itself included; what a node bounds, each bounds to its share. */
  readonly workers: number;
  /** Of the process that an operator sees and stops. */
  readonly pid: number;
  /**
   * Says what this process answers on a topic, and gives the way to ask all of them, itself included. What is answered
   * travels as JSON. Who does not answer in time is left out, or stands with its last answer where `inherit` is given:
   * that gets the last answer of a process that is gone, in one of those that go on. One topic can be inherited.
   */
  topic<T>(
    name: string,
    answer: (argument: string) => Promise<T>,
    inherit?: (left: T) => void,
  ): (argument: string) => Promise<readonly T[]>;
  /** Tells that this process serves; resolves when all do. `line` is what an operator reads of the node. */
  ready(line: string): Promise<void>;
  /** `drain` is called when the process is to end. */
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
