import { randomUUID } from 'node:crypto';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { createPseudonymizer } from '#decision/pseudonym.ts';
import { openRedisStore } from '#state/redis/store.ts';
import type { Store } from '#state/store.ts';
import { ClientCompactor } from '#workbench/upkeep/client-compactor.ts';
import { type RedisServers, startStandalone } from '../../test/servers/redis.ts';
import { command } from '../../test/servers/redis-command.ts';
import { APPEND_ONLY } from '../../test/servers/redis-process.ts';
import { currentRules } from '../../test/service/current-rules.ts';
import { scoreBody, verdictBody } from '../../test/service/request-bodies.ts';
import { BENCH_PLATFORM } from './sample.ts';

const AT_ONCE = 16;
const PATIENCE_MS = 10_000;

/** The resources that the server has used since its start. */
interface RedisUsage {
  /** The bytes of the data, without the buffers of connections and of the append-only file. */
  readonly bytes: number;
  /** The part of these bytes that the journal takes. */
  readonly journalBytes: number;
  readonly cpuMicros: number;
  /** The bytes of the append-only file. */
  readonly logBytes: number;
  readonly received: number;
  readonly sent: number;
}

const JOURNAL_BYTES = `
  local bytes = 0
  for _, key in ipairs(redis.call('KEYS', 'journal:*')) do
    bytes = bytes + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')
  end
  return bytes`;

/** Returns the difference of each member, divided by `share`. */
export function diffUsage(before: RedisUsage, after: RedisUsage, share = 1): RedisUsage {
  const used = (what: keyof RedisUsage) => (after[what] - before[what]) / share;
  return {
    bytes: used('bytes'),
    journalBytes: used('journalBytes'),
    cpuMicros: used('cpuMicros'),
    logBytes: used('logBytes'),
    received: used('received'),
    sent: used('sent'),
  };
}

/** A payer with its own device. */
export interface Payer {
  readonly name: string;
  readonly number: number;
}

// The options of a server with an append-only file. A rewrite would shorten the file while its bytes are counted.
/** The options with which a redis-server writes an append-only file that it never rewrites by itself. */
export const APPEND_ONLY_SERVER_OPTIONS = [...APPEND_ONLY, '--auto-aof-rewrite-percentage', '0'];

/** A redis-server, and a service in this process that fills it. */
export class FilledRedis {
  readonly url: string;
  readonly port: number;
  /** Epoch ms. */
  nowMs = Date.now();
  readonly store: Store;
  readonly #service: ScoringService;
  readonly #close: () => Promise<void>;

  private constructor(redis: RedisServers, store: Store, service: (clock: () => number) => ScoringService) {
    this.url = redis.url;
    this.port = redis.nodes[0]?.port ?? 0;
    this.store = store;
    this.#service = service(() => this.nowMs);
    this.#close = async () => {
      await store.close();
      await redis.stop();
    };
  }

  static async start(options: readonly string[] = APPEND_ONLY_SERVER_OPTIONS): Promise<FilledRedis> {
    const redis = await startStandalone(options);
    const store = await openRedisStore(redis.url, () => {}, { commandTimeoutMs: PATIENCE_MS });
    const service = (clock: () => number) =>
      new ScoringService({
        store,
        ruleSource: createFixedRuleSource(currentRules()),
        clock,
        pseudonym: createPseudonymizer('a secret that only this measure knows'),
        metrics: new Metrics(),
      });
    return new FilledRedis(redis, store, service);
  }

  score({ name, number }: Payer): Promise<unknown> {
    const fingerprint = `fingerprint-${number}`;
    const ip = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    const body = scoreBody({ clientIdKey: name, fingerprint, ip, userAgent: 'Mozilla/5.0' });
    return this.#service.score(BENCH_PLATFORM, body);
  }

  verdict(
    { name }: Pick<Payer, 'name'>,
    orderRef: string,
    idempotencyKey: string | null = randomUUID(),
  ): Promise<unknown> {
    const body = verdictBody({ clientIdKey: name, orderRef });
    return this.#service.verdict(BENCH_PLATFORM, body, { requestId: randomUUID(), idempotencyKey });
  }

  outcome({ name }: Payer, orderRef: string): Promise<unknown> {
    const paid = { clientIdKey: name, orderRef, outcome: 'PAID', cause: null } as const;
    return this.#service.outcome(BENCH_PLATFORM, { ...paid, occurredAt: null });
  }

  /** Does work for each payer, several at a time like a busy service. */
  async forEachPayer(payers: readonly Payer[], work: (payer: Payer) => Promise<unknown>): Promise<void> {
    const left = payers.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const payer of left) await work(payer);
      }),
    );
  }

  /** Compacts the states of payers who stay away, as a node does daily. */
  async compactAbsentPayers(): Promise<void> {
    const onTrouble = (error: unknown) => {
      throw error;
    };
    await new ClientCompactor({ store: this.store, clock: () => this.nowMs, onTrouble }).run();
  }

  async readUsage(): Promise<RedisUsage> {
    const { figure, cpuMicros } = await readRedisInfo(this.port);
    return {
      bytes: figure('used_memory') - figure('mem_aof_buffer') - figure('mem_clients_normal'),
      journalBytes: Number(await command(this.port, ['EVAL', JOURNAL_BYTES, '0'])),
      cpuMicros,
      // While the disk is busy, a part of the file is still in memory.
      logBytes: figure('aof_current_size') + figure('aof_buffer_length') || 0,
      received: figure('total_net_input_bytes'),
      sent: figure('total_net_output_bytes'),
    };
  }

  stop(): Promise<void> {
    return this.#close();
  }
}

/** Creates payers named by random UUIDs. */
export function createPayers(count: number): readonly Payer[] {
  return Array.from({ length: count }, (_, number) => ({ name: randomUUID(), number }));
}

/** Reads a section of a Redis server's INFO. */
export async function readRedisInfo(port: number, section = 'everything') {
  const info = String(await command(port, ['INFO', section]));
  /** Returns NaN when the section has no such figure. */
  const figure = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return { figure, cpuMicros: (figure('used_cpu_user') + figure('used_cpu_sys')) * 1e6 };
}
