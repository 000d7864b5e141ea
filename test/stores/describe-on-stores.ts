import type { Store } from '#state/store.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { type TemporaryStore, temporaryRedis, temporarySqlite } from './temporary-store.ts';

/**
 * A suite of a service on every store: on SQLite and on Redis, each time with an empty store. `npm test` runs it on SQLite
 * alone (STORES), because one conformance suite holds both stores. The store is there within hooks and tests, so the suite
 * is given a function for it. Without redis-server one loud line says that half of the suite is skipped. `on` names
 * one store for expensive tests that do not depend on the store.
 */
export function describeOnStores(title: string, suite: Suite): void {
  describe(`${title} on SQLite`, function () {
    withStore(this, 'SQLite', temporarySqlite, suite);
  });
  if (isOnSqliteAlone()) return;
  describeWithServer('redis-server', `${title} on Redis`, function () {
    withStore(this, 'Redis', temporaryRedis, suite);
  });
}

/** Whether suites of services are to leave Redis out. */
export function isOnSqliteAlone(): boolean {
  return process.env['STORES'] === 'SQLite';
}

type Suite = (this: Mocha.Suite, store: () => Store, on: 'SQLite' | 'Redis') => void;

function withStore(
  mocha: Mocha.Suite,
  on: 'SQLite' | 'Redis',
  open: () => TemporaryStore | Promise<TemporaryStore>,
  suite: Suite,
): void {
  let opened: TemporaryStore | null = null;
  before(async () => {
    opened = await open();
  });
  const store = () => {
    if (opened === null) throw new Error('the store is open only within hooks and tests');
    return opened.store;
  };
  suite.call(mocha, store, on);
  after(() => opened?.remove());
}
