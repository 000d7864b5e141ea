import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AccessKeys } from './checkout/access/access-keys.ts';
import type { PlatformKeyRef } from './checkout/access/keys-seen-live.ts';
import { type CallerApiParts, createCallerApi } from './checkout/caller/caller-api.ts';
import { readCertificateEndMs } from './checkout/http/server/certificate.ts';
import {
  BULK_REQUEST_TIMEOUT_MS,
  closeListener,
  createListener,
  type ListenAddress,
  limitConnectionsPerAddress,
  listen,
  REQUEST_TIMEOUT_MS,
  UNREAD_TIMEOUT_MS,
} from './checkout/http/server/listener.ts';
import { shedOverload } from './checkout/http/server/overload.ts';
import { WorkLimit } from './checkout/http/server/work-limit.ts';
import type { ListNode } from './checkout/lists/list-node.ts';
import { Metrics } from './checkout/metrics/metrics.ts';
import type { OwnNodeReport } from './checkout/rollout/fleet.ts';
import type { ArchiveFigures } from './history/archive/read/archive-figures.ts';
import type { Shipping } from './history/archive/ship/start-shipping.ts';
import { AuditEndLogger } from './workbench/access/audit-end-writer.ts';
import { type CompositionInputs, composeServiceParts, createTroubleLogger } from './workbench/composition.ts';
import {
  addArchiveGauges,
  addBuildGauge,
  addCertificateGauge,
  addListGauges,
  addLostAccessKeysGauge,
  addReportingGauges,
  addRolloutGauges,
  addShippingGauges,
  addStoreGauges,
} from './workbench/monitoring/node-gauges.ts';
import { createDocumentRoutes, prepareDocument } from './workbench/openapi/docs.ts';
import type { Erasure } from './workbench/payers/erasure.ts';
import { createCallerApiDocument } from './workbench/platform/caller-document.ts';
import type { ReadinessCheck, RolloutAndRules } from './workbench/platform/parts.ts';
import { createPlatformApi } from './workbench/platform/platform-api.ts';
import { retryWhileStoreAnswersLate } from './workbench/upkeep/store-start.ts';
import { isFitToServe, listHealthProblems, StoreWatch } from './workbench/upkeep/store-watch.ts';

export interface ApplicationParts extends CompositionInputs {
  readonly rollout: (RolloutAndRules & { readonly report: () => OwnNodeReport }) | null;
  /** The watch over the archive, for the metrics. Null if there is no archive. */
  readonly archiveWatch?: ArchiveFigures | null;
  /** The shipping of this node's journal, for the metrics. Missing if this node does not ship. */
  readonly shipping?: Shipping | null;
  readonly platform: ListenAddress;
}

/** The running service, with the listeners for callers and for the platform open. */
export interface Application {
  readonly keys: AccessKeys;
  /** The address for callers, with the base path, like `http://127.0.0.1:8080/scoring`. */
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** Whether changes of shared lists may be missing, because the store could not be asked for too long. */
  hasStaleLists(): boolean;
  /**
   * Closes the listeners after the requests under way are answered. For `graceMs` the listeners first go on accepting
   * requests, and close each connection after its next answer. The store stays open.
   */
  drain(graceMs?: number): Promise<void>;
}

/**
 * This is a warning and not a failure, because a node with stale lists still decides by them, which is better than no
 * answer.
 */
const STALE_LISTS =
  'This node could not read the shared lists from the store for more than 10 s; it decides by the lists as they were then.';

/** How many of a listener's connections one address may use. */
export const CONNECTIONS_PER_ADDRESS_MAX = 2_000;

/**
 * Composes the service from its parts and opens both listeners. Tests and the replay start the service with this
 * function, too.
 */
export async function startApplication(parts: ApplicationParts): Promise<Application> {
  const { store, clock } = parts;
  const watch = createStoreWatch(parts);
  const composed = composeServiceParts(parts, addNodeGauges(parts, new Metrics(), watch));
  const { keys, audit, lists, reporting, erasure, feed, metrics } = composed;
  addLostAccessKeysGauge(metrics.registry, () => keys.listLost());
  await startLists(lists, parts.log);
  addListGauges(metrics.registry, () => lists.report());
  const hasStaleLists = () => lists.report().isStale;
  reporting.start();
  addReportingGauges(metrics.registry, () => reporting.known());
  await repeatErasures(erasure, parts.log);
  const auditEnd = new AuditEndLogger({
    auditLog: store.auditLog,
    clock,
    onTold: (known) =>
      parts.log.info(
        { known },
        'newest entry of the audit; keep it elsewhere, and pass it to "audit verify --known"',
      ),
    onTrouble: (error) =>
      createTroubleLogger(parts.log)(
        'the newest entry of the audit could not be read, so the log does not name it',
        error,
      ),
  });
  const hourly = setInterval(() => auditEnd.writeIfDue(), AUDIT_END_LOOK_EVERY_MS).unref();
  let draining = false;
  const readiness: ReadinessCheck = async () => {
    if (draining) return { ready: false, why: 'the service is shutting down' };
    const health = await watch.checkHealth();
    const texts = [
      ...listHealthProblems(health),
      ...keys.listLost().map(explainLostKey),
      ...listRolloutTexts(parts.rollout?.report().trouble ?? null),
      ...(hasStaleLists() ? [STALE_LISTS] : []),
    ];
    return { ready: isFitToServe(health), why: texts.join(' ') };
  };
  const isDraining = () => draining;
  const shared = { ...parts, ...composed };
  const document = prepareDocument(createCallerApiDocument(parts.basePath));
  const ofCallers = {
    ...shared,
    documentRoutes: createDocumentRoutes(document, parts.basePath),
    rateBuckets: store.rateBuckets,
  };
  const callers = createCallerListener(ofCallers, parts, isDraining);
  const platform = createListener(
    parts.platform,
    createPlatformApi({
      ...shared,
      callerDocument: document,
      readiness,
      reporting: (name) => reporting.of(name),
    }).callback(),
    { requestMs: BULK_REQUEST_TIMEOUT_MS, unreadMs: BULK_REQUEST_TIMEOUT_MS },
    isDraining,
    parts.log,
  );
  const urls = await openListeners(callers, platform, parts);
  const drain = async (graceMs = 0) => {
    draining = true;
    watch.stop();
    feed.endWaiting();
    await sleep(graceMs);
    await parts.evidence?.close();
    await Promise.all([closeListener(callers), closeListener(platform)]);
    lists.stop();
    await reporting.stop();
    await audit
      .sumUp()
      .catch((error: unknown) =>
        parts.log.warn(
          { err: error },
          'the summary of bindings and sign-ins could not be written to the audit',
        ),
      );
    clearInterval(hourly);
    await auditEnd.write();
  };
  return { keys, ...urls, hasStaleLists, drain };
}

/** Creates the listener of callers. Under overload it refuses requests before every other check. */
function createCallerListener(
  api: Omit<CallerApiParts, 'workLimit'>,
  { caller, basePath, log }: ApplicationParts,
  isDraining: () => boolean,
): Server {
  const workLimit = new WorkLimit();
  const answer = createCallerApi({ ...api, workLimit }).callback();
  return createListener(
    caller,
    shedOverload(workLimit, api.metrics, basePath, answer, ({ headersDistinct }) =>
      api.keys.findCachedPlatform(headersDistinct['x-ka-access-key']?.[0] ?? ''),
    ),
    { requestMs: REQUEST_TIMEOUT_MS, unreadMs: UNREAD_TIMEOUT_MS },
    isDraining,
    log,
  );
}

/**
 * Repeats the erasures of the erasure ledger before anybody is served. A store that was restored from a backup then
 * forgets the payers who were erased after the backup.
 */
async function repeatErasures(erasure: Erasure, log: Logger): Promise<void> {
  const { clients, unreadable, waitsForArchive } = await retryWhileStoreAnswersLate(
    () => erasure.repeat(),
    ({ message }) =>
      log.warn({ store: message }, 'waiting for the store, to repeat the erasures of the erasure ledger'),
  );
  if (clients > 0) log.warn({ clients }, 'payers that a restored backup had brought back were erased again');
  if (unreadable > 0)
    log.warn(
      { lines: unreadable },
      'the erasure ledger has lines that cannot be read; the payers in those lines were not erased again',
    );
  if (!waitsForArchive) return;
  log.warn('the archive cannot be reached; the erasure ledger is repeated on it as soon as it can be');
  repeatOnceArchiveIsThere(erasure, log);
}

/**
 * Repeats the erasures of the ledger on the archive as soon as the archive can be read. Callers are served in the
 * meantime, because nobody can see an erased payer in an archive that cannot be read.
 */
function repeatOnceArchiveIsThere(erasure: Erasure, log: Logger): void {
  const again = async () => {
    // The store may be away for a while, too.
    const repeated = await erasure.repeat().catch(() => null);
    if (repeated === null || repeated.waitsForArchive) return repeatOnceArchiveIsThere(erasure, log);
    log.info(
      { clients: repeated.clients },
      'the archive can be reached again, and the erasure ledger was repeated on it',
    );
  };
  setTimeout(again, ARCHIVE_TRIED_EVERY_MS).unref();
}

const ARCHIVE_TRIED_EVERY_MS = 5_000;

const AUDIT_END_LOOK_EVERY_MS = 60_000;

function explainLostKey({ id, platform }: PlatformKeyRef): string {
  return `The store has lost the access key ${id} of ${platform}, and its callers get 503: restore a backup of the store, or issue another key.`;
}

function listRolloutTexts(trouble: string | null): readonly string[] {
  return trouble === null ? [] : [`The rollout: ${trouble}.`];
}

/** Creates a watch over the store that logs changes of its health. */
function createStoreWatch({ store, log }: ApplicationParts): StoreWatch {
  return new StoreWatch(store, ({ kind, text }) => {
    if (kind === 'trouble') log.warn({ store: text }, 'the store needs attention');
    else log.info({ store: text }, 'the store is in order again');
  });
}

/** Starts the copy of the shared lists. From then on the copy follows the store. */
async function startLists(lists: ListNode, log: Logger): Promise<void> {
  const onTrouble = createTroubleLogger(log);
  await retryWhileStoreAnswersLate(
    () => lists.start(),
    (error) => onTrouble('the shared lists could not be loaded from the store yet', error),
  );
}

/** Adds the gauges of all parts that this node has. */
function addNodeGauges(
  { store, rollout, caller, platform, archiveWatch = null, shipping = null }: ApplicationParts,
  metrics: Metrics,
  watch: StoreWatch,
) {
  addBuildGauge(metrics.registry);
  if (rollout !== null) addRolloutGauges(metrics.registry, rollout.report);
  if (archiveWatch !== null) addArchiveGauges(metrics.registry, archiveWatch);
  if (shipping !== null) addShippingGauges(metrics.registry, shipping.report);
  const certificateOf =
    ({ tls }: ListenAddress) =>
    () =>
      tls === undefined ? null : readCertificateEndMs(tls);
  addCertificateGauge(metrics.registry, { caller: certificateOf(caller), platform: certificateOf(platform) });
  addStoreGauges(metrics.registry, () => ({
    health: watch.lastHealth,
    clockOffsetMs: store.clockOffsetMs(),
  }));
  return metrics;
}

/** Opens both listeners or none. Throws ListenError if a port is not available. */
async function openListeners(callers: Server, platform: Server, parts: ApplicationParts) {
  const { basePath, rateLimit } = parts;
  // Behind proxies all callers come from the proxies' addresses, so there is no limit for each address.
  if (rateLimit.trustedProxies === 0) limitConnectionsPerAddress(callers, CONNECTIONS_PER_ADDRESS_MAX);
  limitConnectionsPerAddress(platform, CONNECTIONS_PER_ADDRESS_MAX);
  const callerUrl = (await listen(callers, parts.caller, 'PORT')) + basePath;
  const platformUrl = await listen(platform, parts.platform, 'PLATFORM_PORT').catch(async (error) => {
    await closeListener(callers);
    throw error;
  });
  return { callerUrl, platformUrl };
}
