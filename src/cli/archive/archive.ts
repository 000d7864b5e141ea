import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { Audit } from '../../access/audit.ts';
import { ARCHIVE_REGISTER } from '../../archive/archived-elsewhere.ts';
import { backUp, NotABackup } from '../../archive/backup.ts';
import { bucketHome } from '../../archive/s3/open-archive.ts';
import { openShipper } from '../../archive/ship/open-shipper.ts';
import { keepShipping, type ShippingReport } from '../../archive/ship/shipping.ts';
import { ADOPTED_CURSOR } from '../../archive/unshipped.ts';
import { EXIT, FindingsError, UsageError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print, printError } from '../print.ts';
import { parseReason } from '../reason.ts';
import { readArchiveConfig, segmentPath, withArchive } from './archive-folder.ts';
import { queryCommand } from './query.ts';
import { statusCommand } from './status.ts';
import { verifyCommand } from './verify.ts';

/** archive ...: what was decided over the years. */
export function archiveCommands(program: Command): void {
  const archive = program.command('archive').description('what was decided over the years, in Parquet');
  statusCommand(archive);
  queryCommand(archive);
  verifyCommand(archive);
  shipCommand(archive);
  backupCommand(archive);
  adoptCommand(archive);
}

/** archive adopt: makes what lies in an S3 store the archive of this store again. */
export function adoptCommand(archive: Command): void {
  archive
    .command('adopt')
    .description(
      'make what ARCHIVE_DIR=s3://.. holds the archive of this store, after one of the two was lost or put back',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {archive, version, segments}')
    .action(({ reason, json }: { reason: string; json?: true }) => adopt(parseReason(reason), json === true));
}

async function adopt(reason: string, json: boolean): Promise<void> {
  const { archiveDir, archiveS3 } = readArchiveConfig();
  if (archiveS3 === null)
    throw new FindingsError(
      'ARCHIVE_DIR is a folder, which the first node that ships makes the archive of its store',
    );
  await withOpenStore(async (store, clock) => {
    const home = bucketHome(archiveDir, archiveS3, store.registers);
    const id = await home.id();
    if (id === null) throw new FindingsError(`${home.name} holds no archive`);
    const adopted = await home.adopt();
    // What is newer than all that is archived is shipped.
    const commit = { by: 'archive adopt', at: clock(), cursor: ADOPTED_CURSOR, add: [], remove: [] };
    const { version, segments } = await home.commit(adopted, commit);
    const claimed = await store.registers.read(ARCHIVE_REGISTER);
    if (claimed !== id) await store.registers.compareAndSet(ARCHIVE_REGISTER, claimed, id);
    const audit = new Audit(store.auditLog, clock);
    const about = { platform: null, subject: null, before: null, after: null };
    await audit.note({ who: actorOfUser(), action: 'archive adopted', ...about, reason });
    const found = { archive: id, version, segments: segments.size };
    print(
      json
        ? JSON.stringify(found)
        : `${home.name} is the archive of this store, as of its commit ${version} (segments: ${segments.size}).`,
    );
  });
}

/** archive backup: a copy of the archive as it is at one moment. */
export function backupCommand(archive: Command): void {
  archive
    .command('backup <folder>')
    .description('make a folder the same as the archive, while shipping goes on; only what is new is copied')
    .option('--json', 'print one JSON object')
    .action((folder: string, options: { json?: true }) => backup(folder, options.json === true));
}

async function backup(folder: string, json: boolean): Promise<void> {
  const report = await withArchive((archive) => backUp(archive, folder)).catch((error: unknown) => {
    throw error instanceof NotABackup ? new UsageError(error.message) : error;
  });
  const { segments, bytes, copied, torn } = report;
  const megabytes = (bytes / 1e6).toFixed(1);
  print(
    json
      ? JSON.stringify(report)
      : `${folder} holds the archive (segments: ${segments}, ${megabytes} MB; newly copied: ${copied}).`,
  );
  if (torn.length === 0) return;
  process.exitCode = EXIT.findings;
  for (const { segment, isKept } of torn)
    printError(
      `${segmentPath(segment)} was cut off or is gone. ${isKept ? 'The backup has it from before: copy it back into the archive.' : `No backup here has it: its ${segment.rows} rows are missing from now on.`}`,
    );
}

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
