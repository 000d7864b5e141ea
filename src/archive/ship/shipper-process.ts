import { giveWay } from '../../background-process.ts';
import { Archive } from '../archive.ts';
import { type OpenShipper, openShipper, type ShippingConfig } from './open-shipper.ts';
import type { ShippingTurn } from './shipper.ts';
import { keepShipping, type ShippingReport } from './shipping.ts';

/** What `startShipping` tells its process: first what to ship and where, in the end to stop. */
export type ShippingOrder = { readonly ship: ShippingConfig } | 'stop';

const stop = new AbortController();

/** Ships until it is told to stop. */
async function ship(config: ShippingConfig): Promise<void> {
  let open: OpenShipper | null = null;
  const tell = (report: ShippingReport) => process.send?.(report);
  const step = async (turn: ShippingTurn) => {
    // Opened within the loop: a store that is away at the start is tried again like any other failure.
    open ??= await openShipper(config, () => {});
    return open.shipper.step(turn);
  };
  const archive = new Archive(config.archiveDir);
  const contents = () => archive.contents();
  await keepShipping({ step, contents, clock: Date.now, signal: stop.signal, onReport: tell });
  await closeShipper(open);
  process.exit();
}

function closeShipper(open: OpenShipper | null): Promise<void> {
  return open === null ? Promise.resolve() : open.close();
}

giveWay();
// Sent to all processes of the service at once; the one that answers callers tells this one when it is time.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('message', (order: ShippingOrder) => {
  if (order === 'stop') stop.abort();
  else void ship(order.ship);
});
