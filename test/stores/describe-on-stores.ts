import type { Store } from '../../src/state/store.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { type TemporaryStore, temporaryRedis, temporarySqlite } from './temporary-store.ts';

/**
 * A suite that must hold on every store: it runs on SQLite and on Redis, each time with an empty store. The
 * store is there within hooks and tests, so the suite is given a function for it. Without redis-server one
 * loud line says that half of the suite is skipped.
 */
export function describeOnStores(
  title: string,
  suite: (this: Mocha.Suite, store: () => Store) => void,
): void {
  describe(`${title} on SQLite`, function () {
    withStore(this, temporarySqlite, suite);
  });
  describeWithServer('redis-server', `${title} on Redis`, function () {
    withStore(this, temporaryRedis, suite);
  });
}

function withStore(
  mocha: Mocha.Suite,
  open: () => TemporaryStore | Promise<TemporaryStore>,
  suite: (this: Mocha.Suite, store: () => Store) => void,
): void {
  let opened: TemporaryStore | null = null;
  before(async () => {
    opened = await open();
  });
  suite.call(mocha, () => {
    if (opened === null) throw new Error('the store is open only within hooks and tests');
    return opened.store;
  });
  after(() => opened?.remove());
}
