import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { issueKey } from '../service/issued-key.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

const PAYERS = 10;

describe("a disk that refuses to sync SQLite's writes", () => {
  it('ends the service without another answer, and a restart reads what is on the disk', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const refusing = join(dataDir, 'refusing');
    const preload = `--import=${join(import.meta.dirname, 'refusing-disk.ts')}`;
    const start = () => spawnService(dataDir, { NODE_OPTIONS: preload, REFUSING_DISK: refusing });

    const first = await start();
    const shop = new Tenant(first, key);
    const acknowledged = Array.from({ length: PAYERS }, (_, n) => `order-${n}`);
    for (const orderRef of acknowledged)
      expect((await shop.verdict({ clientIdKey: `payer of ${orderRef}`, orderRef })).status).to.equal(200);
    writeFileSync(refusing, '');
    const unheard = { clientIdKey: 'unheard', orderRef: 'unheard' };
    const fate = await shop.verdict(unheard, { 'Idempotency-Key': 'unheard' }).then(
      ({ status }) => status,
      () => 'no answer',
    );
    expect(fate).to.equal('no answer');
    expect(await first.exited).to.equal(1);
    expect(first.stderr()).to.include(
      'the disk refused to keep what was written (EIO: i/o error, fdatasync); look at the disk, then start the service again',
    );

    rmSync(refusing);
    const second = await start();
    const again = new Tenant(second, key);
    const kept = await Promise.all(
      acknowledged.map(async (orderRef) => {
        const { body } = await again.ask<{ decisions: unknown[] }>('GET', `decisions?orderRef=${orderRef}`);
        return body.decisions.length;
      }),
    );
    expect(kept).to.deep.equal(acknowledged.map(() => 1));
    const repeated = await again.verdict(unheard, { 'Idempotency-Key': 'unheard' });
    expect([repeated.status, repeated.body.verdict]).to.deep.equal([200, 'GET_NEW']);
    expect((await again.client('unheard')).body.decisionCount).to.equal(1);
    await second.stop();
  });
});
