import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { DAY_MS } from '#base/duration.ts';
import { encodeDecision } from '#decision/decision-record.ts';
import { type ClientKey, toPlatformName } from '#decision/payer/client-key.ts';
import { RETENTION } from '#state/retention.ts';
import { JournalIndexWriter } from '#state/sqlite/journal-index.ts';
import {
  createEntrySearchSql,
  getIndexPartitionOfPosition,
  JournalTable,
} from '#state/sqlite/journal-table.ts';
import { getDbPath, openSqliteFile } from '#state/sqlite/open-file.ts';
import { SEARCH_READS_MAX } from '#state/sqlite/unindexed-entries.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { decisionFor, newClient, T0 } from '../clients.ts';

describe("SQLite's table of the journal", () => {
  let db: DatabaseSync;
  let table: JournalTable;
  beforeEach(() => {
    const directory = temporaryDirectory();
    db = openSqliteFile(getDbPath(directory), directory, { id: 'installation', salt: TEST_SALT });
    table = new JournalTable(db);
  });
  afterEach(() => db.close());

  const readPage = async <T>(work: () => T | Promise<T>) => work();
  const decide = (client: ClientKey, seq: number, orderRef: string, at = T0) => {
    const decision = decisionFor(client, seq, orderRef);
    return table.appendDecision(at, decision, client.hash, encodeDecision(decision), null);
  };
  const positions = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    rows.map(({ position }) => position);
  const ofClient = ({ hash }: ClientKey) =>
    positions(table.decisionsOfClient(hash, Number.MAX_SAFE_INTEGER, 1000));
  const ofOrder = ({ platform }: ClientKey, orderRef: string) =>
    positions(table.decisionsOfOrder(platform, orderRef, 1000));

  it('keeps a decision for 90 days until it is shipped, and from then on only while it is hot', () => {
    const client = newClient();
    const position = decide(client, 1, 'order');
    const next = decide(newClient(), 1, 'order', T0 + 100 * DAY_MS);
    const keptUntil = (untilMs: number) => {
      table.removeOld(untilMs - 1);
      expect(ofClient(client)).to.deep.equal([position]);
    };
    keptUntil(T0 + RETENTION.decisionMs);
    expect(table.forgetShipped(next, { journalEntries: 2, decisionsHotMs: 2 * DAY_MS })).to.equal(false);
    keptUntil(T0 + RETENTION.decisionMs);
    table.forgetShipped(next, { journalEntries: 0, decisionsHotMs: 2 * DAY_MS });
    keptUntil(T0 + 2 * DAY_MS);
    table.removeOld(T0 + 2 * DAY_MS);
    expect(ofClient(client)).to.deep.equal([]);
  });

  it('leaves the entry of a decision that was never shipped without its record', () => {
    const client = newClient();
    decide(client, 1, 'order');
    table.append(T0 + 1, client.hash, 'b[]');
    table.removeOld(T0 + RETENTION.decisionMs);
    expect(ofClient(client)).to.deep.equal([]);
    expect(table.entriesAfter(0, 10).map(({ at, client: of, entry }) => [at, of, entry])).to.deep.equal([
      [T0, null, ''],
      [T0 + 1, client.hash, 'b[]'],
    ]);
  });

  it('looks past a decision that a clock made which was ahead', () => {
    const [early, late] = [newClient(), newClient()];
    const position = decide(early, 1, 'order', T0 + 1000 * DAY_MS);
    decide(late, 1, 'order');
    table.append(T0, null, 'e[]');
    table.removeOld(T0 + RETENTION.decisionMs);
    expect([ofClient(early), ofClient(late)]).to.deep.equal([[position], []]);
  });

  it('gives no position twice, also when nothing is left of the newest entry', () => {
    const client = newClient();
    table.append(T0, client.hash, 'b[]');
    const last = table.append(T0, client.hash, 'b[]');
    table.forgetShipped(last, { journalEntries: 0, decisionsHotMs: DAY_MS });
    expect([table.length(), table.entriesAfter(0, 10), table.ofClient(client.hash)]).to.deep.equal([
      0,
      [],
      [],
    ]);
    table.removeEntry(last);
    expect(table.append(T0, null, 'e[]')).to.equal(last + 1);
    table.removeOld(T0);
    expect(db.prepare('SELECT count(*) AS rows FROM journal').get()).to.deep.include({ rows: 1 });
  });

  it('pushes out the oldest of too many entries, and keeps their decisions', () => {
    const client = newClient();
    const position = decide(client, 1, 'order', T0 + 5);
    table.append(T0, client.hash, 'b[]');
    const last = table.append(T0 + 9, client.hash, 'b[]');
    expect(table.pushOut(3)).to.equal(null);
    expect(table.pushOut(1)).to.deep.equal({ entries: 2, from: T0, to: T0 + 5, position: last - 1 });
    expect(table.entriesAfter(0, 10).map((row) => row['position'])).to.deep.equal([last]);
    expect(ofClient(client)).to.deep.equal([position]);
  });

  it('finds what it holds by payer and order, whatever of it is indexed, erased, rolled back or written by others', async () => {
    const clients = ['a', 'b', 'c'].map(() => newClient(toPlatformName('shop')));
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('decide'), of: fc.nat(2), order: fc.nat(3) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('append'), of: fc.nat(2), order: fc.constant(0) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('rollBack'), of: fc.nat(2), order: fc.nat(3) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('search'), of: fc.nat(2), order: fc.nat(3) }),
      },
      { weight: 1, arbitrary: fc.constant({ kind: 'takeTurns', of: 0, order: 0 }) },
      { weight: 4, arbitrary: fc.constant({ kind: 'index', of: 0, order: 0 }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('erase'), of: fc.nat(2), order: fc.constant(0) }),
      },
    );
    // The first positions lie before the end of a partition, the others behind it.
    const start = 2 ** 18 - 10;
    const played = async (steps: readonly { kind: string; of: number; order: number }[]) => {
      db.exec('DELETE FROM journal; DELETE FROM journal_index; DELETE FROM journal_progress');
      db.prepare("INSERT INTO journal (position, at, entry) VALUES (?, 0, '')").run(start);
      table.noteProgress({ indexed: start });
      const sizes = { batchEntries: 6, stepEntries: 2, stepKeys: 2 };
      const openProcess = () => {
        const own = new JournalTable(db);
        return { own, indexing: new JournalIndexWriter(own, readPage, sizes) };
      };
      let [present, other] = [openProcess(), openProcess()];
      table = present.own;
      let held: { of: number; order: number | null; position: number }[] = [];
      const does: Readonly<
        Record<string, (client: ClientKey, of: number, order: number, seq: number) => unknown>
      > = {
        decide: (client, of, order, seq) =>
          held.push({ of, order, position: decide(client, seq, `order-${order}`) }),
        append: (client, of) =>
          held.push({ of, order: null, position: table.append(T0, client.hash, 'b[]') }),
        rollBack: (client, _of, order, seq) => {
          db.exec('BEGIN');
          decide(client, seq, `order-${order}`);
          ofClient(client);
          db.exec('ROLLBACK');
        },
        search: (client, _of, order) => [ofClient(client), ofOrder(client, `order-${order}`)],
        takeTurns: () => {
          [present, other] = [other, present];
          table = present.own;
        },
        index: async () => {
          await present.indexing.read();
          present.indexing.write();
        },
        erase: (client, of) => {
          table.append(T0, null, 'e[]');
          table.erase(client.hash);
          held = held.filter((one) => one.of !== of);
        },
      };
      for (const [place, { kind, of, order }] of steps.entries())
        await does[kind]?.(clients[of] ?? expect.fail(), of, order, place + 1);
      return held.toReversed();
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const newestFirst = await played(steps);
        for (const [of, client] of clients.entries()) {
          const own = newestFirst.filter((one) => one.of === of);
          expect(ofClient(client)).to.deep.equal(positions(own.filter((one) => one.order !== null)));
          expect(positions(table.ofClient(client.hash))).to.have.members(positions(own));
        }
        for (const order of [0, 1, 2, 3]) {
          const asked = newestFirst.filter((one) => one.order === order);
          expect(ofOrder(clients[0] ?? expect.fail(), `order-${order}`)).to.deep.equal(positions(asked));
        }
        const indexed = db.prepare('SELECT position FROM journal_index').all();
        expect(positions(newestFirst)).to.include.members(positions(indexed));
      }),
    );
  });

  it('reads each new entry once for all searches, some at a time, and none within a transaction', () => {
    const client = newClient();
    for (let seq = 1; seq <= 2 * SEARCH_READS_MAX + 1; seq++) decide(client, seq, `order-${seq}`);
    const readAfter = (search: () => unknown) => {
      search();
      return table.unindexedEntries.readThrough;
    };
    db.exec('BEGIN');
    expect(readAfter(() => ofClient(client))).to.equal(0);
    db.exec('ROLLBACK');
    expect(readAfter(() => ofClient(client))).to.equal(SEARCH_READS_MAX);
    expect(readAfter(() => ofOrder(client, 'none'))).to.equal(2 * SEARCH_READS_MAX);
    expect(readAfter(() => ofClient(newClient()))).to.equal(2 * SEARCH_READS_MAX + 1);
    expect(ofClient(client)).to.have.length(2 * SEARCH_READS_MAX + 1);
  });

  for (const column of ['client', 'order_name'] as const)
    it(`searches by ${column} without a look through entries that were read`, () => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${createEntrySearchSql(column)}`).all(0, '[]', 0, '');
      const ways = plan.map(({ detail }) => String(detail)).filter((detail) => detail.includes(' journal'));
      expect(ways).to.deep.equal([
        // The last and the first partition.
        'SEARCH journal_index USING PRIMARY KEY',
        'SEARCH journal_index USING PRIMARY KEY',
        'SEARCH journal_index USING PRIMARY KEY (partition=? AND key=?)',
        'SEARCH journal USING INTEGER PRIMARY KEY (rowid>?)',
        'SEARCH journal USING INTEGER PRIMARY KEY (rowid=?)',
      ]);
    });

  it('removes the index of partitions that hold nothing any more', async () => {
    const client = newClient();
    db.prepare("INSERT INTO journal (position, at, entry) VALUES (?, 0, '')").run(2 ** 18 - 5);
    table.noteProgress({ indexed: 2 ** 18 - 5, forgotten: 2 ** 18 - 6 });
    const indexing = new JournalIndexWriter(table, readPage, {
      batchEntries: 8,
      stepEntries: 100,
      stepKeys: 100,
    });
    for (let seq = 1; seq <= 8; seq++) decide(client, seq, `order-${seq}`, T0 + seq);
    await indexing.read();
    indexing.write();
    const partitions = () =>
      db
        .prepare('SELECT DISTINCT partition FROM journal_index ORDER BY partition')
        .all()
        .map((row) => row['partition']);
    table.removeOldIndex();
    expect(partitions()).to.deep.equal([0, 1]);
    table.forgetShipped(table.newest(), { journalEntries: 0, decisionsHotMs: DAY_MS });
    table.removeOld(T0 + 5 + DAY_MS);
    table.removeOldIndex();
    expect(partitions()).to.deep.equal([1]);
    expect(getIndexPartitionOfPosition(2 ** 18)).to.equal(1);
    expect(ofClient(client)).to.have.length(3);
  });
});
