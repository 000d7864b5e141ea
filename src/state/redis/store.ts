import { readExactClock } from '#base/clock.ts';
import { AuditLog } from '#state/audit-log.ts';
import { createClientKeys } from '#state/client-salt.ts';
import { FollowedVersions } from '#state/documents.ts';
import {
  AUDIT_LOG_KEYS,
  claimKey,
  DOCUMENTS_TAG,
  hashName,
  LISTS_LOG_KEYS,
  registerKey,
} from '#state/keys.ts';
import type { ExpectedInstallation } from '#state/known-installation.ts';
import { createAuditRows, createSharedListLog } from '#state/numbered-log.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import type { RunCall } from '#state/store-errors.ts';
import { createRedisClients } from './clients.ts';
import { connectRedis, type RedisAccess, type RedisConnection } from './connection/connection.ts';
import { callChecked, isTextOrNull } from './connection/reply.ts';
import {
  computeCallLimitMs,
  computeRateTokenLimitMs,
  RoundTrips,
  ServerCalls,
} from './connection/server-calls.ts';
import { parseRedisUrl, type RedisSecurity } from './connection/url.ts';
import { RedisDecisionReader } from './decisions.ts';
import { ClientErasure } from './erasure.ts';
import { RedisHealth } from './health.ts';
import { InstallationCheck } from './installation.ts';
import { createRedisJournal } from './journal.ts';
import { createNumberedLog } from './numbered-log.ts';
import { ServerClocks } from './server-clocks.ts';
import {
  compareAndSetRegister,
  createRedisDocuments,
  createRedisRateBuckets,
  createRedisRegisters,
  createRedisTallies,
  createRedisVersions,
} from './shared-records.ts';
import { createRedisCountSightings, createRedisNotePayment } from './sightings.ts';
import { createRedisStoredTexts } from './stored-texts.ts';

/** The options of a Redis store. */
export interface RedisStoreOptions {
  /**
   * Neither a call nor the first connection is given up before this time. If missing, the limit follows from the
   * measured round trip alone.
   */
  readonly commandTimeoutMs?: number | undefined;
  /** This process's own clock, epoch ms with fractions. */
  readonly clock?: () => number;
  readonly security?: RedisSecurity;
  /** The salt of client hashes for a new store. If missing, a random one. */
  readonly salt?: string | undefined;
  /** The installation that the store must hold. If missing, any is accepted. */
  readonly expected?: ExpectedInstallation | null | undefined;
  /** Whether the store is accepted even if it is empty or another one than expected. */
  readonly isAccepted?: boolean | undefined;
}

/**
 * Opens a store that keeps all state in Redis 7.0 or later, shared by a fleet. `url` is a REDIS_URL: `redis://`,
 * `rediss://`, a comma-separated list for a cluster, `redis-sentinel://` or `rediss-sentinel://`. Throws if the first
 * connection fails, or if a server is too old or belongs to another installation. Later failures go to `onError`, and
 * the connection is restored automatically.
 */
export async function openRedisStore(
  url: string,
  onError: (error: Error) => void,
  options: RedisStoreOptions = {},
): Promise<Store> {
  const { security, commandTimeoutMs } = options;
  const connection = await connectRedis(parseRedisUrl(url), onError, security, commandTimeoutMs);
  try {
    return await openStoreOn(connection, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function openStoreOn(connection: RedisConnection, options: RedisStoreOptions): Promise<Store> {
  const { commandTimeoutMs = 0, clock = readExactClock } = options;
  const { commands, name } = connection;
  const roundTrips = new RoundTrips();
  const limitMs = (ms: number) => Math.max(commandTimeoutMs, computeCallLimitMs(ms));
  const anyCalls = new ServerCalls(connection, roundTrips, limitMs);
  const installation = createInstallation({ connection, commands, runOn: anyCalls.on });
  const calls = new ServerCalls(connection, roundTrips, limitMs, installation.refusal);
  const tokenCalls = new ServerCalls(connection, roundTrips, computeRateTokenLimitMs, installation.refusal);
  const clocks = new ServerClocks(connection, clock);
  const door: RedisAccess = { connection, commands, runOn: calls.on };
  const decisions = new RedisDecisionReader(door);
  const erasure = new ClientErasure(door, decisions);
  const health = new RedisHealth(connection, anyCalls, clocks, installation);
  await health.refuseOldServers();
  const { expected = null, isAccepted = false, salt } = options;
  await installation.open({ expected, isAccepted, salt });
  const clientKeys = createClientKeys(installation.known.salt);
  await health.check();
  const shared = createSharedRecords(door, anyCalls, installation);
  const { versions, ...records } = shared;
  const load = createRedisClients({ connection, calls, clocks, decisions, installation, memory: health });
  return {
    name,
    installation: installation.known,
    refusal: () => installation.refusal()?.message ?? null,
    clientKeys,
    check: () => health.check(),
    ...records,
    ...load,
    ...createRedisJournal(door, decisions),
    texts: createRedisStoredTexts(connection, calls, erasure, versions),
    rateBuckets: createRedisRateBuckets({ connection, runOn: tokenCalls.on }),
    sightings: createRedisCountSightings(door),
    notePayment: createRedisNotePayment(door),
    claimIdempotencyKey: createRedisClaims(door),
    decision: (decisionId) => decisions.findById(decisionId),
    decisionsOfOrder: (platform, orderRef) => decisions.listOfOrder(platform, orderRef),
    decisionsOfClient: async (client, limit, beforeSeq = Number.MAX_SAFE_INTEGER) => {
      const { state } = await load.load(client);
      return decisions.listOfClient(client.hash, Math.min(state.seq, beforeSeq - 1), limit);
    },
    erase: (client) => erasure.erase(client),
    tracesOfErased: async () => null,
    clockOffsetMs: () => clocks.offsetMs,
    close: () => {
      calls.close();
      return connection.close();
    },
  };
}

/** Creates the check of the installation. Its calls reach the store whatever it holds. */
function createInstallation(door: RedisAccess): InstallationCheck {
  const read = (name: string) =>
    door.runOn(registerKey(name))(() =>
      callChecked('GET', door.commands.get(registerKey(name)), isTextOrNull),
    );
  return new InstallationCheck(door, {
    read,
    compareAndSet: (...change) => compareAndSetRegister(door, ...change),
  });
}

function createSharedRecords(door: RedisAccess, anyCalls: ServerCalls, installation: InstallationCheck) {
  const { commands, runOn } = door;
  const onDocuments: RunCall = (call) => runOn(DOCUMENTS_TAG)(call);
  const table = createRedisVersions(commands, onDocuments);
  const anyTable = createRedisVersions(commands, (call) => anyCalls.on(DOCUMENTS_TAG)(call));
  const versions = new FollowedVersions({
    ...table,
    read: async () => {
      const read = await anyTable.read();
      await installation.verify(installation.hintIn(read));
      return read;
    },
  });
  return {
    versions,
    documents: createRedisDocuments(door.connection, onDocuments, versions),
    registers: createRedisRegisters(door, versions),
    auditLog: new AuditLog(createAuditRows(createNumberedLog(door, AUDIT_LOG_KEYS))),
    tallies: createRedisTallies(door),
    listLog: createSharedListLog(createNumberedLog(door, LISTS_LOG_KEYS)),
  };
}

function createRedisClaims({ commands, runOn }: RedisAccess): Store['claimIdempotencyKey'] {
  return (platform, key, requestHash) => {
    const claim = claimKey(platform, hashName(key));
    const expiration = { type: 'PX', value: RETENTION.claimMs } as const;
    return runOn(claim)(async () => {
      const first = await commands.set(claim, requestHash, { condition: 'NX', GET: true, expiration });
      // The claim is renewed, because the answer may come long after the key first came, and is kept for a day from
      // then on.
      if (first === requestHash) await commands.set(claim, requestHash, { expiration });
      return first ?? requestHash;
    });
  };
}
