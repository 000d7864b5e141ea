import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ClientKey, type PlatformName, parseDecisionId } from '../../client/client-key.ts';
import { UNKNOWN_CLIENT } from '../../client/client-state.ts';
import type { OrderOutcome } from '../../client/outcomes.ts';
import { decodeClientState, encodeClientState } from '../../client/state-document.ts';
import type { Decision } from '../../decision/decision.ts';
import { REMEMBERED_CLIENTS, type Sightings } from '../../facts/fact.ts';
import type { Documents, Guard } from '../documents.ts';
import { journalText, readJournalText } from '../journal-text.ts';
import { localRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import {
  type Change,
  type ClientHistory,
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
} from '../store.ts';
import { SqliteCheckpoints } from './checkpoints.ts';
import { sqliteDecisionSearch } from './decision-search.ts';
import { sqliteDocuments } from './documents.ts';
import { GroupCommit } from './group-commit.ts';
import { makeTables } from './schema.ts';
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
    this.documents = sqliteDocuments(db, guard);
    this.findDecisions = sqliteDecisionSearch(db, guard);
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
    const onDevice = ask.fingerprint !== null || ask.ip !== null;
    if (ask.record === null || !onDevice) return guard(async () => count());
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
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return Promise.resolve(null);
    const { clientHash, seq } = parsed;
    return guard(async () => decisions([this.#sql.decision.get(clientHash, seq)])[0] ?? null);
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

  async readJournal(after: string | null, limit: number): Promise<JournalPage> {
    if (after !== null && !/^\d{1,16}$/.test(after)) throw new UnknownCursor();
    return guard(async () => {
      const rows = this.#sql.journal.all(after === null ? 0 : Number(after), limit);
      const last = rows.at(-1)?.['position'];
      return {
        entries: rows.map(({ entry }) => readJournalText(String(entry))),
        cursor: last === undefined ? after : String(last),
      };
    });
  }

  async historyOfClient(client: ClientKey, limit: number): Promise<ClientHistory> {
    return guard(async () => {
      // One more than is wanted tells whether that was all.
      const rows = this.#sql.history.all(client.hash, limit + 1);
      return {
        entries: rows.slice(0, limit).map(({ entry }) => readJournalText(String(entry))),
        complete: rows.length <= limit,
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
    await this.#checkpoints.close();
    this.#db.close();
  }

  #commit({ client, stamp, state, entry, decision, outcome, answer }: Change): 'committed' | 'conflict' {
    const now = Date.now();
    const { raw } = stamp;
    const next = encodeClientState(state);
    const { changes } =
      raw === null
        ? this.#sql.addState.run(client.hash, next, now + RETENTION.stateMs, now)
        : this.#sql.replaceState.run(next, now + RETENTION.stateMs, client.hash, raw, now);
    if (changes === 0) return 'conflict';
    const written = journalText(entry);
    if (decision !== undefined) {
      const { seq, platform, orderRef, at } = decision;
      const expiresAt = now + RETENTION.decisionMs;
      this.#sql.putDecision.run(client.hash, seq, platform, orderRef, at, written, expiresAt);
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
    this.#sql.putJournal.run(client.hash, written);
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
