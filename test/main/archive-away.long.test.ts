import { join } from 'node:path';
import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import { ErasureLedger } from '../../src/service/erasure.ts';
import { openSqliteStore } from '../../src/state/sqlite/store.ts';
import { s3Environment, startS3 } from '../servers/s3.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

const ANN = 'ann-who-is-erased';

describe('a start while S3 is away', function () {
  this.timeout(120_000);

  it('serves callers, and repeats erasures in the store at once and in the archive later', async () => {
    const dataDir = temporaryDirectory();
    const ledger = join(temporaryDirectory(), 'ledger');
    const server = await startS3();
    const env = { ...s3Environment(server.port, 'years'), ERASURE_LEDGER: ledger };
    const key = await issueKey({ dataDir });
    let service = await spawnService(dataDir, env);
    await new Tenant(service, key).verdict({ clientIdKey: ANN });
    await service.stop();
    const store = openSqliteStore(dataDir);
    const platform = platformName('shop');
    const { hash: clientHash } = store.clientKeys.of(platform, ANN);
    await store.close();
    await new ErasureLedger(ledger).append({ at: Date.now(), platform, clientHash });

    await server.stop();
    service = await spawnService(dataDir, env);
    const shop = new Tenant(service, key);
    expect((await shop.verdict({ clientIdKey: 'bob' })).status).to.equal(200);
    expect((await shop.ask('GET', `client?clientIdKey=${ANN}`)).status).to.equal(404);
    expect(logOf(service)).to.include('erased again whom a backup had brought back');
    expect(logOf(service)).to.include('the archive is away: whether it was put back');
    await server.restart();
    await until('the ledger is repeated on the archive', async () =>
      logOf(service).includes('the archive is there, and the erasure ledger was repeated on it'),
    );
    await service.stop();
    await server.stop();
  });
});

function logOf(service: ServiceProcess): string {
  return service.stdout() + service.stderr();
}
