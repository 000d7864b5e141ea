import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { KeyvStoreAdapter } from 'keyv';
import { DAY_MS } from '../../rules/duration.ts';
import type { AuditRows } from '../audit-log.ts';
import {
  type DocumentIndex,
  type Documents,
  documentsKeyv,
  keyvDocuments,
  type Versions,
  type VersionTable,
} from '../documents.ts';
import { RETENTION } from '../retention.ts';
import {
  LIST_REMOVAL_KEPT_MS,
  type ListChange,
  type ListLog,
  type Tallies,
  tallyCounts,
  writerField,
} from '../store.ts';
import type { RunCall } from '../store-errors.ts';
import { textOf } from '../stored-parts.ts';
import type { GroupCommit } from './group-commit.ts';

/** Documents in the `documents` table, which knows when each of them ends. */
export function sqliteDocuments(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
  versions: Versions,
): Documents {
  const keyv = documentsKeyv({ store: tableAdapter(db, writes, clock) });
  return keyvDocuments(keyv, tableIndex(db), run, versions);
}

/** Versions in the `versions` table. */
export function sqliteVersions(db: DatabaseSync, writes: GroupCommit, run: RunCall): VersionTable {
  const all = db.prepare('SELECT name, version FROM versions');
  const put = db.prepare(
    'INSERT INTO versions (name, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
  );
  return {
    read: () =>
      run(async () =>
        Object.fromEntries(all.all().map(({ name, version }) => [String(name), String(version)])),
      ),
    write: (name, version) =>
      run(async () => {
        await writes.run(() => put.run(name, version));
      }),
  };
}

function tableAdapter(db: DatabaseSync, writes: GroupCommit, clock: () => number): KeyvStoreAdapter {
  const read = db.prepare(
    'SELECT value FROM documents WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  const write = db.prepare(
    'INSERT INTO documents (key, value, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at',
  );
  const remove = db.prepare('DELETE FROM documents WHERE key = ?');
  const clear = db.prepare('DELETE FROM documents');
  const adapter = {
    opts: {},
    get: async (key: string) => {
      const text = textOf(read.get(key, clock())?.['value']);
      return text === null ? undefined : JSON.parse(text);
    },
    set: async (key: string, value: string, ttlMs?: number) => {
      await writes.run(() => write.run(key, value, ttlMs === undefined ? null : clock() + ttlMs));
    },
    delete: (key: string) => writes.run(() => remove.run(key).changes > 0),
    clear: async () => {
      await writes.run(() => clear.run());
    },
    on: () => adapter,
  };
  return adapter;
}

/** The table is its own index, so nothing needs to be noted. */
function tableIndex(db: DatabaseSync): DocumentIndex {
  const names = db.prepare('SELECT key FROM documents WHERE key >= ? AND key < ? ORDER BY key');
  return {
    add: async () => {},
    remove: async () => {},
    names: async (collection) => {
      const prefix = `document:${collection}/`;
      return names.all(prefix, `document:${collection}0`).map(({ key }) => String(key).slice(prefix.length));
    },
  };
}

/** Removals that are forgotten at once. */
const FORGOTTEN_MAX = 500;

/** The shared lists in the table `list_records`; a removed record stays for a while without its text. */
export function sqliteListLog(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
): ListLog {
  const sql = statements(db);
  const change = ({ id, text, expected }: ListChange, now: number): boolean => {
    const row = sql.record.get(id);
    const isThere = row !== undefined && row['text'] !== null;
    if (expected !== undefined && !(isThere && row['version'] === expected)) return false;
    if (text === null && !isThere) return false;
    sql.advance.run();
    sql.put.run(id, text, text === null ? now : null);
    return true;
  };
  return {
    write: (changes, unless) =>
      run(() =>
        writes.run(() => {
          const now = clock();
          if (unless !== undefined) {
            const { since, idsBegin, textsBegin } = unless;
            const others = sql.changes.iterate(since, -1);
            const isOther = ({ id, text }: Record<string, unknown>) =>
              String(id).startsWith(idsBegin) && text !== null && !String(text).startsWith(textsBegin);
            if (others.some(isOther)) return null;
          }
          sql.begin.run(randomUUID());
          const made = changes.map((one) => change(one, now));
          const before = now - LIST_REMOVAL_KEPT_MS;
          sql.raiseHorizon.run(before, FORGOTTEN_MAX);
          sql.forget.run(before, FORGOTTEN_MAX);
          return made;
        }),
      ),
    read: (after, limit) =>
      run(async () => {
        const head = sql.head.get();
        const records = sql.changes.all(after, limit).map(({ id, version, text }) => ({
          id: String(id),
          version: Number(version),
          text: textOf(text),
        }));
        return {
          records,
          latest: Number(head?.['latest'] ?? 0),
          horizon: Number(head?.['horizon'] ?? 0),
          epoch: textOf(head?.['epoch']),
        };
      }),
  };
}

function statements(db: DatabaseSync) {
  const old = 'SELECT id, version FROM list_records WHERE removed_at <= ? ORDER BY removed_at LIMIT ?';
  return {
    head: db.prepare('SELECT latest, horizon, epoch FROM list_head'),
    begin: db.prepare(
      'INSERT INTO list_head (only, latest, horizon, epoch) VALUES (1, 0, 0, ?) ON CONFLICT DO NOTHING',
    ),
    advance: db.prepare('UPDATE list_head SET latest = latest + 1'),
    record: db.prepare('SELECT version, text FROM list_records WHERE id = ?'),
    put: db.prepare(
      'INSERT INTO list_records (id, version, text, removed_at) VALUES (?, (SELECT latest FROM list_head), ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, text = excluded.text, removed_at = excluded.removed_at',
    ),
    changes: db.prepare(
      'SELECT id, version, text FROM list_records WHERE version > ? ORDER BY version LIMIT ?',
    ),
    raiseHorizon: db.prepare(
      `UPDATE list_head SET horizon = max(horizon, coalesce((SELECT max(version) FROM (${old})), 0))`,
    ),
    forget: db.prepare(`DELETE FROM list_records WHERE id IN (SELECT id FROM (${old}))`),
  };
}

/** The audit in the table `audit`, and what leads to payers beside it. `overwrite` leaves nothing of that in the log of writes. */
export function sqliteAuditRows(
  db: DatabaseSync,
  writes: GroupCommit,
  run: RunCall,
  overwrite: () => Promise<void>,
): AuditRows {
  const end = db.prepare(
    "SELECT seq, (SELECT hash FROM audit ORDER BY number DESC LIMIT 1) AS hash FROM sqlite_sequence WHERE name = 'audit'",
  );
  const add = db.prepare('INSERT INTO audit (number, previous, hash, body) VALUES (?, ?, ?, ?)');
  const addPayer = db.prepare('INSERT INTO audit_payers (number, client, text) VALUES (?, ?, ?)');
  const page = db.prepare(
    'SELECT number, previous, hash, body, client, text FROM audit LEFT JOIN audit_payers USING (number) WHERE number > ? ORDER BY number LIMIT ?',
  );
  const about = db.prepare('SELECT number FROM audit_payers WHERE client = ? ORDER BY number');
  const forget = db.prepare('DELETE FROM audit_payers WHERE client = ? AND number = ?');
  const drop = db.prepare('DELETE FROM audit WHERE number <= ?');
  return {
    newest: () =>
      run(async () => {
        const row = end.get();
        return row === undefined ? null : { number: Number(row['seq']), hash: String(row['hash']) };
      }),
    add: ({ number, previous, hash, body, payer }) =>
      run(() =>
        writes.run(() => {
          if (Number(end.get()?.['seq'] ?? 0) >= number) return false;
          add.run(number, previous, hash, body);
          if (payer !== null) addPayer.run(number, payer.clientHash, payer.text);
          return true;
        }),
      ),
    read: (after, limit) =>
      run(async () =>
        page.all(after, limit).map(({ number, previous, hash, body, client, text }) => ({
          number: Number(number),
          previous: String(previous),
          hash: String(hash),
          body: String(body),
          payer: client === null ? null : { clientHash: String(client), text: String(text) },
        })),
      ),
    about: (clientHash) => run(async () => about.all(clientHash).map(({ number }) => Number(number))),
    forgetPayer: async (clientHash, numbers) => {
      await run(() =>
        writes.run(() => {
          for (const number of numbers) forget.run(clientHash, number);
        }),
      );
      if (numbers.length > 0) await overwrite();
    },
    drop: (through) =>
      run(() =>
        writes.run(() => {
          drop.run(through);
        }),
      ),
  };
}

/** Tallies in the table `tallies`. */
export function sqliteTallies(
  db: DatabaseSync,
  writes: GroupCommit,
  clock: () => number,
  run: RunCall,
): Tallies {
  const all = db.prepare('SELECT field, count FROM tallies WHERE tally = ?');
  const one = db.prepare('SELECT count FROM tallies WHERE tally = ? AND field = ?');
  const add = db.prepare(
    'INSERT INTO tallies (tally, field, count, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count, expires_at = excluded.expires_at',
  );
  const keep = db.prepare('UPDATE tallies SET expires_at = ? WHERE tally = ? AND expires_at < ?');
  return {
    add: (tally, { writer, number, counts }) =>
      run(() =>
        writes.run(() => {
          // A day is exact enough, and unchanged fields need not be written each time.
          const end = Math.ceil(clock() / DAY_MS) * DAY_MS + RETENTION.tallyMs;
          const last = Number(one.get(tally, writerField(writer))?.['count'] ?? 0);
          if (last >= number) return;
          const added = { ...counts, [writerField(writer)]: number - last };
          for (const [field, count] of Object.entries(added)) add.run(tally, field, count, end);
          keep.run(end, tally, end);
        }),
      ),
    read: (tally) =>
      run(async () => tallyCounts(all.all(tally).map(({ field, count }) => [String(field), count] as const))),
  };
}
