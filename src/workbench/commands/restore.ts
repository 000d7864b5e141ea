import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { parseS3Place } from '#config.ts';
import { Archive } from '#history/archive/archive.ts';
import { openArchive, REGISTERS_WITHOUT_STORE } from '#history/archive/s3/open-archive.ts';
import { openStore } from '#state/open-store.ts';
import { findDatabaseFileFault } from '#state/sqlite/file-fault.ts';
import { getDbPath } from '#state/sqlite/open-file.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { parseAuditLinkEntry } from '#workbench/access/audit-check.ts';
import { findUnreadableTexts } from '#workbench/payers/rebuild.ts';
import { listHealthProblems } from '#workbench/upkeep/store-watch.ts';
import { type AppendOnlyFault, findAppendOnlyFault } from './append-only-file.ts';
import { EXIT_CODES, FindingsError, UsageError } from './exit.ts';
import { print } from './print.ts';

const CLUSTER_SCRIPT = join(import.meta.dirname, '..', '..', '..', 'packaging', 'restore-cluster');

/** The longest time, in ms, that a server may take to read its file. */
const STARTED_WITHIN_MS = 600_000;

type Kind = 'SQLite' | 'Redis' | 'Redis Cluster';

interface BackupReport {
  readonly kind: Kind;
  /** The time of the newest entry of the store's journal or audit, as ISO 8601. Null for a store without any entry. */
  readonly asOf: string | null;
  readonly journalEntries: number;
  /** The Redis files that end within an entry, and the number of bytes that Redis drops there. */
  readonly cutOff: readonly CutFile[];
  /** A line for each thing that cannot be read: a file, a server, or a stored value with its name and the reason. */
  readonly unreadable: readonly string[];
  readonly archive: ArchiveReport | null;
}

interface CutFile {
  readonly file: string;
  readonly droppedBytes: number;
}

interface ArchiveReport {
  /** The archive's folder, or its address in S3. */
  readonly folder: string;
  readonly decisions: number;
  /** The number of files that were cut off or are gone. */
  readonly torn: number;
  /**
   * The decisions that the archive has and the backup's store lacks, because they are newer than the backup's
   * journal: the largest number that is possible, and the time of the newest. Null if there are none.
   */
  readonly later: { readonly decisionsMax: number; readonly to: string } | null;
}

/**
 * Adds `restore --check`, which shows what a backup would bring back. It works on a copy that cannot reach the
 * running store.
 */
export function addRestoreCheckCommand(program: Command): void {
  program
    .command('restore')
    .description(
      'check a copy of a backup apart from production: when it was made, and what a restore would lose. Exit code 1 when a part cannot be read or is cut off',
    )
    .requiredOption(
      '--check <folder>',
      'scoring.sqlite, or appendonlydir, or a folder for each master with appendonlydir and nodes.conf',
    )
    .option(
      '--archive <place>',
      'the archive or its backup, a folder or s3://BUCKET/PREFIX; <folder>/archive when it is there',
    )
    .option('--work <folder>', 'folder for the copy; by default the system folder for temporary files')
    .option('--json', 'print one JSON object')
    .action(async (options: { check: string; archive?: string; work?: string; json?: true }) => {
      const report = await checkBackup(options);
      print(options.json === true ? JSON.stringify(report) : formatBackupReport(report));
      const isWhole = report.unreadable.length === 0 && report.cutOff.length === 0;
      if (!isWhole || (report.archive?.torn ?? 0) > 0) process.exitCode = EXIT_CODES.findings;
    });
}

async function checkBackup(options: {
  check: string;
  archive?: string;
  work?: string;
}): Promise<BackupReport> {
  const kind = findKind(options.check);
  requireArchiveFolder(options.archive);
  const copy = mkdtempSync(join(options.work ?? tmpdir(), 'scoring-restore-'));
  const opened = await STARTERS[kind](options.check, copy).catch((error: unknown) => {
    rmSync(copy, { recursive: true, force: true });
    throw error;
  });
  try {
    return await createBackupReport(kind, opened, openArchiveOfBackup(options, copy));
  } finally {
    await opened.store.close();
    await opened.stop();
    rmSync(copy, { recursive: true, force: true });
  }
}

function requireArchiveFolder(place: string | undefined): void {
  if (place === undefined || isInS3(place) || existsSync(place)) return;
  throw new UsageError(`there is no folder ${place}; name the folder or the address of the archive`);
}

function isInS3(place: string): boolean {
  return place.startsWith('s3:');
}

function findKind(folder: string): Kind {
  if (existsSync(getDbPath(folder))) return 'SQLite';
  if (existsSync(join(folder, 'appendonlydir'))) return 'Redis';
  if (globSync('*/nodes.conf', { cwd: folder }).length > 0) return 'Redis Cluster';
  throw new UsageError(
    `${folder} is not a backup: it has no scoring.sqlite, no appendonlydir, and no folders of masters with nodes.conf; the operator's guide says how to make each of them`,
  );
}

interface RunningCopy {
  readonly store: Store;
  readonly faults: readonly AppendOnlyFault[];
  readonly stop: () => Promise<void>;
}

const STARTERS: Readonly<Record<Kind, (backup: string, copy: string) => Promise<RunningCopy>>> = {
  SQLite: async (backup, copy) => {
    cpSync(getDbPath(backup), getDbPath(copy));
    const fault = findDatabaseFileFault(copy);
    if (fault !== null) throw new FindingsError(`${getDbPath(backup)} is damaged: ${fault}`);
    const store = await openStore({ redisUrl: null, dataDir: copy }, ignored);
    return { store, faults: [], stop: async () => {} };
  },
  Redis: async (backup, copy) => {
    const [port = 0] = await findFreePorts(1);
    const faults = await findFaultsInCopy(join(backup, 'appendonlydir'), join(copy, 'appendonlydir'));
    const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', copy];
    const server = spawn('redis-server', [...where, '--appendonly', 'yes', '--save', ''], {
      stdio: 'ignore',
    });
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
    const ending = new AbortController();
    const failed = new Promise<never>((_, reject) =>
      server.once('error', reject).once('exit', (code) => {
        ending.abort();
        const [what = `${join(backup, 'appendonlydir')} cannot be read`] = faults.map(formatFault);
        reject(new FindingsError(`${what}: redis-server ended with exit code ${code}. Take another copy.`));
      }),
    );
    const stop = async () => {
      server.kill('SIGKILL');
      await ended;
    };
    const store = await Promise.race([
      openWhenReady(`redis://127.0.0.1:${port}`, copy, ending.signal),
      failed,
    ]).catch(async (error: unknown) => {
      if (server.pid !== undefined && server.exitCode === null) await stop();
      throw toProgramError(error);
    });
    return { store, faults, stop };
  },
  'Redis Cluster': async (backup, copy) => {
    const masters = globSync('*/nodes.conf', { cwd: backup }).map((file) => join(backup, dirname(file)));
    const folders = masters.map((master) => join(master, 'appendonlydir')).filter((one) => existsSync(one));
    const faults: AppendOnlyFault[] = [];
    for (const folder of folders) {
      faults.push(...(await findFaultsInCopy(folder, join(copy, 'checked'))));
      rmSync(join(copy, 'checked'), { recursive: true });
    }
    const ports = await findFreePorts(masters.length);
    const run = promisify(execFile);
    const { stdout } = await run(CLUSTER_SCRIPT, [backup, join(copy, 'masters'), ...ports.map(String)]).catch(
      (error: unknown) => {
        // The script's other exit codes are about folders and programs, and not about the data that a server reads.
        const isOfServer = error instanceof Error && 'code' in error && error.code === EXIT_CODES.findings;
        const [what] = isOfServer ? faults.map(formatFault) : [];
        throw what === undefined ? toProgramError(error) : new FindingsError(`${what}. Take another copy.`);
      },
    );
    const stop = async () => {
      for (const port of ports)
        await run('redis-cli', ['-p', String(port), 'SHUTDOWN', 'NOSAVE']).catch(ignored);
    };
    const url = /^REDIS_URL=(.*)$/m.exec(stdout)?.[1] ?? '';
    return { store: await openWhenReady(url, copy), faults, stop };
  },
};

/**
 * Finds the file in an `appendonlydir` that is not whole, if there is one. A copy is checked, because redis-check-aof
 * opens files for writing.
 */
async function findFaultsInCopy(folder: string, copy: string): Promise<readonly AppendOnlyFault[]> {
  cpSync(folder, copy, { recursive: true });
  const fault = await findAppendOnlyFault(copy).catch((error: unknown) => {
    throw toProgramError(error);
  });
  return fault === null ? [] : [{ ...fault, file: join(folder, relative(copy, fault.file)) }];
}

function formatFault({ file, goodBytes }: AppendOnlyFault): string {
  return goodBytes === null ? `${file} cannot be read` : `${file} cannot be read from byte ${goodBytes} on`;
}

/**
 * Returns an error with the output of a program that failed, or an error that says that the program is not installed.
 */
function toProgramError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('stderr' in error && typeof error.stderr === 'string' && error.stderr !== '')
    return new FindingsError(error.stderr.trimEnd());
  const isMissing = 'code' in error && error.code === 'ENOENT';
  return isMissing
    ? new StoreUnavailable(
        'checking a backup of Redis needs redis-server and redis-check-aof, version 7.0 or newer; install them',
      )
    : error;
}

/**
 * Opens the store of a server that has just been started. The server refuses all commands while it reads its file, so
 * opening is tried again. An aborted `signal` means that the server has ended, and it ends the wait.
 */
async function openWhenReady(redisUrl: string, dataDir: string, signal?: AbortSignal): Promise<Store> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await openStore({ redisUrl, dataDir }, ignored);
    } catch (error) {
      if (signal?.aborted || performance.now() - beganMs > STARTED_WITHIN_MS) throw error;
      await sleep(100);
    }
  }
}

/**
 * Returns the archive that was named, or the archive beside the backup. Files that are fetched from S3 are removed
 * with the copy. The backup's store is not asked which commit is the newest, because it knows only an earlier one.
 */
function openArchiveOfBackup(
  { check, archive }: { check: string; archive?: string },
  copy: string,
): Archive | null {
  if (archive !== undefined && isInS3(archive))
    return openArchive(
      { archiveDir: join(copy, 'archive'), archiveS3: parseS3Place(archive) },
      REGISTERS_WITHOUT_STORE,
    );
  const folder = archive ?? join(check, 'archive');
  return existsSync(folder) ? new Archive(folder) : null;
}

async function createBackupReport(
  kind: Kind,
  { store, faults }: RunningCopy,
  archive: Archive | null,
): Promise<BackupReport> {
  const { newestMs, entries } = await readJournalEnd(store);
  const [asOfMs = null] = [newestMs, await findNewestAuditMs(store)]
    .filter((at) => at !== null)
    .toSorted((a, b) => b - a);
  const broken = (await Array.fromAsync(findUnreadableTexts(store, ignored))).map(
    ({ kind: what, name, why }) => `${what} ${name}: ${why}`,
  );
  const failing = listHealthProblems((await store.check()).filter(({ failure }) => failure !== null));
  const cutOff = faults.flatMap(({ file, lostBytes }) =>
    lostBytes === null ? [] : [{ file, droppedBytes: lostBytes }],
  );
  const unread = faults.filter(({ lostBytes }) => lostBytes === null).map(formatFault);
  return {
    kind,
    asOf: asOfMs === null ? null : new Date(asOfMs).toISOString(),
    journalEntries: entries,
    cutOff,
    unreadable: [...unread, ...failing, ...broken],
    archive: archive === null ? null : await createArchiveReport(archive, newestMs ?? 0),
  };
}

async function readJournalEnd(store: Store): Promise<{ newestMs: number | null; entries: number }> {
  let newestMs: number | null = null;
  let entries = 0;
  for (let after: string | null = null; ; ) {
    const page = await store.readJournal(after, 1000);
    for (const { at } of page.entries) newestMs = Math.max(newestMs ?? at, at);
    entries += page.entries.length;
    if (page.entries.length === 0) return { newestMs, entries };
    after = page.cursor;
  }
}

/** Returns the time of the newest audit entry. Some actions of people, like a rollout, are in the audit alone. */
async function findNewestAuditMs({ auditLog }: Store): Promise<number | null> {
  const { links } = await auditLog.read(String(Math.max(0, (await auditLog.newest()) - 1)), 1);
  return links.map(parseAuditLinkEntry).at(-1)?.at ?? null;
}

async function createArchiveReport(archive: Archive, journalMs: number): Promise<ArchiveReport> {
  const state = await archive.refresh();
  const segments = [...state.segments.values()];
  const decisions = segments.filter(({ table }) => table === 'decisions');
  const later = decisions.filter(({ to }) => to > journalMs);
  const rows = (some: readonly { readonly rows: number }[]) => some.reduce((sum, one) => sum + one.rows, 0);
  return {
    folder: archive.home.name,
    decisions: rows(decisions),
    torn: (await archive.findTornSegments(state)).length,
    later:
      later.length === 0
        ? null
        : { decisionsMax: rows(later), to: new Date(Math.max(...later.map(({ to }) => to))).toISOString() },
  };
}

function formatBackupReport({
  kind,
  asOf,
  journalEntries,
  cutOff,
  unreadable,
  archive,
}: BackupReport): string {
  return [
    `A backup of ${kind}, ${asOf === null ? 'in which nothing has happened' : `as of ${asOf}`}: it starts, and ${unreadable.length === 0 ? 'all of it can be read' : `${unreadable.length} things in it cannot be read`}.`,
    ...unreadable.map((one) => `  ${one}`),
    ...cutOff.map(
      ({ file, droppedBytes }) =>
        `${file} ends in the middle of an entry: Redis drops its last ${formatCount(droppedBytes, 'byte')}.`,
    ),
    ...(cutOff.length === 0
      ? []
      : [
          `The copy was cut off. Its newest entry is from ${asOf ?? 'no time at all'}: compare that with when the copy was made, and take another one.`,
        ]),
    `Its journal holds ${formatCount(journalEntries, 'entry', 'entries')}.`,
    ...(archive === null
      ? ['No archive was checked; name one with --archive.']
      : formatArchiveReport(archive)),
    asOf === null
      ? 'All payers would be new.'
      : `What happened after ${asOf} would be missing from the store: waits, outcomes, bindings, lists, keys. After a restore, send the outcomes again and repeat the erasures.`,
  ].join('\n');
}

function formatArchiveReport({ folder, decisions, torn, later }: ArchiveReport): readonly string[] {
  return [
    `The archive at ${folder} holds ${formatCount(decisions, 'decision')}${torn === 0 ? '' : `, and ${torn} of its files were cut off or are gone`}.`,
    ...(later === null
      ? []
      : [
          `Of these up to ${later.decisionsMax} came after the backup, until ${later.to}: they stay explained, but their payers are as they were at the backup.`,
        ]),
  ];
}

/**
 * Finds ports that are free at this moment. Each is at most 55,535, because a node of a cluster also listens on the
 * port 10,000 above.
 */
async function findFreePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise<void>((resolve) => server.once('listening', () => resolve()));
    const address = server.address();
    if (typeof address === 'object' && address !== null && address.port <= 55_535) ports.add(address.port);
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  return [...ports];
}

const ignored = (): void => {};
