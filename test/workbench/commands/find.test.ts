import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { SIGNAL_SECRET, startService } from '../../service/running-service.ts';
import { scoring } from './scoring.ts';
import { itPrints } from './transcript.ts';

const dataDir = temporaryDirectory();

describe('the find command', () => {
  before(async () => {
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const service = await startService({ store });
    const shop = await service.tenant('shop');
    for (const clientIdKey of ['ann', 'joanna']) {
      await shop.score({ clientIdKey, fingerprint: `phone of ${clientIdKey}`, ip: '198.51.100.1' });
      await shop.verdict({ clientIdKey, orderRef: `${clientIdKey} 1` });
      service.clock.moveSeconds(60);
    }
    await shop.outcome('bob', 'imported-of-ann', 'PAID');
    await shop.ask('PUT', 'lists/watched', { kind: 'client' });
    await shop.ask('PUT', 'lists/watched/entries?value=anna', { reason: 'a chargeback' });
    await shop.ask('PUT', 'lists/nets', { kind: 'ip' });
    await shop.ask('PUT', 'lists/nets/entries?value=198.51.100.0%2F24', { reason: 'a proxy' });
    await service.stop();
    await store.close();
  });

  const run = (args: readonly string[]) => scoring(args, { DATA_DIR: dataDir, SIGNAL_SECRET });

  itPrints(new URL('find.txt', import.meta.url), () => ({ run, named: { HMAC: /(?<=hmac:)[\w-]{22}/g } }));

  it('prints what the API answers as JSON', async () => {
    const { stdout, exitCode } = await run(['find', 'ann', '--json', '--platform', 'shop']);
    const { payers, lookedAt, leftOut } = JSON.parse(stdout);
    expect(payers.map(({ clientIdKey }: { clientIdKey: string }) => clientIdKey)).to.deep.equal([
      'ann',
      'joanna',
    ]);
    expect({ complete: lookedAt.complete, leftOut, exitCode }).to.deep.equal({
      complete: true,
      leftOut: [],
      exitCode: 0,
    });
  });
});
