import { setTimeout as sleep } from 'node:timers/promises';
import { WorkElsewhere } from '../../work/work-elsewhere.ts';
import type { ShippingConfig } from './open-shipper.ts';
import type { ShipperWorks } from './shipper-process.ts';
import { NOTHING_SHIPPED, type ShippingReport } from './shipping.ts';

/** Shipping that goes on beside the service. */
export interface Shipping {
  report(): ShippingReport;
  /** Resolves when the step under way is through and the lease is given up. */
  stop(): Promise<void>;
}

const PROCESS = new URL('./shipper-process.ts', import.meta.url);

/** What it reads is soon done with. */
const PLACE = { where: 'process', memoryMiB: 512, youngMemoryMiB: 4, isServant: true } as const;

/** The service has its start behind it by then. */
const START_DELAY_MS = 3_000;

/** Longer than the longest step, a merge of large segments on a slow disk; each step is reported. */
const SILENCE_MS = 300_000;

/** A process that dies is started again after this time. */
const RESTART_MS = 5_000;

/**
 * Ships in a process of its own, which gives way: neither the thread that answers callers nor the threads that help it
 * wait for any of it. One that dies, or hangs for `silenceMs`, is replaced.
 */
export function startShipping(
  config: ShippingConfig,
  onTrouble: (message: string) => void,
  silenceMs = SILENCE_MS,
): Shipping {
  let report: ShippingReport = NOTHING_SHIPPED;
  const stopping = new AbortController();
  const { signal } = stopping;
  const environment = config.archiveS3?.environment ?? {};
  const elsewhere = new WorkElsewhere<ShipperWorks>(PROCESS, { ...PLACE, silenceMs, environment });
  const onProgress = (next: ShippingReport) => {
    if (next.trouble !== null && essence(next.trouble) !== essence(report.trouble))
      onTrouble(`decisions are not shipped to the archive: ${next.trouble}`);
    report = next;
  };
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});

  async function shipOn(): Promise<void> {
    for (await pause(START_DELAY_MS); !signal.aborted; await pause(RESTART_MS)) {
      try {
        await elsewhere.run('ship', config, { onProgress, signal });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        report = { ...report, leads: false, trouble: why };
        if (!signal.aborted) onTrouble(`shipping to the archive is started again: ${why}`);
      }
    }
    await elsewhere.close();
  }

  const shipped = shipOn();
  return {
    report: () => report,
    stop: () => {
      stopping.abort();
      return shipped;
    },
  };
}

/** The same trouble meets another file at every try, and is told once. */
function essence(trouble: string | null): string | null {
  return trouble === null ? null : trouble.replaceAll(/'[^']*'/g, "'..'");
}
