import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { command } from '../test/servers/redis-command.ts';
import { FilledRedis, type Payer, payersNamed, type RedisUsage, usedBetween } from './bench/filled-redis.ts';

/**
 * What a verdict leaves in Redis, by what it is kept for: `node scripts/memory.ts`. Fills a redis-server of its own
 * with clients (a score with a device of its own, a verdict with an Idempotency-Key, an outcome), then removes one
 * kind of key after the other and reads how much memory that gives back. Order and request ids are random UUIDs.
 */
const { values } = parseArgs({
  options: { clients: { type: 'string', default: '20000' }, json: { type: 'boolean', default: false } },
});
const clients = Number(values.clients);

const redis = await FilledRedis.start();
const everybody = payersNamed(clients);
const orders = new Map(everybody.map(({ name }) => [name, randomUUID()]));
const orderOf = ({ name }: Payer) => orders.get(name) ?? '';

async function eachClient(work: (payer: Payer) => Promise<unknown>): Promise<RedisUsage> {
  const before = await redis.usage();
  await redis.each(everybody, work);
  return usedBetween(before, await redis.usage(), clients);
}

const REMOVE_KIND = `
  local removed = 0
  for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do removed = removed + redis.call('DEL', key) end
  return removed`;

const LIST_KINDS = `
  local kinds = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do kinds[string.match(key, '^([^:]+):') or key] = 1 end
  local names = {}
  for kind in pairs(kinds) do names[#names + 1] = kind end
  return table.concat(names, ' ')`;

/** Bytes a client that removing each kind of key gives back. */
async function freedByKind(): Promise<Readonly<Record<string, number>>> {
  const freed: Record<string, number> = {};
  const kinds = String(await command(redis.port, ['EVAL', LIST_KINDS, '0'])).split(' ');
  for (const kind of kinds.toSorted()) {
    const before = await redis.usage();
    await command(redis.port, ['EVAL', REMOVE_KIND, '0', kind]);
    await command(redis.port, ['MEMORY', 'PURGE']);
    freed[kind] = Math.round((before.bytes - (await redis.usage()).bytes) / clients);
  }
  return freed;
}

try {
  const used = {
    score: await eachClient((payer) => redis.score(payer)),
    verdict: await eachClient((payer) => redis.verdict(payer, orderOf(payer))),
    outcome: await eachClient((payer) => redis.outcome(payer, orderOf(payer))),
  };
  const freed = await freedByKind();
  if (values.json) console.log(JSON.stringify({ clients, used, freed }));
  else {
    console.log(`${clients} clients; bytes and redis-server CPU a client:`);
    console.table(used);
    console.log('bytes a client that removing each kind of key gives back:');
    console.table(freed);
  }
} finally {
  await redis.stop();
}
