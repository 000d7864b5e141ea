import { join } from 'node:path';
import { type Application, startApplication } from '#application.ts';
import { createLog } from '#base/log.ts';
import { AccessKeys, type GrantableOperation, INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { type Config, getOrCreateSignalSecret, readConfig } from '#config.ts';
import { createHoldoutDraw } from '#decision/holdout.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import {
  createAttributePseudonymizer,
  createPseudonymizer,
  deriveNodeSecretIds,
} from '#decision/pseudonym.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { openStoreWithArchivedSalt } from '#history/archive/s3/open-archive.ts';
import { openShipper } from '#history/archive/ship/shipping.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import type { Store } from '#state/store.ts';
import { ROLES } from '#workbench/access/roles.ts';
import { ReportingWatch } from '#workbench/monitoring/reporting.ts';
import { Chance } from '../example-data/chance.ts';
import { FIRST_DEMO_VERSION, writeDemoRules } from './demo-rules.ts';
import { PayerMaker } from './payers.ts';
import { Schedule } from './schedule.ts';
import { Shop } from './shop.ts';
import { createShopDisturbances, DAY_MS, DEMO_DAYS, planVisits, RING_DEVICE } from './story.ts';

const DEMO = toPlatformName('demo');

const HOUR_MS = 3_600_000;

/** Keys of the demo expire after a day, so that a forgotten demo leaves nothing open. */
const KEY_LIFETIME_MS = 24 * HOUR_MS;

/** The four people who work with the console. Each has the operations of a role, on a platform. */
const PEOPLE = {
  support: { owner: 'sam', platform: DEMO, operations: ROLES.support },
  analyst: {
    owner: 'ana',
    platform: DEMO,
    operations: [...ROLES.analyst, 'decisions', 'clients:read', 'lists:read'],
  },
  operator: { owner: 'maria', platform: INSTALLATION_PLATFORM, operations: [...ROLES.operator, 'figures'] },
  lead: { owner: 'lea', platform: DEMO, operations: [...ROLES.admin, 'figures', 'events'] },
} as const satisfies Readonly<
  Record<
    string,
    {
      readonly owner: string;
      readonly platform: PlatformName;
      readonly operations: readonly GrantableOperation[];
    }
  >
>;

/** The role of one of the four people of the demo, like `support`. */
export type DemoRole = keyof typeof PEOPLE;

/** One key for each of the four people. */
export type DemoKeys = Readonly<Record<DemoRole, string>>;

/** Returns the settings with which the demo is served afterwards. */
export function readDemoConfig(folder: string, given: NodeJS.ProcessEnv): Config {
  return readConfig({ ...given, DATA_DIR: join(folder, 'data'), RULES_DIR: join(folder, 'rules') });
}

/** Makes up four weeks of a shop. Returns a key for each of the people who work on it. */
export async function makeDemo(config: Config, nowMs: number): Promise<DemoKeys> {
  writeDemoRules(config.rulesDir);
  const store = await openStoreWithArchivedSalt(config, () => {});
  try {
    await playFourWeeks(store, config, nowMs);
    return await issueKeys(store);
  } finally {
    await store.close();
    await shipAll(config);
  }
}

async function playFourWeeks(store: Store, config: Config, nowMs: number): Promise<void> {
  const startMs = Math.floor((nowMs - DEMO_DAYS * DAY_MS) / HOUR_MS) * HOUR_MS;
  const clock = { now: startMs };
  const at = () => clock.now;
  const signalSecret = getOrCreateSignalSecret(config);
  const attributeHmacs = createAttributePseudonymizer([signalSecret]);
  const { rulesDir, dataDir } = config;
  const firstVersion = isRuleVersion(FIRST_DEMO_VERSION) ? FIRST_DEMO_VERSION : null;
  const reader = createDirectRuleReader(rulesDir);
  const node = await RolloutNode.start({
    ...{ store, rulesDir, reader, dataDir, attributeHmacs, firstVersion, clock: at },
    onTrouble: () => {},
  });
  const anyPort = { host: '127.0.0.1', port: 0 };
  const application = await startApplication({
    store,
    ruleSource: node,
    rollout: { fleet: new Fleet(store), loadedRules: node.rules, report: () => node.report() },
    rulesDir,
    clock: at,
    signalSecret,
    attributeHmacs,
    rateLimit: { ratePerSecond: 0, burst: 1, trustedProxies: 0 },
    basePath: '',
    caller: anyPort,
    platform: anyPort,
    log: createLog('silent'),
  });
  const reporting = new ReportingWatch({ registers: store.registers, clock: at, onTrouble: () => {} });
  const serviceOf = (lane: { readonly now: number }) =>
    new ScoringService({
      store,
      ruleSource: node,
      clock: () => lane.now,
      metrics: new Metrics(),
      reporting,
      holdoutDraw: createHoldoutDraw(signalSecret),
      secrets: deriveNodeSecretIds(signalSecret, null),
      pseudonym: createPseudonymizer(signalSecret),
      formerPseudonym: null,
    });
  const chance = new Chance(1);
  const state = createShopDisturbances(startMs, chance);
  let orders = FIRST_ORDER;
  const nameOrder = () => `A-${orders++}`;
  const lanes = Array.from({ length: LANES }, (_, place) => {
    const lane = { now: startMs };
    const schedule = new Schedule();
    const own = { schedule, clock: lane, chance: new Chance(place + 2) };
    const shop = new Shop({ service: serviceOf(lane), platform: DEMO, state, nameOrder, ...own });
    return { clock: lane, schedule, shop };
  });
  const shopOf = (device: string) => (lanes[hashOf(device) % LANES] ?? lanes[0])?.shop ?? throwNoLane();
  planVisits({ shopOf, payers: new PayerMaker(chance), chance, startMs });
  const work = new Schedule();
  planWork(work, startMs, await openDesk(application));
  const endMs = nowMs - 60_000;
  for (let from = startMs; from < endMs; from += WINDOW_MS) {
    // People act at the beginning of an hour, which is also the beginning of a window.
    await work.run(clock, from + 1);
    const end = Math.min(endMs, from + WINDOW_MS);
    await Promise.all(lanes.map(({ schedule, clock: lane }) => schedule.run(lane, end)));
    clock.now = end;
  }
  await reporting.stop();
  await application.drain();
  await node.stop();
}

/**
 * The number of lanes. A lane has a clock of its own and simulates payers who share nothing with those of other
 * lanes. All lanes run at the same time, because each commit waits for the disk.
 */
const LANES = 24;

/** The longest time, in ms, by which the clocks of the lanes may differ. */
const WINDOW_MS = HOUR_MS / 2;

const FIRST_ORDER = 20_000;

function hashOf(text: string): number {
  return [...text].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 65_521, 7);
}

function throwNoLane(): never {
  throw new Error('there is no lane');
}

/** Calls the platform's interface, as the operator or as the analyst. */
interface Desk {
  readonly operator: (method: string, path: string, body?: object) => Promise<unknown>;
  readonly analyst: (method: string, path: string, body?: object) => Promise<unknown>;
}

async function openDesk({ keys, platformUrl }: Application): Promise<Desk> {
  const lifetimeMs = (DEMO_DAYS + 1) * DAY_MS;
  const asking = async (platform: PlatformName, owner: string, operations: readonly GrantableOperation[]) => {
    const { key } = await keys.issue(platform, operations, lifetimeMs, owner);
    return async (method: string, path: string, body?: object): Promise<unknown> => {
      const answer = await fetch(`${platformUrl}/v1/platform/${path}`, {
        method,
        headers: { 'X-KA-Access-Key': key, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text || 'null');
      throw new Error(`${method} ${path} was answered ${answer.status} ${text}`);
    };
  };
  return {
    operator: await asking(INSTALLATION_PLATFORM, 'maria', [...ROLES.operator, 'figures']),
    analyst: await asking(DEMO, 'ana', [...ROLES.analyst, 'clients', 'lists']),
  };
}

/** Plans what the people do: a rollout that helps, one that is taken back, a list, a draft. */
function planWork(schedule: Schedule, startMs: number, { operator, analyst }: Desk): void {
  const on = (day: number, hour: number, act: () => Promise<unknown>) =>
    schedule.add(startMs + day * DAY_MS + hour * HOUR_MS, async () => {
      await act();
    });
  const rollOut = (body: object) => operator('POST', 'rules/rollout', body);
  on(6, 9, () => rollOut({ version: 'p2.v11', mode: 'shadow', reason: 'shorter waits: what would change?' }));
  const canary = { version: 'p2.v11', mode: 'canary', percent: 20 };
  on(8, 10, () => rollOut({ ...canary, guard: 8, reason: 'waits of 20 s on a fifth of the payers' }));
  on(13, 10, () =>
    rollOut({
      version: 'p2.v11',
      mode: 'active',
      reason: 'more payers come back and pay',
      acceptDifference: true,
    }),
  );
  on(17, 9, () =>
    rollOut({ version: 'p2.v12', mode: 'canary', percent: 25, reason: 'a stricter threshold for bots' }),
  );
  on(17, 15, () =>
    operator('POST', 'rules/rollback', { version: 'p2.v12', reason: 'it blocks payers of the phone app' }),
  );
  on(24, 10, () => rollOut({ version: 'p2.v13', mode: 'shadow', reason: 'even shorter waits' }));
  const next = { version: 'p2.v13', mode: 'canary', percent: 20, guard: 8 };
  on(25, 10, () => rollOut({ ...next, reason: 'the differences are those that were meant' }));
  on(23, 16, async () => {
    await analyst('PUT', 'lists/blocked-devices', { kind: 'fingerprint' });
    const entry = { reason: 'twelve names on one device, none paid' };
    await analyst('PUT', `lists/blocked-devices/entries?value=${RING_DEVICE}`, entry);
  });
  on(26, 11, () => beginDraft(analyst));
}

/** Saves the draft on which the analyst works these days. */
async function beginDraft(analyst: Desk['analyst']): Promise<void> {
  const folder = await analyst('GET', 'rules/versions/p2.v13');
  const files = readFiles(folder).map(([path, text]) => [path, text.replaceAll('p2.v13', 'p2.v14')] as const);
  await analyst('PUT', 'rules/drafts/p2.v14', { from: 'p2.v13', files: Object.fromEntries(files) });
}

/** Returns the texts of a version by path, from the interface's answer. */
function readFiles(folder: unknown): readonly (readonly [path: string, text: string])[] {
  if (typeof folder !== 'object' || folder === null || !('files' in folder) || !Array.isArray(folder.files))
    return [];
  return folder.files.map(({ path, text }: { path: string; text: string }) => [path, text] as const);
}

async function issueKeys(store: Store): Promise<DemoKeys> {
  const keys = new AccessKeys(store.documents, Date.now);
  const issue = async (person: DemoRole) => {
    const { platform, operations, owner } = PEOPLE[person];
    return (await keys.issue(platform, operations, KEY_LIFETIME_MS, owner)).key;
  };
  return {
    support: await issue('support'),
    analyst: await issue('analyst'),
    operator: await issue('operator'),
    lead: await issue('lead'),
  };
}

/** Ships all decisions, so that people find them in the archive from the beginning. */
async function shipAll(config: Config): Promise<void> {
  const { archiveDir, archiveKeepMs, decisionsHotMs, rulesDir, dataDir } = config;
  if (archiveDir === null) return;
  const { shipper, close } = await openShipper(
    { archiveDir, archiveKeepMs, decisionsHotMs, rulesDir, dataDir, redisUrl: null },
    () => {},
  );
  try {
    for (let did = ''; did !== 'nothing'; ) ({ did } = await shipper.step());
  } finally {
    await close();
  }
}
