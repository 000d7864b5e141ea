import { type ClientKey, type PlatformName, parseDecisionId } from '../../client/client-key.ts';
import { encodeClientState } from '../../client/state-document.ts';
import { exactSystemClock } from '../../clock.ts';
import { type Decision, isNamed } from '../../decision/decision.ts';
import type { DecisionFilter } from '../../decision/decision-filter.ts';
import type { Sightings } from '../../facts/fact.ts';
import type { AuditLog } from '../audit-log.ts';
import type { FoundDecisions } from '../decision-search.ts';
import type { Documents } from '../documents.ts';
import type { StoreHealth } from '../health/store-health.ts';
import type { StoredTexts } from '../health/stored-texts.ts';
import {
  answerKey,
  claimKey,
  DOCUMENTS,
  decisionKey,
  nameOf,
  orderClientsKey,
  orderDecisionsKey,
  outcomeKey,
  stateKey,
  unusedKey,
} from '../keys.ts';
import type { ListLog } from '../lists/list-log.ts';
import type { RateBuckets } from '../rate-buckets.ts';
import { readDecision, readSnapshot, textOf } from '../snapshot.ts';
import {
  type Change,
  type ClientJournal,
  type JournalPage,
  type LoadAlso,
  RETENTION,
  type Registers,
  type SightingsAsk,
  type Snapshot,
  type Store,
  StoreUnavailable,
} from '../store.ts';
import { redisAuditLog } from './audit-log.ts';
import { commitCall, commitScript, readCommitReply } from './commit.ts';
import { connectRedis, type RedisCommands, type RedisConnection } from './connection/connection.ts';
import { NodeCalls } from './connection/node-calls.ts';
import type { RedisSecurity } from './connection/security.ts';
import { parseRedisUrl } from './connection/url.ts';
import { redisDocuments } from './documents.ts';
import { RedisErasure } from './erasure.ts';
import { RedisHealth } from './health/health.ts';
import { redisStoredTexts } from './health/stored-texts.ts';
import { RedisClientHistory } from './journal/client-history.ts';
import { RedisDecisionSearch } from './journal/decision-search.ts';
import { RedisJournal } from './journal/journal.ts';
import { redisListLog } from './list-log.ts';
import { NodeClocks } from './node-clocks.ts';
import { redisRateBuckets } from './rate-buckets.ts';
import { redisRegisters } from './registers.ts';
import { RedisScript } from './script.ts';
import { RedisSightings } from './sightings.ts';

/** A caller hears within this that the store did not answer, unless the store is opened with another limit. */
const COMMAND_TIMEOUT_MS = 200;

/** The rate limit has a fallback, so it waits less: this and COMMAND_TIMEOUT_MS together are what a caller waits. */
const TOKEN_TIMEOUT_MS = 50;

/** A change that takes effect must have this long to be heard of before it is given up. */
const ANSWER_MARGIN_MS = 20;

/** Records that are read with one command. */
const BATCH_RECORDS_MAX = 100;

const loadScript = new RedisScript('load-3.lua');

/** What a test or a simulation may bring of its own. */
export interface RedisStoreOptions {
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
  { commandTimeoutMs = COMMAND_TIMEOUT_MS, clock = exactSystemClock, security }: RedisStoreOptions = {},
): Promise<Store> {
  const connection = await connectRedis(parseRedisUrl(url), onError, security);
  const store = new RedisStore(connection, commandTimeoutMs, clock);
  try {
    await store.refuseOldServers();
    await store.check();
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
  readonly #commandTimeoutMs: number;
  readonly #journal: RedisJournal;
  readonly #history: RedisClientHistory;
  readonly #search: RedisDecisionSearch;
  readonly #sightings: RedisSightings;
  readonly #erasure: RedisErasure;

  readonly #clock: () => number;
  readonly #clocks: NodeClocks;
  readonly #health: RedisHealth;

  constructor(connection: RedisConnection, commandTimeoutMs: number, clock: () => number) {
    this.name = connection.name;
    this.#connection = connection;
    this.#commands = connection.commands;
    this.#commandTimeoutMs = commandTimeoutMs;
    this.#calls = new NodeCalls(connection, commandTimeoutMs);
    const tokenCalls = new NodeCalls(connection, TOKEN_TIMEOUT_MS);
    this.documents = redisDocuments(connection.commands, (call) => this.#calls.on(DOCUMENTS)(call));
    this.registers = redisRegisters(connection.commands, this.#calls.on);
    this.auditLog = redisAuditLog(connection.commands, this.#calls.on);
    this.listLog = redisListLog(connection.commands, this.#calls.on);
    this.rateBuckets = redisRateBuckets(connection.commands, tokenCalls.on);
    this.#journal = new RedisJournal(connection.commands, this.#calls.on);
    this.#history = new RedisClientHistory(connection.commands, this.#calls.on);
    this.#search = new RedisDecisionSearch(connection.commands, this.#calls.on);
    this.#sightings = new RedisSightings(connection, this.#calls.on);
    this.#erasure = new RedisErasure(connection.commands, this.#calls.on);
    this.texts = redisStoredTexts(connection, this.#calls, (hash) => this.#erasure.newestDecision(hash));
    this.#clock = clock;
    this.#clocks = new NodeClocks(connection.nodes);
    this.#health = new RedisHealth(connection, this.#calls, this.#clocks, clock);
  }

  load(client: ClientKey, also: LoadAlso = {}): Promise<Snapshot> {
    const { hash } = client;
    const { orderRef, idempotencyKey } = also;
    const keys = [
      stateKey(hash),
      orderRef === undefined ? unusedKey(hash) : outcomeKey(hash, nameOf(orderRef)),
      idempotencyKey === undefined ? unusedKey(hash) : answerKey(hash, nameOf(idempotencyKey)),
    ];
    return this.#calls.reading(stateKey(hash))(async () => {
      const sentMs = this.#clock();
      const reply = await loadScript.run(this.#commands, keys, []);
      const arrivedMs = this.#clock();
      const [time, state, order, answer] = Array.isArray(reply) ? reply : [];
      const texts = { state: textOf(state), order: textOf(order), answer: textOf(answer) };
      const storeMs = Number(time);
      this.#clocks.observe(this.#connection.nodeOf(stateKey(hash)), { sentMs, storeMs, arrivedMs });
      return readSnapshot(texts, storeMs);
    });
  }

  async commit(change: Change): Promise<'committed' | 'conflict'> {
    const { client, stamp } = change;
    const nowMs = stamp.storeTimeMs + (performance.now() - stamp.arrivedMs);
    const validUntilMs = Math.floor(nowMs + this.#commandTimeoutMs - ANSWER_MARGIN_MS);
    const { keys, args } = commitCall(change, encodeClientState(change.state), validUntilMs);
    const fate = await this.#calls.on(stateKey(client.hash))(async () =>
      readCommitReply(await commitScript.run(this.#commands, keys, args)),
    );
    switch (fate) {
      case 'committed':
      case 'conflict':
        return fate;
      case 'expired':
        throw new StoreUnavailable(`${this.name} received a change too late`);
      default:
        throw new Error(fate satisfies never);
    }
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    return this.#sightings.see(ask);
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    const claim = claimKey(platform, nameOf(key));
    return this.#calls.on(claim)(async () => {
      const earlier = await this.#commands.set(claim, requestHash, {
        condition: 'NX',
        GET: true,
        expiration: { type: 'PX', value: RETENTION.idempotencyMs },
      });
      return earlier ?? requestHash;
    });
  }

  async decision(decisionId: string): Promise<Decision | null> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return null;
    const [decision] = await this.#decisions(parsed.clientHash, [parsed.seq]);
    return decision !== undefined && isNamed(decisionId, decision) ? decision : null;
  }

  async decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    const order = nameOf(orderRef);
    const key = orderClientsKey(platform, order);
    const clients = await this.#calls.on(key)(() => this.#commands.zRange(key, 0, -1));
    const decisions = await Promise.all(
      clients.map(async (clientHash) => {
        const numbers = orderDecisionsKey(clientHash, order);
        const seqs = await this.#calls.on(numbers)(() => this.#commands.zRange(numbers, 0, -1));
        return this.#decisions(clientHash, seqs.map(Number));
      }),
    );
    return decisions
      .flat()
      .sort((a, b) => b.at - a.at || b.seq - a.seq)
      .slice(0, RETENTION.decisionsPerOrder);
  }

  async decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    const { state } = await this.load(client);
    const newest = Math.min(state.seq, beforeSeq - 1);
    const count = Math.max(0, Math.min(limit, newest));
    return this.#decisions(
      client.hash,
      Array.from({ length: count }, (_, index) => newest - index),
    );
  }

  findDecisions(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    return this.#search.find(platform, filter, limit);
  }

  readJournal(after: string | null, limit: number): Promise<JournalPage> {
    return this.#journal.read(after, limit);
  }

  trimJournal(through: string, keptEntries: number): Promise<void> {
    return this.#journal.trim(through, keptEntries);
  }

  historyOfClient(client: Pick<ClientKey, 'hash'>, limit: number): Promise<ClientJournal> {
    return this.#history.of(client, limit);
  }

  erase(client: ClientKey): Promise<void> {
    return this.#erasure.erase(client);
  }

  readonly clockOffsetMs = (): number => this.#clocks.offsetMs;

  check(): Promise<StoreHealth> {
    return this.#health.check();
  }

  /** Throws StoreUnavailable when a server is too old to be used. */
  refuseOldServers(): Promise<void> {
    return this.#health.refuseOldServers();
  }

  close(): Promise<void> {
    this.#calls.close();
    return this.#connection.close();
  }

  /** The decisions with these numbers that are still kept, in that order. */
  async #decisions(clientHash: string, seqs: readonly number[]): Promise<readonly Decision[]> {
    const records: (string | null)[] = [];
    for (let start = 0; start < seqs.length; start += BATCH_RECORDS_MAX) {
      const keys = seqs.slice(start, start + BATCH_RECORDS_MAX).map((seq) => decisionKey(clientHash, seq));
      records.push(...(await this.#calls.on(stateKey(clientHash))(() => this.#commands.mGet(keys))));
    }
    return records.filter((record) => record !== null).map(readDecision);
  }
}
