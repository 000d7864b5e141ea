import { randomUUID } from 'node:crypto';
import { CLOCK_OFFSET_MS_MAX } from '#state/clock-offset.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import {
  explainStoreFailure,
  type ServerHealth,
  type StoreHealth,
  type StoreWarning,
} from '#state/store-health.ts';
import type { RedisConnection } from './connection/connection.ts';
import { BadReply, requireArray, requireWholeNumber } from './connection/reply.ts';
import type { ServerCalls } from './connection/server-calls.ts';
import type { InstallationCheck } from './installation.ts';
import { RedisScript } from './script.ts';
import type { ServerClocks } from './server-clocks.ts';

const PROBE = 'probe-1.lua';
const probeScript = new RedisScript(PROBE);

/** How long a node's report about the servers is valid, and how long the key of a probe lives. */
const TOLD_FOR_MS = 30_000;

/**
 * If another node's report is newer than a server's failure here by more than this, that node has tried the server
 * after the failure here.
 */
const LOOKED_LATER_MS = 2000;

/** Settings are checked at most this often, however often health is asked for, because people rarely change them. */
const SETTINGS_AGE_MS_MAX = 55_000;

/** A server that may evict keys is asked at this interval whether it has begun to evict. */
const EVICTION_AGE_MS_MAX = 5_000;

interface KnownSettings {
  readonly info: string | null;
  readonly readMs: number;
}

/** Whether every server has memory to spare. Unknown if one of them does not report its memory. */
export type MemoryRoomLevel = 'enough' | 'little' | 'unknown';

/**
 * A server that uses more than this share of its memory has little left. The journal must not fill the rest, which is
 * needed for payers and for rewriting the server's log.
 */
const JOURNAL_SHARE_MAX = 0.8;

type Calls = Pick<ServerCalls, 'on' | 'onServer'>;

/** The report of a node after it last tried all servers. */
interface ReachReport {
  /** When the node tried the servers, by a server's clock, epoch ms. */
  readonly atMs: number;
  /** The number of servers that the node could not reach. */
  readonly unreached: number;
}

type OwnInstallation = Pick<InstallationCheck, 'strangerOn' | 'refusal' | 'recheck'>;

/** Checks every server separately, because one that hangs says nothing about the others. */
export class RedisHealth {
  readonly #connection: RedisConnection;
  readonly #calls: Calls;
  readonly #clocks: ServerClocks;
  readonly #installation: OwnInstallation;
  readonly #settings = new Map<string, KnownSettings>();
  /** The name under which other nodes know this process's reports. */
  readonly #name = randomUUID();
  /** The time that a server reported last, epoch ms. */
  #nowMs = 0;
  /** When each server became unreachable from here, by the clock of the reachable servers, epoch ms. */
  readonly #failingSince = new Map<string, number>();
  #looked: ReachReport = { atMs: 0, unreached: 0 };

  constructor(
    connection: RedisConnection,
    calls: Calls,
    clocks: ServerClocks,
    installation: OwnInstallation,
  ) {
    this.#installation = installation;
    this.#connection = connection;
    this.#calls = calls;
    this.#clocks = clocks;
  }

  /** The memory of the servers at their last report, which is at most a minute old. */
  room: MemoryRoomLevel = 'unknown';

  /** Throws StoreUnavailable if a server is too old. */
  async refuseOldServers(): Promise<void> {
    for (const node of this.#connection.servers()) {
      const info = await this.#infoOf(node);
      const old = info === null ? null : explainTooOld(`Redis at ${node}`, info);
      if (old !== null) throw new StoreUnavailable(old);
    }
  }

  async check(): Promise<StoreHealth> {
    const words: ReachReport[] = [];
    const rechecked = this.#installation.recheck();
    const nodes = this.#connection.servers();
    const health = await Promise.all(nodes.map((node) => this.#check(node, words, rechecked)));
    this.#noteLook(health);
    return health.map((one) => (this.#isAwayForThisNodeAlone(one, words) ? { ...one, onlyHere: true } : one));
  }

  #noteLook(health: StoreHealth): void {
    for (const { server, failure } of health) {
      if (failure === null) this.#failingSince.delete(server);
      else if (!this.#failingSince.has(server)) this.#failingSince.set(server, this.#nowMs);
    }
    this.#looked = { atMs: this.#nowMs, unreached: health.filter(({ failure }) => failure !== null).length };
  }

  /**
   * Whether only this node cannot reach a server. The result is never true on all nodes at once, because it requires
   * another node that reaches every server.
   */
  #isAwayForThisNodeAlone({ server }: ServerHealth, words: readonly ReachReport[]): boolean {
    const sinceMs = this.#failingSince.get(server);
    if (sinceMs === undefined) return false;
    return words.some(({ atMs, unreached }) => unreached === 0 && atMs > sinceMs + LOOKED_LATER_MS);
  }

  /** Checks one server, and adds to `words` what other nodes reported there. */
  async #check(node: string, words: ReachReport[], rechecked: Promise<void>): Promise<ServerHealth> {
    const server = `Redis at ${node}`;
    try {
      words.push(...(await this.#probe(node)));
      await rechecked;
      const stranger = await this.#explainStranger(node);
      if (stranger !== null) return { server, failure: stranger, isAnotherStore: true, warnings: [] };
    } catch (error) {
      return { server, failure: explainStoreFailure(error), warnings: [] };
    }
    const info = await this.#infoOf(node);
    const share = computeMemoryUsedShare(info);
    const evicted = readEvictedKeys(info);
    return {
      server,
      failure: null,
      warnings: [...this.#clockWarning(node), ...listSettingWarnings(server, info)],
      ...(share === null ? {} : { memoryUsedShare: share }),
      ...(evicted === null ? {} : { evictedKeys: evicted }),
    };
  }

  async #explainStranger(node: string): Promise<string | null> {
    const stranger = await this.#installation.strangerOn(node, async () => {
      const info = await this.#calls.onServer(node)(() => this.#connection.infoOf(node));
      return (readEvictedKeys(info) ?? 0) > 0;
    });
    return stranger ?? this.#installation.refusal()?.message ?? null;
  }

  async #probe(node: string): Promise<readonly ReachReport[]> {
    const key = this.#connection.keyOn(node);
    if (key === null) return [];
    const { atMs, unreached } = this.#looked;
    const args = [TOLD_FOR_MS, this.#name, atMs, unreached].map(String);
    const { time, words } = await this.#calls.on(key)(() =>
      this.#clocks.timed(key, () =>
        probeScript.run(this.#connection, [key], args, (what, reply) => {
          const [time, ...words] = requireArray(what, reply);
          return { time: requireWholeNumber(what, time), words };
        }),
      ),
    );
    this.#nowMs = Math.max(this.#nowMs, time);
    return words.map(parseReachReport);
  }

  /** Reads a server's INFO. Returns null if the server does not give it. A managed server may forbid INFO. */
  async #infoOf(node: string): Promise<string | null> {
    const known = this.#settings.get(node);
    const mayEvict = mayEvictKeys(known?.info ? readInfoField(known.info, 'maxmemory_policy') : null);
    const ageMsMax = mayEvict ? EVICTION_AGE_MS_MAX : SETTINGS_AGE_MS_MAX;
    if (known !== undefined && performance.now() - known.readMs < ageMsMax) return known.info;
    const info = await this.#calls
      .onServer(node)(() => this.#connection.infoOf(node))
      .catch(() => null);
    this.#settings.set(node, { info, readMs: performance.now() });
    this.room = assessMemoryRoom(
      this.#connection.servers().map((one) => this.#settings.get(one)?.info ?? null),
    );
    return info;
  }

  #clockWarning(node: string): readonly StoreWarning[] {
    const offsetMs = this.#clocks.offsetOf(node) ?? 0;
    if (Math.abs(offsetMs) <= CLOCK_OFFSET_MS_MAX) return [];
    const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
    const side = offsetMs > 0 ? 'behind' : 'ahead of';
    const text = `The clock of this node is ${seconds} s ${side} that of Redis at ${node}; the store's clock decides. Set both by NTP.`;
    return [{ kind: 'clock', text }];
  }
}

function parseReachReport(text: unknown): ReachReport {
  const [, atMs, unreached] = /^(\d+):(\d+)$/.exec(String(text)) ?? [];
  if (atMs === undefined) throw new BadReply(PROBE, text);
  return { atMs: Number(atMs), unreached: Number(unreached) };
}

/** The oldest Redis with the scripts, options and replies that the service needs. */
const MAJOR_VERSION_MIN = 7;

/** A server that uses more than this share of its memory gets a warning, so that it is given more memory in time. */
const MEMORY_SHARE_MAX = 0.85;

/** Explains by the INFO why a server is too old. Returns null if it is not. */
function explainTooOld(server: string, info: string): string | null {
  const version = readInfoField(info, 'redis_version');
  if (version === null || Number.parseInt(version, 10) >= MAJOR_VERSION_MIN) return null;
  return `${server} is version ${version}, and ${MAJOR_VERSION_MIN}.0 or newer is needed; upgrade it, or set REDIS_URL to another`;
}

/** Lists the requirements that a server's settings break, by its INFO. INFO is null if the server did not give it. */
function listSettingWarnings(server: string, info: string | null): readonly StoreWarning[] {
  const field = (name: string) => (info === null ? null : readInfoField(info, name));
  const policy = field('maxmemory_policy');
  const appendOnly = field('aof_enabled');
  const old = info === null ? null : explainTooOld(server, info);
  const forgets = explainEviction(policy, info);
  const fields = {
    'its version': field('redis_version'),
    'maxmemory-policy': policy,
    appendonly: appendOnly,
  };
  const unknown = Object.entries(fields).flatMap(([name, value]) => (value === null ? name : []));
  const warn = (kind: StoreWarning['kind'], isBroken: boolean, text: string) =>
    isBroken ? [{ kind, text: `${server} ${text}` }] : [];
  return [
    ...(old === null ? [] : [{ kind: 'version', text: `${old}.` } as const]),
    ...warn('eviction', forgets !== null, forgets ?? ''),
    ...warn(
      'append-only',
      appendOnly !== null && appendOnly !== '1',
      'has no append-only file, so a restart loses acknowledged verdicts; set appendonly yes.',
    ),
    ...warn(
      'memory',
      isNearlyFull(info) && !mayEvictKeys(policy),
      `${NEARLY_FULL}: when it is full, every verdict gets 503; give it more memory.`,
    ),
    ...warn(
      'unchecked',
      unknown.length > 0,
      `does not report ${unknown.join(', ')}, so it could not be checked whether it may lose data; allow INFO, or check it yourself.`,
    ),
  ];
}

const NEARLY_FULL = `has used more than ${100 * MEMORY_SHARE_MAX} % of its maxmemory`;

function isNearlyFull(info: string | null): boolean {
  return (computeMemoryUsedShare(info) ?? 0) > MEMORY_SHARE_MAX;
}

function mayEvictKeys(policy: string | null): boolean {
  return policy !== null && policy !== 'noeviction';
}

/** Explains what eviction does or did on a server, and what to do. Returns null if there is no danger. */
function explainEviction(policy: string | null, info: string | null): string | null {
  const evicted = readEvictedKeys(info) ?? 0;
  const lost = 'payers among them look new, and callers whose access key is among them get 503';
  if (!mayEvictKeys(policy)) {
    if (evicted === 0) return null;
    return `has evicted keys since it started, because its maxmemory was reached: ${lost}; restore a backup if they matter, and end this warning with "redis-cli CONFIG RESETSTAT".`;
  }
  const has = `has maxmemory-policy ${policy}`;
  if (evicted > 0) return `${has} and has evicted keys: ${lost}; give it more memory, then set noeviction.`;
  return isNearlyFull(info)
    ? `${has} and ${NEARLY_FULL}: soon it evicts payers, who then look new; give it more memory, then set noeviction.`
    : `${has}: when memory runs out it evicts payers, who then look new; set noeviction.`;
}

/**
 * Returns the number of keys that a server evicted to stay within its memory. Returns null if it does not report the
 * number.
 */
function readEvictedKeys(info: string | null): number | null {
  const evicted = info === null ? null : readInfoField(info, 'evicted_keys');
  return evicted === null ? null : Number(evicted);
}

/**
 * Returns the used share of a server's maxmemory, 0 to 1. Returns null if the server has no such limit or does not
 * report it.
 */
function computeMemoryUsedShare(info: string | null): number | null {
  const [used, bound] = ['used_memory', 'maxmemory'].map((name) => Number(info && readInfoField(info, name)));
  return used && bound ? used / bound : null;
}

/** Finds the room in the memory of all servers together by their INFO. An INFO is null if a server gives none. */
export function assessMemoryRoom(infos: readonly (string | null)[]): MemoryRoomLevel {
  const shares = infos.map((info) => {
    if (info === null) return Number.NaN;
    const [used, bound, machine] = ['used_memory', 'maxmemory', 'total_system_memory'].map((name) =>
      Number(readInfoField(info, name)),
    );
    return Number(used) / (bound || machine || Number.NaN);
  });
  if (shares.some((share) => share > JOURNAL_SHARE_MAX)) return 'little';
  return shares.some(Number.isNaN) ? 'unknown' : 'enough';
}

function readInfoField(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
}
