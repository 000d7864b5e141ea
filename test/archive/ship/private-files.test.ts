import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { ArchivedRuleSets } from '../../../src/archive/ship/archived-rule-sets.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { TEST_SALT } from '../../client/client-keys.ts';
import { openToOthers } from '../../servers/open-to-others.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { startService } from '../../service/running-service.ts';
import { ArchivedStore } from '../archived-store.ts';

describe('the files under DATA_DIR', () => {
  const usual = process.umask();
  before(() => process.umask(0));
  after(() => process.umask(usual));

  it('are for the user of the service alone: store, archive, filters, lease and rule sets', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    const archived = await ArchivedStore.open(
      openSqliteStore(dataDir, { salt: TEST_SALT }),
      join(dataDir, 'archive'),
    );
    const service = await startService({ store: archived.store });
    try {
      const shop = await service.tenant('shop');
      await shop.verdict({ clientIdKey: 'payer-1' });
      await shop.outcome('payer-1', 'order-1', 'PAID');
      const shelf = new ArchivedRuleSets(archived.archive.folder, dirname(RULES_FOLDER));
      await archived.shipAll(archived.shipper({ ruleSets: shelf, holder: 'tester' }));
      const kept = readdirSync(dataDir, { recursive: true }).map(String);
      for (const wanted of [/\.sqlite$/, /-wal$/, /\.parquet$/, /\.orders$/, /verdicts\.yaml$/])
        expect(
          kept.some((path) => wanted.test(path)),
          String(wanted),
        ).to.equal(true);
      expect(openToOthers(dataDir)).to.deep.equal([]);
    } finally {
      await service.stop();
      await archived.close();
    }
  });
});
