import type { Logger } from 'pino';
import { type Application, startApplication } from './application.ts';
import { readExactClock } from './base/clock.ts';
import { watchEventLoop } from './base/work/loop-watch.ts';
import { requireFreePort } from './checkout/http/server/listener.ts';
import { Fleet } from './checkout/rollout/fleet.ts';
import { NoUsableRuleSet } from './checkout/rollout/loaded-rules.ts';
import type { Rollout } from './checkout/rollout/rollout.ts';
import { RolloutNode } from './checkout/rollout/rollout-node.ts';
import { type Config, getOrCreateSignalSecret, listSignalSecrets } from './config.ts';
import type { AttributePseudonymizer } from './decision/payer/attribute-hmacs.ts';
import { toPlatformName } from './decision/payer/client-key.ts';
import { createAttributePseudonymizer } from './decision/pseudonym.ts';
import { ArchiveFigures } from './history/archive/read/archive-figures.ts';
import { ArchiveReader } from './history/archive/read/archive-reader.ts';
import { followArchive, openArchive, openStoreWithArchivedSalt } from './history/archive/s3/open-archive.ts';
import { type Shipping, startShipping } from './history/archive/ship/start-shipping.ts';
import { createStoreClock } from './state/clock-offset.ts';
import { explainConnectionFailure } from './state/connection-failure.ts';
import { STORE_ACCEPTED_REGISTER } from './state/documents.ts';
import { isStoreOnThisMachine, LOOPBACK_HOST_PATTERN } from './state/open-store.ts';
import { explainUnusableRulesDir } from './state/rule-folders/rules-dir.ts';
import type { Store } from './state/store.ts';
import { StoreUnavailable } from './state/store-errors.ts';
import { Audit } from './workbench/access/audit.ts';
import { createTroubleLogger } from './workbench/composition.ts';
import { EvidenceDesk } from './workbench/evidence/evidence-desk.ts';
import { ErasureLedger } from './workbench/payers/erasure.ts';
import { ClientCompactor } from './workbench/upkeep/client-compactor.ts';
import { StoreConnectionErrorLog } from './workbench/upkeep/connection-errors.ts';
import { agreeOnSecret } from './workbench/upkeep/signal-secret.ts';
import { retryWhileStoreAnswersLate } from './workbench/upkeep/store-start.ts';

/** The platform of the key that a first start prints. */
const DEMO = toPlatformName('demo');

/** A day is long enough to try the service out. After that a forgotten key opens nothing. */
const DEMO_KEY_LIFETIME_MS = 24 * 3600_000;

/**
 * The shortest time for which requests are accepted after the signal. A request that was sent before the signal may
 * still be in the network.
 */
const DRAIN_GRACE_MS_MIN = 250;
/**
 * A second signal within this time counts as the first one. A Ctrl-C reaches the service through its terminal and
 * through npm.
 */
const SECOND_SIGNAL_MS_MIN = 1000;

/**
 * Serves callers and the platform until a signal ends the process. Throws ListenError, NoUsableRuleSet, SecretRefused
 * or StoreUnavailable if the environment is not as the service needs it.
 */
export async function serve(config: Config, log: Logger): Promise<void> {
  const patiently = <T>(step: () => Promise<T>) =>
    retryWhileStoreAnswersLate(step, ({ message }) =>
      log.warn({ store: message }, 'waiting for the store before the service starts'),
    );
  const store = await patiently(() =>
    openStoreWithArchivedSalt(config, createConnectionErrorListener(log), (error) => endProcess(error, log)),
  );
  try {
    // These checks come first. Otherwise a refused start would leave a node in the store, and perhaps a first rollout
    // with a version that never decided.
    await requireFreePort(config.caller, 'PORT');
    await requireFreePort(config.platform, 'PLATFORM_PORT');
    const refusal = explainUnusableRulesDir(config.rulesDir);
    if (refusal !== null) throw new NoUsableRuleSet(refusal);
    const clock = createStoreClock(readExactClock, store);
    const withSecret = { ...config, signalSecret: getOrCreateSignalSecret(config) };
    const signalSecretPrevious = await patiently(() => agreeOnSecret(store.registers, withSecret, clock()));
    const erasureLedger = config.erasureLedger === null ? null : new ErasureLedger(config.erasureLedger);
    const fleet = new Fleet(store);
    const { archiveDir, archiveS3 } = config;
    const archive = archiveDir === null ? null : openArchive({ archiveDir, archiveS3 }, store.registers);
    const past = archive === null ? null : new ArchiveReader(archive, store);
    const shipping = archive === null ? null : startShippingTo(config, { store, archive, clock }, log);
    const stopFollowing = archive === null ? () => {} : followArchive(archive);
    const attributeHmacs = createAttributePseudonymizer(listSignalSecrets(withSecret));
    const node = await patiently(() => startNode(config, attributeHmacs, store, clock, log));
    const application = await startApplication({
      ...withSecret,
      signalSecretPrevious,
      attributeHmacs,
      erasureLedger,
      store,
      archive: past,
      archiveWatch: archive === null ? null : new ArchiveFigures(archive, store, clock),
      evidence: createEvidenceDesk(withSecret, past, store, clock, log),
      shipping,
      ruleSource: node,
      rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
      clock,
      rateLimit: {
        ratePerSecond: config.rateLimitPerSecond,
        burst: config.rateLimitBurst,
        trustedProxies: config.trustedProxies,
      },
      log,
    });
    node.watchLists(application.hasStaleLists);
    log.info(describeRollout(node.rollout), FOLLOWING);
    const onTrouble = (err: unknown) =>
      log.warn({ err }, 'the stored states of absent payers could not be shortened; the service tries again');
    const sweep = new ClientCompactor({ store, clock, onTrouble });
    stopOnSignal({ config, application, node, sweep, store, shipping, stopFollowing, log });
    const { callerUrl, platformUrl } = application;
    const { version, digest } = node.active;
    console.log(
      `Client Scoring Service: callers ${callerUrl}, platform ${platformUrl}, store ${store.name}, rules ${version} sha256:${digest}`,
    );
    sweep.start();
    // The event loop is watched only from now on, because the long work of the start is over.
    watchEventLoop(createTroubleLogger(log));
    warnAboutSettings(config, log);
    await greetNewcomer(application, config, store, clock, log).catch((error: unknown) => {
      // Callers are served by now, and a store that is slow for a moment is no reason to stop.
      if (!(error instanceof StoreUnavailable)) throw error;
      log.warn({ err: error }, 'could not look up whether there is an access key');
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Creates a listener for connection errors. While the store is away, every attempt to reconnect fails. The log shows
 * each failure at the level `debug`, and a summary at `warn`.
 */
function createConnectionErrorListener(log: Logger): (error: Error) => void {
  const errors = new StoreConnectionErrorLog();
  const lookAgain = () => {
    const { text, ...news } = errors.findRecovery(performance.now()) ?? { text: null };
    if (text !== null) log.warn(news, text);
  };
  setInterval(lookAgain, 1000).unref();
  return (error) => {
    log.debug({ err: error }, 'store connection');
    const { text, ...news } = errors.noteError(performance.now()) ?? { text: null };
    if (text !== null) log.warn({ store: explainConnectionFailure(error), ...news }, text);
  };
}

/**
 * Ends the process at once and closes nothing, because further writes and answers would depend on data that the disk
 * refused. Databases end in the same way. A supervisor starts the process again, which then reads what the disk
 * holds.
 */
function endProcess(error: Error, log: Logger): void {
  log.fatal({ err: error }, 'the service ends at once');
  process.exit(1);
}

function startShippingTo(
  config: Config,
  asking: Parameters<typeof startShipping>[1],
  log: Logger,
): Shipping | null {
  const { archiveDir, archiveS3, archiveKeepMs, decisionsHotMs } = config;
  if (archiveDir === null || !config.archiveShips) return null;
  const { redisUrl, redisSecurity, dataDir, rulesDir } = config;
  return startShipping(
    { archiveDir, archiveS3, archiveKeepMs, decisionsHotMs, redisUrl, redisSecurity, dataDir, rulesDir },
    asking,
    (message) => log.warn(message),
  );
}

function createEvidenceDesk(
  { rulesDir, signalSecret, signalSecretPrevious, provider }: Config & { readonly signalSecret: string },
  past: ArchiveReader | null,
  store: Store,
  clock: () => number,
  log: Logger,
): EvidenceDesk {
  const settings = { rulesDir, signalSecret, signalSecretPrevious, roles: provider?.roles ?? [] };
  return new EvidenceDesk({ past, ...settings, store, clock, onTrouble: createTroubleLogger(log) });
}

function startNode(
  { rulesDir, dataDir, ruleVersion }: Config,
  attributeHmacs: AttributePseudonymizer,
  store: Store,
  clock: () => number,
  log: Logger,
): Promise<RolloutNode> {
  return RolloutNode.start({
    store,
    rulesDir,
    dataDir,
    attributeHmacs,
    firstVersion: ruleVersion,
    clock,
    onTrouble: createTroubleLogger(log),
    onFollow: (rollout) => log.info(describeRollout(rollout), FOLLOWING),
  });
}

const FOLLOWING = 'following the rollout';

/** Summarizes a rollout for the log: the versions that decide, and who made the last change. */
function describeRollout({ revision, active, candidates, history }: Rollout): object {
  const { action, who, reason } = history.at(-1) ?? {};
  const trials = candidates.map(({ version, mode, percent }) => ({ version, mode, percent }));
  return { revision, active: active.version, digest: active.digest, candidates: trials, action, who, reason };
}

/** The operations with which a person tries the service out, and sees the answers and the rules behind them. */
const DEMO_OPERATIONS = [
  'score',
  'verdict',
  'outcomes',
  'decisions',
  'clients:read',
  'figures',
  'rules:read',
  'rules',
] as const;

/**
 * If there is no key at all, issues one for trying the service out, and shows it once with calls to try. A service in
 * production issues no such key. Neither does a service that other machines can reach and whose store is on another
 * machine, because its logs are kept and read.
 */
async function greetNewcomer(
  { keys, callerUrl, platformUrl }: Application,
  config: Config,
  { auditLog, registers }: Store,
  clock: () => number,
  log: Logger,
): Promise<void> {
  if ((await keys.list()).length > 0) return;
  const isShared = !LOOPBACK_HOST_PATTERN.test(config.caller.host) && !isStoreOnThisMachine(config.redisUrl);
  // A person may have accepted the store after it lost its data. Then it has no key either, but this is not the first
  // start.
  const isAccepted = (await registers.read(STORE_ACCEPTED_REGISTER)) !== null;
  if (config.isProduction || isShared || isAccepted) {
    log.warn(
      'there is no access key yet; issue one: npm run -s scoring -- keys issue --platform NAME --operations score,verdict',
    );
    return;
  }
  const { key, record } = await keys.issue(DEMO, DEMO_OPERATIONS, DEMO_KEY_LIFETIME_MS);
  const { id, platform, operations, expiresAt } = record;
  await new Audit(auditLog, clock).note({
    who: 'service',
    action: 'key issued',
    platform,
    subject: id,
    after: { id, platform, operations, expiresAt },
    reason: 'there was no key yet',
  });
  const onThisMachine = (url: string) =>
    url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const url = onThisMachine(callerUrl);
  const curl = (path: string, body: object) =>
    `  curl -s ${url}/v1/client/${path} -H 'X-KA-Access-Key: ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  const payer = { sellPointKey: 'shop-1', clientIdKey: 'payer-1', amountRequested: '25.00' };
  console.log(`
There was no access key yet, so one was issued for the platform "demo". It is shown only now:
  ${key}
It expires in 24 hours. Sign in to the console with it at ${onThisMachine(platformUrl)}/ and try it:
${curl('score', { ...payer, selectedMethodKey: 'card' })}
${curl('verdict', { ...payer, method: 'card', orderRef: 'order-1' })}
See why it was answered so at ${onThisMachine(platformUrl)}/#/find
"npm run demo" serves four weeks of a made-up shop instead, to look around in.
`);
}

function warnAboutSettings({ redisUrl, signalSecret, consoleUrl }: Config, log: Logger): void {
  if (redisUrl !== null && signalSecret === null)
    log.warn(
      'SIGNAL_SECRET is not set, so this node made a secret of its own; give every node of this store the same one',
    );
  if (consoleUrl?.protocol !== 'http:' || LOOPBACK_HOST_PATTERN.test(consoleUrl.hostname)) return;
  log.warn(
    `PLATFORM_URL is ${consoleUrl.href}: keys and sessions of the console cross the network unencrypted; make it https://, with PLATFORM_TLS_CERT and PLATFORM_TLS_KEY or behind a proxy that has the certificate`,
  );
}

/**
 * Answers the requests under way, then ends. A second signal ends the process at once. SIGTERM comes from a system
 * that also runs a proxy, which needs time to see that this node is not ready. SIGINT comes from a person at the
 * keyboard.
 */
function stopOnSignal(serving: Serving): void {
  const { config, application, node, sweep, store, shipping, stopFollowing, log } = serving;
  let stoppingSince: number | null = null;
  const drain = async (signal: NodeJS.Signals) => {
    if (stoppingSince !== null) {
      if (performance.now() - stoppingSince >= SECOND_SIGNAL_MS_MIN) process.exit(1);
      return;
    }
    stoppingSince = performance.now();
    log.info({ signal }, 'draining');
    const graceMs = signal === 'SIGTERM' ? config.drainGraceMs : 0;
    await application.drain(Math.max(DRAIN_GRACE_MS_MIN, graceMs));
    await node.stop();
    await shipping?.stop();
    await sweep.stop();
    stopFollowing();
    await store.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, drain);
}

/** What `stopOnSignal` needs: the settings, the log, and the objects that it closes. */
interface Serving {
  readonly config: Config;
  readonly application: Application;
  readonly stopFollowing: () => void;
  readonly node: RolloutNode;
  readonly sweep: ClientCompactor;
  readonly store: Store;
  readonly shipping: Shipping | null;
  readonly log: Logger;
}
