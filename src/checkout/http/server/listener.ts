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
import { CountsByOwner } from '#base/work/turns.ts';
import { toNetwork } from '#decision/addresses.ts';
import {
  CertificateError,
  type CertificateFiles,
  findKeyFileWarning,
  followCertificate,
  readCertificate,
} from './certificate.ts';
import { answerHalfClosed } from './half-close.ts';
import { answerNodeRefusals, requireOneHost } from './node-refusals.ts';

/** A client that sends its headers or body slower than this is cut off. */
export const HEADERS_TIMEOUT_MS = 5_000;
export const REQUEST_TIMEOUT_MS = 10_000;

/** What was answered before its body came has so long for the rest of it, where a request may take longer. */
const REST_OF_BODY_MS = 10_000;

/** The platform sends outcomes by the hundred thousand, and is slowed down to what the store takes. */
export const PLATFORM_REQUEST_TIMEOUT_MS = 300_000;

/** A client that does not take its answer is cut off, too. Half of the other limits, because one late write starts the count again. */
export const UNREAD_TIMEOUT_MS = 5_000;

/** Each check cuts off all connections that are late, and everybody else waits meanwhile; checking often keeps them few. */
export const TIMEOUT_CHECK_MS = 100;

/** Longer than the idle timeout of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;

export interface Address {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Absent where it speaks HTTP without TLS. */
  readonly tls?: CertificateFiles;
}

interface ListenerTimes {
  readonly requestMs: number;
  /** An answer that is not read. */
  readonly unreadMs: number;
}

/** A listener could not be opened; the message says which and what to do. */
export class ListenError extends NamedError {}

const CONNECTIONS_MAX = 10_000;

/** A request still under way after this long is cut off by a drain. */
const DRAIN_MS = 10_000;

/**
 * A server with limits for all that a client may do slowly or too often; it is not open yet. While `isDraining`
 * every answer is the last one of its connection. Throws ListenError when its certificate cannot be used.
 */
export function createListener(
  { tls }: Address,
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
    if (!requireOneHost(req, res)) return;
    if (tls !== undefined) res.setHeader('Strict-Transport-Security', 'max-age=31536000');
    // A caller that keeps asking on an open connection would otherwise keep the drain from ending.
    if (isDraining()) res.setHeader('Connection', 'close');
    return answer(req, res);
  };
  const server =
    tls === undefined ? createServer(options, onRequest) : secureServer(tls, options, onRequest, log);
  server.on('checkContinue', (req, res) => {
    continueWhenRead(req, res);
    onRequest(req, res);
  });
  server.maxConnections = CONNECTIONS_MAX;
  extendTimeoutsAfterPause(server);
  cutOffSlowReaders(server, unreadMs);
  answerHalfClosed(server);
  if (requestMs > REST_OF_BODY_MS) cutOffLateBodies(server, REST_OF_BODY_MS);
  answerNodeRefusals(server);
  return server;
}

/**
 * Asks for a body that waits for 100 Continue once somebody listens for it. A request that is refused before, as one
 * with an unknown key, sends none, and then nobody knows where the next request of its connection begins.
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

function secureServer(
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
      else log.warn({ why: problem }, 'the new certificate cannot be used; the one before stays');
    });
    return server;
  } catch (error) {
    if (error instanceof CertificateError) throw new ListenError(error.message, { cause: error });
    throw error;
  }
}

/** Opens it and gives the URL; `setting` is the name of the port's setting, for messages. Throws ListenError. */
export async function listen(server: Server, address: Address, setting: string): Promise<string> {
  const port = await open(server, address, setting);
  const scheme = address.tls === undefined ? 'http' : 'https';
  return `${scheme}://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`;
}

/** Makes sure that nobody else has a port that is to be opened later. Throws ListenError. */
export async function requireFreePort(address: Address, setting: string): Promise<void> {
  const server = createServer();
  await open(server, address, setting);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  await promise;
}

/** Gives the port. */
function open(server: Server, { host, port }: Address, setting: string): Promise<number> {
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

/** Takes no new connections and waits for the requests under way, but not for ever. */
export async function closeListener(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  // Connections that fall idle while draining would otherwise hold the server open.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await promise;
  clearInterval(sweep);
  clearTimeout(limit);
}

/**
 * Gives callers back the time for which this process did not run: paused, moved to another machine, or without a
 * processor. Node would count it against them and refuse what had arrived meanwhile, unread, as too slow. Must be
 * called before the server listens, so that each look comes before Node's own.
 */
export function extendTimeoutsAfterPause(server: Server): void {
  const { headersTimeout, requestTimeout } = server;
  // Looks that came too late, and by how much.
  let lost: readonly { readonly atMs: number; readonly lostMs: number }[] = [];
  let lookedAtMs = performance.now();
  const look = setInterval(() => {
    const atMs = performance.now();
    const lostMs = atMs - lookedAtMs - TIMEOUT_CHECK_MS;
    lookedAtMs = atMs;
    const isLate = lostMs > TIMEOUT_CHECK_MS;
    if (!isLate && lost.length === 0) return;
    // Requests that began before that have had their time.
    lost = [...lost, ...(isLate ? [{ atMs, lostMs }] : [])].filter(
      (one) => atMs - one.atMs < REQUEST_TIMEOUT_MS,
    );
    const forgivenMs = lost.reduce((sum, one) => sum + one.lostMs, 0);
    server.headersTimeout = headersTimeout + forgivenMs;
    server.requestTimeout = requestTimeout + forgivenMs;
  }, TIMEOUT_CHECK_MS).unref();
  server.once('close', () => clearInterval(look));
}

/** A reader that takes less than this within the limit is cut off; less than what one write may hold. */
const TAKEN_BYTES_MIN = 16 * 1024;
/** Looking often cuts off few connections at a time; everybody else waits meanwhile. */
const LOOK_EVERY_MS = 200;

/** How much of its answers a connection had taken when it was last found behind. */
interface Behind {
  /** By the time that was watched. */
  readonly sinceMs: number;
  readonly takenBytes: number;
}

/**
 * Cuts off connections that do not take the answers they asked for: Node limits how long a request may
 * take to arrive, but would keep an unread answer for ever. One look at all connections every now and then, and
 * nothing a request.
 */
export function cutOffSlowReaders(server: Server, limitMs: number): void {
  const sockets = new Map<Socket, Behind | null>();
  // Under TLS the plain connection below has no bytes of its own that wait.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, null);
    socket.once('close', () => sockets.delete(socket));
  });
  let lookedAtMs = performance.now();
  let watchedMs = 0;
  const look = setInterval(() => {
    const nowMs = performance.now();
    // While this process itself stood still, a reader could take as it liked and nothing more was given.
    watchedMs += Math.min(nowMs - lookedAtMs, 2 * LOOK_EVERY_MS);
    lookedAtMs = nowMs;
    for (const [socket, behind] of sockets) {
      const next = nextBehind(socket, behind, watchedMs, limitMs);
      if (next === 'cut off') socket.destroy();
      else sockets.set(socket, next);
    }
  }, LOOK_EVERY_MS).unref();
  server.once('close', () => clearInterval(look));
}

function nextBehind(
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
 * Closes connections whose request was answered, mostly refused, before its body came, when the rest of it is late: Node
 * reads it for the sake of the next request, for as long as a request may take.
 */
export function cutOffLateBodies(server: Server, limitMs: number): void {
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    res.once('finish', () => {
      if (req.complete) return;
      const timer = setTimeout(() => req.complete || req.socket.destroy(), limitMs).unref();
      // With its body or with its connection; a connection has many requests, and would keep a listener of each.
      req.once('close', () => clearTimeout(timer));
    });
  });
}

/**
 * Refuses connections of an address that already has this many open, so that one address alone cannot take all
 * that the listener has. Behind a proxy all connections come from the proxy: then this is not for the listener.
 */
export function limitConnections(server: Server, perAddressMax: number): void {
  const open = new CountsByOwner();
  server.on('connection', (socket: Socket) => {
    const network = toNetwork(socket.remoteAddress ?? 'unknown');
    if (open.of(network) >= perAddressMax) {
      socket.destroy();
      return;
    }
    open.take(network);
    socket.once('close', () => open.giveBack(network));
  });
}
