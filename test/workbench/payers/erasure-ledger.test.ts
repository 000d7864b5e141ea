import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toClientNumberText, toPlatformName } from '#decision/payer/client-key.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { ErasureLedger, LedgerUnusable } from '#workbench/payers/erasure.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';
import { startService } from '../../service/running-service.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';

const SHOP = toPlatformName('shop');

function erased(clientIdKey: string, at: number) {
  return { at, platform: SHOP, clientHash: clientKey(SHOP, clientIdKey).hash };
}

describe('the erasure ledger', () => {
  const newPath = () => join(temporaryDirectory(), 'ledger');

  it('gives every process of a node the same entries in order', async () => {
    const path = newPath();
    const [one, other] = [new ErasureLedger(path), new ErasureLedger(path)];
    await one.append(erased('ann', 1));
    await other.append(erased('bob', 2));
    expect(other.id).to.equal(one.id);
    const all = { erased: [erased('ann', 1), erased('bob', 2)], unreadable: 0 };
    expect([one.read(), other.read(), new ErasureLedger(path).read()]).to.deep.equal([all, all, all]);
  });

  it('continues after a line that a crash cut off, and counts it', async () => {
    const path = newPath();
    await new ErasureLedger(path).append(erased('ann', 1));
    appendFileSync(path, '{"at":2,"platf');
    const ledger = new ErasureLedger(path);
    await ledger.append(erased('bob', 3));
    expect(ledger.read()).to.deep.equal({ erased: [erased('ann', 1), erased('bob', 3)], unreadable: 1 });
  });

  it('contains no client id', async () => {
    const path = newPath();
    await new ErasureLedger(path).append(erased('ann of the ledger', 1));
    expect(readFileSync(path, 'utf8')).to.not.include('ann of the ledger');
  });

  it('is refused at the path of another file, and where no file can be', () => {
    const path = newPath();
    writeFileSync(path, 'Dear Ann\n');
    expect(() => new ErasureLedger(path)).to.throw(
      LedgerUnusable,
      'ERASURE_LEDGER names a file that does not begin as an erasure ledger does; name another file, or put the ledger back',
    );
    expect(() => new ErasureLedger(join(path, 'below'))).to.throw(
      LedgerUnusable,
      `ERASURE_LEDGER names ${path}/below, which cannot be read and written; check the path and its permissions`,
    );
  });

  it('answers 503 where it cannot be written, so that nobody is erased without being noted', async () => {
    const path = newPath();
    const ledger = new ErasureLedger(path);
    removeDirectory(join(path, '..'));
    const failure = await ledger.append(erased('ann', 1)).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StoreUnavailable);
    expect(String(failure)).to.equal(`StoreUnavailable: the erasure ledger ${path} cannot be written`);
  });

  it('has a client erased again at a start on a store that does not know of it, as after a restore, and once', async () => {
    const ledger = new ErasureLedger(newPath());
    await ledger.append(erased('ann', Date.now()));
    const { store, remove } = temporarySqlite();
    const erasures = async () => (await store.unshippedErasures()).map(({ clientNumber: number }) => number);
    try {
      for (const start of ['first', 'next']) {
        await (await startService({ store, erasureLedger: ledger })).stop();
        expect(await erasures(), start).to.deep.equal([toClientNumberText(clientKey(SHOP, 'ann').hash)]);
      }
    } finally {
      await remove();
    }
  });
});
