import type { DatabaseSync } from 'node:sqlite';
import {
  type ClientKey,
  type ClientKeys,
  clientNumber,
  type PlatformName,
  parseDecisionId,
} from '../../client/client-key.ts';
import { token } from '../../client/client-state.ts';
import { systemClock } from '../../clock.ts';
import type { Decision } from '../../decision/decision.ts';
import type { Sightings } from '../../facts/fact.ts';
import { AuditLog } from '../audit-log.ts';
import { clientKeysUnder, newSalt, SALT_REGISTER } from '../client-salt.ts';
import { type Documents, Versions } from '../documents.ts';
import {
  type EntryPlace,
  type ErasureEntry,
  isOfClient,
  journalText,
  NUMBER_CURSORS,
  type Placed,
  parseErasure,
} from '../journal.ts';
import { searchSteps } from '../paced-steps.ts';
import { LocalRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import { RETENTION } from '../retention.ts';
import type {
  Change,
  ClientJournal,
  JournalPage,
  KeptAfterShipping,
  ListLog,
  LoadAlso,
  Registers,
  SightingsAsk,
  Snapshot,
  Store,
  StoredAnswer,
  StoredTexts,
  Tallies,
} from '../store.ts';
import { type RunCall, StoreUnavailable } from '../store-errors.ts';
import { failureText, type StoreHealth } from '../store-health.ts';
import { answerOf, RecordReader, readSnapshot, textOf } from '../stored-parts.ts';
import { SqliteCheckpoints } from './checkpoints.ts';
import {
  commitChange,
  countSightings,
  isNoted,
  noteSightings,
  prepareStatements,
  type Statements,
} from './client-rows.ts';
import { GroupCommit, LogSync, type Patience } from './group-commit.ts';
import {
  placeOf,
  positionOf,
  readJournalPage,
  sqliteDecisionSearch,
  storedRecord,
  trimShipped,
  wholeEntries,
} from './journal.ts';
import { openSqliteFile, sqliteCall, sqlitePath } from './open-file.ts';
import { SqliteRetention } from './retention.ts';
import {
  sqliteAuditRows,
  sqliteDocuments,
  sqliteListLog,
  sqliteTallies,
  sqliteVersions,
} from './shared-records.ts';
import { sqliteStoredTexts } from './stored-texts.ts';

export interface SqliteStoreOptions {
  /** Epoch ms; the system's when absent. */
  readonly clock?: () => number;
  /** Called when the disk refuses to keep what was written; the store refuses everything from then on. */
  readonly onLost?: (error: StoreUnavailable) => void;
  /** How long a write waits for another process; what callers are promised when absent. */
  readonly patience?: Patience;
  /** Of clients, where the file is made just now; random when absent. */
  readonly salt?: string;
}

/**
 * All state in one SQLite file under `dataDir`, for one machine and no server. Several processes may
 * share the file. A write is acknowledged after an fsync.
 */
export function openSqliteStore(dataDir: string, options: SqliteStoreOptions = {}): Store {
  const path = sqlitePath(dataDir);
  return new SqliteStore(openSqliteFile(path, dataDir, options.salt ?? newSalt()), path, options);
}

/** Journal entries that are removed at once: some milliseconds, in which no request is served. */
const TRIM_ROWS_MAX = 2000;

class SqliteStore implements Store {
  readonly name: string;
  readonly clientKeys: ClientKeys;
  readonly documents: Documents;
  readonly registers: Registers;
  readonly auditLog: AuditLog;
  readonly listLog: ListLog;
  readonly texts: StoredTexts;
  readonly tallies: Tallies;
  readonly findDecisions: Store['findDecisions'];
  readonly rateBuckets: RateBuckets = new LocalRateBuckets(() => performance.now());
  readonly #db: DatabaseSync;
  readonly #log: LogSync;
  readonly #writes: GroupCommit;
  readonly #checkpoints: SqliteCheckpoints;
  readonly #sql: Statements;
  readonly #reader: RecordReader;
  /** Shapes of records that this process has seen stored. */
  readonly #storedShapes = new Set<string>();
  readonly #retention: SqliteRetention;
  readonly #clock: () => number;
  /** Writes that never reached the disk may not be read either. */
  readonly #run: RunCall = (call) =>
    this.#writes.lost === null ? sqliteCall(call) : Promise.reject(this.#writes.lost);

  constructor(
    db: DatabaseSync,
    path: string,
    { clock = systemClock, onLost = () => {}, patience }: SqliteStoreOptions,
  ) {
    this.#db = db;
    this.name = `sqlite ${path}`;
    this.#log = new LogSync(path);
    this.#writes = new GroupCommit(db, this.#log, () => this.#checkpoints.noteWrite(), onLost, patience);
    this.#checkpoints = new SqliteCheckpoints(path);
    this.#sql = prepareStatements(db);
    this.#clock = clock;
    this.clientKeys = clientKeysUnder(textOf(this.#sql.register.get(SALT_REGISTER)?.['value']) ?? '');
    const versions = new Versions(sqliteVersions(db, this.#writes, this.#run));
    this.documents = sqliteDocuments(db, this.#writes, clock, this.#run, versions);
    this.#reader = new RecordReader(async (id) => textOf(this.#sql.shape.get(id)?.['shape']));
    this.findDecisions = sqliteDecisionSearch(db, this.#run, this.#reader);
    this.auditLog = new AuditLog(
      sqliteAuditRows(db, this.#writes, this.#run, () => this.#checkpoints.truncate()),
    );
    this.listLog = sqliteListLog(db, this.#writes, clock, this.#run);
    this.texts = sqliteStoredTexts(db, this.#writes, clock, this.#run, versions);
    this.tallies = sqliteTallies(db, this.#writes, clock, this.#run);
    this.registers = {
      read: (name) => this.#run(async () => textOf(this.#sql.register.get(name)?.['value'])),
      compareAndSet: async (name, expected, next) => {
        const write = () => this.#compareAndSet(name, expected, next);
        const written = await this.#run(() => this.#writes.run(write));
        if (written) await versions.changed(name);
        return written;
      },
      version: async (name) => (await versions.current(name)).version,
    };
    this.#retention = new SqliteRetention(db, this.#sql, this.#writes, clock);
  }

  load(client: ClientKey, { orderRef, idempotencyKey }: LoadAlso = {}): Promise<Snapshot> {
    return this.#run(async () => {
      const now = this.#clock();
      const { hash } = client;
      const { state, order } = this.#sql;
      const parts = {
        state: textOf(state.get(hash, now)?.['state']),
        order: orderRef === undefined ? null : textOf(order.get(hash, token(orderRef), now)?.['outcome']),
        answer: idempotencyKey === undefined ? null : await this.#answer(hash, idempotencyKey, now),
      };
      return readSnapshot(parts, now);
    });
  }

  commit(change: Change): Promise<'committed' | 'conflict'> {
    return this.#run(async () => {
      const write = () => commitChange(this.#sql, change, this.#storedShapes, this.#clock());
      const fate = await this.#writes.run(write);
      if (fate === 'committed' && change.shape !== undefined) this.#storedShapes.add(change.shape.id);
      return fate;
    });
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    if (!isNoted(ask)) return this.#run(async () => countSightings(this.#sql, ask));
    return this.#run(() =>
      this.#writes.run(() => {
        noteSightings(this.#sql, ask, this.#clock());
        return countSightings(this.#sql, ask);
      }),
    );
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    return this.#run(() =>
      this.#writes.run(() => {
        const now = this.#clock();
        this.#sql.removeClaim.run(platform, key, now);
        this.#sql.claim.run(platform, key, requestHash, now + RETENTION.claimMs);
        return String(this.#sql.claimed.get(platform, key)?.['request_hash']);
      }),
    );
  }

  decision(decisionId: string): Promise<Decision | null> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return Promise.resolve(null);
    const { clientHash, seq } = parsed;
    return this.#run(async () => {
      const row = this.#sql.decision.get(clientHash, seq);
      const decision = row === undefined ? null : await this.#reader.decision(storedRecord(row));
      return decision?.decisionId === decisionId ? decision : null;
    });
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return this.#run(async () =>
      this.#decisions(this.#sql.decisionsOfOrder.all(platform, orderRef, RETENTION.decisionsPerOrder)),
    );
  }

  decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    return this.#run(async () =>
      this.#decisions(this.#sql.decisionsOfClient.all(client.hash, beforeSeq, limit)),
    );
  }

  readonly cursors = NUMBER_CURSORS;

  async readJournal(after: string | null, limit: number): Promise<JournalPage> {
    return this.#run(() => readJournalPage(this.#sql, this.#reader, after, limit));
  }

  readonly journalLength = () =>
    this.#run(async () => Number(this.#sql.journalLength.get()?.['entries'] ?? 0));

  async trimJournal(through: string, kept: KeptAfterShipping): Promise<void> {
    const position = positionOf(through);
    for (let trimmed = TRIM_ROWS_MAX; trimmed === TRIM_ROWS_MAX; )
      trimmed = await this.#run(() =>
        this.#writes.run(() => trimShipped(this.#sql, position, kept, TRIM_ROWS_MAX, this.#clock())),
      );
  }

  async unshippedErasures(): Promise<readonly Placed<ErasureEntry>[]> {
    return this.#run(async () =>
      this.#sql.unshippedErasures.all().map(({ position, entry }) => ({
        ...parseErasure(String(entry)),
        place: placeOf(position),
      })),
    );
  }

  async historyOfClient(
    client: Pick<ClientKey, 'hash'>,
    limit: number,
    before: EntryPlace | null = null,
  ): Promise<ClientJournal> {
    return this.#run(async () => {
      // One more than wanted shows whether that was all.
      const rows = this.#sql.history.all(client.hash, before?.seq ?? Number.MAX_SAFE_INTEGER, limit + 1);
      const entries = await searchSteps.map(rows.slice(0, limit), (some) => wholeEntries(this.#reader, some));
      return {
        entries: entries.filter(isOfClient),
        complete: rows.length <= limit && entries.every(({ kind }) => kind !== 'unreadable'),
      };
    });
  }

  async erase(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void> {
    await this.#run(() =>
      this.#writes.run(() => {
        this.#sql.eraseClaims.run(client.platform, client.hash);
        this.#sql.eraseVerdicts.run(client.hash);
        for (const statement of this.#sql.erase) statement.run(client.hash);
        const { platform, hash } = client;
        const erasure = {
          kind: 'erasure',
          at: this.#clock(),
          platform,
          clientNumber: clientNumber(hash),
        } as const;
        const text = journalText(erasure);
        const { lastInsertRowid } = this.#sql.putJournal.run(null, text);
        this.#sql.putUnshippedErasure.run(lastInsertRowid, text);
        this.#sql.trimErasures.run(RETENTION.unshippedErasures);
      }),
    );
    await this.#checkpoints.truncate();
  }

  /** The store's clock is this machine's. */
  readonly clockOffsetMs = (): number => 0;

  async check(): Promise<StoreHealth> {
    const failure = await this.#tryToWrite();
    return [{ server: this.name, failure, warnings: [] }];
  }

  async close(): Promise<void> {
    this.#retention.stop();
    await this.#writes.close();
    this.#log.close();
    await this.#checkpoints.close();
    this.#db.close();
  }

  async #answer(clientHash: string, idempotencyKey: string, now: number): Promise<StoredAnswer | null> {
    const answer = this.#sql.answer.get(clientHash, idempotencyKey, now);
    if (answer === undefined) return null;
    const row = this.#sql.decision.get(clientHash, Number(answer['seq']));
    if (row === undefined) throw new StoreUnavailable('the decision of a stored answer is missing');
    return answerOf(await this.#reader.decision(storedRecord(row)));
  }

  #decisions(rows: readonly Record<string, unknown>[]): Promise<readonly Decision[]> {
    return searchSteps.map(rows.map(storedRecord), (some) => this.#reader.decisions(some));
  }

  async #tryToWrite(): Promise<string | null> {
    try {
      await this.#writes.run(() => this.#sql.putRegister.run('probe', String(this.#clock())));
      return null;
    } catch (error) {
      return failureText(error);
    }
  }

  #compareAndSet(name: string, expected: string | null, next: string): boolean {
    if (textOf(this.#sql.register.get(name)?.['value']) !== expected) return false;
    this.#sql.putRegister.run(name, next);
    return true;
  }
}
