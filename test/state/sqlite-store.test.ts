import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openSqliteStore } from '../../src/state/sqlite-store.ts';
import { newClient, verdict } from './clients.ts';
import { describeStore } from './store-conformance.ts';

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
    expect(await after.readJournal(cursor, 10)).to.deep.equal({ entries: [], cursor });
    await after.close();
  });
});

function dump(directory: string): string {
  const db = new DatabaseSync(join(directory, 'scoring.sqlite'), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM "${String(name)}"`).all());
  db.close();
  return JSON.stringify(rows);
}
