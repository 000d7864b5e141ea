import { expect } from 'chai';
import type { Store } from '../../../src/state/store.ts';
import { until } from '../../servers/until.ts';
import { startService } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

describeOnStores('a platform that keeps the service full from 500 addresses', (store) => {
  it('costs its neighbour no verdict, and is refused beyond its share', async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    let refused = 0;
    const slowForOne = new Proxy(store(), {
      get: (target, name) => {
        const load: Store['load'] = async (client, also) => {
          if (client.platform === 'hostile') await gate;
          return target.load(client, also);
        };
        if (name === 'load') return load;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const rateLimit = { ratePerSecond: 10, burst: 20, trustedProxies: 1 };
    const service = await startService({ store: slowForOne, rateLimit });
    const [hostile, neighbour] = [await service.tenant('hostile'), await service.tenant('neighbour')];
    const ask = (tenant: typeof hostile, net: string, count: number) =>
      Array.from({ length: count }, (_, index) =>
        tenant.verdict(
          { clientIdKey: `payer-${index}`, orderRef: `order-${index}` },
          { 'X-Forwarded-For': `10.${net}.${index >> 8}.${index & 255}` },
        ),
      );
    await Promise.all(ask(neighbour, '1', 1));
    const flood = ask(hostile, '2', 500).map(async (asked) => {
      const { status } = await asked;
      if (status === 503) refused += 1;
      return status;
    });
    await until('it is full', async () => refused > 0);
    // Fewer than half of the least that may be under way, which is what is left where the machine is busy.
    const answers = await Promise.all(ask(neighbour, '3', 20));
    release();
    await Promise.all(flood);
    await service.stop();
    expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
  }).timeout(60_000);
});
