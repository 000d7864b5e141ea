import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import type { Archive } from '#history/archive/archive.ts';
import { backUp } from '#history/archive/backup.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { queryArchive } from '#history/archive/read/query.ts';
import { Bucket } from '#history/archive/s3/bucket.ts';
import { HEAD_REGISTER } from '#history/archive/s3/bucket-home.ts';
import { openArchive, openStoreWithArchivedSalt } from '#history/archive/s3/open-archive.ts';
import { createSnapshotOpener, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { formatUnread } from '#history/archive/unread-decisions.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { formatUnreadSegments } from '#workbench/commands/open-archive.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { BUCKET, type S3Server, s3Environment, s3Place, startS3 } from '../../../servers/s3.ts';
import { type S3Proxy, startS3Proxy } from '../../../servers/s3-proxy.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { newClient, newPlatform, T0, verdict } from '../../../state/clients.ts';
import { scoring } from '../../../workbench/commands/scoring.ts';
import { ArchivedStore } from '../archived-store.ts';

const EVERYTHING = () => true;
const LIMITS = { rowsMax: 100, timeoutMs: 30_000, memoryMiB: 256 };

describe('an archive in S3 of nodes without a shared disk', () => {
  let server: S3Server;
  let proxy: S3Proxy;
  before(async () => {
    server = await startS3();
    proxy = await startS3Proxy(server.port);
  });
  after(async () => {
    await proxy.stop();
    await server.stop();
  });

  let prefix: string;
  let dataDir: string;
  let place: ArchivedStore;
  let bucket: Bucket;
  /** A store without decisions: those found come from the archive. */
  let forgetful: Store;
  let number = 0;
  const platform = newPlatform();

  const nodeOf = (store: Store, cacheBytesMax?: number, archiveDir = temporaryDirectory()): Archive =>
    openArchive({ archiveDir, archiveS3: s3Place(proxy.port, prefix, cacheBytesMax) }, store.registers);
  const lookupOf = (archive: Archive) => new DecisionLookup(forgetful, place.reader(archive));
  const shipped = async (orderRef: string, at = T0): Promise<Decision> => {
    const decision = await verdict(place.store, newClient(platform), orderRef, at);
    await place.shipAll();
    return decision;
  };
  const leftOutOf = (node: Archive) =>
    withSnapshotFiles(createSnapshotOpener(node), EVERYTHING, async ({ leftOut }) =>
      formatUnreadSegments(leftOut),
    );
  const environment = () => ({ DATA_DIR: dataDir, REDIS_URL: '', ...s3Environment(proxy.port, prefix) });
  const command = (...args: readonly string[]) => scoring(['archive', ...args], environment());

  beforeEach(async () => {
    number += 1;
    prefix = `archive-${number}`;
    dataDir = temporaryDirectory();
    bucket = new Bucket(s3Place(server.port, prefix));
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    place = await ArchivedStore.open(store, (folder) => nodeOf(store, undefined, folder));
    forgetful = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
  });
  afterEach(async () => {
    proxy.treat(() => 'pass');
    await forgetful.close();
    await place.close();
  });

  it('gives every node the same answer, each from its own disk', async () => {
    const first = await shipped('order-1');
    const [one, other] = [nodeOf(place.store), nodeOf(place.store)];
    for (const node of [one, other])
      expect(await lookupOf(node).find(platform, {}, 10)).to.deep.include({ decisions: [first] });
    const second = await shipped('order-2', T0 + 1);
    const asked = (node: Archive) =>
      withSnapshotFiles(createSnapshotOpener(node), EVERYTHING, async ({ folder }) => {
        const sql = 'SELECT order_ref FROM decisions ORDER BY 1';
        return (await queryArchive(folder, sql, LIMITS)).answer.rows;
      });
    for (const node of [one, other]) {
      expect((await lookupOf(node).ofOrder(platform, 'order-2')).decisions).to.deep.equal([second]);
      expect(await asked(node)).to.deep.equal([['order-1'], ['order-2']]);
    }
  });

  it('is read by the commands, which name where it is, and backed up into a folder that is an archive', async () => {
    const { decisionId } = await shipped('order-1');
    const status = await command('status', '--json');
    expect([status.exitCode, status.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(status.stdout)).to.deep.include({ folder: `s3://${BUCKET}/${prefix}`, torn: [] });
    expect((await command('query', 'SELECT order_ref FROM orders', '--format', 'csv')).stdout).to.equal(
      'order_ref\norder-1\n',
    );
    expect((await command('verify')).stdout).to.include('1 decision: ');
    const report = await scoring(['rules', 'report', 'p2.v10', '--json'], environment());
    expect([report.exitCode, report.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(report.stdout).decisions).to.equal(1);
    const target = join(temporaryDirectory(), 'backup');
    expect((await command('backup', target)).stdout).to.include('(segments: 1, ');
    expect((await command('backup', target)).stdout).to.include('newly copied: 0');
    expect((await place.reader(target).decision(decisionId, null)).decision?.orderRef).to.equal('order-1');
  });

  it('keeps answering from its cache while S3 is away, and says what is missing', async () => {
    const decision = await shipped('order-1');
    const [warm, cold] = [nodeOf(place.store), nodeOf(place.store)];
    await cold.refresh();
    const [warmLookup, coldLookup] = [lookupOf(warm), lookupOf(cold)];
    expect((await warmLookup.ofOrder(platform, 'order-1')).decisions).to.have.length(1);
    const never = nodeOf(place.store);
    await server.stop();
    try {
      expect((await warmLookup.decision(decision.decisionId, null)).decision).to.deep.equal(decision);
      const unread = [{ from: T0, to: T0, decisions: 1, why: 'away' }];
      expect(await coldLookup.decision(decision.decisionId, null)).to.deep.equal({ decision: null, unread });
      const asked = lookupOf(never).decision(decision.decisionId, null);
      expect(await failureOf(asked)).to.match(/^StoreUnavailable/);
    } finally {
      await server.restart();
    }
    for (const node of [cold, never])
      expect((await lookupOf(node).decision(decision.decisionId, null)).decision).to.deep.equal(decision);
  });

  it('is reported by status when S3 refuses, and shipping continues by itself afterwards', async () => {
    await shipped('order-1');
    proxy.treat(() => ({ status: 503, code: 'SlowDown' }));
    const told = await command('status');
    expect(told.stderr.replace(/log\/\S+/, 'log/NAME')).to.equal(
      `error: s3://${BUCKET}/${prefix}: log/NAME cannot be read: 503 SlowDown; it is tried again\n`,
    );
    expect(told.exitCode).to.equal(3);
    await verdict(place.store, newClient(platform), 'order-2', T0 + 1);
    const shipper = place.shipper();
    expect(await failureOf(shipper.step())).to.include('503 SlowDown; it is tried again');
    proxy.treat(() => 'pass');
    await place.shipAll(shipper);
    expect((await lookupOf(nodeOf(place.store)).find(platform, {}, 10)).decisions).to.have.length(2);
  });

  it('names a file that was cut off in transit, is missing or was changed, shows no part of it, and reads it once it is whole', async () => {
    const { decisionId } = await shipped('order-1');
    const [path = ''] = [...(await bucket.list('decisions/')).keys()].filter((name) =>
      name.endsWith('.parquet'),
    );
    const whole = await bytesOf(bucket, path);
    const node = nodeOf(place.store);
    const unread = [{ from: T0, to: T0, decisions: 1 }];
    const expectUnread = async () => {
      expect(await lookupOf(node).decision(decisionId, null)).to.deep.equal({ decision: null, unread });
      expect(filesIn(node.folder).filter((name) => /parquet|partial/.test(name))).to.deep.equal([]);
    };
    proxy.treat((asked) => (asked.endsWith('.parquet') ? 'cut' : 'pass'));
    await expectUnread();
    proxy.treat(() => 'pass');
    await bucket.remove([path]);
    await expectUnread();
    const status = await command('status');
    expect([status.exitCode, status.stdout.includes(`${path} cannot be read`)]).to.deep.equal([1, true]);
    await bucket.put(path, Buffer.alloc(whole.length - 1));
    await expectUnread();
    await bucket.put(path, whole);
    expect((await lookupOf(node).decision(decisionId, null)).decision?.orderRef).to.equal('order-1');
  });

  it('fetches a file once, however many ask for it at a time', async () => {
    const decision = await shipped('order-1');
    const lookup = lookupOf(nodeOf(place.store));
    const before = proxy.asked.length;
    const asked = await Promise.all(
      Array.from({ length: 5 }, () => lookup.decision(decision.decisionId, null)),
    );
    expect(asked.map(({ decision: found }) => found?.orderRef)).to.deep.equal(Array(5).fill('order-1'));
    const brought = proxy.asked.slice(before).filter((what) => /^GET .*\.parquet$/.test(what));
    expect(brought).to.have.length(1);
  });

  it('keeps its cache within the limit, and drops the least recently used first', async () => {
    for (const day of [0, 1, 2]) await shipped(`order-${day}`, T0 + day * 24 * 3_600_000);
    const segments = [...place.archive.read().segments.values()].toSorted((a, b) => a.from - b.from);
    const [first, second, third] = segments;
    if (first === undefined || second === undefined || third === undefined)
      expect.fail('there are three segments');
    const node = nodeOf(place.store, Math.max(...segments.map(({ bytes }) => bytes)) * 2 + 100);
    await node.refresh();
    const long = new Date(0);
    for (const segment of [first, second]) {
      expect(await node.makeReadable([segment])).to.deep.equal([]);
      utimesSync(node.getSegmentPath(segment), segment === first ? long : new Date(60_000), new Date());
    }
    expect(await node.makeReadable([third])).to.deep.equal([]);
    expect([first, second, third].map((segment) => existsSync(node.getSegmentPath(segment)))).to.deep.equal([
      false,
      true,
      true,
    ]);
  });

  it('says which setting to change when a file does not fit on the disk, and does not call it damaged', async () => {
    const first = await shipped('order-1');
    await shipped('order-2', T0 + 24 * 3_600_000);
    const { segments } = place.archive.read();
    const small = nodeOf(place.store, Math.max(...[...segments.values()].map(({ bytes }) => bytes)));
    const lookup = lookupOf(small);
    const unread = [{ from: T0, to: T0, decisions: 1, why: 'noRoom' as const }];
    expect((await lookup.find(platform, {}, 10)).lookedAt).to.deep.include({ complete: false, unread });
    expect(unread.map(formatUnread)).to.deep.equal([
      '1 decision from 2026-11-01T00:00:00.000Z to 2026-11-01T00:00:00.000Z lies in a file of the archive that does not fit into the cache of this node beside other requests: raise ARCHIVE_CACHE_MAX, or ask about less',
    ]);
    expect(await leftOutOf(small)).to.deep.equal([
      '1 row in 1 file left out: they do not fit into ARCHIVE_CACHE_MAX together; raise it, or ask about less.',
    ]);
    expect((await lookup.ofOrder(platform, 'order-1')).decisions).to.deep.equal([first]);
  });

  it('distinguishes a file that could not be fetched from a damaged one', async () => {
    await shipped('order-1');
    const node = nodeOf(place.store);
    await node.refresh();
    proxy.treat((asked) => (asked.endsWith('.parquet') ? { status: 503, code: 'SlowDown' } : 'pass'));
    expect(await leftOutOf(node)).to.deep.equal([
      '1 row in 1 file left out: the S3 store did not deliver them; ask again.',
    ]);
    expect(await failureOf(backUp(node, join(temporaryDirectory(), 'backup')))).to.equal(
      'StoreUnavailable: a file of the archive cannot be fetched now from where the archive is kept',
    );
  });

  it('removes an erased client from the disk of every node', async () => {
    const client = newClient(platform);
    await verdict(place.store, client, 'order-1', T0);
    await place.shipAll();
    const node = nodeOf(place.store);
    expect((await lookupOf(node).ofClient(client, 10)).decisions).to.have.length(1);
    expect(filesIn(node.folder).filter((name) => name.endsWith('.parquet'))).to.have.length(1);
    await place.store.erase(client);
    await place.shipAll();
    await node.refresh();
    expect(
      filesIn(node.folder).filter((name) => name.startsWith('decisions') && name.endsWith('.parquet')),
    ).to.deep.equal([]);
    expect([...(await bucket.list('decisions/'))]).to.deep.equal([]);
  });

  it('completes the commit of a writer that was killed before the register was changed', async () => {
    await shipped('order-1');
    await verdict(place.store, newClient(platform), 'order-2', T0 + 1);
    const { registers } = place.store;
    const killed: typeof registers = {
      ...registers,
      compareAndSet: async (name, before, next) => {
        if (name === HEAD_REGISTER && next?.startsWith('000000000004')) throw new Error('killed');
        return registers.compareAndSet(name, before, next);
      },
    };
    const ownDisk = { archiveDir: temporaryDirectory(), archiveS3: s3Place(proxy.port, prefix) };
    const shipper = place.shipper({ archive: openArchive(ownDisk, killed) });
    expect(await failureOf(shipper.step())).to.equal('Error: killed');
    await place.shipAll(place.shipper({ archive: nodeOf(place.store) }));
    const found = await lookupOf(nodeOf(place.store)).find(platform, {}, 10);
    expect(found.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['order-2', 'order-1']);
  });

  it('is read from a snapshot and the few commits after it, by a new node and by one that was away for long', async () => {
    await shipped('order-1');
    const away = nodeOf(place.store);
    await away.refresh();
    const nothing = { by: 'test', at: T0, add: [], remove: [] };
    for (let count = 0; count < 90; count += 1)
      await place.archive.commit(await place.archive.refresh(), nothing);
    const { version, segments } = place.archive.read();
    const logOf = ({ folder }: Archive) => filesIn(join(folder, 'log'));
    for (const node of [away, nodeOf(place.store)]) {
      expect(await node.refresh()).to.deep.include({ version, segments });
      expect(logOf(node).length).to.be.below(20);
    }
    expect([...(await bucket.list('log/')).keys()].length).to.be.below(90);
    const restarted = nodeOf(place.store, undefined, away.folder);
    expect(restarted.read(), 'before it asks anybody').to.deep.include({ version, segments });
  });

  it('gets its salt back from its own store when the object is lost', async () => {
    await shipped('order-1');
    await bucket.remove(['client-salt']);
    await place.shipper({ archive: nodeOf(place.store) }).step();
    expect((await bucket.text('client-salt'))?.trim()).to.equal(TEST_SALT);
  });

  it('drops what a killed writer had put before its commit', async () => {
    await shipped('order-1');
    await bucket.put('decisions/platform=shop/day=2026-11-21/never-committed.parquet', Buffer.from('rows'));
    await place.shipAll(place.shipper());
    const left = [...(await bucket.list('decisions/')).keys()].filter((name) => name.endsWith('.parquet'));
    expect(left).to.have.length(1);
    expect(left[0]).not.to.include('never-committed');
  });

  it('is not adopted by another store before a person says so, and then keeps its contents', async () => {
    const decision = await shipped('order-1');
    await place.store.close();
    dataDir = temporaryDirectory();
    const store = await openStoreWithArchivedSalt(
      {
        redisUrl: null,
        dataDir,
        archiveDir: temporaryDirectory(),
        archiveS3: s3Place(proxy.port, prefix),
        isAccepted: true,
      },
      () => {},
    );
    const archives = (folder?: string) => nodeOf(store, undefined, folder);
    const other = await ArchivedStore.open(store, archives);
    place = other;
    expect(await failureOf(other.shipper().step())).to.equal(
      `AnotherArchive: s3://${BUCKET}/${prefix} holds an archive of another store; if that store is lost, run "archive adopt", otherwise set ARCHIVE_DIR to another place`,
    );
    const adopted = await command('adopt', '--reason', 'the store was lost', '--json');
    expect([adopted.exitCode, JSON.parse(adopted.stdout).segments]).to.deep.equal([0, 1]);
    expect(await store.registers.read(ARCHIVE_REGISTER)).to.equal(JSON.parse(adopted.stdout).archive);
    const since = await shipped('order-2', T0 + 1);
    const found = await lookupOf(archives()).find(platform, {}, 10);
    expect(found.decisions).to.deep.equal([since, decision]);
  });
});

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'it was done',
    (error: unknown) => String(error),
  );

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => statSync(join(folder, name)).isFile());
}

async function bytesOf(bucket: Bucket, path: string): Promise<Buffer> {
  const coming = await bucket.get(path);
  if (coming === null) throw new Error(`${path} is there`);
  const parts: Buffer[] = [];
  for await (const part of coming.body) parts.push(part);
  return Buffer.concat(parts);
}
