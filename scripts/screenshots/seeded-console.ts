import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApplication } from '#application.ts';
import { createLog } from '#base/log.ts';
import {
  GRANTABLE_OPERATIONS,
  type GrantableOperation,
  INSTALLATION_PLATFORM,
} from '#checkout/access/access-keys.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { openShipper } from '#history/archive/ship/shipping.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { Audit, type AuditEntry } from '#workbench/access/audit.ts';
import { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import { TEST_SALT } from '../../test/decision/payer/client-keys.ts';
import { KEY_LIFETIME_MS } from '../../test/service/key-lifetime.ts';
import { Tenant } from '../../test/service/tenant.ts';
import { writeRuleFolders } from './rule-folders.ts';
import { CatchingUpClock, simulateShopHour } from './shop-life.ts';

/** A node with an hour of a shop's history, three versions on its disk, and one of them on trial. */
export interface SeededConsole {
  /** The address of the page, with a slash at its end. */
  readonly url: string;
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** The environment with which a command reaches the same store and rule sets. */
  readonly environment: { readonly DATA_DIR: string; readonly RULES_DIR: string };
  /** A key of the shop for every operation that a platform's key may have. */
  readonly key: string;
  /** A key of the installation, which changes the rollout. */
  readonly operatorKey: string;
  /** Issues a key of the shop for these operations. */
  issueShopKey(...operations: readonly GrantableOperation[]): Promise<string>;
  /** Issues a key of another platform. */
  issueKeyOf(platform: string, ...operations: readonly GrantableOperation[]): Promise<string>;
  revoke(key: string): Promise<void>;
  /** Returns the audit's entries, the oldest first. */
  audit(): Promise<readonly AuditEntry[]>;
  /** Ships everything that happened until now to the archive. */
  ship(): Promise<void>;
  stop(): Promise<void>;
}

/** The limit of the entries that are read. No test and no picture makes so many. */
const AUDIT_ENTRIES_MAX = 1000;

const DAY_MS = 24 * 3_600_000;

export async function startSeededConsole(): Promise<SeededConsole> {
  const clock = new CatchingUpClock();
  const folder = mkdtempSync(join(tmpdir(), 'seeded-console-'));
  const rulesDir = join(folder, 'rules');
  writeRuleFolders(rulesDir);
  const store = openSqliteStore(folder, { salt: TEST_SALT });
  const fleet = new Fleet(store);
  const node = await RolloutNode.start({
    store,
    rulesDir,
    reader: createDirectRuleReader(rulesDir),
    dataDir: folder,
    attributeHmacs: NO_ATTRIBUTE_PSEUDONYMIZER,
    firstVersion:
      (await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir))).listAll()[0]?.version ?? null,
    clock: clock.now,
    onTrouble: () => {},
  });
  const archiveDir = join(folder, 'archive');
  const archive = new ArchiveReader(archiveDir, store);
  const onTrouble = (message: string) => console.error(message);
  const { signalSecret } = SETTINGS;
  const desk = { past: archive, rulesDir, signalSecret, store, clock: clock.now, onTrouble };
  const application = await startApplication({
    ...SETTINGS,
    store,
    archive,
    evidence: new EvidenceDesk(desk),
    clock: clock.now,
    ruleSource: node,
    rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
    rulesDir,
  });
  const issueKeyOf = async (platform: string, ...operations: readonly GrantableOperation[]) =>
    (await application.keys.issue(toPlatformName(platform), operations, KEY_LIFETIME_MS)).key;
  const issueShopKey = (...operations: readonly GrantableOperation[]) => issueKeyOf('shop', ...operations);
  const key = await issueShopKey(...GRANTABLE_OPERATIONS);
  const { key: operatorKey } = await application.keys.issue(
    INSTALLATION_PLATFORM,
    GRANTABLE_OPERATIONS,
    null,
    'maria',
  );
  await simulateShopHour(new Tenant(application, key), new Tenant(application, operatorKey), clock);
  const ship = () => shipAll(folder, rulesDir);
  await ship();
  return {
    url: `${application.platformUrl}/`,
    callerUrl: application.callerUrl,
    platformUrl: application.platformUrl,
    environment: { DATA_DIR: folder, RULES_DIR: rulesDir },
    key,
    operatorKey,
    issueShopKey,
    issueKeyOf,
    revoke: async (key) => {
      await application.keys.revoke(key.split('_')[1] ?? '');
    },
    audit: async () => (await new Audit(store.auditLog, clock.now).read(null, AUDIT_ENTRIES_MAX)).entries,
    ship,
    stop: async () => {
      await application.drain();
      await node.stop();
      await archive.close();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const SETTINGS = {
  signalSecret: 'for pictures and tests only',
  rateLimit: { ratePerSecond: 0, burst: 20, trustedProxies: 0 },
  basePath: '',
  caller: { host: '127.0.0.1', port: 0 },
  platform: { host: '127.0.0.1', port: 0 },
  log: createLog('silent'),
} as const;

/** Ships everything as a shipper process would, because the service itself only reads the archive. */
async function shipAll(dataDir: string, rulesDir: string): Promise<void> {
  const archiveDir = join(dataDir, 'archive');
  const { shipper, close } = await openShipper(
    {
      archiveDir,
      archiveKeepMs: 400 * DAY_MS,
      decisionsHotMs: 7 * DAY_MS,
      rulesDir,
      dataDir,
      redisUrl: null,
    },
    (error) => console.error(error),
  );
  try {
    for (let did = ''; did !== 'nothing'; ) ({ did } = await shipper.step());
  } finally {
    await close();
  }
}
