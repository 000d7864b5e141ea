import { Worker } from 'node:worker_threads';
import type { ShippingConfig } from './open-shipper.ts';
import { NOTHING_SHIPPED, type ShippingReport } from './shipping.ts';

/** Shipping that goes on beside the service. */
export interface Shipping {
  report(): ShippingReport;
  /** Resolves when the step under way is through and the lease is given up. */
  stop(): Promise<void>;
}

const THREAD = new URL('./shipper-thread.ts', import.meta.url);

/** A thread that dies is begun anew this much later. */
const RESTART_MS = 5_000;

/** Ships in a thread of its own: nothing of it runs on the thread that answers callers. */
export function startShipping(
  config: ShippingConfig,
  onTrouble: (message: string, error?: unknown) => void,
): Shipping {
  let report: ShippingReport = { ...NOTHING_SHIPPED, caughtUpAt: Date.now() };
  let stopping = false;
  let restart: NodeJS.Timeout | null = null;
  let thread = start();

  function start(): Worker {
    const worker = new Worker(THREAD, { workerData: config });
    worker.on('message', (next: ShippingReport) => {
      if (next.trouble !== null && next.trouble !== report.trouble)
        onTrouble(`decisions are not shipped to the archive: ${next.trouble}`);
      report = next;
    });
    worker.on('error', (error) => {
      onTrouble('the archive thread failed and is begun anew', error);
      if (stopping) return;
      restart = setTimeout(() => {
        thread = start();
      }, RESTART_MS).unref();
    });
    worker.unref();
    return worker;
  }

  return {
    report: () => report,
    stop: async () => {
      stopping = true;
      if (restart !== null) clearTimeout(restart);
      const { promise, resolve } = Promise.withResolvers<void>();
      // Until now it did not keep the process alive; its last step must.
      thread.ref();
      thread.once('exit', () => resolve());
      thread.postMessage('stop');
      await promise;
    },
  };
}
