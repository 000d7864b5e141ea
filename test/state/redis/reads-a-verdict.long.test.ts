import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Store } from '../../../src/state/store.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { command } from '../../servers/redis-command.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { openPatiently } from '../../stores/temporary-store.ts';

const KEYS = 12;
const VERDICTS = 75;
/** Each key is used so rarely that its age alone would have it read again. */
const PAUSE_MS = 66;
const IDLE_MS = 3000;

/** A client's state is read by the script that loads it, and by the one that commits. */
const READS_OF_STATE = 2;

describeWithServer('redis-server', 'a verdict on Redis', () => {
  // One of its own, whose commands are counted.
  let servers: RedisServers;
  let store: Store;
  let service: RunningService;
  before(async () => {
    servers = await startStandalone();
    store = await openPatiently(servers.url);
    service = await startService({ store });
  });
  after(async () => {
    await service?.stop();
    await store?.close();
    await servers?.stop();
  });

  it('reads no document: twelve keys at fifteen verdicts a second are followed by their version', async () => {
    const tenants: Tenant[] = [];
    for (let number = 0; number < KEYS; number++) tenants.push(await service.tenant(`shop-${number}`));
    const tenantOf = (number: number): Tenant => {
      const tenant = tenants[number % KEYS];
      if (tenant === undefined) throw new Error('no such key');
      return tenant;
    };
    const ask = async (number: number) => {
      const { status } = await tenantOf(number).verdict({ clientIdKey: `payer-${number}` });
      expect(status).to.equal(200);
      await delay(PAUSE_MS);
    };
    for (let number = 0; number < KEYS; number++) await ask(number);
    const during = async (work: () => Promise<void>) => {
      const [before, startedMs] = [await getsOf(servers.url), performance.now()];
      await work();
      return { gets: (await getsOf(servers.url)) - before, tookMs: performance.now() - startedMs };
    };
    // What the node asks for by the clock costs no verdict, and the more of it the slower the machine.
    const idle = await during(() => delay(IDLE_MS));
    const busy = await during(async () => {
      for (let number = 0; number < VERDICTS; number++) await ask(KEYS + number);
    });
    const byTheClock = (idle.gets * busy.tookMs) / idle.tookMs;
    const documents = busy.gets - byTheClock - READS_OF_STATE * VERDICTS;
    expect(documents / VERDICTS).to.be.at.most(0.2);
  });
});

async function getsOf(url: string): Promise<number> {
  const stats = String(await command(url, ['INFO', 'commandstats']));
  return Number(/^cmdstat_get:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}
