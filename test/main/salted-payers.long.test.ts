import { getHashes, hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { command } from '../servers/redis-command.ts';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { describeOnSharedStates } from '../stores/shared-state.ts';

/** All but those of any length. */
const ALGORITHMS = getHashes().filter((name) => !/shake/i.test(name));

/** As many bytes of a hash as its shortest form in the store has, rounded down. */
const TELLING_BYTES = 8;

describeOnSharedStates('hashes of payers', (share) => {
  it('are the same for all nodes, and never the plain hash of an id', async () => {
    const { dataDir, env, key } = await share();
    const redisUrl = env['REDIS_URL'];
    const nodes = await Promise.all([spawnService(dataDir, env), spawnService(dataDir, env)]);
    const clientIdKey = `payer-${crypto.randomUUID()}`;
    const ids = await decisionsAbout(nodes, key, clientIdKey);
    expect(ids).to.have.length(12);
    const hashes = new Set(ids.map((id) => id.split('.')[0]));
    expect(hashes.size).to.equal(1);
    await Promise.all(nodes.map((node) => node.stop()));
    const bytes = Buffer.concat([...filesOf(dataDir), ...(await filesOfRedis(redisUrl))]);
    expect(
      formsOf(Buffer.from([...hashes].join(''), 'base64url')).some((form) => bytes.includes(form)),
    ).to.equal(true);
    for (const text of [clientIdKey, `shop/${clientIdKey}`, `shop\0${clientIdKey}`])
      for (const algorithm of ALGORITHMS)
        for (const form of formsOf(hash(algorithm, text, 'buffer')))
          expect(bytes.includes(form), `${algorithm} of ${text}`).to.equal(false);
  });
});

/** Makes a payer with every kind of trace; gives the ids of its decisions. */
async function decisionsAbout(
  nodes: readonly ServiceProcess[],
  key: string,
  clientIdKey: string,
): Promise<readonly string[]> {
  const close = { Connection: 'close' };
  const ids: string[] = [];
  for (let turn = 0; turn < 6; turn++)
    for (const node of nodes) {
      const shop = new Tenant(node, key);
      const orderRef = `order-${ids.length}`;
      await askUnlessStandstill(() => shop.score({ clientIdKey }, close));
      const { headers } = await askUnlessStandstill(() => shop.verdict({ clientIdKey, orderRef }, close));
      ids.push(headers.get('X-Decision-Id') ?? '');
      await shop.ask('PUT', `client/override?clientIdKey=${clientIdKey}`, {
        group: 'TRUSTED',
        reason: 'a regular',
      });
    }
  return ids;
}

/** The beginning of a hash in the forms in which it may be written down. */
function formsOf(digest: Buffer): readonly Buffer[] {
  const bytes = digest.subarray(0, TELLING_BYTES);
  const number = bytes.readBigUInt64BE(0).toString();
  const text = digest.toString('base64url').slice(0, 10);
  return [Buffer.from(text), Buffer.from(bytes.toString('hex')), Buffer.from(number), bytes];
}

function filesOf(folder: string): readonly Buffer[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path));
}

/** Its log of appended commands, which holds all that was ever written. */
async function filesOfRedis(url: string | undefined): Promise<readonly Buffer[]> {
  if (url === undefined) return [];
  const reply = await command(Number(new URL(url).port), ['CONFIG', 'GET', 'dir']);
  return Array.isArray(reply) ? filesOf(String(reply[1])) : [];
}
