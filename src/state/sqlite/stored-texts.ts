import type { DatabaseSync } from 'node:sqlite';
import type { FollowedVersions } from '#state/documents.ts';
import { RETENTION } from '#state/retention.ts';
import {
  getCollectionOrRegister,
  type StoredText,
  type StoredTexts,
  TEXT_KINDS,
  type TextKind,
} from '#state/store.ts';
import { toTextOrNull } from '#state/stored-parts.ts';
import { computeHexStamp, createTextTableAccess } from './compare-and-set.ts';
import type { JournalTable } from './journal-table.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** The table of each kind of text, and the prefix of its names in the table. */
const PLACES = {
  client: { table: 'clients', name: 'client', text: 'state', prefix: '' },
  document: { table: 'documents', name: 'key', text: 'value', prefix: 'document:' },
  register: { table: 'registers', name: 'name', text: 'value', prefix: '' },
} as const satisfies Record<TextKind, unknown>;

/** The number of rows that are read at once. That takes some milliseconds, in which no request is served. */
const PAGE_ROWS = 500;

/** Creates the access to the texts in the tables of clients, documents and registers. */
export function createSqliteStoredTexts(
  file: SqliteFileAccess,
  journal: JournalTable,
  versions: FollowedVersions,
): StoredTexts {
  const { db, clock, read, readPage } = file;
  const texts = {
    client: createTextTableAccess(file, PLACES.client),
    document: createTextTableAccess(file, PLACES.document),
    register: createTextTableAccess(file, PLACES.register),
  };
  const page = db.prepare(
    `SELECT client AS name, state AS text FROM clients WHERE client > ? ORDER BY client LIMIT ${PAGE_ROWS}`,
  );
  const keep = db.prepare('UPDATE clients SET expires_at = ? WHERE client = ?');
  return {
    all: () => readAllTexts(db, readPage),
    read: ({ kind, name }) => texts[kind].read(PLACES[kind].prefix + name),
    replace: async (place, stamp, next) => {
      const { kind, name } = place;
      const prolong = () => void keep.run(clock() + RETENTION.stateMs, name);
      const longer = kind === 'client' ? prolong : undefined;
      const replaced = await texts[kind].compareAndSet(PLACES[kind].prefix + name, stamp, next, longer);
      if (replaced) await versions.writeNewVersion(getCollectionOrRegister(place));
      return replaced;
    },
    states: (from) =>
      readPage(() => {
        const rows = page
          .all(from ?? '')
          .map(({ name, text }) => ({ name: String(name), text: String(text) }));
        return { states: rows, next: rows.length < PAGE_ROWS ? null : (rows.at(-1)?.name ?? null) };
      }),
    replaceState: (clientHash, text, next) =>
      texts.client.compareAndSet(clientHash, computeHexStamp(text), next),
    findNewestDecisionNumber: (clientHash) =>
      read(() => {
        const [newest] = journal.decisionsOfClient(clientHash, Number.MAX_SAFE_INTEGER, 1);
        return Number(newest?.['seq'] ?? 0);
      }),
  };
}

async function* readAllTexts(
  db: DatabaseSync,
  readPage: SqliteFileAccess['readPage'],
): AsyncGenerator<StoredText> {
  for (const kind of TEXT_KINDS) {
    const { table, name, text, prefix } = PLACES[kind];
    const page = db.prepare(
      `SELECT ${name} AS name, ${text} AS text FROM ${table} WHERE ${name} > ? ORDER BY ${name} LIMIT ${PAGE_ROWS}`,
    );
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after;
      const rows = await readPage(() => page.all(from));
      for (const row of rows)
        yield { kind, name: String(row['name']).slice(prefix.length), text: String(row['text']) };
      after = rows.length < PAGE_ROWS ? null : toTextOrNull(rows.at(-1)?.['name']);
    }
  }
}
