import { systemClock } from '../../clock.ts';
import { AuditLog } from '../audit-log.ts';
import { clientKeysUnder, newSalt, SALT_REGISTER } from '../client-salt.ts';
import { Versions } from '../documents.ts';
import { LocalRateBuckets } from '../rate-buckets.ts';
import type { Store } from '../store.ts';
import type { StoreUnavailable } from '../store-errors.ts';
import { failureText } from '../store-health.ts';
import { RecordReader, textOf } from '../stored-parts.ts';
import { SqliteCheckpoints } from './checkpoints.ts';
import { eraseRows, prepareStatements, sqliteClients } from './client-rows.ts';
import { GroupCommit, LogSync, type Patience } from './group-commit.ts';
import { sqliteDecisions, sqliteJournal } from './journal.ts';
import { fileOf, openSqliteFile, type SqliteFile, sqlitePath } from './open-file.ts';
import { SqliteRetention } from './retention.ts';
import {
  sqliteAuditRows,
  sqliteDocuments,
  sqliteListLog,
  sqliteRegisters,
  sqliteTallies,
  sqliteVersions,
} from './shared-records.ts';
import { sqliteStoredTexts } from './stored-texts.ts';

interface SqliteStoreOptions {
  /** Epoch ms; the system's when absent. */
  readonly clock?: (() => number) | undefined;
  /** Called when the disk refuses to keep what was written; the store refuses everything from then on. */
  readonly onLost?: ((error: StoreUnavailable) => void) | undefined;
  /** How long a write waits for another process; what callers are promised when absent. */
  readonly patience?: Patience | undefined;
  /** Of clients, where the file is made just now; random when absent. */
  readonly salt?: string | undefined;
}

/**
 * All state in one SQLite file under `dataDir`, for one machine and no server. Several processes may
 * share the file. A write is acknowledged after an fsync.
 */
export function openSqliteStore(dataDir: string, options: SqliteStoreOptions = {}): Store {
  const { clock = systemClock, onLost = () => {}, patience, salt = newSalt() } = options;
  const path = sqlitePath(dataDir);
  const db = openSqliteFile(path, dataDir, salt);
  const log = new LogSync(path);
  const checkpoints = new SqliteCheckpoints(path);
  const writes = new GroupCommit(db, log, () => checkpoints.noteWrite(), onLost, patience);
  const file = fileOf(db, writes, clock);
  const sql = prepareStatements(db);
  const reader = new RecordReader(async (id) => textOf(sql.shape.get(id)?.['shape']));
  const retention = new SqliteRetention(file, sql, dataDir);
  const name = `sqlite ${path}`;
  const kept = db.prepare('SELECT value FROM registers WHERE name = ?').get(SALT_REGISTER);
  return {
    name,
    clientKeys: clientKeysUnder(textOf(kept?.['value']) ?? ''),
    ...sharedRecords(file, () => checkpoints.truncate()),
    ...sqliteClients(file, sql, reader),
    ...sqliteDecisions(file, sql, reader),
    ...sqliteJournal(file, sql, reader),
    rateBuckets: new LocalRateBuckets(() => performance.now()),
    erase: async (client) => {
      await file.write(() => eraseRows(sql, client, clock()));
      await checkpoints.truncate();
    },
    // The store's clock is this machine's.
    clockOffsetMs: () => 0,
    check: async () => [{ server: name, failure: await whyNoWrite(file), warnings: [] }],
    close: async () => {
      retention.stop();
      await writes.close();
      log.close();
      await checkpoints.close();
      db.close();
    },
  };
}

function sharedRecords(file: SqliteFile, overwrite: () => Promise<void>) {
  const versions = new Versions(sqliteVersions(file));
  return {
    documents: sqliteDocuments(file, versions),
    registers: sqliteRegisters(file, versions),
    auditLog: new AuditLog(sqliteAuditRows(file, overwrite)),
    listLog: sqliteListLog(file),
    texts: sqliteStoredTexts(file, versions),
    tallies: sqliteTallies(file),
  };
}

/** Null when a small write succeeds. */
async function whyNoWrite({ db, clock, write }: SqliteFile): Promise<string | null> {
  try {
    const probe = db.prepare(
      "INSERT INTO registers (name, value) VALUES ('probe', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    );
    await write(() => probe.run(String(clock())));
    return null;
  } catch (error) {
    return failureText(error);
  }
}
