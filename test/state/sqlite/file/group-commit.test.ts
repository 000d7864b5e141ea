import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { GroupCommit } from '../../../../src/state/sqlite/file/group-commit.ts';

/** A disk that takes as long as the test wants. */
class HeldDisk {
  readonly #syncs: PromiseWithResolvers<void>[] = [];

  get syncs(): number {
    return this.#syncs.length;
  }

  sync(): Promise<void> {
    const sync = Promise.withResolvers<void>();
    this.#syncs.push(sync);
    return sync.promise;
  }

  finish(error?: Error): void {
    const last = this.#syncs.at(-1);
    if (error === undefined) last?.resolve();
    else last?.reject(error);
  }
}

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
  beforeEach(() => {
    db = new DatabaseSync(':memory:');
    db.exec('CREATE TABLE words (word TEXT PRIMARY KEY)');
    disk = new HeldDisk();
    told = [];
    writes = new GroupCommit(
      db,
      disk,
      () => {},
      ({ message }) => told.push(message),
    );
  });

  it('acknowledges a write only when it is on the disk', async () => {
    const write = put('one');
    expect(await settledSoon(write)).to.equal('waiting');
    expect(words()).to.deep.equal(['one']);
    disk.finish();
    expect(await write).to.equal(1);
  });

  it('lets what is committed during a sync share the next one', async () => {
    const first = put('one');
    await settledSoon(first);
    const second = put('two');
    await settledSoon(second);
    const third = put('three');
    await settledSoon(third);
    expect(disk.syncs).to.equal(1);
    disk.finish();
    expect(await settledSoon(first)).to.equal('acknowledged');
    expect([await settledSoon(second), disk.syncs]).to.deep.equal(['waiting', 2]);
    disk.finish();
    expect(await Promise.all([second, third])).to.deep.equal([1, 1]);
  });

  it('acknowledges nothing any more once the disk refused what was committed, and tells so', async () => {
    const refused =
      'the disk refused to keep what was written (EIO); look at the disk, then start the service again, which reads what the disk holds';
    const first = put('one');
    await settledSoon(first);
    const second = put('two');
    await settledSoon(second);
    expect(writes.lost).to.equal(null);
    disk.finish(new Error('EIO'));
    expect([await settledSoon(first), await settledSoon(second)]).to.deep.equal([refused, refused]);
    expect(await settledSoon(put('three'))).to.equal(refused);
    expect([disk.syncs, words(), told]).to.deep.equal([1, ['one', 'two'], [refused]]);
    expect(writes.lost?.message).to.equal(refused);
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
