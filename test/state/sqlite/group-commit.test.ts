import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { SqliteCheckpointer } from '#state/sqlite/checkpoints.ts';
import { GroupCommit, repeatWithinLockTime } from '#state/sqlite/group-commit.ts';
import { StoreLate } from '#state/store-errors.ts';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';

/** A disk whose syncs the test ends. */
class HeldDisk {
  readonly #syncs: PromiseWithResolvers<void>[] = [];

  /** The number of requested syncs. */
  get syncs(): number {
    return this.#syncs.length;
  }

  sync(): Promise<void> {
    const sync = Promise.withResolvers<void>();
    this.#syncs.push(sync);
    return sync.promise;
  }

  /** Ends a sync; without its number the newest one. */
  finish(error?: Error, number = this.syncs): void {
    const sync = this.#syncs[number - 1];
    if (error === undefined) sync?.resolve();
    else sync?.reject(error);
  }
}

const IGNORED = () => {};

/** Nobody replaced the file. */
const IN_PLACE = { check: () => null };

describe('the group commit', () => {
  let db: DatabaseSync;
  let disk: HeldDisk;
  let writes: GroupCommit;
  let told: string[];
  const put = (word: string) =>
    writes.run(() => db.prepare('INSERT INTO words VALUES (?)').run(word).changes);
  const words = () =>
    db
      .prepare('SELECT word FROM words ORDER BY word')
      .all()
      .map(({ word }) => word);
  const settledSoon = async (write: Promise<unknown>) => {
    const settled = write.then(
      () => 'acknowledged',
      (error: Error) => error.message,
    );
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    return Promise.race([settled, nextTurn('waiting')]);
  };
  /** Two writes that share no sync. */
  const putApart = async (one: string, other: string) => {
    const first = put(one);
    await settledSoon(first);
    const second = put(other);
    await settledSoon(second);
    return [first, second] as const;
  };
  beforeEach(() => {
    db = new DatabaseSync(':memory:');
    db.exec('CREATE TABLE words (word TEXT PRIMARY KEY)');
    disk = new HeldDisk();
    told = [];
    writes = new GroupCommit(db, disk, IN_PLACE, IGNORED, ({ message }) => told.push(message));
  });

  it('acknowledges a write only when it is on the disk', async () => {
    const write = put('one');
    expect(await settledSoon(write)).to.equal('waiting');
    expect(words()).to.deep.equal(['one']);
    disk.finish();
    expect(await write).to.equal(1);
  });

  it('acknowledges a write that needs no sync when it is committed, and the sync of a later one keeps both', async () => {
    const early = writes.run(() => db.prepare("INSERT INTO words VALUES ('claim')").run().changes, false);
    expect(await settledSoon(early)).to.equal('acknowledged');
    expect([words(), disk.syncs]).to.deep.equal([['claim'], 0]);
    const write = put('one');
    expect(await settledSoon(write)).to.equal('waiting');
    expect(disk.syncs).to.equal(1);
    disk.finish();
    expect(await settledSoon(write)).to.equal('acknowledged');
  });

  it('refuses a write that needs no sync once the disk refused an earlier one', async () => {
    const write = put('one');
    await settledSoon(write);
    disk.finish(new Error('EIO'));
    await settledSoon(write);
    const early = writes.run(() => 0, false);
    expect(await settledSoon(early)).to.match(/^the disk could not store what was written \(EIO\)/);
  });

  it('lets all commits during three syncs share the next one', async () => {
    const early = ['one', 'two', 'three'].map(put);
    await Promise.all(early.map(settledSoon));
    await putApart('four', 'five');
    expect(disk.syncs).to.equal(3);
    const late = [put('six'), put('seven')];
    await Promise.all(late.map(settledSoon));
    const later = put('eight');
    expect([await settledSoon(later), disk.syncs]).to.deep.equal(['waiting', 3]);
    disk.finish(undefined, 1);
    expect(await Promise.all(early)).to.deep.equal([1, 1, 1]);
    expect([await settledSoon(later), disk.syncs]).to.deep.equal(['waiting', 4]);
    disk.finish();
    expect(await Promise.all([...late, later])).to.deep.equal([1, 1, 1]);
  });

  it('acknowledges a write whose sync is done before an earlier one, and no other', async () => {
    const [first, second] = await putApart('one', 'two');
    disk.finish(undefined, 2);
    expect([await settledSoon(first), await settledSoon(second)]).to.deep.equal(['waiting', 'acknowledged']);
    disk.finish(undefined, 1);
    expect(await first).to.equal(1);
  });

  it('gives up a write that fails, and makes those that came with it', async () => {
    const [first, again, other] = [put('one'), put('one'), put('two')];
    expect(await settledSoon(again)).to.equal('UNIQUE constraint failed: words.word');
    disk.finish();
    expect([await first, await other]).to.deep.equal([1, 1]);
    expect(words()).to.deep.equal(['one', 'two']);
  });

  it('gives up all writes that came together when the file is full', async () => {
    db.exec('PRAGMA max_page_count = 3');
    const together = ['one', 'two'.repeat(10_000), 'three'].map(put);
    const full = 'database or disk is full';
    expect(await Promise.all(together.map(settledSoon))).to.deep.equal([full, full, full]);
    expect(words()).to.deep.equal([]);
  });

  it('acknowledges nothing any more, and says so, once the disk refused a commit', async () => {
    const refused =
      'the disk could not store what was written (EIO); check the disk, then start the service again, which goes on with what the disk holds';
    const [first, second] = await putApart('one', 'two');
    expect(writes.lost).to.equal(null);
    disk.finish(new Error('EIO'), 1);
    expect(await settledSoon(first)).to.equal(refused);
    expect(await settledSoon(put('three'))).to.equal(refused);
    disk.finish(undefined, 2);
    expect(await settledSoon(second)).to.equal(refused);
    expect([disk.syncs, words(), told]).to.deep.equal([2, ['one', 'two'], [refused]]);
    expect(writes.lost?.message).to.equal(refused);
  });

  it('gives up a write when another process keeps the file locked for too long', async () => {
    const path = join(temporaryDirectory(), 'words.sqlite');
    const [ours, theirs] = [new DatabaseSync(path, { timeout: 0 }), new DatabaseSync(path)];
    ours.exec('CREATE TABLE words (word TEXT PRIMARY KEY)');
    const waits: string[] = [];
    const patience = { limitMs: 1100, onLongWait: () => waits.push('long') };
    writes = new GroupCommit(ours, disk, IN_PLACE, IGNORED, IGNORED, patience);
    theirs.exec('BEGIN IMMEDIATE');
    const outcome = await writes.run(() => null).catch((error: Error) => error);
    expect(outcome).to.be.instanceOf(StoreLate);
    const late =
      'StoreUnavailable: the SQLite file has been locked for 1100 ms, by a command, another program or the shipper of this service';
    expect(String(outcome)).to.equal(late);
    expect(waits).to.deep.equal(['long']);
    theirs.close();
    ours.close();
  });

  it('closes when the last write is on the disk', async () => {
    const write = put('one');
    const closed = writes.close();
    expect(await settledSoon(closed)).to.equal('waiting');
    disk.finish();
    expect(await settledSoon(closed)).to.equal('acknowledged');
    expect(await write).to.equal(1);
  });
});

describe('the checkpoint thread of SQLite', () => {
  it('is started again when it has died', async () => {
    const directory = temporaryDirectory();
    const folder = join(directory, 'not there yet');
    const path = join(folder, 'scoring.sqlite');
    const checkpoints = new SqliteCheckpointer(path);
    await checkpoints.truncate();
    expect(existsSync(path)).to.equal(false);
    mkdirSync(folder);
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE erased (client TEXT)');
    expect(statSync(`${path}-wal`).size).to.be.above(0);
    await until('the log is empty', async () => {
      await checkpoints.truncate();
      return statSync(`${path}-wal`).size === 0;
    });
    await checkpoints.close();
    db.close();
    removeDirectory(directory);
  });
});

describe('background work in one transaction', () => {
  /** How many steps of so many are done when each takes so long, and whether there is more. */
  const done = (steps: number, stepMs: number) => {
    let [atMs, left] = [0, steps];
    const step = () => {
      atMs += stepMs;
      left--;
      return left > 0;
    };
    const isMore = repeatWithinLockTime(step, () => atMs);
    return { steps: steps - left, isMore };
  };

  it('lets go of the lock after twenty milliseconds, long before a verdict of another process is given up', () => {
    expect(done(1000, 5)).to.deep.equal({ steps: 4, isMore: true });
    expect(done(1000, 150)).to.deep.equal({ steps: 1, isMore: true });
    expect(done(3, 5)).to.deep.equal({ steps: 3, isMore: false });
  });
});

describe('the sync of the log of SQLite', () => {
  it('works in a process that may open no more files', async () => {
    const directory = temporaryDirectory();
    const script = join(import.meta.dirname, 'without-free-files.ts');
    const withFewFiles = ['-c', 'ulimit -n 100 && exec "$0" "$1" "$2"', process.execPath, script, directory];
    const { stdout } = await promisify(execFile)('sh', withFewFiles);
    expect(stdout).to.equal('EMFILE, then 2 verdicts');
    removeDirectory(directory);
  });
});
