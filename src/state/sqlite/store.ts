import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { readSystemClock } from '#base/clock.ts';
import { AuditLog } from '#state/audit-log.ts';
import { createClientKeys, createSalt, SALT_REGISTER } from '#state/client-salt.ts';
import { ClockJumps, UNSETTLED_MS } from '#state/clock-jumps.ts';
import { FollowedVersions } from '#state/documents.ts';
import {
  type ExpectedInstallation,
  INSTALLATION_ID_REGISTER,
  requireExpectedInstallation,
} from '#state/known-installation.ts';
import { createAuditRows, createSharedListLog } from '#state/numbered-log.ts';
import { LocalRateBuckets } from '#state/rate-buckets.ts';
import type { Store } from '#state/store.ts';
import type { StoreUnavailable } from '#state/store-errors.ts';
import { explainStoreFailure, type ServerHealth, type StoreWarning } from '#state/store-health.ts';
import { RecordReader, toTextOrNull } from '#state/stored-parts.ts';
import { SqliteCheckpointer } from './checkpoints.ts';
import { createSqliteClients, eraseClient, prepareClientStatements } from './client-rows.ts';
import { FileReplacementWatch } from './file-watch.ts';
import { GroupCommit, type LockPatience, LogSync } from './group-commit.ts';
import { createSqliteDecisions, createSqliteJournal, JournalLossesAndErasures } from './journal.ts';
import { JournalTable } from './journal-table.ts';
import { ErasedDataLogCleaner } from './log-cleaner.ts';
import { createNumberedLog } from './numbered-log.ts';
import {
  createSqliteFileAccess,
  getDbPath,
  isMissingOrEmptyFile,
  openSqliteFile,
  type SqliteFileAccess,
} from './open-file.ts';
import { SqliteRetention } from './retention.ts';
import {
  createSqliteDocuments,
  createSqliteRegisters,
  createSqliteTallies,
  createSqliteVersions,
} from './shared-records.ts';
import { createSqliteSightings } from './sightings.ts';
import { createSqliteStoredTexts } from './stored-texts.ts';

interface SqliteStoreOptions {
  /** Returns epoch ms. The default is the system clock. */
  readonly clock?: (() => number) | undefined;
  /**
   * Returns monotonic ms, by which a change of the clock is noticed. If only `clock` is given, `clock` is used for
   * both.
   */
  readonly monotonicMs?: (() => number) | undefined;
  /** Is called when the disk refuses to keep written data. From then on the store refuses every call. */
  readonly onLost?: ((error: StoreUnavailable) => void) | undefined;
  /** How long a write waits for another process. If missing, the time that callers are promised. */
  readonly patience?: LockPatience | undefined;
  /** The salt of client hashes for a new file. If missing, a random one. */
  readonly salt?: string | undefined;
  /** The installation that the file must hold. If missing, any is accepted. */
  readonly expected?: ExpectedInstallation | null | undefined;
  /** Whether the file is accepted even if it is empty or another one than expected. */
  readonly isAccepted?: boolean | undefined;
}

/**
 * Opens a store that keeps all state in one SQLite file under `dataDir`, for one machine and no server. Several
 * processes may share the file. A commit is acknowledged after an fsync.
 */
export function openSqliteStore(dataDir: string, options: SqliteStoreOptions = {}): Store {
  const { clock = readSystemClock, onLost = () => {}, patience } = options;
  const { monotonicMs = options.clock ?? (() => performance.now()) } = options;
  const path = getDbPath(dataDir);
  const { db, installation } = openInstallation(path, dataDir, options);
  const place = new FileReplacementWatch(path);
  const log = new LogSync(path);
  const checkpoints = new SqliteCheckpointer(path);
  const writes = new GroupCommit(db, log, place, () => checkpoints.noteWrite(), onLost, patience);
  const file = createSqliteFileAccess(db, writes, place, clock);
  const sql = prepareClientStatements(db);
  const [journal, losses] = [new JournalTable(db), new JournalLossesAndErasures(db)];
  const reader = new RecordReader(async (id) => toTextOrNull(sql.shape.get(id)?.['shape']));
  const jumps = new ClockJumps(clock, monotonicMs, probedAt(db));
  const retention = new SqliteRetention(file, journal, losses, dataDir, jumps);
  const logCleaner = new ErasedDataLogCleaner(file, checkpoints);
  void logCleaner.emptyLog();
  const name = `sqlite ${path}`;
  return {
    name,
    installation,
    refusal: () => place.check()?.message ?? null,
    clientKeys: createClientKeys(installation.salt),
    ...sharedRecords(file, journal, place, logCleaner),
    ...createSqliteClients(file, sql, journal, reader),
    ...createSqliteSightings(file),
    ...createSqliteDecisions(file, journal, reader),
    ...createSqliteJournal(file, journal, losses, reader),
    rateBuckets: new LocalRateBuckets(() => performance.now()),
    erase: (client) =>
      logCleaner.eraseAndEmptyLog(() => {
        const { position, entry } = eraseClient(sql, journal, client, clock());
        losses.addErasure(position, entry);
      }),
    tracesOfErased: () => logCleaner.explainRemains(),
    ownClock: clock,
    clockOffsetMs: () => jumps.getRecentJumpMs(),
    check: async () => [await checkFile(name, file, place, jumps)],
    close: async () => {
      retention.stop();
      logCleaner.close();
      await writes.close();
      place.stop();
      log.close();
      await checkpoints.close();
      db.close();
    },
  };
}

/**
 * Opens the file. Creates it only if no existing installation is expected there. Throws AnotherStore if the file does
 * not hold the expected installation.
 */
function openInstallation(path: string, dataDir: string, options: SqliteStoreOptions) {
  const { expected = null, isAccepted = false, salt } = options;
  const name = `sqlite ${path}`;
  if (!isAccepted && isMissingOrEmptyFile(path)) requireExpectedInstallation(name, null, expected);
  const begun = { id: expected?.id ?? randomUUID(), salt: expected?.salt ?? salt ?? createSalt() };
  const db = openSqliteFile(path, dataDir, begun);
  const register = db.prepare('SELECT value FROM registers WHERE name = ?');
  const textIn = (name: string) => toTextOrNull(register.get(name)?.['value']) ?? '';
  const installation = { id: textIn(INSTALLATION_ID_REGISTER), salt: textIn(SALT_REGISTER) };
  try {
    if (!isAccepted) requireExpectedInstallation(name, installation, expected);
    return { db, installation };
  } catch (error) {
    db.close();
    throw error;
  }
}

function sharedRecords(
  file: SqliteFileAccess,
  journal: JournalTable,
  place: FileReplacementWatch,
  logCleaner: ErasedDataLogCleaner,
) {
  const table = createSqliteVersions(file);
  const versions = new FollowedVersions({
    ...table,
    // Changes by other processes are noticed by the versions. A replaced file would never show a new version, so it
    // is checked here.
    read: () => {
      place.check();
      return table.read();
    },
  });
  return {
    documents: createSqliteDocuments(file, versions),
    registers: createSqliteRegisters(file, versions),
    auditLog: new AuditLog(
      createAuditRows(createNumberedLog(file, 'audit', (work) => logCleaner.eraseAndEmptyLog(work))),
    ),
    listLog: createSharedListLog(createNumberedLog(file, 'lists')),
    texts: createSqliteStoredTexts(file, journal, versions),
    tallies: createSqliteTallies(file),
  };
}

async function checkFile(
  server: string,
  file: SqliteFileAccess,
  place: FileReplacementWatch,
  jumps: ClockJumps,
): Promise<ServerHealth> {
  const refusal = place.check();
  if (refusal !== null) return { server, failure: refusal.message, isAnotherStore: true, warnings: [] };
  return { server, failure: await whyNoWrite(file), warnings: clockWarnings(jumps) };
}

function clockWarnings(jumps: ClockJumps): readonly StoreWarning[] {
  const byMs = jumps.getRecentJumpMs();
  if (byMs === 0) return [];
  const seconds = (Math.abs(byMs) / 1000).toFixed(1);
  const pause = jumps.isSettled() ? '' : ` Nothing is deleted by time for ${UNSETTLED_MS / 60_000} minutes.`;
  const how =
    byMs > 0 ? `set ahead by ${seconds} s, or the machine was suspended` : `set back by ${seconds} s`;
  const text = `The clock of this machine, which decides, was ${how}.${pause} Check that it is right, and set it by NTP.`;
  return [{ kind: 'clock', text }];
}

/** Returns when a node last tried to write, by the node's clock. Returns null if no node has tried. */
function probedAt(db: DatabaseSync): number | null {
  const text = toTextOrNull(db.prepare("SELECT value FROM registers WHERE name = 'probe'").get()?.['value']);
  return text === null ? null : Number(text);
}

/** Tries a small write. Returns why it failed. Returns null if it succeeded. */
async function whyNoWrite({ db, clock, write }: SqliteFileAccess): Promise<string | null> {
  try {
    const probe = db.prepare(
      "INSERT INTO registers (name, value) VALUES ('probe', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
    await write(() => probe.run(String(clock())));
    return null;
  } catch (error) {
    return explainStoreFailure(error);
  }
}
