import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@redis/client';

/** Redis servers that a test starts for itself on free ports of 127.0.0.1, and that end with it. */
export interface RedisProcess {
  readonly port: number;
  /** Stops it without closing its connections, like a machine that hangs. */
  suspend(): void;
  resume(): void;
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>;
}

/** Some servers that belong together. */
export interface RedisServers {
  /** As in REDIS_URL. */
  readonly url: string;
  /** All that keep data, masters first. */
  readonly nodes: readonly RedisProcess[];
  /** Kills them and removes what they wrote. */
  stop(): Promise<void>;
}

const READY_LIMIT_MS = 20_000;
const MASTERS = 3;
const SLOTS = 16384;
const MASTER_NAME = 'scoring';

const running = new Set<ChildProcess>();
const directories = new Set<string>();

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

export async function startStandalone(): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const node = await startNode(directory, await freePort(), []);
  return {
    url: `redis://127.0.0.1:${node.port}`,
    nodes: [node],
    stop: () => stopAll([node], directory),
  };
}

/** Three masters, each with a replica. */
export async function startCluster(): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startClusterNode(directory)));
  const masters = nodes.slice(0, MASTERS);
  const replicas = nodes.slice(MASTERS);
  await Promise.all(masters.map(({ port }, index) => assignSlots(port, index)));
  const [first] = nodes;
  for (const { port, busPort } of nodes.slice(1)) {
    await command(first?.port ?? 0, ['CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort)]);
  }
  await Promise.all(
    replicas.map(async ({ port }, index) => {
      const id = await command(masters[index]?.port ?? 0, ['CLUSTER', 'MYID']);
      await until('a replica knows its master', () => succeeds(port, ['CLUSTER', 'REPLICATE', String(id)]));
    }),
  );
  await Promise.all(nodes.map(({ port }) => until('the cluster is ready', () => isClusterReady(port))));
  await Promise.all(replicas.map(({ port }) => until('replicas follow', () => isFollowing(port))));
  return {
    url: masters.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
    nodes,
    stop: () => stopAll(nodes, directory),
  };
}

/** A master and a replica, watched by three sentinels. */
export async function startSentinel(): Promise<RedisServers> {
  const directory = temporaryDirectory();
  const master = await startNode(directory, await freePort(), []);
  const replica = await startNode(directory, await freePort(), [
    '--replicaof',
    '127.0.0.1',
    String(master.port),
  ]);
  await until('the replica follows', () => isFollowing(replica.port));
  const sentinels = await Promise.all([0, 1, 2].map(() => startSentinelNode(directory, master.port)));
  await Promise.all(sentinels.map(({ port }) => until('sentinels know each other', () => isWatching(port))));
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis-sentinel://${addresses}/${MASTER_NAME}`,
    nodes: [master, replica],
    stop: () => stopAll([...sentinels, master, replica], directory),
  };
}

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function startClusterNode(directory: string): Promise<RedisProcess & { readonly busPort: number }> {
  const port = await freePort();
  const busPort = await freePort();
  const node = await startNode(directory, port, [
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '1000'],
    ...['--cluster-config-file', `nodes-${port}.conf`],
  ]);
  return { ...node, busPort };
}

async function startSentinelNode(directory: string, masterPort: number): Promise<RedisProcess> {
  const port = await freePort();
  const config = join(directory, `sentinel-${port}.conf`);
  const lines = [
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} 500`,
    `sentinel failover-timeout ${MASTER_NAME} 3000`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  return startProcess([config, '--sentinel', ...commonOptions(directory, port)], port);
}

function startNode(directory: string, port: number, options: readonly string[]): Promise<RedisProcess> {
  const memoryOnly = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'];
  return startProcess([...commonOptions(directory, port), ...memoryOnly, ...options], port);
}

function commonOptions(directory: string, port: number): readonly string[] {
  return ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
}

async function startProcess(args: readonly string[], port: number): Promise<RedisProcess> {
  const start = async () => {
    const started = spawn('redis-server', args, { stdio: 'ignore' });
    running.add(started);
    started.once('exit', () => running.delete(started));
    await until(`redis-server answers on ${port}`, () => succeeds(port, ['PING']));
    return started;
  };
  let child = await start();
  return {
    port,
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    restart: async () => {
      child = await start();
    },
  };
}

async function stopAll(processes: readonly RedisProcess[], directory: string): Promise<void> {
  await Promise.all(processes.map((each) => each.kill()));
  rmSync(directory, { recursive: true, force: true });
  directories.delete(directory);
}

function assignSlots(port: number, index: number): Promise<unknown> {
  const from = Math.floor((index * SLOTS) / MASTERS);
  const to = Math.floor(((index + 1) * SLOTS) / MASTERS) - 1;
  return command(port, ['CLUSTER', 'ADDSLOTSRANGE', String(from), String(to)]);
}

async function isClusterReady(port: number): Promise<boolean> {
  const info = String(await command(port, ['CLUSTER', 'INFO']));
  const nodes = String(await command(port, ['CLUSTER', 'NODES']));
  const replicas = nodes.split('\n').filter((line) => line.includes('slave'));
  return (
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_known_nodes:${2 * MASTERS}`) &&
    replicas.length === MASTERS &&
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

async function succeeds(port: number, args: readonly string[]): Promise<boolean> {
  try {
    await command(port, args);
    return true;
  } catch {
    return false;
  }
}

/** One command on one server, whoever else it belongs to. */
export async function command(port: number, args: readonly string[]): Promise<unknown> {
  const client = createClient({
    RESP: 2,
    socket: { host: '127.0.0.1', port, reconnectStrategy: false },
    disableClientInfo: true,
  });
  client.on('error', () => {
    // The rejected call tells it.
  });
  await client.connect();
  try {
    return await client.sendCommand([...args]);
  } finally {
    client.destroy();
  }
}

/** Waits until something holds that is only a matter of time; names it when it never does. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  limitMs = READY_LIMIT_MS,
): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`still not after ${limitMs} ms: ${what}`);
    await delay(25);
  }
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scoring-redis-'));
  directories.add(directory);
  return directory;
}
