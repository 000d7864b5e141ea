import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { NoAnswerError, PlatformClient, type PlatformEvent } from '#sdk/client.ts';

/**
 * Keeps a SQLite file of your own up to date with all that happened, with each event exactly once:
 *
 *   node_modules/.bin/node scripts/examples/copy-events.ts --key KEY --file events.db
 *
 * The program may be killed at any moment and started again. The key needs the operation `events`. In a project of
 * your own the import is `client-scoring-client`. With PostgreSQL only the placeholders of the statements differ.
 */

const { values } = parseArgs({
  options: {
    'platform-url': { type: 'string', default: 'http://127.0.0.1:8081' },
    key: { type: 'string', default: '' },
    file: { type: 'string', default: 'events.db' },
    /** Whether to end when nothing is new. */
    once: { type: 'boolean', default: false },
  },
});

const PAUSE_MS = 1000;

const db = new DatabaseSync(values.file);
db.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS events (
    id TEXT PRIMARY KEY, type TEXT NOT NULL, subject TEXT, time TEXT NOT NULL, data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS events_subject ON events (subject);
  CREATE TABLE IF NOT EXISTS place (only INTEGER PRIMARY KEY CHECK (only = 1), next TEXT NOT NULL) STRICT;
`);
const known = db.prepare('SELECT 1 FROM events WHERE id = ?');
const putEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');
const forget = db.prepare('DELETE FROM events WHERE subject = ?');
const putPlace = db.prepare(
  'INSERT INTO place VALUES (1, ?) ON CONFLICT (only) DO UPDATE SET next = excluded.next',
);
const readPlace = db.prepare('SELECT next FROM place');

/** Stores an event once, by its id. An erasure deletes the payer's events and is itself kept. */
function take(event: PlatformEvent): void {
  if (known.get(event.id) !== undefined) return;
  const subject = ('subject' in event ? event.subject : null) ?? null;
  db.exec('BEGIN IMMEDIATE');
  if (event.type === 'erasure') forget.run(subject);
  if (event.type === 'erasure' && subject === null)
    console.error(
      `It is no longer known which payer was erased at ${event.time}; delete the copy and make it again`,
    );
  putEvent.run(event.id, event.type, subject, event.time, JSON.stringify(event.data));
  db.exec('COMMIT');
}

async function main(): Promise<void> {
  const platform = new PlatformClient({ baseUrl: values['platform-url'], accessKey: values.key });
  const place = {
    load: () => {
      const next = readPlace.get()?.['next'];
      return typeof next === 'string' ? next : null;
    },
    save: (next: string) => void putPlace.run(next),
  };
  for (;;) {
    try {
      for await (const event of platform.events(place, { follow: !values.once })) take(event);
      return;
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      console.error(`${error.message}; trying again`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

await main();
