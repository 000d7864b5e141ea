import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { isFitToServe, listHealthProblems } from '#workbench/upkeep/store-watch.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { newClient, verdict } from '../clients.ts';

describe('a SQLite file that is replaced while it is open', () => {
  let folder: string;
  let store: Store;
  const path = (name = 'scoring.sqlite') => join(folder, name);
  const refused = () =>
    `the file at ${path()} is missing, or is not the one that this process opened: further writes would be lost; put the former file back together with its -wal file, or restart the service to go on with the new one`;

  beforeEach(() => {
    folder = temporaryDirectory();
    store = openSqliteStore(folder, { salt: TEST_SALT });
  });
  afterEach(() => store.close());

  const replacements: readonly (readonly [what: string, replace: () => void])[] = [
    [
      'a copy',
      () => {
        copyFileSync(path(), path('copy'));
        renameSync(path('copy'), path());
      },
    ],
    ['no file', () => rmSync(path())],
    ['a log that was removed', () => rmSync(path('scoring.sqlite-wal'))],
  ];
  for (const [what, replace] of replacements)
    it(`by ${what} acknowledges nothing that is written from then on`, async () => {
      await verdict(store, newClient(), 'order-1');
      replace();
      const failure = await verdict(store, newClient(), 'order-2').catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(StoreUnavailable);
      expect(String(failure)).to.equal(`StoreUnavailable: ${refused()}`);
    });

  it('is neither read nor written from then on, and its health says what to do', async () => {
    renameSync(path(), path('moved'));
    const health = await store.check();
    expect([isFitToServe(health), listHealthProblems(health), health[0]?.isAnotherStore]).to.deep.equal([
      false,
      [`The clients on ${store.name} get 503: ${refused()}.`],
      true,
    ]);
    expect(store.refusal()).to.equal(refused());
    expect(String(await store.load(newClient()).catch(String))).to.equal(`StoreUnavailable: ${refused()}`);
  });

  it('is noticed by those who follow changes of others', async () => {
    renameSync(path(), path('moved'));
    await store.registers.version('rollout').catch(() => {});
    expect(String(await store.registers.read('rollout').catch(String))).to.equal(
      `StoreUnavailable: ${refused()}`,
    );
  });

  it('is used again once it is back, without a restart', async () => {
    renameSync(path(), path('moved'));
    await verdict(store, newClient(), 'order-1').catch(() => {});
    renameSync(path('moved'), path());
    const client = newClient();
    await verdict(store, client, 'order-2');
    expect((await store.load(client)).state.seq).to.equal(1);
    expect([isFitToServe(await store.check()), store.refusal()]).to.deep.equal([true, null]);
  });
});
