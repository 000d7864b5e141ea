import KeyvRedis from '@keyv/redis';
import { isJsonObject } from '#base/files/json-object.ts';
import type { AuditLink, AuditRows } from '#state/audit-log.ts';
import {
  createDocumentsKeyv,
  createKeyvDocuments,
  type DocumentIndex,
  type Documents,
  type Versions,
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
  formatWriterField,
  type ListLog,
  NO_TEXT_STAMP,
  type Registers,
  readTallyCounts,
  type Tallies,
} from '#state/store.ts';
import type { RunCall } from '#state/store-errors.ts';
import { compareAndSet, computeStamp } from './compare-and-set.ts';
import type { RedisAccess, RedisCommands, RedisConnection } from './connection/connection.ts';
import { callChecked, isTextOrNull, requireItems, requireWhole } from './connection/reply.ts';
import { createRecordLog } from './record-log.ts';
import { RedisScript } from './script.ts';

const documentNames = new RedisScript('document-names-1.lua');

/** A name is written before its document. A name without a document is removed only after this time. */
const NAME_GRACE_MS = 60_000;

/**
 * Stores documents in Keyv over an open connection that the caller owns. They must not be used after that connection
 * is closed, because the adapter would open it again.
 */
export function createRedisDocuments(
  connection: RedisConnection,
  run: RunCall,
  versions: Versions,
): Documents {
  const store = new KeyvRedis(connection.commands, { throwOnErrors: true, keyPrefixSeparator: ':' });
  return createKeyvDocuments(
    createDocumentsKeyv({ store, namespace: redis.DOCUMENTS }),
    createNamesIndex(connection),
    run,
    versions,
  );
}

/** Stores versions in one hash beside the documents. */
export function createRedisVersions(commands: RedisCommands, run: RunCall): VersionTable {
  return {
    read: () => run(() => callChecked('HGETALL', commands.hGetAll(redis.VERSIONS), isJsonObject)),
    write: (name, version) =>
      run(async () => {
        await commands.hSet(redis.VERSIONS, name, version);
      }),
  };
}

function createNamesIndex(connection: RedisConnection): DocumentIndex {
  /** Notes the name `noted`. With an empty name it lists the names. */
  const run = <T>(collection: string, noted: string, read: (what: string, reply: unknown) => T) => {
    const args = [redis.documentPrefix(collection), String(NAME_GRACE_MS), noted];
    return documentNames.run(connection, [redis.documentNamesKey(collection)], args, read);
  };
  return {
    add: (collection, name) => run(collection, name, () => {}),
    remove: async (collection, name) => {
      await connection.commands.zRem(redis.documentNamesKey(collection), name);
    },
    names: (collection) => run(collection, '', (what, names) => requireItems(what, names).map(String)),
  };
}

export function createRedisRegisters(door: RedisAccess, versions: Versions): Registers {
  const { commands, runOn } = door;
  return {
    read: (name) =>
      runOn(redis.registerKey(name))(() =>
        callChecked('GET', commands.get(redis.registerKey(name)), isTextOrNull),
      ),
    compareAndSet: async (name, expected, next) => {
      const written = await setRegister(door, name, expected, next);
      if (written) await versions.changed(name);
      return written;
    },
    version: async (name) => (await versions.current(name)).version,
  };
}

/** Writes a register if it still holds `expected`, without a new version. Returns false when it holds another text. */
export function setRegister(
  door: RedisAccess,
  name: string,
  expected: string | null,
  next: string,
): Promise<boolean> {
  const stamp = expected === null ? NO_TEXT_STAMP : computeStamp(expected);
  return compareAndSet(door, redis.registerKey(name), stamp, next);
}

/**
 * Agrees with all nodes of a store on a text: the first node writes its `own` into a register, and the others read
 * it.
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

export function createRedisListLog(door: RedisAccess): ListLog {
  const log = createRecordLog(door, redis.LISTS);
  return {
    write: (changes, unless) => log.append(changes, { unless }),
    // The head is read first, so it never names a change that the records lack.
    read: async (after, limit) => {
      const head = await log.head();
      return { ...head, records: head.latest <= after ? [] : await log.readAfter(after, limit) };
    },
  };
}

/** Stores the audit in a log. The parts that lead to payers are stored apart from the entries. */
export function createRedisAuditRows(door: RedisAccess): AuditRows {
  const { commands } = door;
  const { parts, partsOf } = redis.AUDIT;
  const log = createRecordLog(door, redis.AUDIT);
  const run: RunCall = (call) => door.runOn(parts)(call);
  return {
    // The head is read before the text. If another entry is added in between, the number is taken already, and the
    // addition fails instead of following the wrong entry.
    newest: async () => {
      const { latest } = await log.head();
      const text = await log.newestText();
      return latest === 0 ? null : { number: latest, hash: parseLink(text ?? '').hash };
    },
    add: async ({ number, previous, hash, body, payer }) => {
      const record = { id: String(number), text: JSON.stringify([previous, hash, body]) };
      const part = payer && {
        owner: payer.clientHash,
        text: JSON.stringify([payer.clientHash, payer.text]),
      };
      return (await log.append([record], { number, part })) !== null;
    },
    read: async (after, limit) => {
      const records = await log.readAfter(after, limit);
      const numbers = records.map(({ version }) => String(version));
      const payers = numbers.length === 0 ? [] : await run(() => commands.hmGet(parts, numbers));
      return records.flatMap(({ version, text }, place) =>
        text === null ? [] : { number: version, ...parseLink(text), payer: parsePart(payers[place] ?? null) },
      );
    },
    about: (clientHash) =>
      run(async () => (await commands.sMembers(partsOf(clientHash))).map(Number).sort((a, b) => a - b)),
    // The index of the client's entries is removed last, so that an interrupted erasure can be repeated.
    forgetPayer: async (clientHash, numbers) => {
      const names = numbers.map(String);
      if (names.length === 0) return;
      await run(() => commands.hDel(parts, names));
      await run(() => commands.sRem(partsOf(clientHash), names));
    },
    drop: (through) => log.trim(through),
  };
}

/** Parses a stored entry. A damaged one becomes an entry without hashes, whose body is the stored text. */
function parseLink(text: string): Pick<AuditLink, 'previous' | 'hash' | 'body'> {
  try {
    const [previous, hash, body]: readonly unknown[] = JSON.parse(text);
    return { previous: String(previous), hash: String(hash), body: String(body) };
  } catch {
    return { previous: '', hash: '', body: text };
  }
}

/** Parses a stored part. A damaged one is returned with its stored text. */
function parsePart(text: string | null) {
  if (text === null) return null;
  try {
    const [clientHash, part]: readonly unknown[] = JSON.parse(text);
    return { clientHash: String(clientHash), text: String(part) };
  } catch {
    return { clientHash: '', text };
  }
}

const addToTally = new RedisScript('add-to-tally-1.lua');

/** Stores each tally in a hash. */
export function createRedisTallies(door: RedisAccess): Tallies {
  const { commands, runOn } = door;
  return {
    add: (tally, { writer, number, counts }) => {
      const added = Object.entries(counts).flatMap(([field, count]) => [field, String(count)]);
      const args = [formatWriterField(writer), String(number), String(RETENTION.tallyMs), ...added];
      return addToTally.on(door, [redis.tallyKey(tally)], args, () => {});
    },
    read: (tally) => {
      const key = redis.tallyKey(tally);
      const fields = () => callChecked('HGETALL', commands.hGetAll(key), isJsonObject);
      return runOn(key)(async () => readTallyCounts(Object.entries(await fields())));
    },
  };
}

const takeToken = new RedisScript('take-token-1.lua');

const ADMITTED_AT_ONCE: Admission = { admitted: true, delayMs: 0 };
const AT_ONCE = Promise.resolve(ADMITTED_AT_ONCE);

/**
 * Stores the buckets that the fleet shares. While Redis is away each node uses its own buckets, so that a limit
 * always holds.
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
        (what, reply) => requireItems(what, reply).map((item) => requireWhole(what, item)),
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
