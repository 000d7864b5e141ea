import { randomUUID } from 'node:crypto';
import { CLOCK_OFFSET_MS_MAX } from '../clock-offset.ts';
import {
  failureText,
  type ServerHealth,
  type StoreHealth,
  type StoreWarning,
} from '../health/store-health.ts';
import { StoreUnavailable } from '../store-errors.ts';
import type { RedisConnection } from './connection/connection.ts';
import type { NodeCalls } from './connection/node-calls.ts';
import { BadReply, wholeOf } from './connection/reply.ts';
import type { Installation } from './installation.ts';
import type { NodeClocks } from './node-clocks.ts';
import { brokenPromises, memoryUsedShare, tooOld } from './promises.ts';
import { RedisScript } from './script.ts';

const PROBE = 'probe-1.lua';
const probeScript = new RedisScript(PROBE);

/** What a node told of the servers counts for so long, and so does the key that a probe leaves behind. */
const TOLD_FOR_MS = 30_000;

/** A node that told so much later that it reaches every server has looked at the one that fails here, too. */
const LOOKED_LATER_MS = 2000;

/** Settings are changed by people, so they are looked at once a minute, however often health is asked for. */
const SETTINGS_AGE_MS_MAX = 55_000;

interface KnownSettings {
  readonly info: string | null;
  readonly readMs: number;
}

type Calls = Pick<NodeCalls, 'on' | 'onNode'>;

/** What a node saw when it last looked at all servers. */
interface Word {
  /** By a server's clock, epoch ms. */
  readonly atMs: number;
  /** How many it could not reach. */
  readonly unreached: number;
}

/** Tries every server by itself: one that hangs says nothing about the others. */
export class RedisHealth {
  readonly #connection: RedisConnection;
  readonly #calls: Calls;
  readonly #clocks: NodeClocks;
  readonly #installation: Pick<Installation, 'strangerOn'>;
  readonly #settings = new Map<string, KnownSettings>();
  /** How this process is known to others. */
  readonly #name = randomUUID();
  /** The time, as some server told it last; epoch ms. */
  #nowMs = 0;
  /** Since when a server cannot be reached from here, by the clock of those that can; epoch ms. */
  readonly #failingSince = new Map<string, number>();
  #looked: Word = { atMs: 0, unreached: 0 };

  constructor(
    connection: RedisConnection,
    calls: Calls,
    clocks: NodeClocks,
    installation: Pick<Installation, 'strangerOn'>,
  ) {
    this.#installation = installation;
    this.#connection = connection;
    this.#calls = calls;
    this.#clocks = clocks;
  }

  /** Throws StoreUnavailable when a server is too old to be used. */
  async refuseOldServers(): Promise<void> {
    for (const node of this.#connection.nodes()) {
      const info = await this.#infoOf(node);
      const old = info === null ? null : tooOld(`Redis at ${node}`, info);
      if (old !== null) throw new StoreUnavailable(old);
    }
  }

  async check(): Promise<StoreHealth> {
    const words: Word[] = [];
    const health = await Promise.all(this.#connection.nodes().map((node) => this.#check(node, words)));
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

  /** Never on all nodes at once: one that reaches every server has to say so. */
  #isAwayForThisNodeAlone({ server }: ServerHealth, words: readonly Word[]): boolean {
    const sinceMs = this.#failingSince.get(server);
    if (sinceMs === undefined) return false;
    return words.some(({ atMs, unreached }) => unreached === 0 && atMs > sinceMs + LOOKED_LATER_MS);
  }

  /** Adds to `words` what other nodes told that server. */
  async #check(node: string, words: Word[]): Promise<ServerHealth> {
    const server = `Redis at ${node}`;
    try {
      words.push(...(await this.#probe(node)));
      const stranger = await this.#installation.strangerOn(node);
      if (stranger !== null) return { server, failure: stranger, warnings: [] };
    } catch (error) {
      return { server, failure: failureText(error), warnings: [] };
    }
    const info = await this.#infoOf(node);
    const share = memoryUsedShare(info);
    return {
      server,
      failure: null,
      warnings: [...this.#clockWarning(node), ...brokenPromises(server, info)],
      ...(share === null ? {} : { memoryUsedShare: share }),
    };
  }

  async #probe(node: string): Promise<readonly Word[]> {
    const key = this.#connection.keyOn(node);
    if (key === null) return [];
    const { atMs, unreached } = this.#looked;
    const args = [TOLD_FOR_MS, this.#name, atMs, unreached].map(String);
    const [time, ...words] = await this.#calls.on(key)(() =>
      this.#clocks.timed(key, () => probeScript.run(this.#connection.commands, [key], args)),
    );
    this.#nowMs = Math.max(this.#nowMs, wholeOf(PROBE, time));
    return words.map(wordOf);
  }

  /** Null when the server does not give it: a managed one may forbid INFO. */
  async #infoOf(node: string): Promise<string | null> {
    const known = this.#settings.get(node);
    if (known !== undefined && performance.now() - known.readMs < SETTINGS_AGE_MS_MAX) return known.info;
    const info = await this.#calls
      .onNode(node)(() => this.#connection.infoOf(node))
      .catch(() => null);
    this.#settings.set(node, { info, readMs: performance.now() });
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

function wordOf(text: unknown): Word {
  const [, atMs, unreached] = /^(\d+):(\d+)$/.exec(String(text)) ?? [];
  if (atMs === undefined) throw new BadReply(PROBE, text);
  return { atMs: Number(atMs), unreached: Number(unreached) };
}
