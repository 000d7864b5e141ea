import { setTimeout as sleep } from 'node:timers/promises';
import { BackgroundWork } from '../../work/background-work.ts';
import type { ShipperWorks } from './shipper-process.ts';
import { NOTHING_SHIPPED, type ShippingConfig, type ShippingReport } from './shipping.ts';

export interface Shipping {
  report(): ShippingReport;
  /** Resolves when the step under way is through and the lease is given up. */
  stop(): Promise<void>;
}

const PROCESS = new URL('./shipper-process.ts', import.meta.url);

/** Longer than the longest step, a merge of large segments on a slow disk; each step is reported. */
const SILENCE_MS = 300_000;

/** It needs what it reads only briefly. */
const PLACE = {
  where: 'process',
  memoryMiB: 512,
  youngMemoryMiB: 4,
  runsUntilStopped: true,
  silenceMs: SILENCE_MS,
} as const;

/** The service has its start behind it by then. */
const START_DELAY_MS = 3_000;

const RESTART_MS = 5_000;

/**
 * Ships in a process of its own, which gives way: neither the thread that answers callers nor the threads that help it
 * wait for any of it. One that dies, or hangs, is replaced.
 */
export function startShipping(config: ShippingConfig, onTrouble: (message: string) => void): Shipping {
  let report: ShippingReport = NOTHING_SHIPPED;
  const isNews = newsOfTroubles();
  const stopping = new AbortController();
  const { signal } = stopping;
  const environment = config.archiveS3?.environment ?? {};
  const elsewhere = new BackgroundWork<ShipperWorks>(PROCESS, { ...PLACE, environment });
  const onProgress = (next: ShippingReport) => {
    if (isNews(next) && next.trouble !== null)
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

/**
 * Finds the reports with a new trouble. The same trouble may concern another file at every try, and other nodes may
 * have tried in between: it is logged once until this node has shipped.
 */
export function newsOfTroubles(): (report: Pick<ShippingReport, 'leads' | 'trouble'>) => boolean {
  let told: string | null = null;
  return ({ leads, trouble }) => {
    const essence = trouble?.replaceAll(FILE_NAMES, '..') ?? null;
    const isNews = essence !== null && essence !== told;
    if (isNews || leads) told = essence;
    return isNews;
  };
}

/** In quotes, or with a random id in it. */
const FILE_NAMES = /'[^']*'|[\w/=.-]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[\w.]*/g;
