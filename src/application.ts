import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AccessKeys } from './checkout/access/access-keys.ts';
import type { LostKey } from './checkout/access/admitted-keys.ts';
import { type CallerApiParts, callerApi } from './checkout/caller/caller-api.ts';
import { certificateEndsMs } from './checkout/http/server/certificate.ts';
import {
  type Address,
  closeListener,
  createListener,
  limitConnections,
  listen,
  PLATFORM_REQUEST_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  UNREAD_TIMEOUT_MS,
} from './checkout/http/server/listener.ts';
import { shedOverload } from './checkout/http/server/overload.ts';
import { WorkLimit } from './checkout/http/server/work-limit.ts';
import { ListNode } from './checkout/lists/list-node.ts';
import { Metrics } from './checkout/metrics/metrics.ts';
import type { RuleSource } from './checkout/rollout/loaded-rules.ts';
import { ArchivedOrders } from './checkout/scoring/archived-orders.ts';
import type { Pace } from './checkout/scoring/client-turns.ts';
import { KnownErasures } from './checkout/scoring/known-erasures.ts';
import { ScoringService } from './checkout/scoring/scoring.ts';
import { holdoutDraw } from './decision/holdout.ts';
import type { AttributeHmacs } from './decision/payer/attribute-hmacs.ts';
import { attributeHmacsUnder, hmacPseudonym, nodeSecrets, platformNames } from './decision/pseudonym.ts';
import type { Pseudonyms } from './decision/requests.ts';
import type { ArchiveReader } from './history/archive/read/archive-reader.ts';
import type { ArchiveWatch } from './history/archive/read/archive-watch.ts';
import { EventFeed } from './history/archive/read/event-feed.ts';
import type { Shipping } from './history/archive/ship/start-shipping.ts';
import type { Store } from './state/store.ts';
import { StoreUnavailable } from './state/store-errors.ts';
import { Audit } from './workbench/access/audit.ts';
import { AuditEnd } from './workbench/access/audit-end.ts';
import { Sessions } from './workbench/access/sessions.ts';
import { ListEditor } from './workbench/lists/list-editor.ts';
import {
  showBuild,
  watchArchive,
  watchCertificates,
  watchKeys,
  watchLists,
  watchReporting,
  watchRollout,
  watchShipping,
  watchStore,
} from './workbench/monitoring/node-gauges.ts';
import { ReportingWatch } from './workbench/monitoring/reporting.ts';
import { documentRoutes, servedDocument } from './workbench/openapi/docs.ts';
import { Erasure, type ErasureLedger } from './workbench/payers/erasure.ts';
import { Records } from './workbench/payers/records.ts';
import { callerDocument } from './workbench/platform/caller-document.ts';
import type { NodeParts, Readiness } from './workbench/platform/parts.ts';
import { platformApi } from './workbench/platform/platform-api.ts';
import { whileStoreIsLate } from './workbench/upkeep/store-start.ts';
import { healthTexts, StoreWatch, servesClients } from './workbench/upkeep/store-watch.ts';

export interface ApplicationParts extends NodeParts {
  readonly store: Store;
  readonly ruleSource: RuleSource;
  /** Decisions of years; null where the node has no archive. */
  readonly archive?: ArchiveReader | null;
  /** What the metrics show of the archive; null where there is none. */
  readonly archiveWatch?: ArchiveWatch | null;
  /** How far this node has shipped; absent when it does not ship. */
  readonly shipping?: Shipping | null;
  /** Keys the HMACs of fingerprints and IPs. */
  readonly signalSecret: string;
  /** What keyed them before, while it is being changed. */
  readonly signalSecretPrevious?: string | null;
  /** How pseudonyms are kept that rules compare with constants; absent: under these two. */
  readonly attributeHmacs?: AttributeHmacs;
  readonly erasureLedger?: ErasureLedger | null;
  readonly platform: Address;
  /** The process's own when absent. */
  readonly pace?: Pace;
}

/** The service with both listeners open. */
export interface Application {
  readonly keys: AccessKeys;
  /** Where callers reach it, with the base path: `http://127.0.0.1:8080`. */
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** Changes of shared lists may be missing, because the store could not be asked for too long. */
  hasStaleLists(): boolean;
  /**
   * Answers what is under way and closes the listeners; the store stays open. For `graceMs` before that,
   * requests that are already on their way are still taken, each as the last one of its connection.
   */
  drain(graceMs?: number): Promise<void>;
}

/** A node with old lists decides as they were: that is better than no answer. */
const STALE_LISTS =
  'The shared lists could not be compared with the store for more than 10 s; changes since then do not count here.';

/** What one address may take of a listener's connections. */
export const CONNECTIONS_PER_ADDRESS_MAX = 2_000;

/** Composes the service from its parts and opens both listeners. Tests and the replay start it here too. */
export async function startApplication(parts: ApplicationParts): Promise<Application> {
  const { store, clock } = parts;
  const watch = watchedStore(parts);
  const metrics = nodeMetrics(parts, new Metrics(), watch);
  const keys = watchedKeys(parts, metrics);
  const sessions = new Sessions(store.documents, keys, parts.provider?.roles ?? [], clock);
  const audit = new Audit(store.auditLog, clock);
  const { signalSecret, signalSecretPrevious: former = null } = parts;
  const pseudonym = hmacPseudonym(signalSecret);
  const names = platformNames(signalSecret);
  const formerPseudonym = former === null ? null : hmacPseudonym(former);
  const attributeHmacs =
    parts.attributeHmacs ?? attributeHmacsUnder([signalSecret, former].filter((one) => one !== null));
  const lists = await followedLists(parts, { pseudonym, formerPseudonym }, metrics);
  const hasStaleLists = () => lists.report().isStale;
  const { listLog, clientKeys } = store;
  const listEditor = new ListEditor({ listLog, node: lists, pseudonym, names, audit, clientKeys, clock });
  const decides = {
    lists,
    holdoutDraw: holdoutDraw(signalSecret),
    secrets: nodeSecrets(signalSecret, former),
  };
  const archivedOrders = parts.archive ? ArchivedOrders.of(parts.archive) : null;
  const erasures = new KnownErasures({
    store,
    archive: parts.archive ?? null,
    ledger: parts.erasureLedger ?? null,
  });
  const reporting = new ReportingWatch({
    registers: store.registers,
    clock,
    onTrouble: (error) => tellTrouble(parts.log)('whether platforms still report is not shared', error),
  });
  watchReporting(metrics.registry, () => reporting.known());
  const service = new ScoringService({
    ...parts,
    ...decides,
    archivedOrders,
    erasures,
    pseudonym,
    formerPseudonym,
    metrics,
    reporting,
  });
  const records = new Records({ ...parts, ...decides, attributeHmacs });
  const erasure = new Erasure({ ...parts, ledger: parts.erasureLedger ?? null, service, listEditor, audit });
  await repeatErasures(erasure, parts.log);
  const auditEnd = new AuditEnd({
    auditLog: store.auditLog,
    clock,
    onTold: (known) => parts.log.info({ known }, 'the newest entry of the audit, for audit verify --known'),
    onTrouble: (error) => tellTrouble(parts.log)('the newest entry of the audit is not told', error),
  });
  const hourly = setInterval(() => auditEnd.look(), AUDIT_END_LOOK_EVERY_MS).unref();
  const feed = new EventFeed(store, parts.archive ?? null);
  let draining = false;
  const readiness: Readiness = async () => {
    if (draining) return { ready: false, why: 'the service is shutting down' };
    const health = await watch.health();
    const texts = [
      ...healthTexts(health),
      ...keys.lost().map(lostKeyText),
      ...rolloutTexts(parts.rollout?.report().trouble ?? null),
      ...(hasStaleLists() ? [STALE_LISTS] : []),
    ];
    return { ready: servesClients(health), why: texts.join(' ') };
  };
  const isDraining = () => draining;
  const shared = { ...parts, service, keys, metrics, clientKeys };
  const document = servedDocument(callerDocument(parts.basePath));
  const ofCallers = {
    ...shared,
    pseudonym,
    documentRoutes: documentRoutes(document, parts.basePath),
    rateBuckets: store.rateBuckets,
  };
  const callers = callerListener(ofCallers, parts, isDraining);
  const platform = createListener(
    parts.platform,
    platformApi({
      ...shared,
      callerDocument: document,
      sessions,
      pseudonym,
      names,
      records,
      erasure,
      feed,
      lists,
      listEditor,
      audit,
      readiness,
      reporting: (name) => reporting.of(name),
    }).callback(),
    { requestMs: PLATFORM_REQUEST_TIMEOUT_MS, unreadMs: PLATFORM_REQUEST_TIMEOUT_MS },
    isDraining,
    parts.log,
  );
  const urls = await open(callers, platform, parts);
  const drain = async (graceMs = 0) => {
    draining = true;
    watch.stop();
    feed.endWaiting();
    await sleep(graceMs);
    await parts.evidence?.close();
    await Promise.all([closeListener(callers), closeListener(platform)]);
    lists.stop();
    await reporting.stop();
    await audit.sumUp().catch((error: unknown) => parts.log.warn({ err: error }, 'the audit has no sum'));
    clearInterval(hourly);
    await auditEnd.tell();
  };
  return { keys, ...urls, hasStaleLists, drain };
}

/** The listener of callers; what it refuses under overload it refuses before everything else. */
function callerListener(
  api: Omit<CallerApiParts, 'workLimit'>,
  { caller, basePath, log }: ApplicationParts,
  isDraining: () => boolean,
): Server {
  const workLimit = new WorkLimit();
  const answer = callerApi({ ...api, workLimit }).callback();
  return createListener(
    caller,
    shedOverload(workLimit, api.metrics, basePath, answer, ({ headersDistinct }) =>
      api.keys.platformOf(headersDistinct['x-ka-access-key']?.[0] ?? ''),
    ),
    { requestMs: REQUEST_TIMEOUT_MS, unreadMs: UNREAD_TIMEOUT_MS },
    isDraining,
    log,
  );
}

/** Before anybody is served: a store that was put back knows who was erased since. */
async function repeatErasures(erasure: Erasure, log: Logger): Promise<void> {
  const { clients, unreadable, waitsForArchive } = await whileStoreIsLate(
    () => erasure.repeat(),
    ({ message }) => log.warn({ store: message }, 'the erasures of the ledger wait for the store'),
  );
  if (clients > 0) log.warn({ clients }, 'erased again whom a backup had brought back');
  if (unreadable > 0)
    log.warn(
      { lines: unreadable },
      'the erasure ledger has lines that cannot be read: whom they name is not erased again',
    );
  if (!waitsForArchive) return;
  log.warn(
    'the archive is away: whether it was put back, too, is seen by the erasure ledger once it is there',
  );
  repeatOnceArchiveIsThere(erasure, log);
}

/** Callers are served meanwhile: what cannot be read shows nobody. */
function repeatOnceArchiveIsThere(erasure: Erasure, log: Logger): void {
  const again = async () => {
    // The store may be away, too, for a while.
    const repeated = await erasure.repeat().catch(() => null);
    if (repeated === null || repeated.waitsForArchive) return repeatOnceArchiveIsThere(erasure, log);
    log.info(
      { clients: repeated.clients },
      'the archive is there, and the erasure ledger was repeated on it',
    );
  };
  setTimeout(again, ARCHIVE_TRIED_EVERY_MS).unref();
}

const ARCHIVE_TRIED_EVERY_MS = 5_000;

const AUDIT_END_LOOK_EVERY_MS = 60_000;

/** The access keys; log and metrics tell which the store has lost. */
function watchedKeys({ store, clock, log }: ApplicationParts, { registry }: Metrics): AccessKeys {
  const keys = new AccessKeys(store.documents, clock, undefined, ({ id, platform }) =>
    log.error({ keyId: id, platform }, LOST_KEY),
  );
  watchKeys(registry, () => keys.lost());
  return keys;
}

const LOST_KEY =
  'the store has lost an access key that was live: its callers get 503; put a backup of the store back, or issue another key';

function lostKeyText({ id, platform }: LostKey): string {
  return `The store has lost the access key ${id} of ${platform}, whose callers get 503: put a backup of the store back, or issue another key.`;
}

function rolloutTexts(trouble: string | null): readonly string[] {
  return trouble === null ? [] : [`The rollout: ${trouble}.`];
}

/** Looks after the store and tells the log what changes. */
function watchedStore({ store, log }: ApplicationParts): StoreWatch {
  return new StoreWatch(store, ({ kind, text }) => {
    if (kind === 'trouble') log.warn({ store: text }, 'the store needs attention');
    else log.info({ store: text }, 'the store is mended');
  });
}

/** Warns of what goes wrong in the background; of a store that is away everything is said in its message. */
export function tellTrouble(log: Logger): (message: string, error?: unknown) => void {
  return (message, error) =>
    log.warn(error instanceof StoreUnavailable ? { store: error.message } : { err: error }, message);
}

/** This node's copy of the shared lists, kept up to date. */
async function followedLists(
  { store, clock, log }: ApplicationParts,
  pseudonyms: Pseudonyms,
  { registry }: Metrics,
) {
  const onTrouble = tellTrouble(log);
  const lists = new ListNode({ listLog: store.listLog, ...pseudonyms, clock, onTrouble });
  await whileStoreIsLate(
    () => lists.start(),
    (error) => onTrouble('the shared lists are late', error),
  );
  watchLists(registry, () => lists.report());
  return lists;
}

/** The metrics with the gauges of everything that this node has. */
function nodeMetrics(
  { store, rollout, caller, platform, archiveWatch = null, shipping = null }: ApplicationParts,
  metrics: Metrics,
  watch: StoreWatch,
) {
  showBuild(metrics.registry);
  if (rollout !== null) watchRollout(metrics.registry, rollout.report);
  if (archiveWatch !== null) watchArchive(metrics.registry, archiveWatch);
  if (shipping !== null) watchShipping(metrics.registry, shipping.report);
  const certificateOf =
    ({ tls }: Address) =>
    () =>
      tls === undefined ? null : certificateEndsMs(tls);
  watchCertificates(metrics.registry, { caller: certificateOf(caller), platform: certificateOf(platform) });
  watchStore(metrics.registry, () => ({ health: watch.known, clockOffsetMs: store.clockOffsetMs() }));
  return metrics;
}

/** Opens both listeners, or none: throws ListenError when a port cannot be had. */
async function open(callers: Server, platform: Server, parts: ApplicationParts) {
  const { basePath, rateLimit } = parts;
  // Behind proxies all callers come from the proxies' addresses.
  if (rateLimit.trustedProxies === 0) limitConnections(callers, CONNECTIONS_PER_ADDRESS_MAX);
  limitConnections(platform, CONNECTIONS_PER_ADDRESS_MAX);
  const callerUrl = (await listen(callers, parts.caller, 'PORT')) + basePath;
  const platformUrl = await listen(platform, parts.platform, 'PLATFORM_PORT').catch(async (error) => {
    await closeListener(callers);
    throw error;
  });
  return { callerUrl, platformUrl };
}
