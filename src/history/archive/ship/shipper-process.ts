import { type JobContext, serveWork } from '#base/work/serve-work.ts';
import type { ShipOrTidy } from './shipper.ts';
import {
  keepShipping,
  type OpenShipper,
  openShipper,
  type ShippingConfig,
  type ShippingReport,
} from './shipping.ts';

const jobs = { ship };

/** The functions that the shipping process runs for the service, by name. */
export type ShipperJobs = typeof jobs;

/** Ships until it is stopped, or until another node has the lease. */
async function ship(config: ShippingConfig, { progress, signal }: JobContext<ShippingReport>): Promise<void> {
  let open: OpenShipper | null = null;
  const lost = new AbortController();
  const step = async (turn: ShipOrTidy) => {
    // The shipper is opened within the loop. If the store cannot be reached at the start, it is tried again as after
    // any other failure.
    open ??= await openShipper(config, () => {});
    const done = await open.shipper.step(turn);
    if (done.did === 'nothing' && done.because === 'another node ships') lost.abort();
    return done;
  };
  const ending = AbortSignal.any([signal, lost.signal]);
  await keepShipping({ step, clock: Date.now, signal: ending, onReport: progress });
  await closeShipper(open);
}

function closeShipper(open: OpenShipper | null): Promise<void> | undefined {
  return open?.close();
}

// These signals are sent to all processes of the service at once. The process that answers callers stops this process
// when it is time.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
serveWork(jobs);
