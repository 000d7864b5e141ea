import { hash } from 'node:crypto';
import type { DeviceKind } from '#decision/facts/fact.ts';
import { BASE64_DIGITS, type PlatformName } from '#decision/payer/client-key.ts';

/**
 * The names of all keys in Redis. The keys of a client carry a hash tag, which the first character of the client's
 * hash selects. There are 64 partitions. Each partition lies in one slot together with its journal, so that one
 * script can write all parts of a change, also in a cluster. The keys that exist for each client have short names,
 * because these names take a good part of a client's memory.
 */

/**
 * The hash tags of clients. The slot of each tag lies in the middle of a different 64th of all slots, so that the
 * tags spread evenly over any number of masters with equal ranges of slots.
 */
export const PARTITION_TAGS: readonly string[] = [
  'mm ry e0 e8 v1 qt ap ax tb kv dn df wo o6 gc xw cs d6 lc sw g3 pk on pz r0 zt ul m5 fm yy va iu',
  'si k0 ce cm pd op x9 x1 jf ur zj b3 ik q2 yg fs bk z2 rg ms af an qj i3 c5 dp kh s1 xi xa he hm',
].flatMap((tags) => tags.split(' '));

/** Returns the hash tag of a client. */
export function getPartitionTag(clientHash: string): string {
  const partition = PARTITION_TAGS[BASE64_DIGITS.indexOf(clientHash.charAt(0) || ' ')];
  if (partition === undefined) throw new Error(`"${clientHash}" is not the hash of a client`);
  return partition;
}

/** Returns the number of a partition, counted from 0. */
export function getNumberOfPartitionTag(partition: string): number {
  return PARTITION_TAGS.indexOf(partition);
}

const home = (clientHash: string): string => `{${getPartitionTag(clientHash)}}${clientHash}`;

/** The client's state. String. */
export const stateKey = (clientHash: string): string => `s:${home(clientHash)}`;

/** The beginning of the keys of a client's decision records, up to the client's hash. */
export const partitionDecisionsPrefix = (partition: string): string => `d:{${partition}}`;

/** The beginning of the key of a decision record, up to the decision's number. */
export const clientDecisionsPrefix = (clientHash: string): string =>
  `${partitionDecisionsPrefix(getPartitionTag(clientHash))}${clientHash}.`;

/** One decision record. String. */
export const decisionKey = (clientHash: string, seq: number): string =>
  clientDecisionsPrefix(clientHash) + seq;

/** Further data of a client beside state and decisions. The fields are one of `NOTE_KINDS` and a name. Hash. */
export const notesKey = (clientHash: string): string => `n:${home(clientHash)}`;

/**
 * The kinds of notes: orders that the state does not remember, answers under Idempotency-Keys, and the devices and
 * attribute values that an erasure must look at.
 */
export const NOTE_KINDS = { order: 'o', answer: 'a', fingerprint: 'f', ip: 'i', attribute: 'v' } as const;

/** A shape, which is the layout of decision records, stored once in each partition that holds such records. String. */
export const shapeKey = (partition: string, id: string): string => `shape:{${partition}}${id}`;

/** The journal of a partition. Stream. */
export const journalKey = (partition: string): string => `journal:{${partition}}`;

/**
 * The entries that a partition's journal lost when it reached its limit: how many, and their first and last id. Hash.
 */
export const journalLossKey = (partition: string): string => `journal-loss:{${partition}}`;

/** The journal of a partition while a script rewrites it. Stream, deleted when the script ends. */
export const rewrittenJournalKey = (partition: string): string => `journal-anew:{${partition}}`;

/**
 * The installation that a partition belongs to, and the shapes that are stored in the partition. The key exists since
 * the first start. Set.
 */
export const installationKey = (partition: string): string => `installation:{${partition}}`;

/**
 * Erasures in a partition's journal that are not shipped yet. Sorted set of `<journal id> <entry>`, by the id's time.
 */
export const unshippedErasuresKey = (partition: string): string => `erasures:{${partition}}`;

/** A placeholder in a script's KEYS for a key that a call does not need, in the client's slot. It is never written. */
export const unusedKey = (clientHash: string): string => `-:{${getPartitionTag(clientHash)}}`;

/**
 * Clients seen on a device of a platform, with their marks. Sorted set of `deviceMembers`, by the time when they were
 * last seen.
 */
export const deviceKey = (kind: DeviceKind, platform: PlatformName, id: string): string =>
  `${kind === 'ip' ? 'i' : 'f'}:${platform}:${id}`;

/**
 * Clients with a value of an attribute, without marks. Sorted set of `deviceMember`, by the time when they were last
 * seen. `id` is made by `attributeValueId`.
 */
export const attributeKey = (platform: PlatformName, id: string): string => `v:${platform}:${id}`;

/** Names a value of an attribute in keys and notes. */
export const attributeValueId = (name: string, value: string): string => `${name}/${value}`;

/** The first 72 bits of a client's hash, which are enough to tell the few clients of one device apart. */
export const deviceMember = (clientHash: string): string => clientHash.slice(0, 12);

/** One letter for each bit of the marks of a sighting, the lowest bit first. */
export const MARK_LETTERS = ['p', 'u', 'b', '1', '2', '3', '4', '5'] as const;

/** All members that may stand for a client on a device: its name alone, and its name after the letter of each mark. */
export const deviceMembers = (clientHash: string): readonly string[] => {
  const member = deviceMember(clientHash);
  return [member, ...MARK_LETTERS.map((letter) => letter + member)];
};

/** 72 bits that stand for an orderRef of a platform. */
export const hashOrderRef = (platform: PlatformName, orderRef: string): string =>
  hashName(`${platform}/${orderRef}`);

/** Orders whose hashed names begin alike share a key. A key for each order would take twice the memory. */
const BUCKET_CHARACTERS = 3;

/** The first characters of an order's hashed name. Orders with the same ones share a sorted set. */
export const orderBucket = (order: string): string => order.slice(0, BUCKET_CHARACTERS);

/** The beginning of the key of an order's bucket. */
export const ordersPrefix = (partition: string): string => `q:{${partition}}`;

/**
 * Decisions by their orders, as `formatOrderNote` writes them, sorted by time. They are in the slot of the records, so that
 * one script writes records and notes together. Sorted set.
 */
export const ordersKey = (partition: string, order: string): string =>
  ordersPrefix(partition) + orderBucket(order);

/**
 * The note that a decision is about an order: the rest of the order's hashed name, a dot, then `formatNotedDecision` or
 * nothing.
 */
export const formatOrderNote = (order: string, place: string): string =>
  `${order.slice(BUCKET_CHARACTERS)}.${place}`;

/**
 * Formats which decision a note means, as `<digits><seq>.<client hash>`. The number of digits comes first, so that
 * Redis sorts decisions of the same millisecond by seq.
 */
export const formatNotedDecision = (clientHash: string, seq: number): string =>
  `${String(seq).length.toString(36)}${seq}.${clientHash}`;

/** The hash of the first request with an Idempotency-Key. String. */
export const claimKey = (platform: PlatformName, name: string): string => `claim:${platform}:${name}`;

/** Counts that many nodes add to. Hash. */
export const tallyKey = (tally: string): string => `tally:${tally}`;

/** The tokens that callers share in one rate bucket, by the bucket's name. */
export const rateKey = (bucket: string): string => `rate:${bucket}`;

/** A text that changes by compare-and-set. There are few of them, and none expires. String. */
export const registerKey = (name: string): string => `register:${name}`;

/** The keys of a log of numbered entries, in one slot. The script `append-records` explains them. */
const logKeys = (log: string) => ({
  records: `{${log}}:records`,
  numbers: `{${log}}:numbers`,
  removals: `{${log}}:removals`,
  head: `{${log}}:head`,
  parts: `{${log}}:parts`,
  partsOf: (owner: string) => `{${log}}:of:${owner}`,
});

/** The log of what people and keys did. Its parts identify payers. */
export const AUDIT_LOG_KEYS = logKeys('audit');

/** The shared lists. */
export const LISTS_LOG_KEYS = logKeys('lists');

/** The hash tag of documents. All documents share one slot, so that a collection can be listed in one step. */
export const DOCUMENTS_TAG = '{documents}';

/** The versions of collections and registers that nodes follow. Hash */
export const VERSIONS_KEY = `${DOCUMENTS_TAG}:versions`;

/** The names in a collection, sorted by when they were last written. Sorted set. */
export const documentNamesKey = (collection: string): string => `${DOCUMENTS_TAG}:names:${collection}`;

/** The beginning of the key of a document, up to its name. */
export const documentPrefix = (collection: string): string => `${DOCUMENTS_TAG}:document:${collection}/`;

/**
 * Hashes an orderRef or Idempotency-Key of a platform to 72 bits of sha256, so that a key name is safe whatever
 * characters the caller chose.
 */
export const hashName = (text: string): string => hash('sha256', text, 'base64url').slice(0, 12);
