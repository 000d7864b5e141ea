import {
  ConnectionTimeoutError,
  createClient,
  createCluster,
  createSentinel,
  type RedisClientType,
  type RedisClusterType,
  type RedisFunctions,
  type RedisModules,
  type RedisScripts,
  type RedisSentinelType,
  type RespVersions,
  SocketTimeoutError,
} from '@redis/client';
import clusterKeySlot from 'cluster-key-slot';
import { explainConnectionFailure } from '#state/connection-failure.ts';
import { type RunCall, StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import { isReplyParseError } from './reply.ts';
import { createTlsOptions, formatAddresses, type RedisSecurity, type RedisTarget } from './url.ts';

type Standalone = RedisClientType<RedisModules, RedisFunctions, RedisScripts, RespVersions>;
type Cluster = RedisClusterType<RedisModules, RedisFunctions, RedisScripts, RespVersions>;
type Sentinel = RedisSentinelType<RedisModules, RedisFunctions, RedisScripts, RespVersions>;

/** The commands that all three kinds of connections share. */
export type RedisCommands = Standalone | Cluster | Sentinel;

/** An open connection. It reconnects automatically, and rejects commands while the server is away. */
export interface RedisConnection {
  /** Kind and addresses for people, without credentials. */
  readonly name: string;
  readonly commands: RedisCommands;
  /** `how` is EVALSHA with a hash, or EVAL with the source. */
  runScript(how: 'EVALSHA' | 'EVAL', script: string, call: ScriptCall): Promise<unknown>;
  /** Whether the keys of one command must share a slot. */
  readonly sharded: boolean;
  /** Sends commands together. Missing in a cluster, where a key may move between two commands. */
  readonly sendTogether?: SendTogether;
  /** Connects to the address again. Missing unless the store has one address, behind which the master may change. */
  readonly connectAnew?: () => void;
  /** Names the server that answers for a key. */
  serverOf(key: string): string;
  /** Names all servers that take writes, by the names that `serverOf` returns. */
  servers(): readonly string[];
  /** Finds a key for which that server answers. Returns null if it answers for none. */
  keyOn(node: string): string | null;
  /** Reads some of that server's keys from a cursor on. The first and the last cursor are '0'. */
  scanOn(node: string, cursor: string, keys: number, match?: string): Promise<ScannedKeys>;
  /** Reads the server's own INFO. */
  infoOf(node: string): Promise<string>;
  /** Resolves when that server answers, or when it is no longer part of the store. */
  pingServer(node: string): Promise<unknown>;
  /** Replaces the connection to that server at once, because its replies can no longer be trusted. */
  renew(node: string): void;
  close(): Promise<void>;
}

interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** Sends commands directly after each other. Their replies come in the same sequence. */
export type SendTogether = (commands: readonly string[][]) => Promise<readonly unknown[]>;

/** The access to the servers. `runOn` returns the function that runs calls on the server that answers for a key. */
export interface RedisAccess {
  readonly connection: RedisConnection;
  readonly commands: RedisCommands;
  readonly runOn: (key: string) => RunCall;
}

interface ScannedKeys {
  readonly cursor: string;
  readonly keys: readonly string[];
}

const CONNECT_TIMEOUT_MS = 800;

/**
 * A connection on which no byte arrives for this long is given up as dead. A living connection carries a ping every
 * PING_INTERVAL_MS.
 */
const SILENCE_MS_MAX = 2000;
const PING_INTERVAL_MS = 500;

const QUEUED_COMMANDS_MAX = 10_000;

/** How long a failing node of a cluster is tried before the other nodes are asked for its successor. */
const TOPOLOGY_REFRESH_AFTER_MS = 500;
const SENTINEL_SCAN_INTERVAL_MS = 1000;

/** How long commands under way may take when the connection is closed. */
const DRAIN_MS_MAX = 1000;

const PROBE_KEY = 'probe';

/**
 * As many keys as are needed so that each master of a cluster has one of them, however small its share of the slots
 * is.
 */
const PROBE_KEYS: readonly string[] = Array.from({ length: 1000 }, (_, number) => `${PROBE_KEY}:${number}`);

/** The result of scanning a server that no longer belongs to the store. */
const NO_KEYS: ScannedKeys = { cursor: '0', keys: [] };

const NO_COMMAND_TIMER = { timeout: 0 };

/** What an operator can do about a store that was not reached. */
const TO_CHECK = 'check that it runs, and the host, port, password and TLS (rediss://) in REDIS_URL';

/**
 * Connects to Redis. Throws StoreUnavailable with the addresses and without the password. Errors after the first
 * connection go to `onError`. A server that is late is tried again for `patienceMs`. A command of a person is more
 * patient than a node, because a supervisor starts the node again.
 */
export async function connectRedis(
  target: RedisTarget,
  onError: (error: Error) => void,
  security: RedisSecurity = {},
  patienceMs = 0,
): Promise<RedisConnection> {
  const beganMs = performance.now();
  for (;;) {
    try {
      return await connectOnce(target, onError, security, patienceMs);
    } catch (error) {
      if (!(error instanceof StoreLate) || performance.now() - beganMs >= patienceMs) throw error;
    }
  }
}

async function connectOnce(
  target: RedisTarget,
  onError: (error: Error) => void,
  security: RedisSecurity,
  patienceMs: number,
): Promise<RedisConnection> {
  const errors = new FirstErrors(onError);
  const { connection, connect } = openTarget(target, { security, errors, patienceMs });
  try {
    await connect();
    errors.connected = true;
    return connection;
  } catch (error) {
    await connection.close();
    const reason = errors.last ?? error;
    const isLate = reason instanceof ConnectionTimeoutError || reason instanceof SocketTimeoutError;
    const Failure = isLate ? StoreLate : StoreUnavailable;
    throw new Failure(
      `${connection.name} cannot be reached: ${explainConnectionFailure(reason)}; ${TO_CHECK}`,
      {
        cause: error,
      },
    );
  }
}

/** Keeps an error before the first connection as the reason of the failure. Later errors are reported. */
class FirstErrors {
  connected = false;
  last: Error | null = null;
  readonly #onError: (error: Error) => void;

  constructor(onError: (error: Error) => void) {
    this.#onError = onError;
  }

  readonly report = (error: Error): void => {
    if (this.connected) this.#onError(error);
    else this.last = error;
  };

  /**
   * The first failure ends an attempt to connect for the first time. Later the client library tries until it
   * connects.
   */
  readonly reconnectStrategy = (tries: number): number | false =>
    this.connected && (tries === 0 ? 0 : 50 + Math.random() * 100);
}

interface Opening {
  readonly security: RedisSecurity;
  readonly errors: FirstErrors;
  readonly patienceMs: number;
}

interface Opened {
  readonly connection: RedisConnection;
  readonly connect: () => Promise<unknown>;
}

function openTarget(target: RedisTarget, opening: Opening): Opened {
  switch (target.kind) {
    case 'standalone':
      return openStandalone(target, opening);
    case 'cluster':
      return openCluster(target, opening);
    case 'sentinel':
      return openSentinel(target, opening);
    default:
      throw new Error(target satisfies never);
  }
}

function openStandalone(target: Extract<RedisTarget, { kind: 'standalone' }>, opening: Opening): Opened {
  const { security, errors } = opening;
  const { endpoint, tls, database } = target;
  const { socket, ...options } = createNodeOptions(target, opening);
  const secure = createTlsOptions(tls, security);
  const client: Standalone = createClient<RedisModules, RedisFunctions, RedisScripts, RespVersions>({
    ...options,
    RESP: 2,
    commandOptions: NO_COMMAND_TIMER,
    socket: { ...socket, ...endpoint, ...secure },
    database,
  });
  const renew = createRenewal(() => client, errors.report);
  client.on('error', (error) => {
    errors.report(error);
    if (isReplyParseError(error)) renew();
  });
  const node = formatAddresses(target);
  return {
    connect: () => client.connect(),
    connection: {
      name: `Redis at ${node}`,
      commands: client,
      ...createOneServerPart(client, node),
      // Commands of every verdict bypass the library's own formatting, which creates four promises for each command.
      runScript: (how, script, { keys, args }) =>
        client.sendCommand([how, script, String(keys.length), ...keys, ...args]),
      sendTogether: (commands) => Promise.all(commands.map((command) => client.sendCommand(command))),
      connectAnew: createReconnect(client),
      renew,
    },
  };
}

function openCluster(target: Extract<RedisTarget, { kind: 'cluster' }>, opening: Opening): Opened {
  const { security, errors } = opening;
  const { socket, ...options } = createNodeOptions(target, opening);
  const secure = createTlsOptions(target.tls, security);
  const cluster: Cluster = createCluster<RedisModules, RedisFunctions, RedisScripts, RespVersions>({
    RESP: 2,
    commandOptions: NO_COMMAND_TIMER,
    rootNodes: target.endpoints.map((endpoint) => ({ socket: endpoint })),
    defaults: { ...options, socket: { ...socket, ...secure } },
    topologyRefreshOnReconnectionAttemptStrategy: TOPOLOGY_REFRESH_AFTER_MS,
  });
  cluster.on('error', errors.report);
  const renew = (node: string) =>
    createRenewal(() => cluster.nodeByAddress.get(node)?.client, errors.report)();
  cluster.on('node-error', (error: Error, { host, port }: { host: string; port: number }) => {
    errors.report(error);
    if (isReplyParseError(error)) renew(`${host}:${port}`);
  });
  const addressOf = (key: string) => cluster.slots[clusterKeySlot(key)]?.master.address;
  return {
    connect: () => cluster.connect(),
    connection: {
      name: `Redis Cluster at ${formatAddresses(target)}`,
      commands: cluster,
      sharded: true,
      runScript: createScriptRunner(cluster),
      serverOf: (key) => addressOf(key) ?? 'nobody',
      servers: () => cluster.masters.map(({ address }) => address),
      keyOn: (node) => {
        const owned = PROBE_KEYS.find((key) => addressOf(key) === node);
        return owned ?? null;
      },
      scanOn: async (node, cursor, keys, match = '*') =>
        (await cluster.nodeByAddress.get(node)?.client?.scan(cursor, { COUNT: keys, MATCH: match })) ??
        NO_KEYS,
      infoOf: async (node) => (await cluster.nodeByAddress.get(node)?.client?.info()) ?? '',
      pingServer: async (node) => cluster.nodeByAddress.get(node)?.client?.ping(),
      renew,
      close: () => closeClient(cluster),
    },
  };
}

function openSentinel(target: Extract<RedisTarget, { kind: 'sentinel' }>, opening: Opening): Opened {
  const { security, errors } = opening;
  const { socket, ...options } = createNodeOptions(target, opening);
  const secure = createTlsOptions(target.tls, security);
  const { sentinelPassword } = security;
  const sentinel: Sentinel = createSentinel<RedisModules, RedisFunctions, RedisScripts, RespVersions>({
    RESP: 2,
    commandOptions: NO_COMMAND_TIMER,
    name: target.masterName,
    sentinelRootNodes: [...target.endpoints],
    nodeClientOptions: { ...options, socket: { ...socket, ...secure } },
    sentinelClientOptions: {
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
      socket: { connectTimeout: Math.max(CONNECT_TIMEOUT_MS, opening.patienceMs), ...secure },
    },
    // The client library never sends a failed command again, because the command may have been applied.
    maxCommandRediscovers: 0,
    // Without this, commands that start together wait for a free connection, and under busy traffic no connection
    // becomes free.
    reserveClient: true,
    scanInterval: SENTINEL_SCAN_INTERVAL_MS,
    passthroughClientErrorEvents: true,
  });
  const renew = createRenewal(() => sentinel, errors.report);
  sentinel.on('error', (error: Error) => {
    errors.report(error);
    if (isReplyParseError(error.cause)) renew();
  });
  return {
    connect: () => sentinel.connect(),
    connection: {
      name: `Redis ${target.masterName} behind Sentinel at ${formatAddresses(target)}`,
      commands: sentinel,
      ...createOneServerPart(sentinel, target.masterName),
      runScript: createScriptRunner(sentinel),
      sendTogether: (commands) =>
        Promise.all(commands.map((command) => sentinel.sendCommand(false, command))),
      renew,
    },
  };
}

/** Creates the members of a connection to a store in which one server answers for all keys. */
function createOneServerPart(client: Standalone | Sentinel, node: string) {
  return {
    sharded: false,
    serverOf: () => node,
    servers: () => [node],
    keyOn: () => PROBE_KEY,
    scanOn: (_node, cursor, keys, match = '*') => client.scan(cursor, { COUNT: keys, MATCH: match }),
    infoOf: () => client.info(),
    pingServer: () => client.ping(),
    close: () => closeClient(client),
  } satisfies Partial<RedisConnection>;
}

/** Runs scripts by the library's own commands, which find the server that answers for the keys. */
function createScriptRunner(client: Cluster | Sentinel): RedisConnection['runScript'] {
  return (how, script, { keys, args }) => {
    const options = { keys: [...keys], arguments: [...args] };
    return how === 'EVAL' ? client.eval(script, options) : client.evalSha(script, options);
  };
}

/** The options of a connection to any server that keeps data. */
function createNodeOptions({ username, password }: RedisTarget, { errors, patienceMs }: Opening) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    // Commands that callers gave up must not be sent when the connection is back.
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUED_COMMANDS_MAX,
    pingInterval: PING_INTERVAL_MS,
    maintNotifications: 'disabled',
    // The name is shown in CLIENT LIST. Setting it also sends a first command. Otherwise a hanging server would count
    // as connected.
    name: 'client-scoring-service',
    socket: {
      connectTimeout: Math.max(CONNECT_TIMEOUT_MS, patienceMs),
      socketTimeout: SILENCE_MS_MAX,
      reconnectStrategy: errors.reconnectStrategy,
    },
  } as const;
}

/** Closes a connection after its commands under way have ended, or after DRAIN_MS_MAX if the server does not answer. */
async function closeClient(client: Standalone | Cluster | Sentinel): Promise<void> {
  if (!client.isOpen) return;
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(resolve, DRAIN_MS_MAX, 'late');
  const drained = await Promise.race([client.close(), late]);
  clearTimeout(timer);
  if (drained === 'late') await client.destroy();
}

/**
 * A connection to a server that stays a replica is renewed at most this often, however many calls the server refuses.
 */
const ANEW_MS_MIN = 1000;

/**
 * Ends a connection, which then connects to its address again. After a failover behind a name or a virtual address,
 * an open connection still leads to the former master. That server is now a replica and answers everything except
 * writes.
 */
function createReconnect(client: Pick<Standalone, 'sendCommand'>): () => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < ANEW_MS_MIN) return;
    lastMs = nowMs;
    client.sendCommand(['QUIT']).catch(() => {
      // The connection has ended already.
    });
  };
}

/** Whether a server refused a call because it is a replica. */
export function isReplicaRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('READONLY');
}

/** The part of the client library's client that ends its connection and makes another. */
interface Renewable {
  readonly isOpen: boolean;
  destroy(): unknown;
  connect(): Promise<unknown>;
}

/** Ends a connection without waiting for commands under way. Connects again until that works. */
function createRenewal(clientNow: () => Renewable | undefined, onError: (error: Error) => void): () => void {
  let isRenewing = false;
  return () => {
    const client = clientNow();
    if (isRenewing || client === undefined || !client.isOpen) return;
    isRenewing = true;
    Promise.try(() => client.destroy())
      .then(() => client.connect())
      .catch(onError)
      .finally(() => {
        isRenewing = false;
      });
  };
}

/**
 * The most keys that one command reads. A command takes some tenths of a millisecond, in which no request is served.
 */
const KEYS_AT_ONCE = 500;

/** Lists the matching keys of a server, some at a time. A key that is written during the scan may be left out. */
export async function* scanKeys(
  connection: RedisConnection,
  node: string,
  match: string,
): AsyncGenerator<readonly string[]> {
  for (let from = '0'; ; ) {
    const { cursor, keys } = await connection.scanOn(node, from, KEYS_AT_ONCE, match);
    yield keys;
    if (cursor === '0') return;
    from = cursor;
  }
}
