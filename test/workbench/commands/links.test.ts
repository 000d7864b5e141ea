import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { startService } from '../../service/running-service.ts';
import { scoring } from './scoring.ts';
import { itPrints } from './transcript.ts';

const dataDir = temporaryDirectory();

describe('the links command', () => {
  before(async () => {
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const service = await startService({ store });
    const shop = await service.tenant('shop');
    // The command searches back from the present.
    service.clock.moveSeconds((Date.now() - service.clock.now()) / 1000);
    for (const clientIdKey of ['ann', 'bob', 'payer']) {
      await shop.score({ clientIdKey, fingerprint: 'shared', ip: '198.51.100.1' });
      await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
      await shop.outcome(clientIdKey, `${clientIdKey}-1`, clientIdKey === 'payer' ? 'PAID' : 'UNPAID');
    }
    await service.stop();
    await store.close();
  });

  const run = (args: readonly string[]) => scoring(args, { DATA_DIR: dataDir });

  itPrints(new URL('links.txt', import.meta.url), () => ({
    run,
    named: { HMAC: /(?<=hmac:)[\w-]{22}/g, DAY: /2\d{3}-\d\d-\d\d(?= {2})/g },
  }));

  it('prints what the API answers as JSON', async () => {
    const { stdout } = await run(['links', 'ann', '--depth', '1', '--json', '--platform', 'shop']);
    const { clients, proposal } = JSON.parse(stdout);
    expect(clients).to.have.length(3);
    expect(proposal.clients).to.deep.equal(['ann', 'bob']);
  });
});
