import { randomUUID } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { type ClientKey, toPlatformName } from '#decision/payer/client-key.ts';
import { createPseudonymizer } from '#decision/pseudonym.ts';
import { RETENTION } from '#state/retention.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { usableMsSince, watchStandstills } from '../../servers/standstill.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { scoringService } from '../../service/scoring-service.ts';
import { askFor, MINUTE_MS, newClient, newPlatform, T0, verdict, verdictOn, withAnswer } from '../clients.ts';
import { describeStore } from '../store-conformance.ts';

describeStore('SQLite', async () => {
  const directory = temporaryDirectory();
  const store = openSqliteStore(directory, { salt: TEST_SALT });
  return {
    store,
    dump: async () => dump(directory),
    spoil: async (client, text) => {
      const db = new DatabaseSync(join(directory, 'scoring.sqlite'));
      db.prepare('UPDATE clients SET state = ? WHERE client = ?').run(text, client.hash);
      db.close();
    },
    end: () => store.close(),
  };
});

describe('the SQLite store', () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });
  const opened = (options = {}) => openSqliteStore(directory, { salt: TEST_SALT, ...options });
  const file = (options = {}) => new DatabaseSync(join(directory, 'scoring.sqlite'), options);

  it('takes every step once over two handles on one file', async () => {
    const handles = [opened(), opened()];
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

  it('answers within 300 ms while another process holds the file, and goes on at once afterwards', async () => {
    const store = opened();
    const client = newClient();
    await verdict(store, client, 'order-0');
    const other = file();
    other.exec('BEGIN IMMEDIATE');
    watchStandstills();
    const waits = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await delay(index * 3);
        const started = performance.now();
        const failure = await verdict(store, newClient(), 'order').catch((error: unknown) => error);
        expect(String(failure)).to.equal(
          'StoreUnavailable: the SQLite file has been locked for 200 ms, by a command, another program or the shipper of this service',
        );
        return usableMsSince(started);
      }),
    );
    expect(Math.max(...waits)).to.be.below(300);
    expect((await store.load(client)).state.seq).to.equal(1);
    expect((await store.check())[0]?.failure).to.equal('database is locked');
    await Promise.all([verdict(store, client, 'order-1'), delay(50).then(() => other.exec('COMMIT'))]);
    expect((await store.load(client)).state.seq).to.equal(2);
    other.close();
    await store.close();
  });

  it('reports in its health that nothing can be written', async () => {
    const store = opened();
    const other = file();
    other.exec('DROP TABLE registers');
    expect((await store.check())[0]?.failure).to.equal('no such table: registers');
    other.close();
    await store.close();
  });

  it('leaves no byte of an erased client in any of its files', async () => {
    const store = opened();
    const [client, other] = [newClient(), newClient()];
    for (const each of [client, other]) {
      for (let count = 0; count < 30; count++) {
        const change = verdictOn(each, await store.load(each), `order-${count}-of-${each.clientIdKey}`);
        await store.claimIdempotencyKey(each.platform, `key-${count}-of-${each.clientIdKey}`, 'hash');
        await store.commit(withAnswer(change, `key-${count}-of-${each.clientIdKey}`));
      }
    }
    const held = (...texts: readonly string[]) => texts.map((text) => filesHold(directory, text));
    expect(held(client.clientIdKey, client.hash)).to.deep.equal([true, true]);
    await store.erase(client);
    expect(held(client.clientIdKey, client.hash, other.clientIdKey)).to.deep.equal([false, false, true]);
    await store.close();
  });

  it('leaves no byte of what the audit told of an erased client in any of its files', async () => {
    const store = opened();
    const { hash, clientIdKey } = newClient();
    const payer = { clientHash: hash, detail: { subject: clientIdKey } };
    for (let entry = 0; entry < 30; entry++) await store.auditLog.append({ at: T0, entry, payer });
    const held = () => [hash, clientIdKey].map((text) => filesHold(directory, text));
    expect(held()).to.deep.equal([true, true]);
    await store.auditLog.forget(hash, { at: T0, entry: 'erased' }, true);
    expect(held()).to.deep.equal([false, false]);
    await store.close();
  });

  describe('while another process reads', () => {
    let store: Store;
    let reader: DatabaseSync;
    let client: ClientKey;
    const held = () => filesHold(directory, client.clientIdKey);
    beforeEach('erases a client', async () => {
      store = opened();
      client = newClient();
      await verdict(store, client, 'order');
      reader = file();
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM clients').get();
      await store.erase(client);
    });
    afterEach(() => reader.close());

    it('says that traces of an erased client are left, until they are not', async () => {
      expect(held()).to.equal(true);
      expect(await store.tracesOfErased()).to.equal(
        'The payer is erased, but the write-ahead log of SQLite still holds bytes of it, because another process is reading the file. They are removed when that process has finished; the service tries four times a second, and again after a restart.',
      );
      reader.exec('COMMIT');
      await until('nothing is left', async () => (await store.tracesOfErased()) === null);
      expect(held()).to.equal(false);
      await store.close();
    });

    it('leaves the traces of an erased client to the next start', async () => {
      await store.close();
      expect(held()).to.equal(true);
      reader.exec('COMMIT');
      const next = opened();
      await until('nothing is left', async () => (await next.tracesOfErased()) === null);
      expect(held()).to.equal(false);
      await next.close();
    });
  });

  it('warns of a clock that was set, and deletes nothing by it for ten minutes', async () => {
    let [passedMs, setMs, looks] = [0, 0, 0];
    const clock = () => {
      looks++;
      return T0 + passedMs + setMs;
    };
    const store = opened({ clock, monotonicMs: () => passedMs });
    await store.claimIdempotencyKey(newPlatform(), 'key', 'hash');
    const db = file();
    const claims = () => db.prepare('SELECT count(*) AS kept FROM claims').get()?.['kept'];
    setMs += 2 * 24 * 60 * MINUTE_MS;
    const [health] = await store.check();
    expect([health?.warnings, store.clockOffsetMs()]).to.deep.equal([
      [
        {
          kind: 'clock',
          text: 'The clock of this machine, which decides, was set ahead by 172800.0 s, or the machine was suspended. Nothing is deleted by time for 10 minutes. Check that it is right, and set it by NTP.',
        },
      ],
      setMs,
    ]);
    const before = looks;
    await until('retention has looked', async () => looks > before + 6);
    expect(claims()).to.equal(1);
    passedMs += 10 * MINUTE_MS;
    await until('what is old is gone', async () => claims() === 0);
    expect((await store.check())[0]?.warnings).to.deep.equal([]);
    db.close();
    await store.close();
  });

  it('does not count a device that a clock saw which was days ahead', async () => {
    const store = opened();
    const platform = newPlatform();
    const ask = (at: number, record: boolean) =>
      store.sightings(askFor(newClient(platform), { at, fingerprint: 'device', record }));
    for (let count = 0; count < 5; count++) await ask(T0 + 2 * 24 * 60 * MINUTE_MS, true);
    expect((await ask(T0, false)).fingerprint.get(10 * MINUTE_MS)?.clients).to.equal(1);
    await store.close();
  });

  it('keeps the owner of an Idempotency-Key for longer than its answer, however late that is given', async () => {
    const dayMs = 24 * 60 * MINUTE_MS;
    let now = T0;
    const store = opened({ clock: () => now });
    const client = newClient();
    const { platform } = client;
    const isAnswered = async () => (await store.load(client, { idempotencyKey: 'key' })).answer !== null;
    await store.claimIdempotencyKey(platform, 'key', 'first');
    now += dayMs - MINUTE_MS;
    await store.claimIdempotencyKey(platform, 'key', 'first');
    await store.commit(withAnswer(verdictOn(client, await store.load(client), 'order'), 'key'));
    now += dayMs - 1;
    expect(await isAnswered()).to.equal(true);
    expect(await store.claimIdempotencyKey(platform, 'key', 'second')).to.equal('first');
    now += 2 * MINUTE_MS;
    expect(await isAnswered()).to.equal(false);
    expect(await store.claimIdempotencyKey(platform, 'key', 'second')).to.equal('second');
    await store.close();
  });

  it('forgets a state when its retention is over, also before a sweep removes its row', async () => {
    let now = T0;
    const store = opened({ clock: () => now });
    const client = newClient();
    const { at } = await verdict(store, client, 'order');
    const asked = async () => (await store.load(client)).state.lastVerdictAt;
    now += RETENTION.stateMs - 1;
    expect(await asked()).to.equal(at);
    now += 1;
    expect(await asked()).to.equal(null);
    await store.close();
  });

  it('removes rows past their retention, far more than 200 a second', async () => {
    const day = 24 * 60 * MINUTE_MS;
    let aheadMs = -500 * day;
    const store = opened({ clock: () => Date.now() + aheadMs });
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 500 }, () => verdict(store, newClient(), 'order')));
    }
    await store.sightings(askFor(newClient(), { fingerprint: 'device', record: true }));
    await store.tallies.add('trial', { writer: 'a', number: 1, counts: { seen: 1 } });
    await store.close();
    aheadMs = 0;
    const later = opened();
    const reader = file({ readOnly: true });
    const left = () =>
      ['journal WHERE seq IS NOT NULL', 'clients', 'sightings', 'tallies'].map((table) =>
        Number(reader.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']),
      );
    expect(left()).to.deep.equal([10_000, 10_000, 1, 2]);
    // At 200 rows a second it would take 50 s.
    await until('all of it is gone', async () => left().every((rows) => rows === 0), 25_000);
    expect((await later.check())[0]?.failure).to.equal(null);
    reader.close();
    await later.close();
  });

  it('frees disk space that is no longer needed', async () => {
    const path = join(directory, 'scoring.sqlite');
    const store = opened();
    const filler = new DatabaseSync(path);
    filler.exec(`
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
      INSERT INTO documents (key, value, expires_at) SELECT 'document:x/' || i, hex(randomblob(4000)), 1 FROM n`);
    filler.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const fullBytes = statSync(path).size;
    expect(fullBytes).to.be.above(40 * 1024 * 1024);
    const pages = () => Number(filler.prepare('PRAGMA page_count').get()?.['page_count']);
    await until('the file shrinks', async () => pages() * 2048 < fullBytes / 4, 30_000);
    filler.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(statSync(path).size).to.be.below(fullBytes / 4);
    filler.close();
    await store.close();
  });

  it('keeps its files and its folder for their owner alone', async () => {
    const folder = join(directory, 'made', 'here');
    const store = openSqliteStore(folder, { salt: TEST_SALT });
    await verdict(store, newClient(), 'order');
    const files = readdirSync(folder);
    expect(files.toSorted()).to.deep.equal(['scoring.sqlite', 'scoring.sqlite-shm', 'scoring.sqlite-wal']);
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777, file).to.equal(0o600);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    await store.close();
    chmodSync(join(folder, 'scoring.sqlite'), 0o644);
    await openSqliteStore(folder, { salt: TEST_SALT }).close();
    expect(statSync(join(folder, 'scoring.sqlite')).mode & 0o777).to.equal(0o600);
  });

  it('remembers everything when it is opened again', async () => {
    const client = newClient();
    const before = opened();
    const decision = await verdict(before, client, 'order-1');
    await before.documents.set('keys', 'a', { id: 'a' });
    const { cursor } = await before.readJournal(null, 10);
    await before.close();

    const after = opened();
    expect((await after.load(client)).state.seq).to.equal(1);
    expect(await after.decision(decision.decisionId)).to.deep.equal(decision);
    expect(await after.documents.get('keys', 'a')).to.deep.equal({ id: 'a' });
    expect(await after.readJournal(cursor, 10)).to.deep.equal({ entries: [], cursor, gap: null });
    await after.close();
  });

  it('keeps its log short under steady writing, and loses nothing of it when it is closed', async function () {
    // 2,500 syncs one after the other, on a disk that may take 50 ms for each.
    this.timeout(300_000);
    const store = opened();
    const client = newClient();
    let largest = 0;
    for (let seq = 1; seq <= 2500; seq++) {
      await verdict(store, client, `order-${seq % 7}`);
      largest = Math.max(largest, statSync(join(directory, 'scoring.sqlite-wal')).size);
    }
    await store.close();
    expect(largest).to.be.within(1, 40 * 1024 * 1024);

    const after = opened();
    expect((await after.load(client)).state.seq).to.equal(2500);
    await after.close();
  });
});

const PAYERS = 12_000;

/** Verdicts in one transaction, as a busy service has them. */
const AT_ONCE = 32;

const MEASURED = 640;

describe('the SQLite log of a verdict', () => {
  const dataDir = temporaryDirectory();
  const store = openSqliteStore(dataDir, { salt: TEST_SALT });
  const file = new DatabaseSync(join(dataDir, 'scoring.sqlite'), { timeout: 5000 });
  const pseudonym = createPseudonymizer('a secret that only this test knows');
  const service = scoringService(store, Date.now, { pseudonym });
  const known = Array.from({ length: PAYERS }, () => randomUUID());

  before(() => ask(known, 500));

  after(async () => {
    file.close();
    await store.close();
  });

  it('grows by at most 4 kB for a new payer', async () => {
    expect(await bytesEach(Array.from({ length: MEASURED }, () => randomUUID()))).to.be.within(1500, 4000);
  });

  it('grows by at most 4 kB for a known payer', async () => {
    const apart = known.filter((_, place) => place % Math.floor(PAYERS / MEASURED) === 0).slice(0, MEASURED);
    // Payers who came one after the other lie on one page.
    const shuffled = apart.map((_, place) => apart[(place * 7919) % MEASURED] ?? '');
    expect(await bytesEach(shuffled)).to.be.within(1500, 4000);
  });

  async function ask(payers: readonly string[], atOnce: number): Promise<void> {
    for (let done = 0; done < payers.length; done += atOnce)
      await Promise.all(payers.slice(done, done + atOnce).map(askOnce));
  }

  function askOnce(clientIdKey: string): Promise<unknown> {
    const body = { sellPointKey: 'shop-1', clientIdKey, method: 'card', amountRequested: '25.00' };
    const request = { requestId: randomUUID(), idempotencyKey: null };
    return service.verdict(toPlatformName('demo'), { ...body, orderRef: randomUUID() }, request);
  }

  async function bytesEach(payers: readonly string[]): Promise<number> {
    // The log grows with each page, and these are too few for SQLite to restart it.
    file.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    await ask(payers, AT_ONCE);
    return statSync(join(dataDir, 'scoring.sqlite-wal')).size / payers.length;
  }
});

function dump(directory: string): string {
  const db = new DatabaseSync(join(directory, 'scoring.sqlite'), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM "${String(name)}"`).all());
  db.close();
  return JSON.stringify(rows);
}

/** Whether any file of the folder contains a text. */
function filesHold(directory: string, text: string): boolean {
  return readdirSync(directory).some((file) => readFileSync(join(directory, file)).includes(text));
}
