import { expect } from 'chai';
import { AuditLog } from '#state/audit-log.ts';
import { AUDIT_LOG_KEYS, LISTS_LOG_KEYS } from '#state/keys.ts';
import { createAuditRows, createSharedListLog, type NumberedLog } from '#state/numbered-log.ts';
import { connectRedis } from '#state/redis/connection/connection.ts';
import { parseRedisUrl } from '#state/redis/connection/url.ts';
import { createNumberedLog as createRedisLog } from '#state/redis/numbered-log.ts';
import { createNumberedLog as createSqliteLog } from '#state/sqlite/numbered-log.ts';
import { getDbPath, openSqliteFile, type SqliteFileAccess } from '#state/sqlite/open-file.ts';
import { LIST_REMOVAL_KEPT_MS, type ListLogRecord } from '#state/store.ts';
import type { RunCall } from '#state/store-errors.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { emptyRedisUrl } from '../stores/empty-redis.ts';
import { T0 } from './clients.ts';

/** Two empty logs of one store. */
interface Opened {
  readonly audit: NumberedLog;
  readonly lists: NumberedLog;
  readonly close: () => Promise<void>;
}

const put = (id: string, text = `text of ${id}`) => ({ id, text });
const remove = (id: string) => ({ id, text: null });
const ids = (records: readonly ListLogRecord[]) => records.map(({ id }) => id);

describe('a record log on SQLite', () => {
  describeLog(async () => openSqlite(() => T0));
  describe('forgets a removal', describeForgottenRemovals);
});

describeWithServer('redis-server', 'a record log on Redis', () => {
  describeLog(openRedis);

  it('forgets a removal of long ago, and never takes back up to which number', async () => {
    const { lists, connection, close } = await openRedis();
    const removeLongAgo = (value: string) =>
      connection.commands.zAdd(LISTS_LOG_KEYS.removals, { score: T0 - LIST_REMOVAL_KEPT_MS, value });
    await lists.append([put('a'), put('b'), remove('a'), remove('b')]);
    await removeLongAgo('b');
    await lists.append([put('c')]);
    expect(ids(await lists.readAfter(0, 10))).to.deep.equal(['a', 'c']);
    expect((await lists.head()).horizon).to.equal(4);
    await removeLongAgo('a');
    await lists.append([put('d')]);
    expect(ids(await lists.readAfter(0, 10))).to.deep.equal(['c', 'd']);
    expect((await lists.head()).horizon).to.equal(4);
    await close();
  });

  it('forgets the parts of an owner whom it was interrupted to forget, once it is asked again', async () => {
    const { audit, connection, close } = await openRedis();
    await audit.append([put('1')], { part: { owner: 'ann', text: 'part' } });
    let calls = 0;
    const breaking: RunCall = (call) => (++calls > 1 ? Promise.reject(new Error('away')) : call());
    const door = { connection, commands: connection.commands, runOn: () => breaking };
    const broken = createRedisLog(door, AUDIT_LOG_KEYS).forgetParts('ann', [1]);
    expect(await broken.catch(String)).to.equal('Error: away');
    expect([await audit.listParts('ann'), await audit.readParts([1])]).to.deep.equal([[1], [null]]);
    await audit.forgetParts('ann', [1]);
    expect(await audit.listParts('ann')).to.deep.equal([]);
    await close();
  });
});

function describeLog(open: () => Promise<Opened>): void {
  let opened: Opened;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  it('begins with the number 0, without a text', async () => {
    const { lists } = opened;
    expect(await lists.head()).to.deep.equal({ latest: 0, horizon: 0, epoch: null });
    expect(await lists.newestText()).to.equal(null);
    expect(await lists.readAfter(0, 10)).to.deep.equal([]);
    expect(await createAuditRows(lists).newest()).to.equal(null);
  });

  it('has an epoch of its own, which stays', async () => {
    const { audit, lists } = opened;
    for (const log of [audit, lists]) await log.append([put('a')]);
    const { epoch } = await lists.head();
    expect(epoch)
      .to.match(/^[0-9a-f-]{36}$/)
      .and.not.to.equal((await audit.head()).epoch);
    await lists.append([put('b')]);
    expect(await lists.head()).to.deep.equal({ latest: 2, horizon: 0, epoch });
  });

  it('gives the oldest records after a number first, and the text of the newest', async () => {
    const { lists } = opened;
    await lists.append([put('a'), put('b'), put('c')]);
    expect(await lists.readAfter(1, 1)).to.deep.equal([{ id: 'b', version: 2, text: 'text of b' }]);
    expect(ids(await lists.readAfter(0, 10))).to.deep.equal(['a', 'b', 'c']);
    expect(await lists.newestText()).to.equal('text of c');
    await lists.append([put('a', 'again')]);
    expect(await lists.newestText()).to.equal('again');
  });

  it('appends nothing when the first record would get another number', async () => {
    const { audit } = opened;
    const part = { owner: 'ann', text: 'part' };
    expect(await audit.append([put('2')], { number: 2, part })).to.equal(null);
    expect(await audit.append([put('1')], { number: 1, part })).to.deep.equal([true]);
    expect(await audit.append([put('1 again')], { number: 1, part })).to.equal(null);
    expect((await audit.head()).latest).to.equal(1);
    expect(await audit.listParts('ann')).to.deep.equal([1]);
  });

  it('appends nothing when a related record got another text after a number', async () => {
    const { lists } = opened;
    await lists.append([put('x/1', 'red'), put('y/1', 'blue'), put('x/2', 'red'), put('x/3', 'blue')]);
    await lists.append([put('y/2', 'red'), remove('x/1')]);
    const after = (since: number) => ({ unless: { since, idsBegin: 'x/', textsBegin: 'blue' } });
    for (const since of [0, 1, 2]) expect(await lists.append([put('z')], after(since))).to.equal(null);
    expect(await lists.append([put('z')], after(3))).to.deep.equal([true]);
  });

  it('changes a record only while it has the expected number and was not removed', async () => {
    const { lists } = opened;
    await lists.append([put('a'), put('b'), remove('b')]);
    const changes = [
      { ...put('a'), expected: 2 },
      { ...put('b'), expected: 3 },
      { ...put('c'), expected: 0 },
      { ...put('a', 'newer'), expected: 1 },
    ];
    expect(await lists.append(changes)).to.deep.equal([false, false, false, true]);
    expect(await lists.append([remove('b'), remove('never there')])).to.deep.equal([false, false]);
    expect((await lists.head()).latest).to.equal(4);
  });

  it('trims what it has up to a number, of itself alone', async () => {
    const { audit, lists } = opened;
    for (const log of [audit, lists]) await log.append([put('a'), put('b'), put('c')]);
    await audit.trim(2);
    expect(await audit.readAfter(0, 10)).to.deep.equal([{ id: 'c', version: 3, text: 'text of c' }]);
    expect(ids(await lists.readAfter(0, 10))).to.deep.equal(['a', 'b', 'c']);
    await audit.trim(3);
    await audit.trim(3);
    expect([(await audit.head()).latest, await audit.newestText()]).to.deep.equal([3, null]);
    expect(await createAuditRows(audit).newest()).to.deep.equal({ number: 3, hash: '' });
    expect(await audit.append([put('d')], { number: 4 })).to.deep.equal([true]);
  });

  it('keeps the part of the first record for its owner, and forgets it without the record', async () => {
    const { audit, lists } = opened;
    const add = (log: NumberedLog, owner: string, number: number) =>
      log.append([put(String(number))], { number, part: { owner, text: `${number} of ${owner}` } });
    await lists.append([put('a')], { part: { owner: 'ann', text: 'elsewhere' } });
    for (let number = 1; number <= 11; number++) await add(audit, number === 3 ? 'bob' : 'ann', number);
    expect(await audit.listParts('ann')).to.deep.equal([1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await audit.readParts([3, 10, 12])).to.deep.equal(['3 of bob', '10 of ann', null]);
    await audit.forgetParts('ann', [1, 2]);
    expect(await audit.listParts('ann')).to.deep.equal([4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await audit.readParts([1, 2, 3])).to.deep.equal([null, null, '3 of bob']);
    expect(ids(await audit.readAfter(0, 3))).to.deep.equal(['1', '2', '3']);
    expect([await audit.listParts('bob'), await lists.listParts('ann')]).to.deep.equal([[3], [1]]);
  });

  it('never names a change to a copy of the lists whose record the copy did not get', async () => {
    const { lists } = opened;
    await lists.append([put('a')]);
    const head = async () => {
      const before = await lists.head();
      await lists.append([put('b')]);
      return before;
    };
    const { latest, records } = await createSharedListLog({ ...lists, head }).read(0, 10);
    expect([latest, ids(records)]).to.deep.equal([1, ['a', 'b']]);
  });

  it('asks for no records of the lists when a copy has them all', async () => {
    const { lists } = opened;
    await lists.append([put('a')]);
    const readAfter = () => Promise.reject(new Error('was asked'));
    expect((await createSharedListLog({ ...lists, readAfter }).read(1, 10)).records).to.deep.equal([]);
  });

  it('stays one chain of the audit when another entry comes between its end and the hash of that', async () => {
    const log = opened.audit;
    const other = new AuditLog(createAuditRows(log));
    await other.append({ at: T0, entry: 'first', payer: null });
    let isLate = true;
    const beforeOther = async <T>(read: () => Promise<T>) => {
      const result = await read();
      if (isLate) await other.append({ at: T0, entry: 'between', payer: null });
      isLate = false;
      return result;
    };
    const [head, newestText] = [() => beforeOther(log.head), () => beforeOther(log.newestText)];
    const late = new AuditLog(createAuditRows({ ...log, head, newestText }));
    await late.append({ at: T0, entry: 'last', payer: null });
    const { links } = await other.read(null, 10);
    expect(links.map(({ body }) => JSON.parse(body).entry)).to.deep.equal(['first', 'between', 'last']);
    expect(links.map(({ previous }) => previous)).to.deep.equal([
      '',
      ...links.slice(0, -1).map(({ hash }) => hash),
    ]);
  });

  it('shows a damaged entry of the audit and a damaged part as they are stored', async () => {
    const rows = createAuditRows(opened.audit);
    await opened.audit.append([put('1', '{')], { part: { owner: 'ann', text: '[' } });
    expect(await rows.read(0, 10)).to.deep.equal([
      { number: 1, previous: '', hash: '', body: '{', payer: { clientHash: '', text: '[' } },
    ]);
  });
}

function describeForgottenRemovals(): void {
  let now: number;
  let opened: Opened;
  beforeEach(() => {
    now = T0;
    opened = openSqlite(() => now);
  });
  afterEach(() => opened.close());

  const kept = async () => ids(await opened.lists.readAfter(0, 1000));
  const horizon = async () => (await opened.lists.head()).horizon;

  it('once copies had time to learn of it, and says up to which number', async () => {
    const { lists, audit } = opened;
    for (const log of [lists, audit]) await log.append([put('a'), put('b'), remove('a')]);
    now += LIST_REMOVAL_KEPT_MS - 1;
    await lists.append([put('c')]);
    expect([await kept(), await horizon()]).to.deep.equal([['b', 'a', 'c'], 0]);
    now += 1;
    await lists.append([put('d')]);
    expect([await kept(), await horizon()]).to.deep.equal([['b', 'c', 'd'], 3]);
    expect(ids(await audit.readAfter(0, 10)), 'of itself alone').to.deep.equal(['b', 'a']);
    await lists.append([remove('b')]);
    now += LIST_REMOVAL_KEPT_MS - 1;
    await audit.append([put('c')]);
    expect(ids(await audit.readAfter(0, 10))).to.deep.equal(['b', 'c']);
    expect(await kept(), 'another log of the file').to.deep.equal(['c', 'd', 'b']);
  });

  it('unless the record came back', async () => {
    await opened.lists.append([put('a'), remove('a'), put('a', 'back')]);
    now += LIST_REMOVAL_KEPT_MS;
    await opened.lists.append([put('b')]);
    expect([await kept(), await horizon()]).to.deep.equal([['a', 'b'], 0]);
  });

  it('and never takes back up to which number, also when a clock was set back', async () => {
    const { lists } = opened;
    await lists.append([put('a'), put('b'), remove('a')]);
    now -= 1000;
    await lists.append([remove('b')]);
    now += LIST_REMOVAL_KEPT_MS;
    await lists.append([put('c')]);
    expect([await kept(), await horizon()]).to.deep.equal([['a', 'c'], 4]);
    now += 1000;
    await lists.append([put('d')]);
    expect([await kept(), await horizon()]).to.deep.equal([['c', 'd'], 4]);
  });

  it('with 500 others at most in one step', async () => {
    const many = Array.from({ length: 502 }, (_, n) => `many ${n}`);
    await opened.lists.append([...many.map((id) => put(id)), ...many.map(remove)]);
    now += LIST_REMOVAL_KEPT_MS;
    await opened.lists.append([put('a')]);
    expect(await kept()).to.have.length(3);
    await opened.lists.append([put('b')]);
    expect(await kept()).to.deep.equal(['a', 'b']);
  });
}

function openSqlite(clock: () => number): Opened {
  const directory = temporaryDirectory();
  const db = openSqliteFile(getDbPath(directory), directory, { id: 'installation', salt: TEST_SALT });
  const write: SqliteFileAccess['write'] = async (work) => {
    db.exec('BEGIN IMMEDIATE');
    const result = work();
    db.exec('COMMIT');
    return result;
  };
  const read: SqliteFileAccess['readPage'] = async (work) => work();
  const file: SqliteFileAccess = {
    db,
    clock,
    run: (call) => call(),
    read,
    readPage: read,
    write,
    writeUnsynced: write,
  };
  return {
    audit: createSqliteLog(file, 'audit'),
    lists: createSqliteLog(file, 'lists'),
    close: async () => db.close(),
  };
}

async function openRedis() {
  const connection = await connectRedis(parseRedisUrl(await emptyRedisUrl()), () => {});
  const run: RunCall = (call) => call();
  const door = { connection, commands: connection.commands, runOn: () => run };
  return {
    connection,
    audit: createRedisLog(door, AUDIT_LOG_KEYS),
    lists: createRedisLog(door, LISTS_LOG_KEYS),
    close: () => connection.close(),
  };
}
