import type { Command } from 'commander';
import { openShipper } from '../../archive/ship/open-shipper.ts';
import { keepShipping, type ShippingReport } from '../../archive/ship/shipping.ts';
import { print, printError } from '../print.ts';
import { readArchiveConfig } from './archive-folder.ts';

/** archive ship: the shipper as a process of its own, for those who want it apart from the service. */
export function shipCommand(archive: Command): void {
  archive
    .command('ship')
    .description('ship the journal to the archive until SIGINT or SIGTERM; the services then need not')
    .option('--json', 'print one JSON object a change')
    .action((options: { json?: true }) => ship(options.json === true));
}

async function ship(json: boolean): Promise<void> {
  const config = readArchiveConfig();
  const stop = new AbortController();
  const end = () => stop.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  const open = await openShipper(config, (error) => printError(`store: ${error.message}`));
  let before = '';
  const tell = (report: ShippingReport) => {
    const text = json ? JSON.stringify(report) : inWords(report);
    if (text !== before) print(text);
    before = text;
  };
  try {
    await keepShipping({
      step: (turn) => open.shipper.step(turn),
      contents: () => open.archive.contents(),
      clock: Date.now,
      signal: stop.signal,
      onReport: tell,
    });
  } finally {
    await open.close();
  }
}

function inWords({ leads, shippedEntries, segments, bytes, trouble }: ShippingReport): string {
  if (trouble !== null) return `Not shipping: ${trouble}`;
  if (!leads) return 'Another node ships.';
  const megabytes = (bytes / 1e6).toFixed(1);
  return `Shipped ${shippedEntries} entries; the archive has ${segments} segments of ${megabytes} MB.`;
}
