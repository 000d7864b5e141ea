import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { accepts, command } from './redis-command.ts';
import { MEMORY_ONLY, type RedisProcess, startRedis, startSentinelProcess } from './redis-process.ts';
import { removeDirectory, temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

/** Redis servers that belong together, on free ports of 127.0.0.1. */
export interface RedisServers {
  /** As in REDIS_URL. */
  readonly url: string;
  /** All that keep data, masters first. */
  readonly nodes: readonly RedisProcess[];
  /** Kills them and removes what they wrote. */
  stop(): Promise<void>;
}

/** A silent master is replaced after this time, so that a test of it need not wait for long. */
const SOON_MS = 1000;

/** For tests of something else: a machine that gives Redis no processor for seconds is not to lose a master by it. */
export const NO_FAILOVER_MS = 15_000;

const MASTERS = 3;
const SLOTS = 16384;
const MASTER_NAME = 'scoring';

export async function startStandalone(options = MEMORY_ONLY): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const node = await startRedis(directory, await freePort(), options);
  return {
    url: node.url,
    nodes: [node],
    stop: () => stopAll([node], directory),
  };
}

/** What a cluster may have otherwise. */
export interface ClusterSettings {
  readonly options?: readonly string[];
  /** Without replicas a master that is away stays away until it is back. */
  readonly replicas?: boolean;
  /** The port by which clients are to find the server on this one. */
  readonly announced?: (port: number) => Promise<number>;
}

/** Three masters, each with a replica that takes over when nothing is heard of its master for so long. */
export async function startCluster(
  failoverAfterMs = SOON_MS,
  settings: ClusterSettings = {},
): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const length = settings.replicas === false ? MASTERS : 2 * MASTERS;
  const nodes = await Promise.all(
    Array.from({ length }, () => startClusterNode(directory, failoverAfterMs, settings)),
  );
  const masters = nodes.slice(0, MASTERS);
  const replicas = nodes.slice(MASTERS);
  await assignSlots(masters.map(({ port }) => port));
  const [first] = nodes;
  for (const { port, busPort } of nodes.slice(1)) {
    await command(first?.port ?? 0, ['CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort)]);
  }
  await Promise.all(
    replicas.map(async ({ port }, index) => {
      const id = await command(masters[index]?.port ?? 0, ['CLUSTER', 'MYID']);
      await until('a replica knows its master', () => accepts(port, ['CLUSTER', 'REPLICATE', String(id)]));
    }),
  );
  await Promise.all(
    nodes.map(({ port }) => until('the cluster is ready', () => isClusterReady(port, length))),
  );
  await Promise.all(replicas.map(({ port }) => until('replicas follow', () => isFollowing(port))));
  return {
    url: masters.map(({ announcedPort }) => `redis://127.0.0.1:${announcedPort}`).join(','),
    nodes,
    stop: () => stopAll(nodes, directory),
  };
}

/** A master and a replica, watched by three sentinels that let it take over when nothing is heard of its master for so long. */
export async function startSentinel(failoverAfterMs = SOON_MS / 2): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const master = await startRedis(directory, await freePort(), MEMORY_ONLY);
  const replica = await startRedis(directory, await freePort(), [
    ...MEMORY_ONLY,
    '--replicaof',
    '127.0.0.1',
    String(master.port),
  ]);
  await until('the replica follows', () => isFollowing(replica.port));
  const sentinels = await Promise.all(
    [0, 1, 2].map(() => startSentinelNode(directory, master.port, failoverAfterMs)),
  );
  await Promise.all(sentinels.map(({ port }) => until('sentinels know each other', () => isWatching(port))));
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis-sentinel://${addresses}/${MASTER_NAME}`,
    nodes: [master, replica],
    stop: () => stopAll([...sentinels, master, replica], directory),
  };
}

async function startClusterNode(
  directory: string,
  failoverAfterMs: number,
  { options = MEMORY_ONLY, announced = async (port) => port }: ClusterSettings,
): Promise<RedisProcess & { readonly busPort: number; readonly announcedPort: number }> {
  const port = await freePort();
  const busPort = await freePort();
  const announcedPort = await announced(port);
  const own = join(directory, String(port));
  mkdirSync(own);
  const node = await startRedis(own, port, [
    ...options,
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-announce-port',
    String(announcedPort),
    '--cluster-node-timeout',
    String(failoverAfterMs),
  ]);
  return { ...node, busPort, announcedPort };
}

async function startSentinelNode(
  directory: string,
  masterPort: number,
  failoverAfterMs: number,
): Promise<RedisProcess> {
  const port = await freePort();
  const config = join(directory, `sentinel-${port}.conf`);
  const lines = [
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${failoverAfterMs}`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  return startSentinelProcess(directory, port, config);
}

async function stopAll(processes: readonly RedisProcess[], directory: string): Promise<void> {
  await Promise.all(processes.map((each) => each.kill()));
  removeDirectory(directory);
}

/** Shares the slots of a cluster out evenly among the masters on these ports. */
export async function assignSlots(ports: readonly number[]): Promise<void> {
  const from = (index: number) => Math.floor((index * SLOTS) / ports.length);
  for (const [index, port] of ports.entries())
    await command(port, ['CLUSTER', 'ADDSLOTSRANGE', String(from(index)), String(from(index + 1) - 1)]);
}

async function isClusterReady(port: number, knownNodes: number): Promise<boolean> {
  const info = String(await command(port, ['CLUSTER', 'INFO']));
  const nodes = String(await command(port, ['CLUSTER', 'NODES']));
  const replicas = nodes.split('\n').filter((line) => line.includes('slave'));
  return (
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_known_nodes:${knownNodes}`) &&
    replicas.length === knownNodes - MASTERS &&
    !nodes.includes('handshake')
  );
}

async function isFollowing(port: number): Promise<boolean> {
  return String(await command(port, ['INFO', 'replication'])).includes('master_link_status:up');
}

async function isWatching(port: number): Promise<boolean> {
  const reply = await command(port, ['SENTINEL', 'MASTER', MASTER_NAME]);
  const facts = Array.isArray(reply) ? reply.map(String) : [];
  const fact = (name: string) => facts[facts.indexOf(name) + 1];
  return fact('num-slaves') === '1' && fact('num-other-sentinels') === '2' && fact('flags') === 'master';
}
