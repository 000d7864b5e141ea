import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Logger } from 'pino';
import { type Application, startApplication } from '#application.ts';
import { createLog } from '#base/log.ts';
import { GRANTABLE_OPERATIONS, type GrantableOperation } from '#checkout/access/access-keys.ts';
import type { RateLimit } from '#checkout/http/request/rate-limit.ts';
import { createFixedRuleSource, type RuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { MonotonicClock } from '#checkout/scoring/client-updates.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { Store } from '#state/store.ts';
import type { ProviderSettings } from '#workbench/access/identity-provider.ts';
import type { ErasureLedger } from '#workbench/payers/erasure.ts';
import { temporarySqlite } from '../stores/temporary-store.ts';
import { currentRules } from './current-rules.ts';
import { KEY_LIFETIME_MS } from './key-lifetime.ts';
import { MovableClock } from './movable-clock.ts';
import { Tenant } from './tenant.ts';

export interface ServiceOptions {
  /** A store of its own in a temporary folder when absent. */
  readonly store?: Store;
  readonly rules?: RuleSet;
  /** Decides instead of `rules`. */
  readonly ruleSource?: RuleSource;
  /** None when absent. */
  readonly archive?: ArchiveReader;
  readonly rateLimit?: RateLimit;
  readonly basePath?: string;
  readonly clock?: MovableClock;
  readonly consoleUrl?: URL;
  readonly provider?: ProviderSettings;
  /** Any free one when absent. */
  readonly platformPort?: number;
  /** Silent by default. */
  readonly log?: Logger;
  /** SIGNAL_SECRET when absent. */
  readonly signalSecret?: string;
  readonly signalSecretPrevious?: string;
  readonly erasureLedger?: ErasureLedger;
}

/** The whole service within this process, both listeners open. */
export interface RunningService {
  readonly application: Application;
  readonly clock: MovableClock;
  readonly store: Store;
  /** A platform with a key for the operations, all by default. */
  tenant(platform?: string, operations?: readonly GrantableOperation[]): Promise<Tenant>;
  /** Closes the listeners, and the store unless it was given. */
  stop(): Promise<void>;
}

/** What the running services key their HMACs with. */
export const SIGNAL_SECRET = 'a secret of the tests, long enough';

/** The rate limit of most tests: none. */
export const NO_RATE_LIMIT: RateLimit = { ratePerSecond: 0, burst: 20, trustedProxies: 0 };

/** What every application of the tests is given alike. */
export const PLAIN_PARTS = {
  signalSecret: SIGNAL_SECRET,
  rateLimit: NO_RATE_LIMIT,
  basePath: '',
  log: createLog('silent'),
  caller: { host: '127.0.0.1', port: 0 },
  platform: { host: '127.0.0.1', port: 0 },
};

/** On a starved machine a request may wait ten times as long for its turn; the tests of that deadline set their own. */
const PATIENT: MonotonicClock = {
  monotonicMs: () => performance.now() / 10,
  pauseAfterRace: () => sleep(Math.random()),
};

export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const { erasureLedger = null } = options;
  const own = options.store === undefined ? temporarySqlite() : null;
  const store = options.store ?? own?.store;
  if (store === undefined) throw new Error('no store');
  const clock = options.clock ?? new MovableClock();
  const { signalSecret = SIGNAL_SECRET, signalSecretPrevious = null } = options;
  const secrets = [signalSecret, signalSecretPrevious].filter((secret) => secret !== null);
  const rules = compileWithOtherHmacs(options.rules ?? currentRules(), createAttributePseudonymizer(secrets));
  const application = await startApplication({
    ...PLAIN_PARTS,
    store,
    archive: options.archive ?? null,
    clock: clock.now,
    ruleSource: options.ruleSource ?? createFixedRuleSource(rules),
    rollout: null,
    signalSecret,
    signalSecretPrevious,
    erasureLedger,
    rateLimit: options.rateLimit ?? NO_RATE_LIMIT,
    log: options.log ?? PLAIN_PARTS.log,
    basePath: options.basePath ?? '',
    platform: { host: '127.0.0.1', port: options.platformPort ?? 0 },
    consoleUrl: options.consoleUrl ?? null,
    provider: options.provider ?? null,
    pace: PATIENT,
  });
  return {
    application,
    clock,
    store,
    tenant: async (platform = 'shop', operations = GRANTABLE_OPERATIONS) => {
      const { key } = await application.keys.issue(toPlatformName(platform), operations, KEY_LIFETIME_MS);
      return new Tenant(application, key);
    },
    stop: async () => {
      await application.drain();
      await own?.remove();
    },
  };
}

/** A service for the suite that calls this, and a platform of it; both can be asked once its hooks have begun. */
export function serviceOfSuite(options: () => ServiceOptions = () => ({})) {
  let started: RunningService | undefined;
  let first: Tenant | undefined;
  before(async () => {
    started = await startService(options());
    first = await started.tenant();
  });
  after(() => started?.stop());
  const running = () => started ?? expect.fail('the service of a suite starts with its hooks');
  const service: Omit<RunningService, 'stop'> = {
    get application() {
      return running().application;
    },
    get clock() {
      return running().clock;
    },
    get store() {
      return running().store;
    },
    tenant: (platform, operations) => running().tenant(platform, operations),
  };
  const place = {
    get callerUrl() {
      return running().application.callerUrl;
    },
    get platformUrl() {
      return running().application.platformUrl;
    },
  };
  return { service, shop: new Tenant(place, () => first?.key ?? '') };
}
