import { encodeClientState } from '../../../src/client/state-document.ts';
import { commitCall, commitScript } from '../../../src/state/redis/commit.ts';
import { connectRedis } from '../../../src/state/redis/connection/connection.ts';
import { parseRedisUrl } from '../../../src/state/redis/connection/url.ts';
import { RedisScript } from '../../../src/state/redis/script.ts';
import { RETENTION } from '../../../src/state/store.ts';
import { PLATFORM, SAMPLE_CLIENT, sampleAnswer, sampleVerdict } from '../sample.ts';
import { serveJson } from './json-server.ts';

/**
 * The skeleton: the Redis commands of one verdict with the service's own scripts and connection, and
 * payloads that are made once. Keys differ by client, so that Redis does the same work, too.
 */
const { commands } = await connectRedis(parseRedisUrl(process.env['REDIS_URL'] ?? ''), () => {});
const takeToken = new RedisScript('take-token-1.lua');
const load = new RedisScript('load-3.lua');
const sightings = new RedisScript('sightings.lua');

const { decision, nextState } = sampleVerdict();
const entry = {
  kind: 'verdict',
  at: decision.at,
  platform: PLATFORM,
  clientIdKey: SAMPLE_CLIENT.clientIdKey,
  decision,
} as const;
const stamp = { raw: null, storeTimeMs: 0, arrivedMs: 0 };
const change = { client: SAMPLE_CLIENT, stamp, state: nextState, entry, decision };
const [, ...commitArgs] = commitCall(change, encodeClientState(nextState), 0).args;

const RATE_ARGS = ['1000000', '1000000', '0'];
const ORDER_ARGS = [0, RETENTION.decisionMs, RETENTION.clientsPerOrder, 0].map(String);
const [, keptMs = '', length = '', windows = ''] = ORDER_ARGS;

await serveJson(async ({ clientIdKey, orderRef }) => {
  const home = `{A}${clientIdKey}`;
  const now = Date.now();
  await takeToken.run(commands, ['rate:skeleton'], RATE_ARGS);
  await load.run(commands, [`s:${home}`, '-:{A}', '-:{A}'], []);
  await sightings.run(
    commands,
    [`order-clients:bench:${orderRef}`],
    [String(now), '1', clientIdKey, keptMs, length, windows],
  );
  await commitScript.run(
    commands,
    [
      `s:${home}`,
      'journal:{A}',
      `w:${home}`,
      `d:${home}.1`,
      `l:${home}:${orderRef}`,
      '-:{A}',
      '-:{A}',
      'journal-loss:{A}',
    ],
    [String(now + 180), ...commitArgs],
  );
  return sampleAnswer();
});
