import type { ArchiveState } from '#history/archive/archive-log.ts';
import { backUp } from '#history/archive/backup.ts';
import { openArchive } from '#history/archive/s3/open-archive.ts';
import { findLeaseHolder } from '#history/archive/ship/lease.ts';
import { readUnshippedPage } from '#history/archive/unshipped.ts';
import { openStore } from '#state/open-store.ts';
import type { Store } from '#state/store.ts';
import { end } from '../../../test/processes/own-process.ts';
import { type CutOffProxy, startCutOffProxy } from '../../../test/servers/cut-off-proxy.ts';
import { type ClusterSettings, NO_FAILOVER_MS, startCluster } from '../../../test/servers/redis.ts';
import { APPEND_ONLY } from '../../../test/servers/redis-process.ts';
import { type S3Server, s3Environment, s3Place, startS3 } from '../../../test/servers/s3.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import type { Tenant } from '../../../test/service/tenant.ts';
import type { ServiceAccess } from '../traffic/requests.ts';
import { getUrlPort, startHaproxy } from './haproxy.ts';
import { type ServiceNode, startServiceNode } from './service-node.ts';

/** A way in which a part of the fleet fails. `begin` causes the failure, and `end` ends it. */
export interface Fault {
  /** The fault's name: `S3 killed`. */
  readonly name: string;
  begin(): unknown;
  end(): unknown;
}

/** Nodes that share no disk, with HAProxy, S3 and Redis, and all faults that can happen to them. */
export interface Fleet {
  readonly nodes: readonly ServiceNode[];
  /** The addresses and the key with which the fleet is reached through the packaged HAProxy. */
  readonly target: ServiceAccess;
  readonly s3: S3Server;
  readonly store: Store;
  readonly hasReplicas: boolean;
  readonly faults: readonly Fault[];
  /** The payers whom a fault has erased so far. */
  readonly erased: ReadonlySet<string>;
  stop(): Promise<void>;
}

const NODES = 3;
const PREFIX = 'fleet';
const SHIPPED_LIMIT_MS = 120_000;

/** Redis options with which every write is on the disk before it is answered. */
const EVERY_WRITE_SAVED = [...APPEND_ONLY, '--appendfsync', 'always', '--repl-diskless-sync-delay', '0'];

/**
 * Starts a fleet. With `hasReplicas`, a lost master is replaced after a second. Otherwise it comes back with its
 * file.
 */
export async function startFleet(hasReplicas: boolean): Promise<Fleet> {
  const masterProxies = new Map<number, CutOffProxy>();
  const settings: ClusterSettings = {
    options: EVERY_WRITE_SAVED,
    replicas: hasReplicas,
    announced: async (port) => {
      const proxy = await startCutOffProxy(port);
      masterProxies.set(port, proxy);
      return proxy.port;
    },
  };
  const redis = await startCluster(hasReplicas ? undefined : NO_FAILOVER_MS, settings);
  const s3 = await startS3();
  const nodes: ServiceNode[] = [];
  const [entryProxies, s3Proxies]: [CutOffProxy[][], CutOffProxy[]] = [[], []];
  for (let number = 0; number < NODES; number++) {
    const wayToS3 = await startCutOffProxy(s3.port);
    const key = nodes[0] === undefined ? {} : { key: nodes[0].key };
    const env = { ...s3Environment(wayToS3.port, PREFIX), TRUSTED_PROXIES: '1' };
    const node = await startServiceNode({ redisUrl: redis.url, env, ...key });
    nodes.push(node);
    s3Proxies.push(wayToS3);
    entryProxies.push(
      await Promise.all([node.callerUrl, node.platformUrl].map((url) => startCutOffProxy(getUrlPort(url)))),
    );
  }
  const [node] = nodes;
  if (node === undefined) throw new Error('there is no node');
  const store = await openStore({ redisUrl: redis.url, dataDir: temporaryDirectory() }, () => {});
  const wayTo = (port: number) => [...masterProxies].flatMap(([of, way]) => (of === port ? [way] : []));
  const erased = new Set<string>();
  const faults = takeInTurn([
    nodes.map((each, index) => listPartFaults(`node ${index + 1}`, each, entryProxies[index] ?? [])),
    [listShipperFaults(nodes, store, s3Proxies)],
    redis.nodes
      .slice(0, 3)
      .map((master, index) => listPartFaults(`master ${index + 1}`, master, wayTo(master.port))),
    [listPartFaults('S3', { ...s3, kill: s3.stop }, s3Proxies)],
    [listNarrowFaults(s3Proxies, node.shop, erased)],
  ]);
  const proxy = await startHaproxy(
    entryProxies.map(([callers, platform]) => [callers?.port ?? 0, platform?.port ?? 0]),
  );
  const stop = async () => {
    await Promise.all([...nodes.map((each) => each.kill()), end(proxy.child), s3.stop()]);
    await store.close();
    await redis.stop();
  };
  return { nodes, target: { ...node, callerUrl: proxy.url }, s3, store, hasReplicas, faults, erased, stop };
}

/**
 * Waits until everything is archived, and copies the archive into a folder directly from S3, not through the proxies.
 * Returns the state of the archive.
 */
export async function backUpWhenShipped({ s3, store }: Fleet, folder: string): Promise<ArchiveState> {
  const place = { archiveDir: temporaryDirectory(), archiveS3: s3Place(s3.port, PREFIX) };
  const archive = openArchive(place, store.registers);
  const isShipped = async () => {
    const { entries } = await readUnshippedPage(store, await archive.refresh(), 1);
    return entries.length === 0;
  };
  await until('all is shipped', () => isShipped().catch(() => false), SHIPPED_LIMIT_MS);
  await backUp(archive, folder);
  return archive.read();
}

interface Part {
  kill(): Promise<void>;
  restart(): Promise<void>;
  suspend(): void;
  resume(): void;
}

function listPartFaults(name: string, part: Part, ways: readonly CutOffProxy[]): readonly Fault[] {
  return [
    {
      name: `${name} killed`,
      begin: async () => {
        await part.kill();
        for (const way of ways) way.close();
      },
      end: async () => {
        await part.restart();
        for (const way of ways) await way.open();
      },
    },
    { name: `${name} stopped`, begin: () => part.suspend(), end: () => part.resume() },
    {
      name: `${name} cut off`,
      begin: () => {
        for (const way of ways) way.cut();
      },
      end: () => {
        for (const way of ways) way.mend();
      },
    },
  ];
}

/** At this pace, in bytes a second, the objects of a commit take some seconds. */
const NARROW = { bytesASecond: 3_000, delayMs: 0 };
const SLOW = { bytesASecond: 1e9, delayMs: 400 };

/**
 * Returns the faults in which S3 accepts everything, but slowly. A verdict on a payer is asked for during one fault,
 * and the payer is erased some faults later.
 */
function listNarrowFaults(ways: readonly CutOffProxy[], shop: Tenant, erased: Set<string>): readonly Fault[] {
  const narrow = (name: string, pace: typeof SLOW, begin: () => Promise<unknown>): Fault => ({
    name,
    begin: async () => {
      for (const way of ways) way.narrow(pace);
      await begin();
    },
    end: () => {
      for (const way of ways) way.narrow(null);
    },
  });
  const payer = () => `erased-${erased.size}`;
  const taken = (what: string, status: number, ask: () => Promise<{ readonly status: number }>) =>
    until(`${payer()} ${what}`, () =>
      ask()
        .then((answer) => answer.status === status)
        .catch(() => false),
    );
  return [
    narrow('S3 narrow', NARROW, () =>
      taken('is decided', 200, () => shop.verdict({ clientIdKey: payer(), orderRef: payer() })),
    ),
    narrow('S3 slow', SLOW, async () => {}),
    narrow('S3 narrow while a payer is erased', NARROW, async () => {
      await taken('is erased', 204, () => shop.ask('DELETE', `client?clientIdKey=${payer()}`));
      erased.add(payer());
    }),
  ];
}

/** Returns the faults of the process that ships, on whichever node it runs. */
function listShipperFaults(
  nodes: readonly ServiceNode[],
  store: Store,
  s3Proxies: readonly CutOffProxy[],
): readonly Fault[] {
  let shipper: { readonly pid: number; readonly way: CutOffProxy } | null = null;
  const find = async () => {
    let holder: string | null | undefined;
    // On a busy machine a healthy Redis may answer too late.
    await until('the store says who ships', async () => {
      holder = await findLeaseHolder(store.registers).catch(() => undefined);
      return holder !== undefined;
    });
    const [, pid] = /^[^/]*\/(\d+)/.exec(holder ?? '') ?? [];
    const index = nodes.findIndex((node) => node.pid() === Number(pid));
    const [[shipping], way] = [nodes[index]?.childIds() ?? [], s3Proxies[index]];
    shipper = shipping === undefined || way === undefined ? null : { pid: shipping, way };
    return shipper;
  };
  const signal = (name: NodeJS.Signals) => {
    if (shipper !== null) process.kill(shipper.pid, name);
  };
  // When the shipper is killed, its node starts another.
  return [
    { name: 'shipper killed', begin: () => find().then(() => signal('SIGKILL')), end: () => {} },
    {
      name: 'shipper stopped',
      begin: () => find().then(() => signal('SIGSTOP')),
      end: () => signal('SIGCONT'),
    },
    {
      name: 'shipper cut off from S3',
      begin: async () => (await find())?.way.cut(),
      end: () => shipper?.way.mend(),
    },
  ];
}

/** Takes one fault of each group in turn, so that a short run has every kind of fault in every group. */
function takeInTurn(groups: readonly (readonly (readonly Fault[])[])[]): readonly Fault[] {
  const rounds = Math.max(...groups.map((parts) => parts.length));
  return Array.from({ length: rounds }, (_, round) =>
    [0, 1, 2].flatMap((way) =>
      groups.flatMap((parts) => {
        const fault = parts[(round + way) % parts.length]?.[way];
        return fault === undefined ? [] : [fault];
      }),
    ),
  ).flat();
}
