import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Archive } from '../archive.ts';
import { type OpenShipper, openShipper, type ShippingConfig } from './open-shipper.ts';
import { keepShipping, type ShippingReport } from './shipping.ts';

const START_DELAY_MS = 3_000;

/** The thread behind `startShipping`: ships until it is told to stop. */
const port = parentPort;
if (port !== null) {
  const config: ShippingConfig = workerData;
  const stop = new AbortController();
  port.once('message', () => stop.abort());
  let open: OpenShipper | null = null;
  const tell = (report: ShippingReport) => port.postMessage(report);
  const step = async () => {
    // Opened within the loop: a store that is away at the start is tried again like any other failure.
    open ??= await openShipper(config, () => {});
    return open.shipper.step();
  };
  giveWay();
  const archive = new Archive(config.archiveDir);
  const contents = () => archive.contents();
  // The engine is loaded once the service has its start behind it.
  await sleep(START_DELAY_MS, undefined, { signal: stop.signal }).catch(() => {});
  await keepShipping({ step, contents, clock: Date.now, signal: stop.signal, onReport: tell });
  await closeShipper(open);
  port.close();
}

/** Callers come first where cores are short. Linux has a priority for each thread; elsewhere it is the process's. */
function giveWay(): void {
  if (platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

function closeShipper(open: OpenShipper | null): Promise<void> {
  return open === null ? Promise.resolve() : open.close();
}
