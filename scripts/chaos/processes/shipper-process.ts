import { SCORING } from '../../../test/cli/scoring.ts';
import { type NodeProcess, startNode } from '../../../test/processes/node-process.ts';

/** `scoring archive ship` as a process of its own. */
export class ShipperProcess {
  readonly #env: NodeJS.ProcessEnv;
  #process: NodeProcess;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = { PATH: process.env['PATH'], ...env };
    this.#process = this.#start();
  }

  /** Kills it (kill -9 unless a signal is named), and waits until it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#process.child.kill(signal);
    await this.#process.exited;
  }

  /** Starts it again if it has ended. */
  ensure(): void {
    const { exitCode, signalCode } = this.#process.child;
    if (exitCode !== null || signalCode !== null) this.#process = this.#start();
  }

  #start(): NodeProcess {
    return startNode([SCORING, 'archive', 'ship'], { env: this.#env });
  }
}
