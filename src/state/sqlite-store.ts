import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { ClientKey, PlatformName } from '../client/client-key.ts';
import { UNKNOWN_CLIENT } from '../client/client-state.ts';
import type { OrderOutcome } from '../client/outcomes.ts';
import { decodeClientState, encodeClientState } from '../client/state-document.ts';
import type { Decision } from '../decision/decision.ts';
import { REMEMBERED_CLIENTS, type Sightings } from '../facts/fact.ts';
import type { Documents, Guard } from './documents.ts';
import { GroupCommit } from './group-commit.ts';
import { localRateBuckets, type RateBuckets } from './rate-buckets.ts';
import { sqliteDocuments } from './sqlite-documents.ts';
import {
  type Change,
  type JournalPage,
  type LoadAlso,
  RETENTION,
  type Registers,
  type SightingsAsk,
  type Snapshot,
  type Store,
  type StoredAnswer,
  StoreUnavailable,
  UnknownCursor,
} from './store.ts';

/** How long a write waits for another process's write before it gives up. */
const BUSY_TIMEOUT_MS = 200;

/** How often rows past their retention are removed, and how many at once. */
const PURGE_INTERVAL_MS = 10_000;
const PURGE_ROWS = 2000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS clients (
    client TEXT PRIMARY KEY, state TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS clients_expiry ON clients (expires_at);
  CREATE TABLE IF NOT EXISTS decisions (
    id TEXT PRIMARY KEY, client TEXT NOT NULL, seq INTEGER NOT NULL, platform TEXT NOT NULL,
    order_ref TEXT NOT NULL, at INTEGER NOT NULL, record TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS decisions_client ON decisions (client, seq);
  CREATE INDEX IF NOT EXISTS decisions_order ON decisions (platform, order_ref, at);
  CREATE INDEX IF NOT EXISTS decisions_time ON decisions (platform, at);
  CREATE INDEX IF NOT EXISTS decisions_expiry ON decisions (expires_at);
  CREATE TABLE IF NOT EXISTS orders (
    client TEXT NOT NULL, order_ref TEXT NOT NULL, outcome TEXT NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, order_ref)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS orders_expiry ON orders (expires_at);
  CREATE TABLE IF NOT EXISTS answers (
    client TEXT NOT NULL, idempotency_key TEXT NOT NULL, answer TEXT NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answers_expiry ON answers (expires_at);
  CREATE TABLE IF NOT EXISTS claims (
    platform TEXT NOT NULL, idempotency_key TEXT NOT NULL, request_hash TEXT NOT NULL,
    expires_at INTEGER NOT NULL, PRIMARY KEY (platform, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS claims_expiry ON claims (expires_at);
  CREATE TABLE IF NOT EXISTS sightings (
    device TEXT NOT NULL, client TEXT NOT NULL, at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (device, client)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS sightings_time ON sightings (device, at);
  CREATE INDEX IF NOT EXISTS sightings_client ON sightings (client);
  CREATE INDEX IF NOT EXISTS sightings_expiry ON sightings (expires_at);
  CREATE TABLE IF NOT EXISTS documents (
    key TEXT PRIMARY KEY, value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS registers (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal (
    position INTEGER PRIMARY KEY AUTOINCREMENT, client TEXT NOT NULL, entry TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS journal_client ON journal (client);
`;

const EXPIRING_TABLES = ['clients', 'decisions', 'orders', 'answers', 'claims', 'sightings'] as const;

/**
 * All state in one SQLite file under `dataDir`, for one machine and no server. Several processes may
 * share the file. A write is acknowledged after an fsync.
 */
export function openSqliteStore(dataDir: string): Store {
  const path = join(dataDir, 'scoring.sqlite');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    db.exec(SCHEMA);
    return new SqliteStore(db, `sqlite ${path}`);
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
  readonly rateBuckets: RateBuckets = localRateBuckets(() => performance.now());
  readonly #db: DatabaseSync;
  readonly #writes: GroupCommit;
  readonly #sql: Statements;
  readonly #purge: NodeJS.Timeout;

  constructor(db: DatabaseSync, name: string) {
    this.#db = db;
    this.name = name;
    this.#writes = new GroupCommit(db);
    this.#sql = prepare(db);
    this.documents = sqliteDocuments(db, guard);
    this.registers = {
      read: (name) => guard(async () => text(this.#sql.register.get(name)?.['value'])),
      compareAndSet: (name, expected, next) =>
        guard(() => this.#writes.run(() => this.#compareAndSet(name, expected, next))),
    };
    this.#purge = setInterval(() => this.#removeExpired(), PURGE_INTERVAL_MS).unref();
  }

  load(client: ClientKey, also: LoadAlso = {}): Promise<Snapshot> {
    return guard(async () => {
      const now = Date.now();
      const raw = text(this.#sql.state.get(client.hash, now)?.['state']);
      const order =
        also.orderRef === undefined
          ? null
          : text(this.#sql.order.get(client.hash, also.orderRef, now)?.['outcome']);
      const answer =
        also.idempotencyKey === undefined
          ? null
          : text(this.#sql.answer.get(client.hash, also.idempotencyKey, now)?.['answer']);
      return {
        state: raw === null ? UNKNOWN_CLIENT : decodeClientState(raw),
        order: order === null ? null : parseOrder(order),
        answer: answer === null ? null : parseAnswer(answer),
        stamp: { raw, storeTimeMs: now, arrivedMs: performance.now() },
      };
    });
  }

  commit(change: Change): Promise<'committed' | 'conflict'> {
    return guard(() => this.#writes.run(() => this.#commit(change)));
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    const count = () => ({
      fingerprint: this.#countClients(ask, 'fingerprint'),
      ip: this.#countClients(ask, 'ip'),
    });
    if (ask.record === null) return guard(async () => count());
    return guard(() =>
      this.#writes.run(() => {
        this.#recordSighting(ask, 'fingerprint');
        this.#recordSighting(ask, 'ip');
        return count();
      }),
    );
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    return guard(() =>
      this.#writes.run(() => {
        const now = Date.now();
        this.#sql.removeClaim.run(platform, key, now);
        this.#sql.claim.run(platform, key, requestHash, now + RETENTION.idempotencyMs);
        return String(this.#sql.claimed.get(platform, key)?.['request_hash']);
      }),
    );
  }

  decision(decisionId: string): Promise<Decision | null> {
    return guard(async () => decisions([this.#sql.decision.get(decisionId)])[0] ?? null);
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return guard(async () =>
      decisions(this.#sql.decisionsOfOrder.all(platform, orderRef, RETENTION.decisionsPerOrder)),
    );
  }

  decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    return guard(async () => decisions(this.#sql.decisionsOfClient.all(client.hash, beforeSeq, limit)));
  }

  latestDecisions(platform: PlatformName, limit: number): Promise<readonly Decision[]> {
    return guard(async () => decisions(this.#sql.latestDecisions.all(platform, limit)));
  }

  async readJournal(after: string | null, limit: number): Promise<JournalPage> {
    if (after !== null && !/^\d{1,16}$/.test(after)) throw new UnknownCursor();
    return guard(async () => {
      const rows = this.#sql.journal.all(after === null ? 0 : Number(after), limit);
      const last = rows.at(-1)?.['position'];
      return {
        entries: rows.map(({ entry }) => JSON.parse(String(entry))),
        cursor: last === undefined ? after : String(last),
      };
    });
  }

  erase(client: ClientKey): Promise<void> {
    return guard(() =>
      this.#writes.run(() => {
        for (const statement of this.#sql.erase) statement.run(client.hash);
      }),
    );
  }

  ping(): Promise<void> {
    return guard(async () => {
      this.#db.prepare('SELECT 1').get();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#purge);
    this.#writes.flush();
    this.#db.close();
  }

  #commit({ client, stamp, state, entry, decision, outcome, answer }: Change): 'committed' | 'conflict' {
    const now = Date.now();
    const raw = text(this.#sql.state.get(client.hash, now)?.['state']);
    if (raw !== stamp.raw) return 'conflict';
    this.#sql.putState.run(client.hash, encodeClientState(state), now + RETENTION.stateMs);
    if (decision !== undefined) {
      const { decisionId, seq, platform, orderRef, at } = decision;
      const record = JSON.stringify(decision);
      this.#sql.putDecision.run(
        decisionId,
        client.hash,
        seq,
        platform,
        orderRef,
        at,
        record,
        now + RETENTION.decisionMs,
      );
    }
    if (outcome !== undefined) {
      const { orderRef, order } = outcome;
      this.#sql.putOrder.run(client.hash, orderRef, JSON.stringify(order), now + RETENTION.decisionMs);
    }
    if (answer !== undefined) {
      const { idempotencyKey, stored } = answer;
      this.#sql.putAnswer.run(
        client.hash,
        idempotencyKey,
        JSON.stringify(stored),
        now + RETENTION.idempotencyMs,
      );
    }
    this.#sql.putJournal.run(client.hash, JSON.stringify(entry));
    return 'committed';
  }

  #compareAndSet(name: string, expected: string | null, next: string): boolean {
    if (text(this.#sql.register.get(name)?.['value']) !== expected) return false;
    this.#sql.putRegister.run(name, next);
    return true;
  }

  #recordSighting(ask: SightingsAsk, kind: keyof Sightings): void {
    const device = deviceOf(ask, kind);
    if (device === null) return;
    this.#sql.putSighting.run(device, ask.client.hash, ask.at, Date.now() + RETENTION.sightingMs);
    this.#sql.trimSightings.run(device, device, REMEMBERED_CLIENTS);
  }

  #countClients(ask: SightingsAsk, kind: keyof Sightings): ReadonlyMap<number, number> {
    const device = deviceOf(ask, kind);
    if (device === null) return new Map();
    return new Map(
      ask.windowsMs[kind].map((windowMs) => {
        const others = this.#sql.countOthers.get(device, ask.client.hash, ask.at - windowMs)?.['others'];
        return [windowMs, Math.min(REMEMBERED_CLIENTS, Number(others) + 1)];
      }),
    );
  }

  /** In small bites, so that no request waits long behind it. */
  #removeExpired(): void {
    const now = Date.now();
    this.#writes
      .run(() => {
        for (const statement of this.#sql.purge) statement.run(now, PURGE_ROWS);
        this.#sql.trimJournal.run(RETENTION.journalEntries, PURGE_ROWS);
      })
      .catch(() => {
        // The disk is full or another process writes: the next round tries again.
      });
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(db: DatabaseSync) {
  const sql = (source: string): StatementSync => db.prepare(source);
  return {
    state: sql('SELECT state FROM clients WHERE client = ? AND expires_at > ?'),
    putState: sql(
      'INSERT INTO clients (client, state, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at',
    ),
    order: sql('SELECT outcome FROM orders WHERE client = ? AND order_ref = ? AND expires_at > ?'),
    putOrder: sql(
      'INSERT INTO orders (client, order_ref, outcome, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, expires_at = excluded.expires_at',
    ),
    answer: sql('SELECT answer FROM answers WHERE client = ? AND idempotency_key = ? AND expires_at > ?'),
    putAnswer: sql(
      'INSERT INTO answers (client, idempotency_key, answer, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET answer = excluded.answer, expires_at = excluded.expires_at',
    ),
    removeClaim: sql('DELETE FROM claims WHERE platform = ? AND idempotency_key = ? AND expires_at <= ?'),
    claim: sql(
      'INSERT INTO claims (platform, idempotency_key, request_hash, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    claimed: sql('SELECT request_hash FROM claims WHERE platform = ? AND idempotency_key = ?'),
    putSighting: sql(
      'INSERT INTO sightings (device, client, at, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at), expires_at = excluded.expires_at',
    ),
    trimSightings: sql(
      'DELETE FROM sightings WHERE device = ? AND client IN (SELECT client FROM sightings WHERE device = ? ORDER BY at DESC LIMIT -1 OFFSET ?)',
    ),
    countOthers: sql('SELECT count(*) AS others FROM sightings WHERE device = ? AND client <> ? AND at > ?'),
    putDecision: sql(
      'INSERT INTO decisions (id, client, seq, platform, order_ref, at, record, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    decision: sql('SELECT record FROM decisions WHERE id = ?'),
    decisionsOfOrder: sql(
      'SELECT record FROM decisions WHERE platform = ? AND order_ref = ? ORDER BY at DESC, seq DESC LIMIT ?',
    ),
    decisionsOfClient: sql(
      'SELECT record FROM decisions WHERE client = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
    ),
    latestDecisions: sql('SELECT record FROM decisions WHERE platform = ? ORDER BY at DESC LIMIT ?'),
    putJournal: sql('INSERT INTO journal (client, entry) VALUES (?, ?)'),
    register: sql('SELECT value FROM registers WHERE name = ?'),
    putRegister: sql(
      'INSERT INTO registers (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    ),
    journal: sql('SELECT position, entry FROM journal WHERE position > ? ORDER BY position LIMIT ?'),
    trimJournal: sql(
      'DELETE FROM journal WHERE position IN (SELECT position FROM journal WHERE position <= (SELECT max(position) FROM journal) - ? ORDER BY position LIMIT ?)',
    ),
    erase: ['clients', 'decisions', 'orders', 'answers', 'sightings', 'journal'].map((table) =>
      sql(`DELETE FROM ${table} WHERE client = ?`),
    ),
    purge: EXPIRING_TABLES.map((table) => {
      const key = db.prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`).all();
      const columns = key.map(({ name }) => String(name)).join(', ');
      return sql(
        `DELETE FROM ${table} WHERE (${columns}) IN (SELECT ${columns} FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
      );
    }),
  };
}

/** Whatever SQLite throws (busy, full disk, damaged file) means that state cannot be relied on now. */
const guard: Guard = async (call) => {
  try {
    return await call();
  } catch (error) {
    throw new StoreUnavailable('SQLite could not answer', { cause: error });
  }
};

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function decisions(rows: readonly (Record<string, unknown> | undefined)[]): readonly Decision[] {
  return rows.filter((row) => row !== undefined).map((row): Decision => JSON.parse(String(row['record'])));
}

function parseOrder(json: string): OrderOutcome {
  return JSON.parse(json);
}

function parseAnswer(json: string): StoredAnswer {
  return JSON.parse(json);
}

/** A device belongs to one platform: the same phone on two platforms is two devices. */
function deviceOf({ client, ...ask }: SightingsAsk, kind: keyof Sightings): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}
