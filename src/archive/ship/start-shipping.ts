import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { forkBackground } from '../../background-process.ts';
import type { ShippingConfig } from './open-shipper.ts';
import type { ShippingOrder } from './shipper-process.ts';
import { NOTHING_SHIPPED, type ShippingReport } from './shipping.ts';

/** Shipping that goes on beside the service. */
export interface Shipping {
  report(): ShippingReport;
  /** Resolves when the step under way is through and the lease is given up. */
  stop(): Promise<void>;
}

const PROCESS = new URL('./shipper-process.ts', import.meta.url);

const PRIORITY = constants.priority.PRIORITY_BELOW_NORMAL;

/** What it reads is soon done with. */
const MEMORY = { oldMemoryMiB: 512, youngMemoryMiB: 4 } as const;

/** The service has its start behind it by then. */
const START_DELAY_MS = 3_000;

/** A process that dies is started again after this time. */
const RESTART_MS = 5_000;

/**
 * Ships in a process of its own, which gives way: neither the thread that answers callers nor the threads that help it
 * wait for any of it.
 */
export function startShipping(
  config: ShippingConfig,
  onTrouble: (message: string, error?: unknown) => void,
): Shipping {
  let report: ShippingReport = NOTHING_SHIPPED;
  let stopping = false;
  let child: ChildProcess | null = null;
  let due = startLater(START_DELAY_MS);

  function startLater(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      child = start();
    }, delayMs).unref();
  }

  function start(): ChildProcess {
    const started = forkBackground(PROCESS, { ...MEMORY, priority: PRIORITY });
    started.on('message', (next: ShippingReport) => {
      if (next.trouble !== null && next.trouble !== report.trouble)
        onTrouble(`decisions are not shipped to the archive: ${next.trouble}`);
      report = next;
    });
    started.on('error', (error) => onTrouble('the archive process cannot be reached', error));
    started.once('exit', (code, signal) => {
      child = null;
      if (stopping) return;
      onTrouble(`the archive process ended with ${signal ?? `exit code ${code}`} and is started again`);
      due = startLater(RESTART_MS);
    });
    tell(started, { ship: config });
    // Until it is told to stop it keeps nobody alive.
    started.unref();
    started.channel?.unref();
    return started;
  }

  return {
    report: () => report,
    stop: async () => {
      stopping = true;
      clearTimeout(due);
      if (child === null) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      child.once('exit', () => resolve());
      child.ref();
      tell(child, 'stop');
      await promise;
    },
  };
}

function tell(child: ChildProcess, order: ShippingOrder): void {
  // One that is gone has its end told by 'exit'.
  child.send(order, () => {});
}
