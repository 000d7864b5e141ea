import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Logger } from 'pino';
import { NamedError } from '#base/named-error.ts';
import { PerOwnerCounter } from '#base/work/fair-queue.ts';
import { toNetworkOfAddress } from '#decision/addresses.ts';
import {
  CertificateError,
  type CertificateFiles,
  findKeyFileWarning,
  followCertificate,
  readCertificate,
} from './certificate.ts';
import { allowHalfClosedCallers } from './half-close.ts';
import { answerNodeRefusals, hasSingleHostOrAnswers } from './node-refusals.ts';

/** The time within which all headers of a request must have arrived. */
export const HEADERS_TIMEOUT_MS = 5_000;
/** The time within which the whole request of a caller must have arrived. */
export const REQUEST_TIMEOUT_MS = 10_000;

/** The time for the rest of a request's body after an early answer, on listeners whose requests may take longer. */
const REST_OF_BODY_MS = 10_000;

/**
 * The time for a request on the listener of the platform. A platform sends outcomes by the hundred thousand, and they
 * are read only as fast as the store takes them.
 */
export const BULK_REQUEST_TIMEOUT_MS = 300_000;

/**
 * A caller that does not read its answer is cut off after this time. It is half of REQUEST_TIMEOUT_MS, because the
 * time begins again when the caller takes a part of the answer late.
 */
export const UNREAD_TIMEOUT_MS = 5_000;

/**
 * The interval between two checks. Each check cuts off all late connections at once, while other requests wait. If
 * the checks are frequent, each cuts off few connections.
 */
export const TIMEOUT_CHECK_MS = 100;

/** This is longer than the idle timeout of common load balancers, so that they close connections first. */
const KEEP_ALIVE_MS = 75_000;

export interface ListenAddress {
  readonly host: string;
  /** With 0 the system chooses a port. */
  readonly port: number;
  /** Missing if the listener speaks HTTP without TLS. */
  readonly tls?: CertificateFiles;
}

interface ListenerTimes {
  readonly requestMs: number;
  /** How long an answer may stay unread. */
  readonly unreadMs: number;
}

/** The listener cannot be opened. The message says why and what to do. */
export class ListenError extends NamedError {}

const CONNECTIONS_MAX = 10_000;

/** How long a drain waits for requests under way before it cuts them off. */
const DRAIN_MS = 10_000;

/**
 * Creates a server that limits everything a caller may do slowly or too often. It does not listen yet. While
 * `isDraining` returns true, every answer is the last of its connection. Throws ListenError if the certificate cannot
 * be used.
 */
export function createListener(
  { tls }: ListenAddress,
  answer: RequestListener,
  { requestMs, unreadMs }: ListenerTimes,
  isDraining: () => boolean,
  log: Logger,
): Server {
  const options = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: requestMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requireHostHeader: false,
  };
  const onRequest: RequestListener = (req, res) => {
    if (!hasSingleHostOrAnswers(req, res)) return;
    if (tls !== undefined) res.setHeader('Strict-Transport-Security', 'max-age=31536000');
    // Otherwise a caller that keeps sending requests on an open connection would prevent the end of the drain.
    if (isDraining()) res.setHeader('Connection', 'close');
    return answer(req, res);
  };
  const server =
    tls === undefined ? createServer(options, onRequest) : createSecureServer(tls, options, onRequest, log);
  server.on('checkContinue', (req, res) => {
    continueWhenRead(req, res);
    onRequest(req, res);
  });
  server.maxConnections = CONNECTIONS_MAX;
  extendTimeoutsAfterPause(server);
  cutOffSlowReaders(server, unreadMs);
  allowHalfClosedCallers(server);
  if (requestMs > REST_OF_BODY_MS) cutOffLateBodiesAfterAnswer(server, REST_OF_BODY_MS);
  answerNodeRefusals(server);
  return server;
}

/**
 * Sends 100 Continue when the body is read. A request that is refused earlier, for example for an unknown key, never
 * sends its body. Its connection then closes, because nobody knows where the next request begins.
 */
function continueWhenRead(req: IncomingMessage, res: ServerResponse): void {
  const { shouldKeepAlive } = res;
  res.shouldKeepAlive = false;
  req.on('newListener', function proceed(event) {
    if (event !== 'data' && event !== 'readable') return;
    req.off('newListener', proceed);
    res.shouldKeepAlive = shouldKeepAlive;
    res.writeContinue();
  });
}

function createSecureServer(
  files: CertificateFiles,
  options: object,
  onRequest: RequestListener,
  log: Logger,
): Server {
  try {
    const secure = { ...options, ...readCertificate(files), handshakeTimeout: HEADERS_TIMEOUT_MS };
    const warning = findKeyFileWarning(files);
    if (warning !== null) log.warn({ why: warning }, 'the key of the certificate is not kept secret');
    const server = createTlsServer(secure, onRequest);
    followCertificate(server, files, (problem) => {
      if (problem === null) log.info({ certificate: files.certificateFile }, 'certificate reloaded');
      else log.warn({ why: problem }, 'the new certificate cannot be used; the former one stays in use');
    });
    return server;
  } catch (error) {
    if (error instanceof CertificateError) throw new ListenError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Opens the listener and returns its URL. `setting` names the setting of the port, for messages. Throws ListenError.
 */
export async function listen(server: Server, address: ListenAddress, setting: string): Promise<string> {
  const port = await openPort(server, address, setting);
  const scheme = address.tls === undefined ? 'http' : 'https';
  return `${scheme}://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`;
}

/** Checks that a port is free before it is opened later. Throws ListenError. */
export async function requireFreePort(address: ListenAddress, setting: string): Promise<void> {
  const server = createServer();
  await openPort(server, address, setting);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  await promise;
}

/** Opens the listener and returns its port. */
function openPort(server: Server, { host, port }: ListenAddress, setting: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    reject(new ListenError(explainListenError(cause, host, port, setting), { cause }));
  });
  server.listen({ host, port }, () => {
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
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

/** Closes the listener: it takes no new connections and waits for the requests under way, at most `DRAIN_MS`. */
export async function closeListener(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  // Closes connections that become idle during the drain. Otherwise they would keep the server open.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await promise;
  clearInterval(sweep);
  clearTimeout(limit);
}

/**
 * Extends the timeouts by the time for which this process did not run: it was paused, moved to another machine, or
 * had no processor. Node would count that time against the callers. It would then refuse requests as too slow that
 * had arrived but were not read. Call this function before the server listens, so that each check runs before Node's
 * own.
 */
export function extendTimeoutsAfterPause(server: Server): void {
  const { headersTimeout, requestTimeout } = server;
  // Checks that came too late, each with the lost time.
  let lost: readonly { readonly atMs: number; readonly lostMs: number }[] = [];
  let lookedAtMs = performance.now();
  const look = setInterval(() => {
    const atMs = performance.now();
    const lostMs = atMs - lookedAtMs - TIMEOUT_CHECK_MS;
    lookedAtMs = atMs;
    const isLate = lostMs > TIMEOUT_CHECK_MS;
    if (!isLate && lost.length === 0) return;
    // A pause is forgotten after the time of a whole request. A request that began before it has had that time since.
    lost = [...lost, ...(isLate ? [{ atMs, lostMs }] : [])].filter((one) => atMs - one.atMs < requestTimeout);
    const forgivenMs = lost.reduce((sum, one) => sum + one.lostMs, 0);
    server.headersTimeout = headersTimeout + forgivenMs;
    server.requestTimeout = requestTimeout + forgivenMs;
  }, TIMEOUT_CHECK_MS).unref();
  server.once('close', () => clearInterval(look));
}

/**
 * A reader that takes fewer bytes than this within the limit is cut off. The bytes of one write count as taken only
 * when all of them are taken, and one write may have more bytes than this.
 */
const TAKEN_BYTES_MIN = 16 * 1024;
/** Frequent checks cut off few connections at a time, so that other requests wait only shortly. */
const LOOK_EVERY_MS = 200;

/** For a connection with unread bytes: when its current time limit began, and how many bytes were taken by then. */
interface Behind {
  /** Watched time leaves out pauses of this process. */
  readonly sinceMs: number;
  readonly takenBytes: number;
}

/**
 * Cuts off connections that do not read the answers they asked for. Node limits how long a request may take to
 * arrive, but keeps an unread answer forever. One timer checks all connections, so a request costs nothing extra.
 */
export function cutOffSlowReaders(server: Server, limitMs: number): void {
  const sockets = new Map<Socket, Behind | null>();
  // Under TLS the plain connection has no waiting bytes of its own.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, null);
    socket.once('close', () => sockets.delete(socket));
  });
  let lookedAtMs = performance.now();
  let watchedMs = 0;
  const look = setInterval(() => {
    const nowMs = performance.now();
    // While this process stood still, a reader could receive only what was written before.
    watchedMs += Math.min(nowMs - lookedAtMs, 2 * LOOK_EVERY_MS);
    lookedAtMs = nowMs;
    for (const [socket, behind] of sockets) {
      const next = updateBehind(socket, behind, watchedMs, limitMs);
      if (next === 'cut off') socket.destroy();
      else sockets.set(socket, next);
    }
  }, LOOK_EVERY_MS).unref();
  server.once('close', () => clearInterval(look));
}

function updateBehind(
  { writableLength, bytesWritten }: Socket,
  behind: Behind | null,
  watchedMs: number,
  limitMs: number,
): Behind | null | 'cut off' {
  if (writableLength === 0) return null;
  const takenBytes = bytesWritten - writableLength;
  if (behind === null) return { sinceMs: watchedMs, takenBytes };
  if (takenBytes - behind.takenBytes >= TAKEN_BYTES_MIN) return { sinceMs: watchedMs, takenBytes };
  return watchedMs - behind.sinceMs < limitMs ? behind : 'cut off';
}

/**
 * Closes connections if a request was answered (mostly refused) before its body had arrived, and the rest of the body
 * is late. Node would read the body for as long as a request may take, to reach the next request.
 */
export function cutOffLateBodiesAfterAnswer(server: Server, limitMs: number): void {
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    res.once('finish', () => {
      if (req.complete) return;
      const timer = setTimeout(() => req.complete || req.socket.destroy(), limitMs).unref();
      // `close` of the request comes at the end of its body or of its connection. A listener on the connection would
      // stay for each of its many requests.
      req.once('close', () => clearTimeout(timer));
    });
  });
}

/**
 * Refuses connections of an address that already has `perAddressMax` open connections, so that one address cannot use
 * up the listener. It is not used behind a proxy, because all connections then come from the proxy.
 */
export function limitConnectionsPerAddress(server: Server, perAddressMax: number): void {
  const open = new PerOwnerCounter();
  server.on('connection', (socket: Socket) => {
    const network = toNetworkOfAddress(socket.remoteAddress ?? 'unknown');
    if (open.getCount(network) >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.increment(network);
    socket.once('close', () => open.decrement(network));
  });
}
