import KeyvRedis from '@keyv/redis';
import { isJsonObject } from '#base/files/json-object.ts';
import {
  createDocumentsKeyv,
  createKeyvDocuments,
  type DocumentIndex,
  type Documents,
  type FollowedVersions,
  type VersionTable,
} from '#state/documents.ts';
import * as redis from '#state/keys.ts';
import {
  type Admission,
  type BucketSettings,
  LocalRateBuckets,
  type RateBuckets,
  TokenLeases,
} from '#state/rate-buckets.ts';
import { RETENTION } from '#state/retention.ts';
import {
  formatLastBatchField,
  NO_TEXT_STAMP,
  type Registers,
  type Tallies,
  toTallyCounts,
} from '#state/store.ts';
import type { RunCall } from '#state/store-errors.ts';
import { compareAndSet, computeStamp } from './compare-and-set.ts';
import type { RedisAccess, RedisCommands, RedisConnection } from './connection/connection.ts';
import { callChecked, isTextOrNull, requireArray, requireWholeNumber } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const documentNames = new RedisScript('document-names-1.lua');

/** A name is written before its document. A name without a document is removed only after this time. */
const NAME_GRACE_MS = 60_000;

/**
 * Stores documents in Keyv over an open connection that the caller owns. The documents must not be used after that
 * connection is closed, because the adapter would open it again.
 */
export function createRedisDocuments(
  connection: RedisConnection,
  run: RunCall,
  versions: FollowedVersions,
): Documents {
  const store = new KeyvRedis(connection.commands, { throwOnErrors: true, keyPrefixSeparator: ':' });
  return createKeyvDocuments(
    createDocumentsKeyv({ store, namespace: redis.DOCUMENTS_TAG }),
    createNamesIndex(connection),
    run,
    versions,
  );
}

/** Stores versions in one hash beside the documents. */
export function createRedisVersions(commands: RedisCommands, run: RunCall): VersionTable {
  return {
    read: () => run(() => callChecked('HGETALL', commands.hGetAll(redis.VERSIONS_KEY), isJsonObject)),
    write: (name, version) =>
      run(async () => {
        await commands.hSet(redis.VERSIONS_KEY, name, version);
      }),
  };
}

function createNamesIndex(connection: RedisConnection): DocumentIndex {
  /** Adds the name `noted` to the collection. If `noted` is empty, reads the names of the collection. */
  const run = <T>(collection: string, noted: string, read: (what: string, reply: unknown) => T) => {
    const args = [redis.documentPrefix(collection), String(NAME_GRACE_MS), noted];
    return documentNames.run(connection, [redis.documentNamesKey(collection)], args, read);
  };
  return {
    add: (collection, name) => run(collection, name, () => {}),
    remove: async (collection, name) => {
      await connection.commands.zRem(redis.documentNamesKey(collection), name);
    },
    names: (collection) => run(collection, '', (what, names) => requireArray(what, names).map(String)),
  };
}

export function createRedisRegisters(door: RedisAccess, versions: FollowedVersions): Registers {
  const { commands, runOn } = door;
  return {
    read: (name) =>
      runOn(redis.registerKey(name))(() =>
        callChecked('GET', commands.get(redis.registerKey(name)), isTextOrNull),
      ),
    compareAndSet: async (name, expected, next) => {
      const written = await compareAndSetRegister(door, name, expected, next);
      if (written) await versions.writeNewVersion(name);
      return written;
    },
    version: async (name) => (await versions.readCurrent(name)).version,
  };
}

/**
 * Writes a register if it still holds `expected`, and returns false otherwise. It does not write a new version, so
 * nodes that follow the register do not notice the change.
 */
export function compareAndSetRegister(
  door: RedisAccess,
  name: string,
  expected: string | null,
  next: string,
): Promise<boolean> {
  const stamp = expected === null ? NO_TEXT_STAMP : computeStamp(expected);
  return compareAndSet(door, redis.registerKey(name), stamp, next);
}

/**
 * Agrees with all nodes of a store on a text: the first node writes its `own` text into a register, and the others
 * read it.
 */
export async function agreeOnText(
  registers: Pick<Registers, 'read' | 'compareAndSet'>,
  name: string,
  own: string,
): Promise<string> {
  const known = await registers.read(name);
  if (known !== null) return known;
  return (await registers.compareAndSet(name, null, own)) ? own : agreeOnText(registers, name, own);
}

const addToTally = new RedisScript('add-to-tally-1.lua');

/** Stores each tally in a hash. */
export function createRedisTallies(door: RedisAccess): Tallies {
  const { commands, runOn } = door;
  return {
    add: (tally, { writer, number, counts }) => {
      const added = Object.entries(counts).flatMap(([field, count]) => [field, String(count)]);
      const args = [formatLastBatchField(writer), String(number), String(RETENTION.tallyMs), ...added];
      return addToTally.on(door, [redis.tallyKey(tally)], args, () => {});
    },
    read: (tally) => {
      const key = redis.tallyKey(tally);
      const fields = () => callChecked('HGETALL', commands.hGetAll(key), isJsonObject);
      return runOn(key)(async () => toTallyCounts(Object.entries(await fields())));
    },
  };
}

const takeToken = new RedisScript('take-token-1.lua');

const ADMITTED_AT_ONCE: Admission = { admitted: true, delayMs: 0 };
const AT_ONCE = Promise.resolve(ADMITTED_AT_ONCE);

/**
 * Stores the buckets that the fleet shares. While Redis is away, each node uses its own buckets, so that callers are
 * always limited.
 */
export function createRedisRateBuckets(door: Pick<RedisAccess, 'connection' | 'runOn'>): RateBuckets {
  const monotonicMs = () => performance.now();
  const local = new LocalRateBuckets(monotonicMs);
  const leases = new TokenLeases(monotonicMs);
  const shared = async (bucket: string, settings: BucketSettings, wanted: number): Promise<Admission> => {
    const askedMs = monotonicMs();
    let leased = 0;
    try {
      const { ratePerSecond, burst, delayMsMax } = settings;
      const args = [ratePerSecond, burst, Math.floor(delayMsMax), wanted].map(String);
      const [delayMs = -1, more = 0] = await takeToken.on(
        door,
        [redis.rateKey(bucket)],
        args,
        (what, reply) => requireArray(what, reply).map((item) => requireWholeNumber(what, item)),
      );
      leased = more;
      if (delayMs === 0) return ADMITTED_AT_ONCE;
      const admitted = delayMs > 0;
      local.learnDelay(bucket, settings, admitted ? delayMs : settings.delayMsMax);
      return admitted ? { admitted, delayMs } : { admitted };
    } finally {
      if (wanted > 0) leases.grant(bucket, leased, askedMs);
    }
  };
  return {
    isFree: (bucket, settings) => local.isFree(bucket, settings),
    take: (bucket, settings) => {
      const ofThisNode = local.takeNow(bucket, settings);
      const wanted = leases.ask(bucket, settings);
      if (wanted === 'leased') return AT_ONCE;
      // A failure is not reported here. The calls that need the store report it.
      return shared(bucket, settings, wanted).catch(() => ofThisNode);
    },
  };
}
