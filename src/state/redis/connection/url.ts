import { NamedError } from '#base/named-error.ts';

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The servers and credentials of a REDIS_URL. */
export type RedisTarget = {
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
} & (
  | { readonly kind: 'standalone'; readonly endpoint: Endpoint; readonly database: number }
  | { readonly kind: 'cluster'; readonly endpoints: readonly Endpoint[] }
  | { readonly kind: 'sentinel'; readonly endpoints: readonly Endpoint[]; readonly masterName: string }
);

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;

/** The allowed forms, for messages. A message never repeats the URL, because it may hold a password. */
const FORMS =
  'redis://[user:password@]host:port[/database], rediss:// for TLS, a comma-separated list for a cluster, redis-sentinel://[user:password@]host:port,host:port/name, rediss-sentinel:// for TLS';

class RedisUrlRefused extends NamedError {
  constructor(complaint: string) {
    super(`REDIS_URL: ${complaint}; understood are ${FORMS}`);
  }
}

/** Parses a REDIS_URL. Throws RedisUrlRefused if the URL has none of the allowed forms. */
export function parseRedisUrl(url: string): RedisTarget {
  const [, scheme, s, sentinels, rest = ''] = /^(redis(s?)(-sentinel)?):\/\/(.*)$/s.exec(url.trim()) ?? [];
  if (scheme === undefined) throw new RedisUrlRefused('unknown scheme');
  const tls = s === 's';
  if (sentinels !== undefined) return { tls, ...parseSentinels(rest) };
  return { tls, ...(rest.includes(',') ? parseCluster(scheme, rest) : parseStandalone(rest)) };
}

/** Formats every address for messages, without credentials. */
export function formatAddresses(target: RedisTarget): string {
  const endpoints = target.kind === 'standalone' ? [target.endpoint] : target.endpoints;
  return endpoints.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(', ');
}

function parseStandalone(rest: string) {
  const { endpoint, username, password, path } = parseServer(rest, REDIS_PORT);
  const database = Number(path || '0');
  if (!Number.isInteger(database) || database < 0)
    throw new RedisUrlRefused('the database must be a whole number');
  return { kind: 'standalone', endpoint, username, password, database } as const;
}

/**
 * Parses a list of servers. Each item may repeat the scheme and the credentials of the first item, or leave them out.
 */
function parseCluster(scheme: string, rest: string) {
  const servers = rest
    .split(',')
    .map((item) => item.trim().replace(`${scheme}://`, ''))
    .map((item) => parseServer(item, REDIS_PORT));
  const { username, password } = servers[0] ?? { username: undefined, password: undefined };
  const endpoints = servers.map(({ endpoint }) => endpoint);
  return { kind: 'cluster', endpoints, username, password } as const;
}

/** Parses the URL of Sentinels. Its credentials are those of the servers that keep data. Sentinels have their own. */
function parseSentinels(rest: string) {
  const servers = rest.split(',').map((item) => parseServer(item.trim(), SENTINEL_PORT));
  const { username, password } = servers[0] ?? { username: undefined, password: undefined };
  const masterName = servers.at(-1)?.path ?? '';
  if (masterName === '') throw new RedisUrlRefused('the name of the master is missing');
  const endpoints = servers.map(({ endpoint }) => endpoint);
  return { kind: 'sentinel', endpoints, masterName, username, password } as const;
}

function parseServer(text: string, defaultPort: number) {
  const url = URL.parse(`redis://${text}`);
  if (url === null || url.hostname === '') throw new RedisUrlRefused('host or port is missing or wrong');
  return {
    endpoint: {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? defaultPort : Number(url.port),
    },
    username: url.username === '' ? undefined : decodeUrlPart(url.username),
    password: url.password === '' ? undefined : decodeUrlPart(url.password),
    path: decodeUrlPart(url.pathname.slice(1)),
  };
}

function decodeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlRefused('a % stands without two hexadecimal digits, where %25 would mean itself');
  }
}

/**
 * The certificates and passwords of a connection to Redis that the URL does not hold. The object can be sent to a
 * thread, because it is plain data.
 */
export interface RedisSecurity {
  /** PEM of the authorities that may have signed the servers' certificates. The default is Node's own list. */
  readonly ca?: string;
  /** PEM of the certificate that this process shows to servers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
  /** The password of the Sentinels. The password of the servers that keep data is in the URL. */
  readonly sentinelPassword?: string;
}

/** Creates the TLS options of a socket. They are empty if TLS is not used. */
export function createTlsOptions(tls: boolean, { ca, cert, key }: RedisSecurity) {
  if (!tls) return {};
  return {
    tls: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  } as const;
}
