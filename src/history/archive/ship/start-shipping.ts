import { setTimeout as sleep } from 'node:timers/promises';
import { BackgroundWork } from '#base/work/background-work.ts';
import { ShippingLease, type ShippingNode, tryAcquiringLease } from './lease.ts';
import type { ShipperJobs } from './shipper-process.ts';
import {
  createShipperName,
  explainTrouble,
  INITIAL_SHIPPING_REPORT,
  RETRY_MS,
  SHIP_EVERY_MS,
  type ShippingConfig,
  type ShippingReport,
} from './shipping.ts';

export interface Shipping {
  report(): ShippingReport;
  /** Resolves when the current step has finished and the lease is released. */
  stop(): Promise<void>;
}

const PROCESS = new URL('./shipper-process.ts', import.meta.url);

/**
 * The time, in ms, after which a process that reports nothing is replaced. The process reports each step. The longest
 * step sends a merged segment over a link of a megabit a second and takes less time than this.
 */
const SILENCE_MS = 1_800_000;

/** The process needs most objects only briefly, so a small young generation of its heap is enough. */
const PLACE = {
  where: 'process',
  memoryMiB: 512,
  youngMemoryMiB: 4,
  runsUntilStopped: true,
  silenceMs: SILENCE_MS,
} as const;

/** The time, in ms, after which the service has finished its start. */
const START_DELAY_MS = 3_000;

/** What this node needs to ask for the lease. */
type Asking = Pick<ShippingNode, 'store' | 'archive' | 'clock'>;

/**
 * Ships in a process of its own as soon as this node has the lease. Neither the thread that answers callers nor its
 * helper threads wait for that process. A process that dies or hangs is replaced.
 */
export function startShipping(
  config: ShippingConfig,
  asking: Asking,
  onTrouble: (message: string) => void,
): Shipping {
  let report: ShippingReport = INITIAL_SHIPPING_REPORT;
  const isNews = createNewTroubleTest();
  const stopping = new AbortController();
  const { signal } = stopping;
  const environment = config.archiveS3?.environment ?? {};
  const name = createShipperName();
  const lease = new ShippingLease(asking.store.registers, name, () => performance.now());
  const onProgress = (next: ShippingReport) => {
    if (isNews(next) && next.trouble !== null)
      onTrouble(`decisions are not shipped to the archive: ${next.trouble}`);
    report = next;
  };

  async function shipInProcess(): Promise<void> {
    const elsewhere = new BackgroundWork<ShipperJobs>(PROCESS, { ...PLACE, environment });
    try {
      await elsewhere.run('ship', { ...config, shipperName: name }, { onProgress, signal });
    } catch (error) {
      report = { ...report, leads: false, trouble: explainTrouble(error) };
      if (!signal.aborted) onTrouble(`shipping to the archive is started again: ${explainTrouble(error)}`);
    } finally {
      await elsewhere.close();
    }
  }

  /** Ships until the process ends. Returns how long the next try can wait, in ms. */
  async function shipOnce(): Promise<number> {
    try {
      if (!(await tryAcquiringLease({ ...asking, lease, name }))) {
        onProgress({ ...report, leads: false, trouble: null });
        return SHIP_EVERY_MS;
      }
    } catch (error) {
      onProgress({ ...report, leads: false, trouble: explainTrouble(error) });
      return RETRY_MS;
    }
    await shipInProcess();
    return RETRY_MS;
  }

  async function shipOn(): Promise<void> {
    let pauseMs = START_DELAY_MS;
    while (!signal.aborted) {
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) pauseMs = await shipOnce();
    }
    await lease.release().catch(() => {
      // The store cannot be reached. The lease expires.
    });
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
 * Creates a filter that finds the reports with a new trouble. Troubles that differ only in file names are the same,
 * because each try may fail at another file. The same trouble is logged again only after a step of this node has
 * succeeded, whatever other nodes did in between.
 */
export function createNewTroubleTest(): (report: Pick<ShippingReport, 'leads' | 'trouble'>) => boolean {
  let told: string | null = null;
  return ({ leads, trouble }) => {
    const essence = trouble?.replaceAll(FILE_NAMES, '..') ?? null;
    const isNews = essence !== null && essence !== told;
    if (isNews || leads) told = essence;
    return isNews;
  };
}

/** A name in quotes, or with a UUID in it. */
const FILE_NAMES = /'[^']*'|[\w/=.-]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[\w.]*/g;
