import { CLOCK_OFFSET_MS_MAX } from '../clock-offset.ts';
import {
  failureText,
  type ServerHealth,
  type StoreHealth,
  type StoreWarning,
} from '../health/store-health.ts';
import { StoreUnavailable } from '../store.ts';
import type { RedisConnection } from './connection/connection.ts';
import type { NodeCalls } from './connection/node-calls.ts';
import type { NodeClocks } from './node-clocks.ts';
import { brokenPromises, memoryUsedShare, tooOld } from './promises.ts';
import { RedisScript } from './script.ts';

const probeScript = new RedisScript('probe-1.lua');

/** A probe leaves its key behind; it is gone soon after the last one. */
const PROBE_KEPT_MS = 60_000;

/** Settings are changed by people, so they are looked at once a minute, however often health is asked for. */
const SETTINGS_AGE_MS_MAX = 55_000;

interface KnownSettings {
  readonly info: string | null;
  readonly readMs: number;
}

/** Tries every server by itself: one that hangs says nothing about the others. */
export class RedisHealth {
  readonly #connection: RedisConnection;
  readonly #calls: NodeCalls;
  readonly #clocks: NodeClocks;
  readonly #settings = new Map<string, KnownSettings>();

  constructor(connection: RedisConnection, calls: NodeCalls, clocks: NodeClocks) {
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

  check(): Promise<StoreHealth> {
    return Promise.all(this.#connection.nodes().map((node) => this.#check(node)));
  }

  async #check(node: string): Promise<ServerHealth> {
    const server = `Redis at ${node}`;
    try {
      await this.#probe(node);
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

  async #probe(node: string): Promise<void> {
    const key = this.#connection.keyOn(node);
    if (key === null) return;
    await this.#calls.on(key)(() =>
      this.#clocks.timed(key, () =>
        probeScript.run(this.#connection.commands, [key], [String(PROBE_KEPT_MS)]),
      ),
    );
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
