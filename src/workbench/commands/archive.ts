import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { formatCsvCell } from '#base/csv.ts';
import { listSignalSecrets, readConfig } from '#config.ts';
import type { Archive, ArchiveTotals } from '#history/archive/archive.ts';
import { NotAdopted } from '#history/archive/archive-home.ts';
import { BackupTargetRefused, backUp } from '#history/archive/backup.ts';
import { readQuarantine } from '#history/archive/quarantine.ts';
import type { QueryAnswer } from '#history/archive/query-engine.ts';
import { ArchiveFigures } from '#history/archive/read/archive-figures.ts';
import { type AnswerWithLeftOutSegments, exportQuery, queryArchive } from '#history/archive/read/query.ts';
import { openArchive } from '#history/archive/s3/open-archive.ts';
import { getSegmentFilePath } from '#history/archive/segment-files.ts';
import { findLeaseHolder, listShippingTroubles } from '#history/archive/ship/lease.ts';
import { keepShipping, openShipper, type ShippingReport } from '#history/archive/ship/shipping.ts';
import { createSnapshotOpener, withSnapshot, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { TABLE_NAMES } from '#history/archive/tables.ts';
import { ADOPTED_ARCHIVE_CURSOR, readUnshippedPage } from '#history/archive/unshipped.ts';
import { createSpanSegmentFilter } from '#history/evidence/source/evidence.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import type { Store } from '#state/store.ts';
import { formatOsUserActor } from '#workbench/access/actors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { verifyArchivedDecisions } from '#workbench/verify/verify-archive.ts';
import type { VerificationTotals } from '#workbench/verify/verify-segment.ts';
import { EXIT_CODES, FindingsError, UsageError } from './exit.ts';
import { formatUnreadSegments, readArchiveConfig, readErasedClients, withArchive } from './open-archive.ts';
import { withOpenStore } from './open-store.ts';
import { addSpanOptions, parseReason, parseTime } from './options.ts';
import { createProgressBar, formatTable, print, printError } from './print.ts';

export function addArchiveCommands(program: Command): void {
  const archive = program.command('archive').description('the archive of decisions, in Parquet files');
  addStatusCommand(archive);
  addQueryCommand(archive);
  addVerifyCommand(archive);
  addShipCommand(archive);
  addBackupCommand(archive);
  addAdoptCommand(archive);
}

/** Adds `archive adopt`, which makes the archive in an S3 store the archive of this store again. */
function addAdoptCommand(archive: Command): void {
  archive
    .command('adopt')
    .description(
      'make the archive at ARCHIVE_DIR=s3://.. the archive of this store, after one of the two was lost or restored',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {archive, version, segments}')
    .action(({ reason, json }: { reason: string; json?: true }) => adopt(parseReason(reason), json === true));
}

async function adopt(reason: string, json: boolean): Promise<void> {
  const config = readArchiveConfig();
  await withOpenStore(async (store, clock) => {
    const archive = openArchive(config, store.registers);
    const id = await archive.home.adopt().catch((error: unknown) => {
      throw error instanceof NotAdopted ? new FindingsError(error.message) : error;
    });
    const adopted = await archive.refresh();
    // With this cursor, shipping continues with the entries that are newer than the whole archive.
    const commit = { by: 'archive adopt', at: clock(), cursor: ADOPTED_ARCHIVE_CURSOR, add: [], remove: [] };
    const { version, segments } = await archive.commit(adopted, commit);
    const claimed = await store.registers.read(ARCHIVE_REGISTER);
    if (claimed !== id) await store.registers.compareAndSet(ARCHIVE_REGISTER, claimed, id);
    const audit = new Audit(store.auditLog, clock);
    await audit.note({ who: formatOsUserActor(), action: 'archive adopted', reason });
    const found = { archive: id, version, segments: segments.size };
    print(
      json
        ? JSON.stringify(found)
        : `${archive.home.name} is the archive of this store, as of its commit ${version} (segments: ${segments.size}).`,
    );
  });
}

function addBackupCommand(archive: Command): void {
  archive
    .command('backup <folder>')
    .description('copy the archive to a folder while shipping goes on; only new files are copied')
    .option('--json', 'print one JSON object')
    .action((folder: string, options: { json?: true }) => backup(folder, options.json === true));
}

async function backup(folder: string, json: boolean): Promise<void> {
  const report = await withArchive((archive) => backUp(archive, folder)).catch((error: unknown) => {
    throw error instanceof BackupTargetRefused ? new UsageError(error.message) : error;
  });
  const { segments, bytes, copied, torn } = report;
  const megabytes = (bytes / 1e6).toFixed(1);
  print(
    json
      ? JSON.stringify(report)
      : `${folder} holds the archive (segments: ${segments}, ${megabytes} MB; newly copied: ${copied}).`,
  );
  if (torn.length === 0) return;
  process.exitCode = EXIT_CODES.findings;
  for (const { segment, isKept } of torn)
    printError(
      `${getSegmentFilePath(segment, 'parquet')} was cut off or is gone. ${isKept ? 'The backup still has it: copy it back into the archive.' : `This backup does not have it: its ${formatCount(segment.rows, 'row is', 'rows are')} missing from now on.`}`,
    );
}

/**
 * Adds `archive ship`, which ships the journal in a process of its own, for installations that do not ship in the
 * service.
 */
function addShipCommand(archive: Command): void {
  archive
    .command('ship')
    .description('ship the journal to the archive until SIGINT or SIGTERM, in place of the services')
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
  const watch = new ArchiveFigures(open.archive, open.store, Date.now);
  const tell = (report: ShippingReport) => {
    const { setAsideEntries: _, ...contents } = watch.contents();
    const text = json
      ? JSON.stringify({ ...contents, ...report })
      : formatShipping({ ...contents, ...report });
    if (text !== before) print(text);
    before = text;
  };
  try {
    await keepShipping({
      step: (turn) => open.shipper.step(turn),
      clock: Date.now,
      signal: stop.signal,
      onReport: tell,
    });
  } finally {
    await open.close();
  }
}

function formatShipping({
  leads,
  shippedEntries,
  segments,
  bytes,
  trouble,
}: ShippingReport & Pick<ArchiveTotals, 'segments' | 'bytes'>): string {
  if (trouble !== null) return `Not shipping: ${trouble}`;
  if (!leads) return 'Another node ships.';
  const megabytes = (bytes / 1e6).toFixed(1);
  return `Shipped ${formatCount(shippedEntries, 'entry', 'entries')}; the archive has ${formatCount(segments, 'segment')} of ${megabytes} MB.`;
}

const FORMATS = ['table', 'csv', 'json', 'parquet'] as const;

interface QueryOptions {
  readonly format: (typeof FORMATS)[number];
  readonly output?: string;
  readonly json?: true;
}

const LIMITS = { rowsMax: 100_000, timeoutMs: 60_000, memoryMiB: 1024 } as const;

function addQueryCommand(archive: Command): void {
  archive
    .command('query <sql>')
    .description(
      'one SELECT over the tables decisions, outcomes, scores, bindings, overrides, waits_ended and erasures, and the view orders; exit code 1 when rows are missing from the answer',
    )
    .addOption(
      new Option(
        '--format <format>',
        'format of the rows; csv suits spreadsheets, json and parquet are exact',
      )
        .choices(FORMATS)
        .default('table'),
    )
    .option('--output <file>', 'with --format parquet: the file to write')
    .option('--json', 'the same as --format json')
    .action((sql: string, options: QueryOptions) => query(sql, options));
}

async function query(sql: string, { format, output, json }: QueryOptions): Promise<void> {
  readArchiveConfig();
  const erased = await readErasedClients();
  try {
    if (format === 'parquet') {
      if (output === undefined) throw new UsageError('--format parquet needs --output FILE');
      const { leftOut } = await queryNamedTables(sql, (folder) =>
        exportQuery(folder, sql, resolve(output), LIMITS, erased),
      );
      printError([...formatUnreadSegments(leftOut), `Written to ${output}.`].join('\n'));
      if (leftOut.length > 0) process.exitCode = EXIT_CODES.findings;
      return;
    }
    const { answer, leftOut } = await queryNamedTables(sql, (folder) =>
      queryArchive(folder, sql, LIMITS, erased),
    );
    for (const text of formatUnreadSegments(leftOut)) printError(text);
    print(formatAnswer(answer, json === true ? 'json' : format));
    if (answer.more)
      printError(`Only the first ${LIMITS.rowsMax} rows; --format parquet --output FILE writes all.`);
    if (leftOut.length > 0 || answer.more) process.exitCode = EXIT_CODES.findings;
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    throw new UsageError(error.message);
  }
}

/** Runs a query on the tables whose names appear in it. */
function queryNamedTables<T>(
  sql: string,
  run: (folder: string) => Promise<AnswerWithLeftOutSegments<T>>,
): Promise<AnswerWithLeftOutSegments<T>> {
  const text = sql.toLowerCase();
  const isNamed = (table: string) =>
    text.includes(table) || (OF_ORDERS.has(table) && text.includes('orders'));
  return withArchive((archive) =>
    withSnapshotFiles(
      createSnapshotOpener(archive),
      ({ table }) => isNamed(table),
      async ({ folder, leftOut: missing }) => {
        const { answer, leftOut } = await run(folder);
        return { answer, leftOut: [...missing, ...leftOut] };
      },
    ),
  );
}

/** The tables from which the view `orders` is made. */
const OF_ORDERS: ReadonlySet<string> = new Set(['decisions', 'outcomes']);

function formatAnswer({ columns, rows }: QueryAnswer, format: 'table' | 'csv' | 'json'): string {
  switch (format) {
    case 'json':
      return JSON.stringify(
        rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, toPlainValue(row[index])]))),
      );
    case 'csv':
      return [columns, ...rows]
        .map((row) => row.map((value) => formatCsvCell(value, formatCell(value))).join(','))
        .join('\n');
    case 'table':
      return formatTable(
        columns,
        rows.map((row) => row.map(formatCell)),
      );
    default:
      return format satisfies never;
  }
}

/** Converts a value for JSON. A bigint becomes a number if that is exact, and otherwise a text. */
function toPlainValue(value: unknown): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return value;
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value, (_, inner) => toPlainValue(inner)) : String(value);
}

const COUNTED_ENTRIES_MAX = 10_000;

/** Adds `archive status`, which shows what is archived, how far shipping is behind, and what was lost. */
function addStatusCommand(archive: Command): void {
  archive
    .command('status')
    .description(
      'show what is archived, how far shipping is behind, and any gaps; exit code 1 when a file is cut off or missing',
    )
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: true }) => {
      const config = readArchiveConfig();
      const status = await withOpenStore((store) => readStatus(openArchive(config, store.registers), store));
      print(options.json === true ? JSON.stringify(status) : describe(status));
      if (status.torn.length > 0) process.exitCode = EXIT_CODES.findings;
    });
}

/** Reads the status of the archive. `from` and `to` of a table are epoch ms, and null for a table without rows. */
async function readStatus(archive: Archive, store: Store) {
  const state = await archive.refresh();
  const { entries } = await readUnshippedPage(store, state, COUNTED_ENTRIES_MAX);
  const tables = TABLE_NAMES.map((name) => {
    const segments = archive.listSegments(state, { table: name });
    const sum = (of: 'rows' | 'bytes') => segments.reduce((total, segment) => total + segment[of], 0);
    return {
      table: name,
      rows: sum('rows'),
      segments: segments.length,
      bytes: sum('bytes'),
      from: segments.length === 0 ? null : segments.reduce((a, { from }) => Math.min(a, from), Infinity),
      to: segments.length === 0 ? null : segments.reduce((a, { to }) => Math.max(a, to), 0),
    };
  });
  const more = entries.length === COUNTED_ENTRIES_MAX;
  const behind = { entries: entries.length, more, since: entries[0]?.at ?? null };
  const torn = await withSnapshot(createSnapshotOpener(archive), (snapshot) =>
    archive.findTornSegments(snapshot.state),
  );
  const setAside = readQuarantine(archive.folder).map(({ place, why }) => ({ place, why }));
  const [shipper, troubles] = [
    await findLeaseHolder(store.registers),
    await listShippingTroubles(store.documents),
  ];
  return {
    folder: archive.home.name,
    tables,
    shippedAt: state.shippedAt,
    behind,
    shipper,
    troubles,
    gaps: state.gaps,
    setAside,
    torn,
  };
}

function describe(status: Awaited<ReturnType<typeof readStatus>>): string {
  const { folder, tables, shippedAt, behind, shipper, troubles, gaps, setAside, torn } = status;
  const rows = tables.map(({ table: name, rows: count, segments, bytes, from, to }) => [
    name,
    String(count),
    String(segments),
    (bytes / 1e6).toFixed(1),
    count === 0 ? '' : (bytes / count).toFixed(1),
    formatTimeOrBlank(from),
    formatTimeOrBlank(to),
  ]);
  const headings = ['TABLE', 'ROWS', 'SEGMENTS', 'MB', 'B A ROW', 'FROM', 'TO'];
  const more = behind.more ? ' or more' : '';
  const since = behind.since === null ? '' : `, the oldest from ${formatTimeOrBlank(behind.since)}`;
  return [
    `Archive in ${folder}; ${shippedAt === null ? 'nothing shipped yet' : `last shipped at ${formatTimeOrBlank(shippedAt)}`}.`,
    `Not shipped yet: ${formatCount(behind.entries, 'entry', 'entries')}${more}${since}.`,
    shipper === null ? 'No node ships at the moment.' : `${shipper} ships.`,
    ...troubles.map(({ name, why, at }) => `${name} could not ship at ${formatTimeOrBlank(at)}: ${why}`),
    ...gaps.map(
      ({ from, to, entries }) =>
        `Gap: ${formatCount(entries, 'entry', 'entries')} from ${formatTimeOrBlank(from)} to ${formatTimeOrBlank(to)} were lost before they were shipped.`,
    ),
    ...setAside.map(({ place, why }) => `Set aside: entry ${place} of the journal cannot be read (${why}).`),
    ...formatUnreadSegments(torn),
    '',
    formatTable(headings, rows),
  ].join('\n');
}

function formatTimeOrBlank(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString().slice(0, 19).replace('T', ' ');
}

interface VerifyOptions {
  readonly from?: string;
  readonly to?: string;
  readonly json?: true;
}

/** Adds `archive verify`, which checks that archived decisions still follow from their facts and rule sets. */
function addVerifyCommand(archive: Command): void {
  addSpanOptions(archive.command('verify'))
    .description('decide every archived decision again from its recorded facts, and count those that differ')
    .option('--json', 'print one JSON object')
    .action((options: VerifyOptions) => verify(options));
}

async function verify({ from, to, json }: VerifyOptions): Promise<void> {
  const { archiveDir, rulesDir } = readArchiveConfig();
  const progress = await createProgressBar();
  const span = { from: parseTime(from, '--from'), to: parseTime(to, '--to') };
  const signalSecrets = listSignalSecrets(readConfig());
  const threads = availableParallelism();
  const ask = { archiveDir, rulesDir, signalSecrets, ...span, threads, onProgress: progress.show };
  const isWanted = createSpanSegmentFilter({ ...span, platform: null });
  const verification = await withArchive((archive) =>
    withSnapshotFiles(
      createSnapshotOpener(archive),
      (segment) => segment.table === 'decisions' && isWanted(segment),
      ({ folder: segmentsDir, leftOut: missing }) => {
        for (const text of formatUnreadSegments(missing)) printError(text);
        return verifyArchivedDecisions({ ...ask, segmentsDir, missing });
      },
    ),
  ).finally(() => progress.stop());
  print(json === true ? JSON.stringify(verification) : formatVerification(verification));
  const { checked, reproduced, unreadable } = verification;
  if (checked !== reproduced || unreadable.length > 0) process.exitCode = EXIT_CODES.findings;
}

function formatVerification(verification: VerificationTotals): string {
  const { checked, reproduced, notReproduced, mismatches, unreadable } = verification;
  const { withoutRules, withoutSecret, damagedRows } = verification;
  return [
    `${formatCount(checked, 'decision')}: ${reproduced} reproduced, ${notReproduced} not reproduced.`,
    ...mismatches.map(
      ({ decisionId, orderRef, members }) =>
        `  ${decisionId} about order ${JSON.stringify(orderRef)}: ${members.join(', ')}`,
    ),
    ...Object.entries(withoutRules).map(
      ([name, count]) =>
        `${formatCount(count, 'decision')} by ${name}: this rule set is neither in the archive nor in RULES_DIR.`,
    ),
    ...(withoutSecret === 0
      ? []
      : [
          `${formatCount(withoutSecret, 'decision')} cannot be checked: rules compare pseudonyms with constants, and these pseudonyms were made with another SIGNAL_SECRET. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.`,
        ]),
    ...(damagedRows === 0 ? [] : [`${formatCount(damagedRows, 'row is', 'rows are')} damaged.`]),
    ...unreadable.map((name) => `Segment ${name} cannot be read.`),
  ].join('\n');
}
