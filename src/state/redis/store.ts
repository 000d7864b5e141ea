import type { ClientKey, PlatformName } from '../../client/client-key.ts';
import { exactSystemClock } from '../../clock.ts';
import type { Decision } from '../../decision/decision.ts';
import type { DecisionFilter } from '../../decision/decision-filter.ts';
import type { Sightings } from '../../facts/fact.ts';
import type { AuditLog } from '../audit-log.ts';
import type { FoundDecisions } from '../decision-search.ts';
import type { Documents } from '../documents.ts';
import type { StoreHealth } from '../health/store-health.ts';
import type { StoredTexts } from '../health/stored-texts.ts';
import { claimKey, DOCUMENTS, journalKey, nameOf } from '../keys.ts';
import type { ListLog } from '../lists/list-log.ts';
import type { RateBuckets } from '../rate-buckets.ts';
import {
  type Change,
  type ClientJournal,
  type ErasureEntry,
  type JournalPage,
  type KeptAfterShipping,
  type LoadAlso,
  RETENTION,
  type Registers,
  type SightingsAsk,
  type Snapshot,
  type StateMove,
  type Store,
} from '../store.ts';
import { forgetInAuditLog, redisAuditLog } from './audit-log.ts';
import { RedisClients } from './client/clients.ts';
import { DecisionRecords } from './client/decision-records.ts';
import { ClientErasure } from './client/erasure.ts';
import { OrderIndex } from './client/order-index.ts';
import { connectRedis, type RedisCommands, type RedisConnection } from './connection/connection.ts';
import { NodeCalls } from './connection/node-calls.ts';
import type { RedisSecurity } from './connection/security.ts';
import { parseRedisUrl } from './connection/url.ts';
import { redisDocuments } from './documents.ts';
import { EarlierClients } from './earlier/clients.ts';
import { EarlierErasure } from './earlier/erasure.ts';
import { EARLIER_PARTITIONS } from './earlier/keys.ts';
import { Erasing } from './erasing.ts';
import { RedisHealth } from './health/health.ts';
import { redisStoredTexts } from './health/stored-texts.ts';
import { RedisJournals } from './journal/journals.ts';
import { LaidOutClients } from './layout/laid-out-clients.ts';
import { Layout } from './layout/layout.ts';
import { LayoutMove } from './layout/layout-move.ts';
import { redisListLog } from './list-log.ts';
import { NodeClocks } from './node-clocks.ts';
import { redisRateBuckets } from './rate-buckets.ts';
import { redisRegisters } from './registers.ts';
import { ServerTime } from './server-time.ts';
import { RedisSightings } from './sightings.ts';

/** A caller hears within this that the store did not answer, unless the store is opened with another limit. */
const COMMAND_TIMEOUT_MS = 200;

/** The rate limit has a fallback, so it waits less: this and COMMAND_TIMEOUT_MS together are what a caller waits. */
const TOKEN_TIMEOUT_MS = 50;

/** What a test or a simulation may bring of its own. */
export interface RedisStoreOptions {
  /** How long decisions are found by their orders, ms; as long as they may be kept when absent. */
  readonly decisionsHotMs?: number;
  readonly commandTimeoutMs?: number;
  /** This process's own clock, epoch ms with fractions. */
  readonly clock?: () => number;
  readonly security?: RedisSecurity;
}

/**
 * All state in Redis 7.0 or later, shared by a fleet. `url` is a REDIS_URL: `redis://`, `rediss://`, a
 * comma-separated list for a cluster, `redis-sentinel://` or `rediss-sentinel://`. Throws when the first connection fails or a
 * server is too old; later failures go to `onError`, and the connection comes back by itself.
 */
export async function openRedisStore(
  url: string,
  onError: (error: Error) => void,
  options: RedisStoreOptions = {},
): Promise<RedisStore> {
  const connection = await connectRedis(parseRedisUrl(url), onError, options.security);
  const store = new RedisStore(connection, options);
  try {
    await store.open();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class RedisStore implements Store {
  readonly name: string;
  readonly documents: Documents;
  readonly registers: Registers;
  readonly auditLog: AuditLog;
  readonly listLog: ListLog;
  readonly texts: StoredTexts;
  readonly rateBuckets: RateBuckets;
  readonly #connection: RedisConnection;
  readonly #commands: RedisCommands;
  readonly #calls: NodeCalls;
  readonly #clocks: NodeClocks;
  readonly #health: RedisHealth;
  readonly #sightings: RedisSightings;
  readonly #layout: Layout;
  readonly #clients: LaidOutClients;
  readonly #journals: RedisJournals;

  constructor(
    connection: RedisConnection,
    {
      decisionsHotMs = RETENTION.decisionMs,
      commandTimeoutMs = COMMAND_TIMEOUT_MS,
      clock = exactSystemClock,
    }: RedisStoreOptions,
  ) {
    const { commands } = connection;
    this.name = connection.name;
    this.#connection = connection;
    this.#commands = commands;
    const calls = new NodeCalls(connection, commandTimeoutMs);
    this.#calls = calls;
    const tokenCalls = new NodeCalls(connection, TOKEN_TIMEOUT_MS);
    this.documents = redisDocuments(commands, (call) => calls.on(DOCUMENTS)(call));
    this.registers = redisRegisters(commands, calls.on);
    this.auditLog = redisAuditLog(commands, calls.on);
    this.listLog = redisListLog(commands, calls.on);
    this.rateBuckets = redisRateBuckets(commands, tokenCalls.on);
    this.#sightings = new RedisSightings(connection, calls.on);
    this.#clocks = new NodeClocks(connection.nodes);
    this.#health = new RedisHealth(connection, calls, this.#clocks, clock);
    const records = new DecisionRecords(commands, calls.on);
    const time = new ServerTime(connection, this.#clocks, clock);
    const erasing = new Erasing(commands, calls.on);
    const orders = new OrderIndex(commands, calls.on);
    this.#layout = new Layout(this.registers, () => this.#hasEarlierData());
    this.#clients = new LaidOutClients({
      layout: this.#layout,
      clients: new RedisClients({ commands, calls, time, records, decisionsHotMs }),
      records,
      orders,
      erasure: new ClientErasure({ connection, erasing, records, orders }),
      earlier: new EarlierClients(commands, calls, time),
      earlierErasure: new EarlierErasure(erasing),
      commandTimeoutMs,
    });
    this.texts = redisStoredTexts(connection, calls, this.#clients);
    this.#journals = new RedisJournals(commands, calls.on, records, this.#layout);
  }

  /** Throws StoreUnavailable when a server is too old to be used, or cannot be reached. */
  async open(): Promise<void> {
    await this.#health.refuseOldServers();
    await this.check();
    await this.#layout.open();
  }

  load(client: ClientKey, also: LoadAlso = {}): Promise<Snapshot> {
    return this.#clients.load(client, also);
  }

  commit(change: Change): Promise<'committed' | 'conflict'> {
    return this.#clients.commit(change);
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    return this.#sightings.see(ask);
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    const claim = claimKey(platform, nameOf(key));
    const expiration = { type: 'PX', value: RETENTION.claimMs } as const;
    return this.#calls.on(claim)(async () => {
      const earlier = await this.#commands.set(claim, requestHash, {
        condition: 'NX',
        GET: true,
        expiration,
      });
      // The answer may be given only now, long after the key came first, and is kept for a day from then on.
      if (earlier === requestHash) await this.#commands.set(claim, requestHash, { expiration });
      return earlier ?? requestHash;
    });
  }

  decision(decisionId: string): Promise<Decision | null> {
    return this.#clients.decision(decisionId);
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return this.#clients.decisionsOfOrder(platform, orderRef);
  }

  decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    return this.#clients.decisionsOfClient(client, limit, beforeSeq);
  }

  findDecisions(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    return this.#journals.search.find(platform, filter, limit);
  }

  readJournal(after: string | null, limit: number): Promise<JournalPage> {
    return this.#journals.ofAll.read(after, limit);
  }

  journalLength(): Promise<number> {
    return this.#journals.ofAll.length();
  }

  trimJournal(through: string, kept: KeptAfterShipping): Promise<void> {
    return this.#journals.ofAll.trim(through, kept);
  }

  unshippedErasures(): Promise<readonly ErasureEntry[]> {
    return this.#journals.ofAll.unshippedErasures();
  }

  historyOfClient(client: Pick<ClientKey, 'hash'>, limit: number): Promise<ClientJournal> {
    return this.#journals.ofClient(client, limit);
  }

  async erase(client: ClientKey): Promise<void> {
    await this.#clients.erase(client);
    await forgetInAuditLog(this.#commands, this.#calls.on, client.hash);
  }

  move(): StateMove | null {
    if (this.#layout.phase === 'current') return null;
    return new LayoutMove(this.#connection, this.#layout, this.#clients);
  }

  readonly clockOffsetMs = (): number => this.#clocks.offsetMs;

  async check(): Promise<StoreHealth> {
    const health = await this.#health.check();
    // It is read to notice that clients are moved; a client that was moved tells it, too.
    await this.#layout.refresh(Date.now()).catch(() => {});
    return health;
  }

  close(): Promise<void> {
    this.#calls.close();
    return this.#connection.close();
  }

  async #hasEarlierData(): Promise<boolean> {
    const journals = EARLIER_PARTITIONS.map(journalKey);
    const found = await Promise.all(
      journals.map((key) => this.#calls.on(key)(() => this.#commands.exists(key))),
    );
    return found.some((count) => count > 0);
  }
}
