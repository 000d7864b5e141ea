import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Metrics } from '../src/metrics.ts';
import { hmacPseudonym } from '../src/pseudonym.ts';
import { fixedRules } from '../src/rollout/rule-source.ts';
import { ScoringService } from '../src/service.ts';
import { openRedisStore } from '../src/state/redis/store.ts';
import { startStandalone } from '../test/servers/redis.ts';
import { command } from '../test/servers/redis-command.ts';
import { APPEND_ONLY } from '../test/servers/redis-process.ts';
import { loadBenchRules, PLATFORM } from './bench/sample.ts';

/**
 * What a verdict leaves in Redis, by what it is kept for: `node scripts/memory.ts`. Fills a redis-server of its own
 * with clients (a score with a device of its own, a verdict with an Idempotency-Key, an outcome), then removes one
 * kind of key after the other and reads how much memory that gives back. Order and request ids are random UUIDs.
 */
const { values } = parseArgs({
  options: { clients: { type: 'string', default: '20000' }, json: { type: 'boolean', default: false } },
});
const clients = Number(values.clients);

const AT_ONCE = 16;
const PATIENCE_MS = 10_000;

// A rewrite of the append-only file would make it shorter in the middle of a count.
const redis = await startStandalone([...APPEND_ONLY, '--auto-aof-rewrite-percentage', '0']);
const port = redis.nodes[0]?.port ?? 0;
const store = await openRedisStore(redis.url, () => {}, { commandTimeoutMs: PATIENCE_MS });
const service = new ScoringService({
  store,
  ruleSource: fixedRules(loadBenchRules()),
  clock: Date.now,
  pseudonym: hmacPseudonym('a secret that only this measure knows'),
  metrics: new Metrics(),
});

interface Client {
  readonly name: string;
  readonly orderRef: string;
}

const score = ({ name }: Client, index: number) =>
  service.score(PLATFORM, {
    sellPointKey: 'shop-1',
    clientIdKey: name,
    amountRequested: '25.00',
    selectedMethodKey: 'card',
    fingerprint: `fingerprint-${index}`,
    ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    userAgent: 'Mozilla/5.0',
  });

const verdict = ({ name, orderRef }: Client) =>
  service.verdict(
    PLATFORM,
    { sellPointKey: 'shop-1', clientIdKey: name, method: 'card', amountRequested: '25.00', orderRef },
    { requestId: randomUUID(), idempotencyKey: randomUUID() },
  );

const outcome = ({ name, orderRef }: Client) =>
  service.outcome(PLATFORM, {
    clientIdKey: name,
    orderRef,
    outcome: 'PAID',
    cause: null,
    occurredAt: null,
  });

/** What the server has used since it was started. */
interface Usage {
  readonly bytes: number;
  readonly cpuMicros: number;
  readonly logBytes: number;
  readonly received: number;
  readonly sent: number;
}

async function usage(): Promise<Usage> {
  const info = String(await command(port, ['INFO', 'everything']));
  const field = (name: string) => Number(new RegExp(`^${name}:([0-9.]+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    bytes: field('used_memory') - field('mem_aof_buffer') - field('mem_clients_normal'),
    cpuMicros: (field('used_cpu_user') + field('used_cpu_sys')) * 1e6,
    logBytes: field('aof_current_size'),
    received: field('total_net_input_bytes'),
    sent: field('total_net_output_bytes'),
  };
}

const everybody = Array.from({ length: clients }, () => ({ name: randomUUID(), orderRef: randomUUID() }));

async function eachClient(work: (client: Client, index: number) => Promise<unknown>): Promise<Usage> {
  const before = await usage();
  const entries = everybody.entries();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [index, client] of entries) await work(client, index);
    }),
  );
  const after = await usage();
  return {
    bytes: (after.bytes - before.bytes) / clients,
    cpuMicros: (after.cpuMicros - before.cpuMicros) / clients,
    logBytes: (after.logBytes - before.logBytes) / clients,
    received: (after.received - before.received) / clients,
    sent: (after.sent - before.sent) / clients,
  };
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
  const kinds = String(await command(port, ['EVAL', LIST_KINDS, '0'])).split(' ');
  for (const kind of kinds.toSorted()) {
    const before = await usage();
    await command(port, ['EVAL', REMOVE_KIND, '0', kind]);
    await command(port, ['MEMORY', 'PURGE']);
    freed[kind] = Math.round((before.bytes - (await usage()).bytes) / clients);
  }
  return freed;
}

try {
  const used = {
    score: await eachClient(score),
    verdict: await eachClient(verdict),
    outcome: await eachClient(outcome),
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
  await store.close();
  await redis.stop();
}
