import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Application, startApplication } from '#application.ts';
import { createLog } from '#base/log.ts';
import { createFixedRuleSource, LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { ConfigError, getOrCreateSignalSecret, readConfig } from '#config.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import { openStoreBesideArchiveFolder } from '#history/archive/archived-salt.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import type { Store } from '#state/store.ts';
import type { Endpoints } from './driver.ts';

/** A clock that the replay sets to the times of its data. */
export interface MovableClock {
  /** Epoch ms. */
  now: number;
}

/** The times of the first and the last event, in epoch ms. */
export interface ReplayedTimeSpan {
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The running service, and its rules. */
export interface ReplayedService extends Endpoints {
  readonly rules: RuleSet;
  readonly storeName: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The salt is fixed, so that equal files give equal figures. Intervals depend on the hashes of payers. */
const SALT = 'salt-of-every-replay-A';

/** How long the key is valid after the end of the data, in ms. */
const KEY_MARGIN_MS = 60_000;

/**
 * Runs the service as `src/main.ts` composes it, but with the given clock, without a rate limit, and on ports and a
 * store of its own. The store is SQLite in `dataDir` or a temporary folder, or Redis when `env` names one. Everything
 * is closed, and a temporary folder is removed, when `run` returns or throws.
 */
export async function withReplayedService<T>(
  {
    env,
    dataDir,
    platform,
  }: { env: Environment; dataDir: string | null; platform: PlatformName | undefined },
  clock: MovableClock,
  time: ReplayedTimeSpan,
  run: (service: ReplayedService) => Promise<T>,
): Promise<T> {
  const folder = dataDir ?? temporaryDirectory();
  try {
    const config = readConfig({ ...env, DATA_DIR: folder });
    if (config.redisUrl === null) refuseUsed(join(folder, 'scoring.sqlite'));
    const rules = chooseRules(
      await LoadedRules.read(config.rulesDir, createDirectRuleReader(config.rulesDir)),
      config.ruleVersion,
    );
    const store = await openStoreBesideArchiveFolder({ ...config, salt: SALT }, (error) =>
      console.error(`store: ${error.message}`),
    );
    const storeName = config.redisUrl === null && dataDir === null ? 'sqlite (temporary)' : store.name;
    try {
      const application = await start(store, rules, getOrCreateSignalSecret(config), clock);
      try {
        const { callerUrl, platformUrl } = application;
        const key = await issueKey(application, platform ?? choosePlatform(config.redisUrl), time);
        return await run({ callerUrl, platformUrl, key, rules, storeName });
      } finally {
        await application.drain();
      }
    } finally {
      await store.close();
    }
  } finally {
    if (dataDir === null) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the rules of the wanted version, which may be a draft: nobody is answered by a replay. Without a wanted
 * version it returns the released rules with which a service would start.
 */
function chooseRules(loaded: LoadedRules, wanted: RuleVersion | null): RuleSet {
  const named = wanted === null ? null : loaded.findByVersion(wanted);
  return named ?? loaded.requireReleased(wanted);
}

function start(
  store: Store,
  rules: RuleSet,
  signalSecret: string,
  clock: MovableClock,
): Promise<Application> {
  const anyPort = { host: '127.0.0.1', port: 0 };
  return startApplication({
    store,
    ruleSource: createFixedRuleSource(
      compileWithOtherHmacs(rules, createAttributePseudonymizer([signalSecret])),
    ),
    rollout: null,
    clock: () => clock.now,
    signalSecret,
    rateLimit: { ratePerSecond: 0, burst: 1, trustedProxies: 0 },
    basePath: '',
    caller: anyPort,
    platform: anyPort,
    log: createLog('silent'),
  });
}

/**
 * Refuses a store that was used. The service would answer from its earlier state, and the journal would hold two
 * histories.
 */
function refuseUsed(path: string): void {
  if (!existsSync(path)) return;
  throw new ConfigError(
    `${path} is there already, and a replay begins with an empty store; name another --data-dir, or delete the folder first`,
  );
}

/**
 * Returns the platform's name. A Redis may hold other data, so a replay uses a new platform there. In a file of its
 * own the name is always the same, so that intervals by bootstrap are the same, too.
 */
function choosePlatform(redisUrl: string | null): PlatformName {
  return toPlatformName(redisUrl === null ? 'replay' : `replay-${randomBytes(6).toString('hex')}`);
}

async function issueKey(
  { keys }: Application,
  platform: PlatformName,
  { firstAt, lastAt }: ReplayedTimeSpan,
): Promise<string> {
  const lifetimeMs = lastAt - firstAt + KEY_MARGIN_MS;
  const { key } = await keys.issue(
    platform,
    ['score', 'verdict', 'outcomes', 'clients', 'decisions'],
    lifetimeMs,
  );
  return key;
}

function temporaryDirectory(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'scoring-replay-'));
  } catch (cause) {
    const why = `no folder can be made in ${tmpdir()}; make it writable or set TMPDIR to one that is`;
    throw new ConfigError(why, { cause });
  }
}
