import { getRecordDictionary } from '#decision/decision-record.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { ordersKey, shapeKey } from '#state/keys.ts';
import { COMMIT_RETENTION, createCommitCall, createCommitScript } from '#state/redis/clients.ts';
import { connectRedis } from '#state/redis/connection/connection.ts';
import { parseRedisUrl } from '#state/redis/connection/url.ts';
import { formatInstallationShapeMember } from '#state/redis/installation.ts';
import { RedisScript } from '#state/redis/script.ts';
import { currentRules } from '../../../test/service/current-rules.ts';
import { BENCH_PLATFORM, decideSampleVerdict, getSampleAnswer, SAMPLE_CLIENT } from '../sample.ts';
import { serveVerdictRoute } from './json-server.ts';

/**
 * The skeleton sends the Redis commands of one verdict with the service's own scripts and connection, and constant
 * payloads. Keys differ by client, so that Redis does the same work.
 */
const connection = await connectRedis(parseRedisUrl(process.env['REDIS_URL'] ?? ''), () => {});
const { commands, sendTogether } = connection;
const takeToken = new RedisScript('take-token-1.lua');
const commitScript = createCommitScript({ ...COMMIT_RETENTION, installation: 'skeleton' });

const { decision, nextState } = decideSampleVerdict();
const entry = {
  kind: 'verdict',
  at: decision.at,
  platform: BENCH_PLATFORM,
  clientIdKey: SAMPLE_CLIENT.clientIdKey,
  decision,
} as const;
const stamp = { raw: null, storeTimeMs: 0, arrivedMs: 0 };
const shape = getRecordDictionary(currentRules());
const change = { client: SAMPLE_CLIENT, stamp, state: nextState, entry, decision, shape };
const terms = { validUntilMs: 0, storesShape: false, journalEntries: null, installation: 'skeleton' };
const [, ...commitArgs] = createCommitCall(change, encodeClientState(nextState), terms).args;

const RATE_ARGS = ['1000000', '1000000', '0', '0'];

const SHAPE = shapeKey('A', shape.id);
const PARTITION = 'installation:{A}';
await commands.set(SHAPE, shape.text);
await commands.sAdd(PARTITION, ['skeleton', formatInstallationShapeMember('skeleton', shape.id)]);

await serveVerdictRoute(async ({ clientIdKey, orderRef }) => {
  const home = `{A}${clientIdKey}`;
  const now = Date.now();
  await Promise.all([
    takeToken.run(connection, ['rate:skeleton'], RATE_ARGS, () => {}),
    sendTogether?.([['GET', `s:${home}`], ['TIME'], ['ECHO', 'skeleton']]),
  ]);
  const keys = [`s:${home}`, 'journal:{A}', `d:${home}.1`, ordersKey('A', orderRef), PARTITION];
  await commitScript.run(connection, keys, [String(now + 180), ...commitArgs], () => {});
  return getSampleAnswer();
});
