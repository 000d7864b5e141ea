import cluster from 'node:cluster';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Logger } from 'pino';
import {
  CertificateError,
  type CertificateFiles,
  followCertificate,
  readCertificate,
} from './certificate.ts';
import { answerNodeRefusals, hasOneHost } from './node-refusals.ts';
import { cutOffSlowReaders } from './slow-readers.ts';
import { forgiveStandstill } from './standstill.ts';
import { HEADERS_TIMEOUT_MS, KEEP_ALIVE_MS, TIMEOUT_CHECK_MS } from './time-limits.ts';

/** Where a process listens. */
export interface Address {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Absent where it speaks HTTP without TLS. */
  readonly tls?: CertificateFiles;
}

/** How long each part of a request may take. */
export interface ListenerTimes {
  readonly requestMs: number;
  /** An answer that is not read. */
  readonly unreadMs: number;
}

/** A listener could not be opened; the message says which and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const CONNECTIONS_MAX = 10_000;

/** Where the system itself spreads connections over processes; elsewhere the supervisor hands them round. */
const SHARES_PORTS = process.platform === 'linux';

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
    if (!hasOneHost(req, res)) return;
    // A caller that keeps asking on an open connection would otherwise keep the drain from ending.
    if (isDraining()) res.setHeader('Connection', 'close');
    return answer(req, res);
  };
  const server =
    tls === undefined ? createServer(options, onRequest) : secureServer(tls, options, onRequest, log);
  server.maxConnections = CONNECTIONS_MAX;
  forgiveStandstill(server);
  cutOffSlowReaders(server, unreadMs);
  answerNodeRefusals(server);
  return server;
}

function secureServer(
  files: CertificateFiles,
  options: object,
  onRequest: RequestListener,
  log: Logger,
): Server {
  try {
    const secure = { ...options, ...readCertificate(files), handshakeTimeout: HEADERS_TIMEOUT_MS };
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
  const port = await open(server, address, setting, cluster.isWorker && SHARES_PORTS);
  const scheme = address.tls === undefined ? 'http' : 'https';
  return `${scheme}://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`;
}

/**
 * The port that is to be opened later, once it is known that nobody else has it: processes that share a port are not
 * told of others. Throws ListenError.
 */
export async function reservePort(address: Address, setting: string): Promise<number> {
  const server = createServer();
  const port = await open(server, address, setting, false);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  await promise;
  return port;
}

/** Gives the port. */
function open(server: Server, { host, port }: Address, setting: string, reusePort: boolean): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', (cause: NodeJS.ErrnoException) => {
    reject(new ListenError(explainListenError(cause, host, port, setting), { cause }));
  });
  server.listen({ host, port, reusePort }, () => {
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
