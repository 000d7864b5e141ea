import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { platformName } from '../../../src/client/client-key.ts';
import { registerKey, stateKey } from '../../../src/state/keys.ts';
import { scoring } from '../../../test/cli/scoring.ts';
import { clientKey } from '../../../test/client/client-keys.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import { command } from '../../../test/servers/redis-command.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { Tenant } from '../../../test/service/tenant.ts';
import { atLeast, type Figure, never, reported } from '../figure.ts';
import { onEachStore } from '../processes/each-store.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { failed, loadDuring } from '../traffic/load.ts';

const DAMAGED = 'damaged';
const NONSENSE = '{"torn';
const REPAIR = ['state', 'rebuild', '--platform', 'shop', '--client', DAMAGED, '--reason', 'chaos'];
const NOTICE_MS = 3_000;

/** How a store's documents are corrupted without the service noticing. */
interface Spoiler {
  state(clientIdKey: string): Promise<void>;
  rollout(): Promise<void>;
}

/** Something overwrote the state of one payer, and the rollout, with nonsense. */
export const corruptDocuments: Scenario = {
  name: 'corrupt-documents',
  does: 'nonsense in the state of one client, and in the rollout: everybody else is served, erasure helps the client, so does rebuilding it, status says so and a rollback repairs the rollout; on SQLite and on Redis',
  limitSeconds: 120,
  run: (run) =>
    onEachStore(
      run,
      () => underSqlite(run),
      () => underRedis(run),
    ),
};

async function underSqlite(run: ScenarioRun): Promise<readonly Figure[]> {
  const dataDir = temporaryDirectory();
  const service = await startServiceNode({ dataDir });
  const write = async (statement: string, ...values: readonly string[]) => {
    const file = new DatabaseSync(join(dataDir, 'scoring.sqlite'), { timeout: 5000 });
    file.prepare(statement).run(...values);
    file.close();
  };
  const spoiler: Spoiler = {
    state: (clientIdKey) =>
      write('UPDATE clients SET state = ? WHERE client = ?', NONSENSE, hashOf(clientIdKey)),
    rollout: () => write("UPDATE registers SET value = ? WHERE name = 'rollout'", NONSENSE),
  };
  const operator = new Tenant(service, await issueKey({ dataDir }, '*'));
  return spoil('SQLite', service, operator, { DATA_DIR: dataDir }, spoiler, run);
}

async function underRedis(run: ScenarioRun): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  const port = redis.nodes[0]?.port ?? 0;
  const dataDir = temporaryDirectory();
  const service = await startServiceNode({ dataDir, redisUrl: redis.url });
  const set = async (key: string) => {
    await command(port, ['SET', key, NONSENSE, 'XX']);
  };
  const spoiler: Spoiler = {
    state: (clientIdKey) => set(stateKey(hashOf(clientIdKey))),
    rollout: () => set(registerKey('rollout')),
  };
  const operator = new Tenant(service, await issueKey({ dataDir, redisUrl: redis.url }, '*'));
  const storeEnv = { DATA_DIR: dataDir, REDIS_URL: redis.url };
  return spoil('Redis', service, operator, storeEnv, spoiler, run);
}

async function spoil(
  store: string,
  service: ServiceNode,
  operator: Tenant,
  storeEnv: NodeJS.ProcessEnv,
  spoiler: Spoiler,
  { report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const { shop } = service;
  const ask = async () => (await shop.verdict({ clientIdKey: DAMAGED })).status;
  const { samples, result } = await loadDuring(service, async () => {
    await ask();
    await spoiler.state(DAMAGED);
    const whileDamaged = await ask();
    const erased = (await shop.ask('DELETE', `client?clientIdKey=${DAMAGED}`)).status;
    const afterErasure = await ask();
    await spoiler.state(DAMAGED);
    const repair = await scoring(REPAIR, storeEnv);
    report(`${store}: ${repair.stdout.trim().replaceAll('\n', ' ')}${repair.stderr.trim()}`);
    const afterRepair = await ask();
    await spoiler.rollout();
    await delay(NOTICE_MS);
    const status = await operator.ask('GET', 'rules');
    const rolledBack = await operator.ask('POST', 'rules/rollback', { reason: 'chaos' });
    await delay(NOTICE_MS);
    const mended = await operator.ask('GET', 'rules');
    report(`${store}: rollback answered ${rolledBack.status}: ${JSON.stringify(rolledBack.body)}`);
    return {
      whileDamaged,
      erased,
      afterErasure,
      afterRepair,
      told: saysUnreadable(status.body),
      still: saysUnreadable(mended.body),
    };
  });
  return [
    atLeast(`verdicts asked for by others`, samples.length, 1),
    never(`of these, not answered 200`, failed(samples).length),
    reported(`verdict of the damaged client`, String(result.whileDamaged)),
    never(`erasures of the damaged client that failed`, result.erased < 300 ? 0 : 1),
    never(`verdicts refused after the erasure`, result.afterErasure === 200 ? 0 : 1),
    never(`verdicts refused after the repair`, result.afterRepair === 200 ? 0 : 1),
    never(`status that hides the damaged rollout`, result.told ? 0 : 1),
    never(`rollouts still damaged after a rollback`, result.still ? 1 : 0),
  ];
}

function saysUnreadable(body: unknown): boolean {
  return /"unreadable":true/.test(JSON.stringify(body));
}

function hashOf(clientIdKey: string): string {
  return clientKey(platformName('shop'), clientIdKey).hash;
}
