import { expect } from 'chai';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import type { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import type { Arm, Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import type { Store } from '#state/store.ts';
import { readRolloutStatus, rollOut } from '#workbench/rollout/change-rollout.ts';
import { type CutOffProxy, startCutOffProxy } from '../../servers/cut-off-proxy.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { FLUSHED_AT_ONCE, type RedisProcess } from '../../servers/redis-process.ts';
import { until } from '../../servers/until.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { addVersion, LONGER_FIRST_WAIT, rulesDirectory, startQuietNode, versionOf } from './rule-folders.ts';

const CLIENTS = 30;
const VERDICTS_AT_ONCE = 60;
const PAYERS = 40;

interface Node {
  readonly rollout: RolloutNode;
  readonly service: RunningService;
  readonly shop: Tenant;
}

describeWithServer('redis-server', 'a trial while Redis is away', () => {
  const clock = new MovableClock();
  let redis: RedisServers;
  let server: RedisProcess;
  let proxy: CutOffProxy;
  let stores: readonly Store[] = [];
  let nodes: readonly Node[] = [];

  before(async () => {
    redis = await startStandalone(FLUSHED_AT_ONCE);
    server = redis.nodes[0] ?? expect.fail('there is no server');
    proxy = await startCutOffProxy(server.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const options = { commandTimeoutMs: 5000 };
    stores = [await openPatiently(url, options), await openPatiently(url, options)];
    const rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    nodes = await Promise.all(stores.map((store) => startNode(store, rulesDir)));
    const [first] = stores;
    if (first === undefined) throw new Error('there is no store');
    const change = { who: 'ann', at: clock.now(), reason: 'a test', revision: null, acceptDifference: true };
    const goal = { mode: 'canary', percent: 40, guardPoints: null } as const;
    const rules = await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir));
    const parts = { fleet: new Fleet(first), rules, store: first, decidedLately: async () => [] };
    await rollOut(parts, versionOf('p2.v11'), goal, change);
    for (const { rollout } of nodes)
      await until('a node follows the rollout', async () => {
        await rollout.syncWithFleet();
        return rollout.rollout.candidates.length === 1;
      });
  });
  after(async () => {
    proxy.mend();
    for (const { service } of nodes) await service.stop();
    for (const { rollout } of nodes) await rollout.stop();
    for (const store of stores) await store.close();
    proxy.close();
    await redis.stop();
  });

  async function startNode(store: Store, rulesDir: string): Promise<Node> {
    const rollout = await startQuietNode(store, rulesDir, clock.now);
    const service = await startService({ store, clock, ruleSource: rollout });
    return { rollout, service, shop: await service.tenant() };
  }

  const acknowledged = new Set<string>();
  const payers: string[] = [];
  let asked = 0;

  const anyShop = () => nodes[asked++ % nodes.length]?.shop ?? expect.fail();

  async function ask(clientIdKey: string): Promise<void> {
    const { status, headers } = await anyShop().verdict({ clientIdKey, orderRef: `order-${asked}` });
    if (status === 200) acknowledged.add(headers.get('x-decision-id') ?? '');
    else expect(status).to.equal(503);
  }

  async function pay(clientIdKey: string): Promise<boolean> {
    const { status } = await anyShop().outcome(clientIdKey, `paid by ${clientIdKey}`, 'PAID');
    expect(status).to.be.oneOf([200, 503]);
    return status === 200;
  }

  /** Both nodes are asked at once; `goAway` is called while some have their answer and the others are under way. */
  async function traffic(payers: readonly string[] = [], goAway: () => unknown = () => {}): Promise<void> {
    const asks = Array.from({ length: VERDICTS_AT_ONCE }, (_, index) => ask(`client-${index % CLIENTS}`));
    const all: readonly Promise<unknown>[] = [...asks, ...payers.map(pay)];
    await Promise.race(all);
    await goAway();
    await Promise.all(all);
  }

  const isBack = () =>
    until('both nodes answer again', async () => {
      const answers = await Promise.all(
        nodes.map(({ shop }) => shop.ask('GET', 'client?clientIdKey=client-0')),
      );
      return answers.every(({ status }) => status !== 503);
    });

  async function countedAndRecorded() {
    const [first] = stores;
    const shop = nodes[0]?.shop;
    if (first === undefined || shop === undefined) throw new Error('there is no node');
    const recorded = await shop.allDecisions({});
    await until('the nodes have sent what they counted', async () => {
      for (const { rollout } of nodes) await rollout.syncWithFleet();
      const { active, candidate } = await countedIn(first);
      const paid = active.clients.paid + candidate.clients.paid;
      return active.verdicts + candidate.verdicts >= recorded.length && paid >= payers.length;
    }).catch(() => {
      // The figures say what is missing.
    });
    return { counted: await countedIn(first), recorded };
  }

  async function countedIn(store: Store) {
    const status = await readRolloutStatus(new Fleet(store), store.tallies, {
      platform: toPlatformName('shop'),
      decisionOf: async () => null,
    });
    return status.trials[0]?.arms ?? expect.fail('there is no trial');
  }

  const outages: Readonly<Record<string, readonly [begin: () => unknown, end: () => unknown]>> = {
    'is silent': [() => proxy.cut(), () => proxy.mend()],
    'refuses connections': [() => proxy.close(), () => proxy.open()],
    'is killed and starts again with its file': [() => server.kill(), () => server.restart()],
  };

  for (const [title, [begin, end]] of Object.entries(outages))
    it(`has counted exactly the recorded verdicts after it ${title}, answered or not`, async () => {
      const own = Array.from({ length: PAYERS }, (_, index) => `payer-${index} while it ${title}`);
      payers.push(...own);
      await isBack();
      await Promise.all(own.map(ask));
      await traffic();
      await traffic(own, begin);
      await end();
      await isBack();
      clock.moveSeconds(1);
      await Promise.all(own.map(ask));
      await until('every payment was taken', async () => {
        clock.moveSeconds(1);
        return (await Promise.all(own.map(pay))).every((isTaken) => isTaken);
      });
      await traffic();
      const { counted, recorded } = await countedAndRecorded();
      expect(recorded.map(({ decisionId }) => decisionId)).to.include.members([...acknowledged]);
      for (const arm of ['active', 'candidate'] as const)
        expect(counted[arm], arm).to.deep.include(figuresOf(arm, recorded, payers));
    });
});

function figuresOf(arm: Arm, recorded: readonly Decision[], payers: readonly string[]) {
  const own = recorded.filter((decision) => decision.arm === arm);
  const clientsWith = (verdict?: string) =>
    new Set(
      own.filter((one) => verdict === undefined || one.verdict === verdict).map((one) => one.clientIdKey),
    ).size;
  return {
    verdicts: own.length,
    waits: own.filter(({ verdict }) => verdict === 'WAIT').length,
    blocks: own.filter(({ verdict }) => verdict === 'BLOCK').length,
    clients: {
      seen: clientsWith(),
      blocked: clientsWith('BLOCK'),
      waited: clientsWith('WAIT'),
      bots: 0,
      paid: new Set(own.map(({ clientIdKey }) => clientIdKey)).intersection(new Set(payers)).size,
      unpaid: 0,
    },
  };
}
