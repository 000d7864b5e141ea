import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  computeCallLimitMs,
  computeRateTokenLimitMs,
  RoundTrips,
} from '#state/redis/connection/server-calls.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { startStandalone } from '../../../servers/redis.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { startUnrulyProxy } from '../../../servers/unruly-proxy.ts';
import { until } from '../../../servers/until.ts';
import { issueKey } from '../../../service/issued-key.ts';
import { spawnService } from '../../../service/service-process.ts';
import { Tenant } from '../../../service/tenant.ts';

describe('the round trip to a server', () => {
  it('is the fastest recent answer, however busy the server is', () => {
    let nowMs = 0;
    const roundTrips = new RoundTrips(() => nowMs);
    expect(roundTrips.of('a')).to.equal(0);
    for (const tookMs of [9, 2, 180]) roundTrips.observe('a', tookMs);
    expect([roundTrips.of('a'), roundTrips.of('b')]).to.deep.equal([2, 0]);
    nowMs = 2000;
    roundTrips.observe('a', 60);
    expect(roundTrips.of('a')).to.equal(2);
    nowMs = 4000;
    roundTrips.observe('a', 61);
    expect(roundTrips.of('a')).to.equal(60);
  });

  it('stays the same while nothing is answered', () => {
    let nowMs = 0;
    const roundTrips = new RoundTrips(() => nowMs);
    roundTrips.observe('a', 3);
    for (nowMs = 0; nowMs < 20_000; nowMs += 1000) expect(roundTrips.of('a')).to.equal(3);
  });

  it('allows a call and a token 300 ms together, or five round trips if longer, and a second at most', () => {
    for (const [roundTripMs, togetherMs] of [
      [0, 250],
      [60, 290],
      [120, 580],
      [200, 967],
      [5000, 1000],
    ] as const) {
      expect(Math.round(computeCallLimitMs(roundTripMs) + computeRateTokenLimitMs(roundTripMs))).to.equal(
        togetherMs,
      );
    }
    expect([computeCallLimitMs(0), computeRateTokenLimitMs(0)]).to.deep.equal([200, 50]);
  });
});

describeWithServer('redis-server', 'a Redis that is 230 ms away', () => {
  it('serves payers once the round trip is known, and is ready', async () => {
    const redis = await startStandalone();
    const proxy = await startUnrulyProxy(Number(new URL(redis.url).port));
    const dataDir = temporaryDirectory();
    const service = await spawnService(dataDir, { REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    try {
      const shop = new Tenant(service, await issueKey({ dataDir, redisUrl: redis.url }));
      expect((await shop.verdict({ orderRef: 'near' })).status).to.equal(200);
      proxy.meddle(async (piece) => {
        await sleep(230);
        return piece;
      });
      let asked = 0;
      const answered = async () => {
        const orderRef = `order-${asked++}`;
        return (await shop.verdict({ clientIdKey: orderRef, orderRef })).status === 200;
      };
      await until('four payers in a row are answered', async () => {
        for (let n = 0; n < 4; n++) if (!(await answered())) return false;
        return true;
      });
      expect((await fetch(`${service.platformUrl}/readyz`)).status).to.equal(200);
    } finally {
      await service.stop();
      await proxy.stop();
      await redis.stop();
    }
  });
});
