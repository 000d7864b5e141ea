import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from './decision/payer/client-keys.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';
import { until } from './servers/until.ts';
import { type Answer, call } from './service/http-call.ts';
import { type RunningService, startService } from './service/running-service.ts';
import type { Tenant } from './service/tenant.ts';
import { describeOnStores } from './stores/describe-on-stores.ts';

const told = ({ status, headers }: Answer<unknown>) => [status, headers.get('Retry-After')];

const readiness = async ({ platformUrl }: Tenant) => {
  const { status, body } = await call<{ readonly why?: string }>('GET', `${platformUrl}/readyz`, {});
  return [status, body.why ?? ''];
};

const metric = async ({ platformUrl }: Tenant, name: string) => {
  const { body } = await call<string>('GET', `${platformUrl}/metrics`, {});
  return new RegExp(`^${name} (.*)$`, 'm').exec(body)?.[1];
};

describeOnStores('a service whose store has lost an access key', (store) => {
  let service: RunningService;
  before(async () => {
    service = await startService({ store: store() });
  });
  after(() => service?.stop());

  it('answers 503 to its callers alone, says whose key it is, and lets them in once it is back', async () => {
    const [shop, bank] = [await service.tenant('shop'), await service.tenant('bank')];
    for (const one of [shop, bank]) expect((await one.verdict()).status).to.equal(200);
    const id = shop.key.slice(3, 15);
    const { documents } = store();
    const record = await documents.get('access-keys', id);
    await documents.delete('access-keys', id);
    await until('the key is known to be lost', async () => (await shop.verdict()).status === 503);
    expect(told(await shop.score())).to.deep.equal([503, '1']);
    expect(told(await shop.ask('GET', 'decisions'))).to.deep.equal([503, '1']);
    expect((await bank.verdict({ clientIdKey: 'another' })).status).to.equal(200);
    const [status, why] = await readiness(bank);
    expect(status).to.equal(200);
    expect(why).to.include(
      `The store has lost the access key ${id} of shop, and its callers get 503: restore a backup of the store, or issue another key.`,
    );
    expect(await metric(bank, 'scoring_lost_keys')).to.equal('1');
    await documents.set('access-keys', id, record);
    await until('the key is let in', async () => (await shop.score()).status === 200);
    expect(await metric(bank, 'scoring_lost_keys')).to.equal('0');
  });
});

describe('a service whose SQLite file is moved away', () => {
  const folder = temporaryDirectory();
  const path = join(folder, 'scoring.sqlite');
  let store: Store;
  let service: RunningService;
  before(async () => {
    store = openSqliteStore(folder, { salt: TEST_SALT });
    service = await startService({ store });
  });
  after(async () => {
    await service?.stop();
    await store?.close();
  });

  it('answers 503 to all, is not ready, and serves again once the file is back', async () => {
    const shop = await service.tenant('shop');
    expect((await shop.verdict()).status).to.equal(200);
    renameSync(path, `${path}.away`);
    expect(told(await shop.verdict({ clientIdKey: 'later' }))).to.deep.equal([503, '1']);
    expect(
      told(await shop.score({}, { 'X-KA-Access-Key': `ka_${'0'.repeat(12)}_${'x'.repeat(43)}` })),
    ).to.deep.equal([503, '1']);
    const [status, why] = await readiness(shop);
    expect(status).to.equal(503);
    expect(why).to.include(
      `The clients on ${store.name} get 503: the file at ${path} is missing, or is not the one that this process opened:`,
    );
    expect(await metric(shop, 'scoring_store_another')).to.equal('1');
    renameSync(`${path}.away`, path);
    expect((await shop.verdict({ clientIdKey: 'later' })).status).to.equal(200);
    expect(await readiness(shop)).to.deep.equal([200, '']);
    expect(await metric(shop, 'scoring_store_another')).to.equal('0');
  });
});
