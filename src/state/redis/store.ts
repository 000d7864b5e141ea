import { exactSystemClock } from '../../clock.ts';
import { AuditLog } from '../audit-log.ts';
import { clientKeysUnder, newSalt, SALT_REGISTER } from '../client-salt.ts';
import { Versions } from '../documents.ts';
import { claimKey, DOCUMENTS, nameOf } from '../keys.ts';
import { RETENTION } from '../retention.ts';
import type { Registers, Store } from '../store.ts';
import type { RunCall } from '../store-errors.ts';
import type { StoreHealth } from '../store-health.ts';
import { redisClients, redisSightings } from './clients.ts';
import { connectRedis, type RedisConnection, type RedisDoor } from './connection/connection.ts';
import { callLimitMs, NodeCalls, RoundTrips, tokenLimitMs } from './connection/node-calls.ts';
import { parseRedisUrl, type RedisSecurity } from './connection/url.ts';
import { RedisDecisions } from './decisions.ts';
import { ClientErasure } from './erasure.ts';
import { RedisHealth } from './health.ts';
import { Installation } from './installation.ts';
import { redisJournal } from './journal.ts';
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
  /** A call may take this long, however short the way to the server is; by the way alone when absent. */
  readonly commandTimeoutMs?: number | undefined;
  /** This process's own clock, epoch ms with fractions. */
  readonly clock?: () => number;
  readonly security?: RedisSecurity;
  /** Of clients, where there is none yet; random when absent. */
  readonly salt?: string | undefined;
}

/**
 * All state in Redis 7.0 or later, shared by a fleet. `url` is a REDIS_URL: `redis://`, `rediss://`, a
 * comma-separated list for a cluster, `redis-sentinel://` or `rediss-sentinel://`. Throws when the first connection fails,
 * or a server is too old or belongs to another installation; later failures go to `onError`, and the connection comes back
 * by itself.
 */
export async function openRedisStore(
  url: string,
  onError: (error: Error) => void,
  options: RedisStoreOptions = {},
): Promise<Store> {
  const connection = await connectRedis(parseRedisUrl(url), onError, options.security);
  try {
    return await openOn(connection, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function openOn(connection: RedisConnection, options: RedisStoreOptions): Promise<Store> {
  const { commandTimeoutMs = 0, clock = exactSystemClock } = options;
  const { commands, name } = connection;
  const roundTrips = new RoundTrips();
  const calls = new NodeCalls(connection, roundTrips, (ms) => Math.max(commandTimeoutMs, callLimitMs(ms)));
  const tokenCalls = new NodeCalls(connection, roundTrips, tokenLimitMs);
  const clocks = new NodeClocks(connection, clock);
  const door: RedisDoor = { connection, commands, runOn: calls.on };
  const decisions = new RedisDecisions(door);
  const erasure = new ClientErasure(door, decisions);
  const shared = sharedRecords(door);
  const installation = new Installation(door, shared.registers);
  const health = new RedisHealth(connection, calls, clocks, installation);
  await health.refuseOldServers();
  await installation.open();
  const clientKeys = clientKeysUnder(
    await agreedText(shared.registers, SALT_REGISTER, options.salt ?? newSalt()),
  );
  const check = () => checkWithSalt(health, shared.registers, clientKeys.salt);
  await check();
  const { versions, ...records } = shared;
  const load = redisClients({ connection, calls, clocks, decisions, installation, memory: health });
  return {
    name,
    clientKeys,
    check,
    ...records,
    ...load,
    ...redisJournal(door, decisions),
    texts: redisStoredTexts(connection, calls, erasure, versions),
    rateBuckets: redisRateBuckets({ connection, runOn: tokenCalls.on }),
    sightings: redisSightings(door),
    claimIdempotencyKey: redisClaims(door),
    decision: (decisionId) => decisions.named(decisionId),
    decisionsOfOrder: (platform, orderRef) => decisions.ofOrder(platform, orderRef),
    decisionsOfClient: async (client, limit, beforeSeq = Number.MAX_SAFE_INTEGER) => {
      const { state } = await load.load(client);
      return decisions.ofClient(client.hash, Math.min(state.seq, beforeSeq - 1), limit);
    },
    erase: (client) => erasure.erase(client),
    clockOffsetMs: () => clocks.offsetMs,
    close: () => {
      calls.close();
      return connection.close();
    },
  };
}

function sharedRecords(door: RedisDoor) {
  const { commands, runOn } = door;
  const onDocuments: RunCall = (call) => runOn(DOCUMENTS)(call);
  const versions = new Versions(redisVersions(commands, onDocuments));
  return {
    versions,
    documents: redisDocuments(door.connection, onDocuments, versions),
    registers: redisRegisters(door, versions),
    auditLog: new AuditLog(redisAuditRows(door)),
    tallies: redisTallies(door),
    listLog: redisListLog(door),
  };
}

/** A salt that went with all else that Redis lost is put back before another node makes one of its own. */
async function checkWithSalt(health: RedisHealth, registers: Registers, own: string): Promise<StoreHealth> {
  const [servers, salt] = await Promise.all([
    health.check(),
    agreedText(registers, SALT_REGISTER, own).catch(() => null),
  ]);
  if (salt === null || salt === own) return servers;
  return servers.map((server) => ({ ...server, failure: ANOTHER_SALT }));
}

function redisClaims({ commands, runOn }: RedisDoor): Store['claimIdempotencyKey'] {
  return (platform, key, requestHash) => {
    const claim = claimKey(platform, nameOf(key));
    const expiration = { type: 'PX', value: RETENTION.claimMs } as const;
    return runOn(claim)(async () => {
      const first = await commands.set(claim, requestHash, { condition: 'NX', GET: true, expiration });
      // The answer may come long after the key first came, and is kept for a day from now on.
      if (first === requestHash) await commands.set(claim, requestHash, { expiration });
      return first ?? requestHash;
    });
  };
}
