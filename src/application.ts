import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type Koa from 'koa';
import type { Logger } from 'pino';
import { AccessKeys } from './access/access-keys.ts';
import { Audit } from './access/audit.ts';
import type { ArchiveReader } from './archive/read/archive-reader.ts';
import type { Shipping } from './archive/ship/start-shipping.ts';
import type { Address } from './config.ts';
import { callerApi } from './http/caller/caller-api.ts';
import type { Readiness } from './http/platform/health.ts';
import { platformApi } from './http/platform/platform-api.ts';
import type { RolloutView } from './http/platform/rules/rollout.ts';
import type { RateLimit } from './http/request/rate-limit.ts';
import type { RequestState } from './http/request/request-state.ts';
import { limitConnections } from './http/server/connection-limit.ts';
import { answerNodeRefusals, hasOneHost } from './http/server/node-refusals.ts';
import { cutOffSlowReaders } from './http/server/slow-readers.ts';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  PLATFORM_REQUEST_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_CHECK_MS,
  UNREAD_TIMEOUT_MS,
} from './http/server/time-limits.ts';
import { LastHour } from './last-hour.ts';
import { Metrics } from './metrics.ts';
import { hmacPseudonym } from './pseudonym.ts';
import type { RuleSource } from './rollout/rule-source.ts';
import { Records } from './service/records.ts';
import { ScoringService } from './service.ts';
import { healthTexts, servesClients } from './state/health/store-health.ts';
import { StoreWatch } from './state/health/store-watch.ts';
import type { Store } from './state/store.ts';

export interface ApplicationParts {
  readonly store: Store;
  readonly ruleSource: RuleSource;
  /** Decisions of years; null where the node has no archive. */
  readonly archive?: ArchiveReader | null;
  /** How shipping goes on this node; absent when it does not ship. */
  readonly shipping?: Shipping | null;
  /** What the platform may see and change of the rollout; null when the rule set is fixed. */
  readonly rollout: RolloutView | null;
  /** The folder of the rule sets, whose files the console shows; without it none are shown. */
  readonly rulesDir?: string | undefined;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Keys the HMACs of fingerprints and IPs. */
  readonly signalSecret: string;
  readonly rateLimit: RateLimit;
  readonly basePath: string;
  readonly caller: Address;
  readonly platform: Address;
  readonly log: Logger;
}

/** The service with both listeners open. */
export interface Application {
  readonly keys: AccessKeys;
  /** Where callers reach it, with the base path: `http://127.0.0.1:8080`. */
  readonly callerUrl: string;
  readonly platformUrl: string;
  /**
   * Answers what is under way and closes the listeners; the store stays open. For `graceMs` before that,
   * requests that are already on their way are still taken, each as the last one of its connection.
   */
  drain(graceMs?: number): Promise<void>;
}

/** A listener could not be opened; the message says which and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const CONNECTIONS_MAX = 10_000;

/** What one address may take of them. */
const CONNECTIONS_PER_ADDRESS_MAX = 2_000;

/** A request still under way after this long is cut off by a drain. */
const DRAIN_MS = 10_000;

/** Composes the service from its parts and opens both listeners. Tests and the replay start it here too. */
export async function startApplication(parts: ApplicationParts): Promise<Application> {
  const { store, clock, basePath } = parts;
  const lastHour = new LastHour(clock);
  const metrics = new Metrics(lastHour);
  if (parts.rollout !== null) metrics.watchRollout(parts.rollout.report);
  if (parts.shipping !== undefined && parts.shipping !== null) metrics.watchShipping(parts.shipping.report);
  const watch = new StoreWatch(store, ({ kind, text }) => {
    if (kind === 'trouble') parts.log.warn({ store: text }, 'the store needs attention');
    else parts.log.info({ store: text }, 'the store is mended');
  });
  metrics.watchStore(() => ({ health: watch.known, clockOffsetMs: store.clockOffsetMs() }));
  const keys = new AccessKeys(store.documents, clock);
  const audit = new Audit(store.auditLog, clock);
  const pseudonym = hmacPseudonym(parts.signalSecret);
  const service = new ScoringService({ ...parts, pseudonym, metrics });
  const records = new Records(parts);
  let draining = false;
  const readiness: Readiness = async () => {
    if (draining) return { ready: false, why: 'the service is shutting down' };
    const health = await watch.health();
    return { ready: servesClients(health), why: healthTexts(health).join(' ') };
  };
  const isDraining = () => draining;
  const callers = serverOf(
    callerApi({ ...parts, service, keys, pseudonym, rateBuckets: store.rateBuckets, metrics }),
    REQUEST_TIMEOUT_MS,
    UNREAD_TIMEOUT_MS,
    isDraining,
  );
  const platform = serverOf(
    platformApi({ ...parts, service, records, keys, audit, readiness, metrics, lastHour }),
    PLATFORM_REQUEST_TIMEOUT_MS,
    PLATFORM_REQUEST_TIMEOUT_MS,
    isDraining,
  );
  // Behind proxies all callers come from the proxies' addresses.
  if (parts.rateLimit.trustedProxies === 0) limitConnections(callers, CONNECTIONS_PER_ADDRESS_MAX);
  limitConnections(platform, CONNECTIONS_PER_ADDRESS_MAX);
  const callerUrl = (await listen(callers, parts.caller, 'PORT')) + basePath;
  const platformUrl = await listen(platform, parts.platform, 'PLATFORM_PORT').catch(async (error) => {
    await closeServer(callers);
    throw error;
  });
  const drain = async (graceMs = 0) => {
    draining = true;
    watch.stop();
    await sleep(graceMs);
    await Promise.all([closeServer(callers), closeServer(platform)]);
  };
  return { keys, callerUrl, platformUrl, drain };
}

function serverOf(
  app: Koa<RequestState>,
  requestTimeout: number,
  unreadTimeout: number,
  isDraining: () => boolean,
): Server {
  const answer = app.callback();
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false,
    },
    (req, res) => {
      if (!hasOneHost(req, res)) return;
      // A caller that keeps asking on an open connection would otherwise keep the drain from ending.
      if (isDraining()) res.setHeader('Connection', 'close');
      return answer(req, res);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  cutOffSlowReaders(server, unreadTimeout);
  answerNodeRefusals(server);
  return server;
}

/** Gives the URL. Port 0 lets the system choose. */
function listen(server: Server, { host, port }: Address, setting: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    reject(new ListenError(explainListenError(cause, host, port, setting), { cause }));
  });
  server.listen(port, host, () => {
    const address = server.address();
    const actualPort = typeof address === 'object' && address !== null ? address.port : port;
    resolve(`http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`);
  });
  return promise;
}

function explainListenError(
  { code, message }: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: string,
): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken by another process; stop it or set ${setting} to a free port`;
    case 'EACCES':
      return `port ${port} on ${host} may not be opened by this user; set ${setting} to a port above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; set ${setting.replace('PORT', 'HOST')} to one that is`;
    default:
      return `cannot listen on ${host}:${port}: ${message}`;
  }
}

async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  // Connections that fall idle while draining would otherwise hold the server open.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await promise;
  clearInterval(sweep);
  clearTimeout(limit);
}
