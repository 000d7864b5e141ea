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
    writes = new GroupCommit(db, disk, () => {});
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

  it('tells writes that the disk refuses as failed, and goes on', async () => {
    const first = put('one');
    await settledSoon(first);
    disk.finish(new Error('the disk is gone'));
    expect(await settledSoon(first)).to.equal('the disk is gone');
    const second = put('two');
    await settledSoon(second);
    disk.finish();
    expect(await second).to.equal(1);
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
