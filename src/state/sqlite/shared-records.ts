import { randomUUID } from 'node:crypto';
import type { KeyvStoreAdapter } from 'keyv';
import { DAY_MS } from '#base/duration.ts';
import type { AuditRows } from '#state/audit-log.ts';
import {
  createDocumentsKeyv,
  createKeyvDocuments,
  type DocumentIndex,
  type Documents,
  type Versions,
  type VersionTable,
} from '#state/documents.ts';
import { RETENTION } from '#state/retention.ts';
import {
  formatWriterField,
  LIST_REMOVAL_KEPT_MS,
  type ListChange,
  type ListLog,
  NO_TEXT_STAMP,
  type Registers,
  readTallyCounts,
  type Tallies,
} from '#state/store.ts';
import { toTextOrNull } from '#state/stored-parts.ts';
import { computeStamp, createTextTable } from './compare-and-set.ts';
import type { ErasureTraces } from './erasure-traces.ts';
import type { SqliteFile } from './open-file.ts';

/** The tables of what belongs to no single client: documents, registers, lists, the audit and tallies. */

/** Creates the documents in the table `documents`, which knows when each of them ends. */
export function createSqliteDocuments(file: SqliteFile, versions: Versions): Documents {
  return createKeyvDocuments(
    createDocumentsKeyv({ store: createTableAdapter(file) }),
    createTableIndex(file),
    file.run,
    versions,
  );
}

function createTableAdapter({ db, clock, write }: SqliteFile): KeyvStoreAdapter {
  const read = db.prepare(
    'SELECT value FROM documents WHERE key = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  const put = db.prepare(
    'INSERT INTO documents (key, value, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at',
  );
  const remove = db.prepare('DELETE FROM documents WHERE key = ?');
  const adapter = {
    opts: {},
    get: async (key: string) => {
      const text = toTextOrNull(read.get(key, clock())?.['value']);
      return text === null ? undefined : JSON.parse(text);
    },
    set: (key: string, value: string, ttlMs?: number) =>
      write(() => put.run(key, value, ttlMs === undefined ? null : clock() + ttlMs)),
    delete: (key: string) => write(() => remove.run(key).changes > 0),
    clear: async () => {
      await write(() => db.exec('DELETE FROM documents'));
    },
    on: () => adapter,
  };
  return adapter;
}

/** The table is its own index, so nothing needs to be noted. */
function createTableIndex({ db, readPage }: SqliteFile): DocumentIndex {
  const page = db.prepare('SELECT key FROM documents WHERE key > ? AND key < ? ORDER BY key LIMIT 500');
  return {
    add: async () => {},
    remove: async () => {},
    names: async (collection) => {
      const prefix = `document:${collection}/`;
      const keys: string[] = [];
      for (let isAll = false; !isAll; ) {
        const from = keys.at(-1) ?? prefix;
        const rows = await readPage(() => page.all(from, `document:${collection}0`));
        keys.push(...rows.map(({ key }) => String(key)));
        isAll = rows.length === 0;
      }
      return keys.map((key) => key.slice(prefix.length));
    },
  };
}

/** Creates the versions in the table `versions`. */
export function createSqliteVersions({ db, read, write }: SqliteFile): VersionTable {
  const all = db.prepare('SELECT name, version FROM versions');
  const put = db.prepare(
    'INSERT INTO versions (name, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
  );
  return {
    read: () =>
      read(() => Object.fromEntries(all.all().map(({ name, version }) => [String(name), String(version)]))),
    write: async (name, version) => {
      await write(() => put.run(name, version));
    },
  };
}

export function createSqliteRegisters(file: SqliteFile, versions: Versions): Registers {
  const registers = createTextTable(file, { table: 'registers', name: 'name', text: 'value' });
  return {
    read: async (name) => (await registers.read(name))?.text ?? null,
    compareAndSet: async (name, expected, next) => {
      const stamp = expected === null ? NO_TEXT_STAMP : computeStamp(expected);
      const written = await registers.compareAndSet(name, stamp, next);
      if (written) await versions.changed(name);
      return written;
    },
    version: async (name) => (await versions.current(name)).version,
  };
}

/** The number of removals that are forgotten at once. */
const FORGOTTEN_MAX = 500;

const OLD_REMOVALS = 'SELECT id, version FROM list_records WHERE removed_at <= ? ORDER BY removed_at LIMIT ?';

/** Creates the shared lists in the table `list_records`. A removed record stays for a while without its text. */
export function createSqliteListLog({ db, clock, readPage, write }: SqliteFile): ListLog {
  const head = db.prepare('SELECT latest, horizon, epoch FROM list_head');
  const begin = db.prepare(
    'INSERT INTO list_head (only, latest, horizon, epoch) VALUES (1, 0, 0, ?) ON CONFLICT DO NOTHING',
  );
  const advance = db.prepare('UPDATE list_head SET latest = latest + 1');
  const record = db.prepare('SELECT version, text FROM list_records WHERE id = ?');
  const put = db.prepare(
    'INSERT INTO list_records (id, version, text, removed_at) VALUES (?, (SELECT latest FROM list_head), ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, text = excluded.text, removed_at = excluded.removed_at',
  );
  const changed = db.prepare(
    'SELECT id, version, text FROM list_records WHERE version > ? ORDER BY version LIMIT ?',
  );
  const raiseHorizon = db.prepare(
    `UPDATE list_head SET horizon = max(horizon, coalesce((SELECT max(version) FROM (${OLD_REMOVALS})), 0))`,
  );
  const forget = db.prepare(`DELETE FROM list_records WHERE id IN (SELECT id FROM (${OLD_REMOVALS}))`);
  const change = ({ id, text, expected }: ListChange, now: number): boolean => {
    const row = record.get(id);
    const isThere = row !== undefined && row['text'] !== null;
    if (expected !== undefined && !(isThere && row['version'] === expected)) return false;
    if (text === null && !isThere) return false;
    advance.run();
    put.run(id, text, text === null ? now : null);
    return true;
  };
  return {
    write: (changes, unless) =>
      write(() => {
        const now = clock();
        if (unless !== undefined) {
          const { since, idsBegin, textsBegin } = unless;
          const isOther = ({ id, text }: Record<string, unknown>) =>
            String(id).startsWith(idsBegin) && text !== null && !String(text).startsWith(textsBegin);
          if (changed.iterate(since, -1).some(isOther)) return null;
        }
        begin.run(randomUUID());
        const made = changes.map((one) => change(one, now));
        raiseHorizon.run(now - LIST_REMOVAL_KEPT_MS, FORGOTTEN_MAX);
        forget.run(now - LIST_REMOVAL_KEPT_MS, FORGOTTEN_MAX);
        return made;
      }),
    read: (after, limit) =>
      readPage(() => {
        const { latest = 0, horizon = 0, epoch } = head.get() ?? {};
        const records = changed.all(after, limit).map(({ id, version, text }) => ({
          id: String(id),
          version: Number(version),
          text: toTextOrNull(text),
        }));
        return { records, latest: Number(latest), horizon: Number(horizon), epoch: toTextOrNull(epoch) };
      }),
  };
}

/**
 * Creates the audit in the table `audit`, with the rows that refer to payers beside it. `traces` removes such rows
 * also from the log of writes.
 */
export function createSqliteAuditRows(
  { db, read, readPage, write }: SqliteFile,
  traces: Pick<ErasureTraces, 'write'>,
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
      read(() => {
        const row = end.get();
        return row === undefined ? null : { number: Number(row['seq']), hash: String(row['hash']) };
      }),
    add: ({ number, previous, hash, body, payer }) =>
      write(() => {
        if (Number(end.get()?.['seq'] ?? 0) >= number) return false;
        add.run(number, previous, hash, body);
        if (payer !== null) addPayer.run(number, payer.clientHash, payer.text);
        return true;
      }),
    read: (after, limit) =>
      readPage(() =>
        page.all(after, limit).map(({ number, previous, hash, body, client, text }) => ({
          number: Number(number),
          previous: String(previous),
          hash: String(hash),
          body: String(body),
          payer: client === null ? null : { clientHash: String(client), text: String(text) },
        })),
      ),
    about: (clientHash) => read(() => about.all(clientHash).map(({ number }) => Number(number))),
    forgetPayer: async (clientHash, numbers) => {
      if (numbers.length === 0) return;
      await traces.write(() => numbers.forEach((number) => void forget.run(clientHash, number)));
    },
    drop: async (through) => {
      await write(() => drop.run(through));
    },
  };
}

/** Creates the tallies in the table `tallies`. */
export function createSqliteTallies({ db, clock, read, write }: SqliteFile): Tallies {
  const all = db.prepare('SELECT field, count FROM tallies WHERE tally = ?');
  const one = db.prepare('SELECT count FROM tallies WHERE tally = ? AND field = ?');
  const add = db.prepare(
    'INSERT INTO tallies (tally, field, count, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count, expires_at = excluded.expires_at',
  );
  const keep = db.prepare('UPDATE tallies SET expires_at = ? WHERE tally = ? AND expires_at < ?');
  return {
    add: (tally, { writer, number, counts }) =>
      write(() => {
        // The end is rounded up to a day, which is exact enough, so that unchanged fields need not be written each
        // time.
        const end = Math.ceil(clock() / DAY_MS) * DAY_MS + RETENTION.tallyMs;
        const last = Number(one.get(tally, formatWriterField(writer))?.['count'] ?? 0);
        if (last >= number) return;
        const added = { ...counts, [formatWriterField(writer)]: number - last };
        for (const [field, count] of Object.entries(added)) add.run(tally, field, count, end);
        keep.run(end, tally, end);
      }),
    read: (tally) =>
      read(() => readTallyCounts(all.all(tally).map(({ field, count }) => [String(field), count] as const))),
  };
}
