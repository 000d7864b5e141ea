import type { ClientKey, ClientKeys, PlatformName } from '../../client/client-key.ts';
import { exactSystemClock } from '../../clock.ts';
import type { Decision } from '../../decision/decision.ts';
import type { DecisionFilter } from '../../decision/decision-filter.ts';
import type { Sightings } from '../../facts/fact.ts';
import { AuditLog } from '../audit-log.ts';
import { clientKeysUnder, newSalt, SALT_REGISTER } from '../client-salt.ts';
import type { FoundDecisions } from '../decision-search.ts';
import { type Documents, Versions } from '../documents.ts';
import { type EntryPlace, type ErasureEntry, PARTITION_CURSORS, type Placed } from '../journal.ts';
import { claimKey, DOCUMENTS, nameOf } from '../keys.ts';
import type { RateBuckets } from '../rate-buckets.ts';
import { RETENTION } from '../retention.ts';
import type {
  Change,
  ClientJournal,
  JournalPage,
  KeptAfterShipping,
  ListLog,
  LoadAlso,
  Registers,
  SightingsAsk,
  Snapshot,
  Store,
  StoredTexts,
  Tallies,
} from '../store.ts';
import type { RunCall } from '../store-errors.ts';
import type { StoreHealth } from '../store-health.ts';
import { RedisClients, RedisSightings } from './clients.ts';
import { connectRedis, type RedisCommands, type RedisConnection } from './connection/connection.ts';
import { callLimitMs, NodeCalls, RoundTrips, tokenLimitMs } from './connection/node-calls.ts';
import { parseRedisUrl, type RedisSecurity } from './connection/url.ts';
import { RedisDecisions } from './decisions.ts';
import { ClientErasure } from './erasure.ts';
import { RedisHealth } from './health.ts';
import { Installation } from './installation.ts';
import { JournalEntries, RedisJournal } from './journal.ts';
import { RedisClientHistory, RedisDecisionSearch } from './journal-search.ts';
import { NodeClocks } from './node-clocks.ts';
import {
  agreedText,
  redisAuditRows,
  redisDocuments,
  redisListLog,
  redisRateBuckets,
  redisRegisters,
  redisTallies,
  redisVersions,
} from './shared-records.ts';
import { redisStoredTexts } from './stored-texts.ts';

const ANOTHER_SALT =
  'it was replaced by a store whose payers are hashed under another salt, so this node would know none of them; restart it';

/** What a test or a simulation may replace. */
export interface RedisStoreOptions {
  /** How long decisions are found by their orders, ms; as long as they may be kept when absent. */
  readonly decisionsHotMs?: number;
  /** A call may take this long, however short the way to the server is; by the way alone when absent. */
  readonly commandTimeoutMs?: number;
  /** This process's own clock, epoch ms with fractions. */
  readonly clock?: () => number;
  readonly security?: RedisSecurity;
  /** Of clients, where there is none yet; random when absent. */
  readonly salt?: string;
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
    await store.open(options.salt ?? newSalt());
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
  readonly tallies: Tallies;
  readonly rateBuckets: RateBuckets;
  #clientKeys: ClientKeys | null = null;
  readonly #connection: RedisConnection;
  readonly #commands: RedisCommands;
  readonly #calls: NodeCalls;
  readonly #clocks: NodeClocks;
  readonly #installation: Installation;
  readonly #health: RedisHealth;
  readonly #sightings: RedisSightings;
  readonly #clients: RedisClients;
  readonly #decisions: RedisDecisions;
  readonly #erasure: ClientErasure;
  readonly #journal: RedisJournal;
  readonly #history: RedisClientHistory;
  readonly #search: RedisDecisionSearch;

  constructor(
    connection: RedisConnection,
    {
      decisionsHotMs = RETENTION.decisionMs,
      commandTimeoutMs = 0,
      clock = exactSystemClock,
    }: RedisStoreOptions,
  ) {
    const { commands } = connection;
    this.name = connection.name;
    this.#connection = connection;
    this.#commands = commands;
    const roundTrips = new RoundTrips();
    const calls = new NodeCalls(connection, roundTrips, (ms) => Math.max(commandTimeoutMs, callLimitMs(ms)));
    this.#calls = calls;
    const tokenCalls = new NodeCalls(connection, roundTrips, tokenLimitMs);
    const onDocuments: RunCall = (call) => calls.on(DOCUMENTS)(call);
    const versions = new Versions(redisVersions(commands, onDocuments));
    this.documents = redisDocuments(commands, onDocuments, versions);
    this.registers = redisRegisters(commands, calls.on, versions);
    this.auditLog = new AuditLog(redisAuditRows(commands, calls.on));
    this.tallies = redisTallies(commands, calls.on);
    this.listLog = redisListLog(commands, calls.on);
    this.rateBuckets = redisRateBuckets(commands, tokenCalls.on);
    this.#sightings = new RedisSightings(connection, calls.on);
    this.#clocks = new NodeClocks(connection, clock);
    this.#installation = new Installation(connection, calls.on, this.registers);
    this.#health = new RedisHealth(connection, calls, this.#clocks, this.#installation);
    const decisions = new RedisDecisions(commands, calls.on);
    this.#decisions = decisions;
    const clocks = this.#clocks;
    this.#clients = new RedisClients({
      commands,
      calls,
      clocks,
      decisions,
      decisionsHotMs,
      installation: this.#installation,
    });
    this.#erasure = new ClientErasure(connection, calls.on, decisions);
    this.texts = redisStoredTexts(connection, calls, this.#erasure, versions);
    const entries = new JournalEntries(decisions);
    const parts = { commands, runOn: calls.on, entries };
    this.#journal = new RedisJournal(parts);
    this.#history = new RedisClientHistory(parts);
    this.#search = new RedisDecisionSearch(parts);
  }

  /** Throws StoreUnavailable when a server is too old, belongs to another installation, or cannot be reached. */
  async open(salt: string): Promise<void> {
    await this.#health.refuseOldServers();
    await this.#installation.open();
    this.#clientKeys = clientKeysUnder(await agreedText(this.registers, SALT_REGISTER, salt));
    await this.check();
  }

  get clientKeys(): ClientKeys {
    if (this.#clientKeys === null) throw new Error('the store is not open yet');
    return this.#clientKeys;
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
      const first = await this.#commands.set(claim, requestHash, {
        condition: 'NX',
        GET: true,
        expiration,
      });
      // The answer may come long after the key first came, and is kept for a day from now on.
      if (first === requestHash) await this.#commands.set(claim, requestHash, { expiration });
      return first ?? requestHash;
    });
  }

  decision(decisionId: string): Promise<Decision | null> {
    return this.#decisions.named(decisionId);
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return this.#decisions.ofOrder(platform, orderRef);
  }

  async decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    const { state } = await this.load(client);
    return this.#decisions.ofClient(client.hash, Math.min(state.seq, beforeSeq - 1), limit);
  }

  findDecisions(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    return this.#search.find(platform, filter, limit);
  }

  readonly cursors = PARTITION_CURSORS;

  readJournal(after: string | null, limit: number): Promise<JournalPage> {
    return this.#journal.read(after, limit);
  }

  journalLength(): Promise<number> {
    return this.#journal.length();
  }

  trimJournal(through: string, kept: KeptAfterShipping): Promise<void> {
    return this.#journal.trim(through, kept);
  }

  unshippedErasures(): Promise<readonly Placed<ErasureEntry>[]> {
    return this.#journal.unshippedErasures();
  }

  historyOfClient(
    client: Pick<ClientKey, 'hash'>,
    limit: number,
    before: EntryPlace | null = null,
  ): Promise<ClientJournal> {
    return this.#history.of(client, limit, before);
  }

  erase(client: Pick<ClientKey, 'platform' | 'hash'>): Promise<void> {
    return this.#erasure.erase(client);
  }

  readonly clockOffsetMs = (): number => this.#clocks.offsetMs;

  /** A salt that went with all else that Redis lost is put back before another node makes one of its own. */
  async check(): Promise<StoreHealth> {
    const [health, salt] = await Promise.all([
      this.#health.check(),
      agreedText(this.registers, SALT_REGISTER, this.clientKeys.salt).catch(() => null),
    ]);
    if (salt === null || salt === this.clientKeys.salt) return health;
    return health.map((server) => ({ ...server, failure: ANOTHER_SALT }));
  }

  close(): Promise<void> {
    this.#calls.close();
    return this.#connection.close();
  }
}
