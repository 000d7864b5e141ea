import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { decisionFor, MINUTE_MS, newClient, verdict } from '../clients.ts';
import { describeStore } from '../store-conformance.ts';

describeStore('SQLite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'scoring-sqlite-'));
  const store = openSqliteStore(directory);
  return {
    store,
    dump: async () => dump(directory),
    end: async () => {
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
});

describe('the SQLite store', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'scoring-sqlite-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('lets two handles on one file take every step once', async () => {
    const handles = [openSqliteStore(directory), openSqliteStore(directory)];
    const client = newClient();
    const decisions = await Promise.all(
      handles.flatMap((store) =>
        Array.from({ length: 20 }, (_, index) => verdict(store, client, `order-${index}`)),
      ),
    );
    const seqs = decisions.map(({ seq }) => seq).sort((a, b) => a - b);
    expect(seqs).to.deep.equal(Array.from({ length: 40 }, (_, index) => index + 1));
    for (const store of handles) await store.close();
  });

  it('remembers everything when it is opened again', async () => {
    const client = newClient();
    const before = openSqliteStore(directory);
    const decision = await verdict(before, client, 'order-1');
    await before.documents.set('keys', 'a', { id: 'a' });
    const { cursor } = await before.readJournal(null, 10);
    await before.close();

    const after = openSqliteStore(directory);
    expect((await after.load(client)).state.seq).to.equal(1);
    expect(await after.decision(decision.decisionId)).to.deep.equal(decision);
    expect(await after.documents.get('keys', 'a')).to.deep.equal({ id: 'a' });
    expect(await after.readJournal(cursor, 10)).to.deep.equal({ entries: [], cursor, gap: null });
    await after.close();
  });

  it('takes over a file in which decisions still had names, and the journal held verdicts as entries', async () => {
    const client = newClient();
    const decision = decisionFor(client, 1, 'order-1');
    const { platform, at, clientIdKey } = decision;
    const entry = { kind: 'verdict', at, platform, clientIdKey, decision };
    const db = new DatabaseSync(join(directory, 'scoring.sqlite'));
    db.exec(NAMED_DECISIONS);
    db.prepare('INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
      decision.decisionId,
      client.hash,
      1,
      platform,
      'order-1',
      at,
      JSON.stringify(decision),
      Date.now() + MINUTE_MS,
    );
    db.prepare('INSERT INTO journal (client, entry) VALUES (?, ?)').run(client.hash, JSON.stringify(entry));
    db.close();

    const store = openSqliteStore(directory);
    expect(await store.decision(decision.decisionId)).to.deep.equal(decision);
    expect(await store.decisionsOfOrder(platform, 'order-1')).to.deep.equal([decision]);
    expect((await store.readJournal(null, 10)).entries).to.deep.equal([entry]);
    await verdict(store, newClient(platform), 'order-2');
    await store.close();

    const again = openSqliteStore(directory);
    expect((await again.findDecisions(platform, {}, 10)).decisions).to.have.length(2);
    await again.close();
  });

  it('keeps its log short under steady writing, and gives up nothing of it when it is closed', async () => {
    const store = openSqliteStore(directory);
    const client = newClient();
    let largest = 0;
    for (let seq = 1; seq <= 2500; seq++) {
      await verdict(store, client, `order-${seq % 7}`);
      largest = Math.max(largest, statSync(join(directory, 'scoring.sqlite-wal')).size);
    }
    await store.close();
    expect(largest).to.be.within(1, 40 * 1024 * 1024);

    const after = openSqliteStore(directory);
    expect((await after.load(client)).state.seq).to.equal(2500);
    await after.close();
  });
});

/** The two tables as they were made before. */
const NAMED_DECISIONS = `
  CREATE TABLE decisions (
    id TEXT PRIMARY KEY, client TEXT NOT NULL, seq INTEGER NOT NULL, platform TEXT NOT NULL,
    order_ref TEXT NOT NULL, at INTEGER NOT NULL, record TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX decisions_client ON decisions (client, seq);
  CREATE INDEX decisions_order ON decisions (platform, order_ref, at);
  CREATE INDEX decisions_time ON decisions (platform, at);
  CREATE INDEX decisions_expiry ON decisions (expires_at);
  CREATE TABLE journal (
    position INTEGER PRIMARY KEY AUTOINCREMENT, client TEXT NOT NULL, entry TEXT NOT NULL
  ) STRICT;
`;

function dump(directory: string): string {
  const db = new DatabaseSync(join(directory, 'scoring.sqlite'), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM "${String(name)}"`).all());
  db.close();
  return JSON.stringify(rows);
}
