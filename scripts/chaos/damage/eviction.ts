import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/servers/free-port.ts';
import { APPEND_ONLY, startRedis } from '../../../test/servers/redis-process.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { call } from '../../../test/service/http-call.ts';
import { never, reported } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario } from '../scenario.ts';

const POLICY = 'allkeys-lru';
const NOTICE_MS = 2_000;

/** A Redis that may forget payers when its memory is short cannot keep what the service promises. */
export const eviction: Scenario = {
  name: 'eviction',
  does: 'Redis with maxmemory-policy allkeys-lru: the log, readyz and a gauge warn of it',
  needs: ['redis-server'],
  limitSeconds: 60,
  run: async () => {
    const options = [...APPEND_ONLY, '--maxmemory', '64mb', '--maxmemory-policy', POLICY];
    const redis = await startRedis(temporaryDirectory(), await freePort(), options);
    const service = await startServiceNode({ redisUrl: redis.url, env: { LOG_LEVEL: 'warn' } });
    await delay(NOTICE_MS);
    const ready = await call('GET', `${service.platformUrl}/readyz`, {});
    const metrics = await call<string>('GET', `${service.platformUrl}/metrics`, {});
    const warned = /^scoring_store_warnings\{[^}]*eviction[^}]*\} 1$/m.test(metrics.body);
    return [
      reported('policy of Redis', POLICY),
      never('logs without a warning', service.log().includes(POLICY) ? 0 : 1),
      never('readyz without a warning', JSON.stringify(ready.body).includes(POLICY) ? 0 : 1),
      never('gauges that do not tell', warned ? 0 : 1),
    ];
  },
};
