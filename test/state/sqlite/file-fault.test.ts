import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { encodeDecision } from '#decision/decision-record.ts';
import { findDatabaseFileFault } from '#state/sqlite/file-fault.ts';
import { JournalIndexWriter } from '#state/sqlite/journal-index.ts';
import { JournalTable } from '#state/sqlite/journal-table.ts';
import { getDbPath, openSqliteFile } from '#state/sqlite/open-file.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { decisionFor, newClient, T0 } from '../clients.ts';

describe('the check of a SQLite file', () => {
  let dataDir: string;
  let db: DatabaseSync;
  let table: JournalTable;

  /** Ten decisions, of which eight are indexed, after an entry of a payer without an order. */
  beforeEach(async () => {
    dataDir = temporaryDirectory();
    db = openSqliteFile(getDbPath(dataDir), dataDir, { id: 'installation', salt: TEST_SALT });
    table = new JournalTable(db);
    const sizes = { batchEntries: 9, stepEntries: 100, stepKeys: 100 };
    const indexing = new JournalIndexWriter(table, async (work) => work(), sizes);
    table.append(T0, newClient().hash, 'b[]');
    for (let number = 1; number <= 10; number++) {
      const client = newClient();
      const decision = decisionFor(client, 1, `order-${number}`);
      table.appendDecision(T0, decision, client.hash, encodeDecision(decision), null);
    }
    await indexing.read();
    indexing.write();
    expect(table.progress().indexed).to.equal(9);
  });
  afterEach(() => {
    if (db.isOpen) db.close();
  });

  it('finds nothing in a whole file, also after a part of it was indexed, erased or forgotten', () => {
    expect(findDatabaseFileFault(dataDir)).to.equal(null);
    const [{ client } = {}] = table.entriesAfter(3, 1);
    table.append(T0, null, 'e[]');
    table.erase(String(client));
    table.forgetShipped(2, { journalEntries: 0, decisionsHotMs: 0 });
    table.removeOld(T0);
    expect(findDatabaseFileFault(dataDir)).to.equal(null);
  });

  it('finds an entry to which the index of the journal does not lead, by its payer or its order', () => {
    const remove = db.prepare('DELETE FROM journal_index WHERE position = ? AND key = ?');
    const keys = db.prepare('SELECT key FROM journal_index WHERE position = 5').all();
    expect(keys).to.have.length(2);
    for (const { key } of keys) {
      remove.run(5, Number(key));
      expect(findDatabaseFileFault(dataDir)).to.equal(
        'the index of the journal does not lead to the entry at position 5',
      );
      db.prepare('INSERT INTO journal_index (partition, key, position) VALUES (0, ?, 5)').run(Number(key));
      expect(findDatabaseFileFault(dataDir)).to.equal(null);
    }
  });

  it('finds an index that is said to reach further than the journal', () => {
    table.noteProgress({ indexed: 12 });
    expect(findDatabaseFileFault(dataDir)).to.equal(
      'the index of the journal is said to reach position 12, but the newest entry has position 11',
    );
  });

  it('finds pages of the index that are damaged', () => {
    const page = Number(
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'journal_index'").get()?.['rootpage'],
    );
    db.close();
    const file = openSync(getDbPath(dataDir), 'r+');
    const bytes = 2048;
    expect(statSync(getDbPath(dataDir)).size).to.be.at.least(page * bytes);
    writeSync(file, Buffer.alloc(bytes, 0xff), 0, bytes, (page - 1) * bytes);
    closeSync(file);
    expect(findDatabaseFileFault(dataDir)).to.match(/malformed|page/);
  });
});
