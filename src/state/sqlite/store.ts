import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ClientKey, clientNumber, type PlatformName, parseDecisionId } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import type { Sightings } from '../../facts/fact.ts';
import type { AuditLog } from '../audit-log.ts';
import type { Documents } from '../documents.ts';
import { aboutClient, journalText } from '../journal-text.ts';
import { localRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import type { RunCall } from '../run-call.ts';
import { readDecision, readSnapshot, textOf } from '../snapshot.ts';
import {
  type Change,
  type ClientJournal,
  type JournalPage,
  type LoadAlso,
  RETENTION,
  type Registers,
  type SightingsAsk,
  type Snapshot,
  type Store,
  StoreUnavailable,
} from '../store.ts';
import { sqliteAuditLog } from './audit-log.ts';
import { SqliteCheckpoints } from './checkpoints.ts';
import { commitChange } from './commit.ts';
import { sqliteDecisionSearch } from './decision-search.ts';
import { sqliteDocuments } from './documents.ts';
import { GroupCommit } from './group-commit.ts';
import { positionOf, readJournalPage, trimOverflow, trimShipped } from './journal.ts';
import { makeTables } from './schema.ts';
import { countSightings, isNoted, noteSightings } from './sightings.ts';
import { prepareStatements, type Statements } from './statements.ts';

/** How long a write waits for another process's write before it gives up. */
const BUSY_TIMEOUT_MS = 200;

/** How often rows past their retention are removed, and how many at once. */
const PURGE_INTERVAL_MS = 10_000;
const PURGE_ROWS = 2000;

/** Pages kept in memory. SQLite's own 2 MiB are read again and again once there are many clients. */
const CACHE_KIB = 64 * 1024;

/** Pages that are logged before they are put in their place: the same pages come again and again, so later is less. */
const LOGGED_PAGES = 4000;

/**
 * All state in one SQLite file under `dataDir`, for one machine and no server. Several processes may
 * share the file. A write is acknowledged after an fsync.
 */
export function openSqliteStore(dataDir: string): Store {
  const path = join(dataDir, 'scoring.sqlite');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${LOGGED_PAGES};`,
    );
    makeTables(db);
    return new SqliteStore(db, path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailable(
      `the SQLite file ${path} cannot be used: ${why}; check DATA_DIR and its permissions`,
      { cause },
    );
  }
}

class SqliteStore implements Store {
  readonly name: string;
  readonly documents: Documents;
  readonly registers: Registers;
  readonly auditLog: AuditLog;
  readonly findDecisions: Store['findDecisions'];
  readonly rateBuckets: RateBuckets = localRateBuckets(() => performance.now());
  readonly #db: DatabaseSync;
  readonly #writes: GroupCommit;
  readonly #checkpoints: SqliteCheckpoints;
  readonly #sql: Statements;
  readonly #purge: NodeJS.Timeout;

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.name = `sqlite ${path}`;
    this.#writes = new GroupCommit(db, () => this.#checkpoints.noteWrite());
    this.#checkpoints = new SqliteCheckpoints(path);
    this.#sql = prepareStatements(db);
    this.documents = sqliteDocuments(db, run);
    this.findDecisions = sqliteDecisionSearch(db, run);
    this.auditLog = sqliteAuditLog(db, this.#writes, run);
    this.registers = {
      read: (name) => run(async () => textOf(this.#sql.register.get(name)?.['value'])),
      compareAndSet: (name, expected, next) =>
        run(() => this.#writes.run(() => this.#compareAndSet(name, expected, next))),
    };
    this.#purge = setInterval(() => this.#removeExpired(), PURGE_INTERVAL_MS).unref();
  }

  load(client: ClientKey, { orderRef, idempotencyKey }: LoadAlso = {}): Promise<Snapshot> {
    return run(async () => {
      const now = Date.now();
      const { hash } = client;
      const { state, order, answer } = this.#sql;
      const texts = {
        state: textOf(state.get(hash, now)?.['state']),
        order: orderRef === undefined ? null : textOf(order.get(hash, orderRef, now)?.['outcome']),
        answer:
          idempotencyKey === undefined ? null : textOf(answer.get(hash, idempotencyKey, now)?.['answer']),
      };
      return readSnapshot(texts, now);
    });
  }

  commit(change: Change): Promise<'committed' | 'conflict'> {
    return run(() => this.#writes.run(() => commitChange(this.#sql, change, Date.now())));
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    if (!isNoted(ask)) return run(async () => countSightings(this.#sql, ask));
    return run(() =>
      this.#writes.run(() => {
        noteSightings(this.#sql, ask, Date.now());
        return countSightings(this.#sql, ask);
      }),
    );
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    return run(() =>
      this.#writes.run(() => {
        const now = Date.now();
        this.#sql.removeClaim.run(platform, key, now);
        this.#sql.claim.run(platform, key, requestHash, now + RETENTION.idempotencyMs);
        return String(this.#sql.claimed.get(platform, key)?.['request_hash']);
      }),
    );
  }

  decision(decisionId: string): Promise<Decision | null> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return Promise.resolve(null);
    const { clientHash, seq } = parsed;
    return run(async () => decisions([this.#sql.decision.get(clientHash, seq)])[0] ?? null);
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return run(async () =>
      decisions(this.#sql.decisionsOfOrder.all(platform, orderRef, RETENTION.decisionsPerOrder)),
    );
  }

  decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    return run(async () => decisions(this.#sql.decisionsOfClient.all(client.hash, beforeSeq, limit)));
  }

  async readJournal(after: string | null, limit: number): Promise<JournalPage> {
    positionOf(after);
    return run(async () => readJournalPage(this.#sql, after, limit));
  }

  async trimJournal(through: string, keptEntries: number): Promise<void> {
    const position = positionOf(through);
    for (let trimmed = PURGE_ROWS; trimmed === PURGE_ROWS; )
      trimmed = await run(() =>
        this.#writes.run(() => trimShipped(this.#sql, position, keptEntries, PURGE_ROWS)),
      );
  }

  async historyOfClient(client: ClientKey, limit: number): Promise<ClientJournal> {
    return run(async () => {
      // One more than is wanted tells whether that was all.
      const rows = this.#sql.history.all(client.hash, limit + 1);
      return {
        entries: aboutClient(rows.slice(0, limit).map(({ entry }) => String(entry))),
        complete: rows.length <= limit,
      };
    });
  }

  erase(client: ClientKey): Promise<void> {
    return run(() =>
      this.#writes.run(() => {
        for (const statement of this.#sql.erase) statement.run(client.hash);
        const { platform, hash } = client;
        const erasure = {
          kind: 'erasure',
          at: Date.now(),
          platform,
          clientNumber: clientNumber(hash),
        } as const;
        this.#sql.putJournal.run('', journalText(erasure));
      }),
    );
  }

  ping(): Promise<void> {
    return run(async () => {
      this.#db.prepare('SELECT 1').get();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#purge);
    this.#writes.flush();
    await this.#checkpoints.close();
    this.#db.close();
  }

  #compareAndSet(name: string, expected: string | null, next: string): boolean {
    if (textOf(this.#sql.register.get(name)?.['value']) !== expected) return false;
    this.#sql.putRegister.run(name, next);
    return true;
  }

  /** In small bites, so that no request waits long behind it. */
  #removeExpired(): void {
    const now = Date.now();
    this.#writes
      .run(() => {
        for (const statement of this.#sql.purge) statement.run(now, PURGE_ROWS);
        trimOverflow(this.#sql, PURGE_ROWS);
      })
      .catch(() => {
        // The disk is full or another process writes: the next round tries again.
      });
  }
}

/** Whatever SQLite throws (busy, full disk, damaged file) means that state cannot be relied on now. */
const run: RunCall = async (call) => {
  try {
    return await call();
  } catch (error) {
    throw new StoreUnavailable('SQLite could not answer', { cause: error });
  }
};

function decisions(rows: readonly (Record<string, unknown> | undefined)[]): readonly Decision[] {
  return rows.filter((row) => row !== undefined).map(({ record }) => readDecision(String(record)));
}
