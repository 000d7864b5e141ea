import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { command } from '../test/servers/redis-command.ts';
import { createPayers, diffUsage, FilledRedis, type Payer } from './bench/filled-redis.ts';

/**
 * Measures what payers cost in Redis, by kind of key. Run it with `node scripts/memory.ts`. For each number of
 * verdicts, payers fill a redis-server: each asks that often, over 90 days, for a score with a device and a verdict
 * with an Idempotency-Key, and an outcome is reported each time. After 30 days without requests, one kind of key
 * after the other is removed, and the freed memory is read. Only the service's time is simulated, so keys that Redis
 * expires by itself (records, devices, answers) are all still there.
 */
const { values } = parseArgs({
  options: {
    verdicts: { type: 'string', default: '1,3,10,50,150' },
    rounds: { type: 'string', default: '30000' },
    json: { type: 'boolean', default: false },
  },
});

const DAY_MS = 24 * 3600_000;
const PAYERS_MIN = 400;
const PAYERS_MAX = 10_000;

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

/** Returns the bytes per client that removing each kind of key frees. */
async function measureFreedByKind(
  redis: FilledRedis,
  clients: number,
): Promise<Readonly<Record<string, number>>> {
  const freed: Record<string, number> = {};
  const kinds = String(await command(redis.port, ['EVAL', LIST_KINDS, '0'])).split(' ');
  for (const kind of kinds.toSorted()) {
    const before = await redis.readUsage();
    await command(redis.port, ['EVAL', REMOVE_KIND, '0', kind]);
    await command(redis.port, ['MEMORY', 'PURGE']);
    freed[kind] = Math.round((before.bytes - (await redis.readUsage()).bytes) / clients);
  }
  return freed;
}

/** Measures the bytes and the CPU of redis-server per payer with this many verdicts. */
async function measurePayer(verdicts: number) {
  const redis = await FilledRedis.start();
  try {
    const clients = Math.min(PAYERS_MAX, Math.max(PAYERS_MIN, Math.round(Number(values.rounds) / verdicts)));
    const payers = createPayers(clients);
    const before = await redis.readUsage();
    for (let round = 0; round < verdicts; round++) {
      await redis.forEachPayer(payers, (payer) => redis.score(payer));
      const orders = new Map(payers.map(({ name }) => [name, randomUUID()]));
      const orderOf = ({ name }: Payer) => orders.get(name) ?? '';
      await redis.forEachPayer(payers, (payer) => redis.verdict(payer, orderOf(payer)));
      await redis.forEachPayer(payers, (payer) => redis.outcome(payer, orderOf(payer)));
      redis.nowMs += (90 * DAY_MS) / verdicts;
    }
    const used = diffUsage(before, await redis.readUsage(), clients);
    redis.nowMs += 30 * DAY_MS;
    await redis.compactAbsentPayers();
    return { verdicts, clients, used, freed: await measureFreedByKind(redis, clients) };
  } finally {
    await redis.stop();
  }
}

const left = [];
for (const verdicts of values.verdicts.split(',').map(Number)) left.push(await measurePayer(verdicts));
if (values.json) console.log(JSON.stringify(left));
else {
  console.log('Bytes and CPU of redis-server for each payer, by the number of verdicts:');
  console.table(Object.fromEntries(left.map(({ verdicts, used }) => [verdicts, used])));
  console.log('Bytes for each payer that are freed when a kind of key is removed, 30 days later:');
  console.table(Object.fromEntries(left.map(({ verdicts, freed }) => [verdicts, freed])));
}
