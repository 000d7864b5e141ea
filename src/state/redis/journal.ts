import { isJsonObject } from '#base/files/json-object.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import {
  type AnyJournalEntry,
  addLostVerdictsToGap,
  comparePlaces,
  createUnreadableMember,
  decodeJournalEntry,
  type EntryPlace,
  formatCursor,
  type JournalGap,
  type JournalPlace,
  joinGaps,
  type LostVerdictRecord,
  PARTITION_CURSORS,
  type PlacedEntry,
  parseCursor,
  parseErasureEntry,
  parsePlace,
  type ReadEntry,
  readOrExplain,
  toVerdictEntry,
  type UnreadableEntry,
  type VerdictReference,
} from '#state/journal.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import type { JournalPage, KeptAfterShippingLimits, Store } from '#state/store.ts';
import type { RedisAccess } from './connection/connection.ts';
import { areStreamEntries, callChecked, isWholeNumber, requireWholeNumber } from './connection/reply.ts';
import type { RedisDecisionReader } from './decisions.ts';
import { RedisScript } from './script.ts';

const trimScript = new RedisScript('trim-journal-4.lua');

/**
 * The most entries that are read or deleted at once. That takes about a fifth of a millisecond, in which Redis serves
 * no other request.
 */
const BATCH_ENTRIES_MAX = 100;

/** The number of readers whose next pages are kept. */
const READERS_MAX = 4;

/** A journal entry as it is stored, with its client and position. */
interface StoredEntry {
  /** Empty for an erasure. */
  readonly clientHash: string;
  readonly text: string;
  readonly place: EntryPlace;
}

/**
 * An entry as it was read, with its position. If the decision that it refers to is gone, the entry is a LostVerdictRecord.
 */
interface ReadRow {
  readonly place: JournalPlace;
  readonly entry: ReadEntry;
}

/** The rows of a partition while the journal is read forwards. */
interface PartitionRows {
  readonly partition: string;
  /** The last entry that was fetched, and the last that was returned. */
  fetched: JournalPlace | null;
  given: JournalPlace | null;
  readonly rows: ReadRow[];
  ended: boolean;
}

/**
 * Reads the journal over its partitions. An entry that is written later lies later in its partition, so a cursor with
 * a position in each partition skips and repeats nothing. Only the servers' clocks tell which of two entries in
 * different partitions is older.
 */
export function createRedisJournal(
  door: RedisAccess,
  decisions: RedisDecisionReader,
): Pick<
  Store,
  'cursors' | 'readJournal' | 'journalLength' | 'newestCursor' | 'trimJournal' | 'unshippedErasures'
> {
  const reader = new JournalReader(door, decisions);
  const { commands, runOn } = door;
  return {
    cursors: PARTITION_CURSORS,
    readJournal: (after, limit) => reader.read(after, limit),
    journalLength: async () => {
      const lengths = await mapPartitions(async (partition) => {
        const key = redis.journalKey(partition);
        return runOn(key)(() => callChecked('XLEN', commands.xLen(key), isWholeNumber));
      });
      return lengths.reduce((sum, length) => sum + length, 0);
    },
    newestCursor: async (entries) => {
      const share = Math.ceil(entries / redis.PARTITION_TAGS.length);
      const places: (JournalPlace | null)[] = [];
      for (const partition of redis.PARTITION_TAGS)
        places.push(await findPlaceBefore(door, redis.journalKey(partition), share));
      return places.every((place) => place === null) ? null : formatCursor(places);
    },
    trimJournal: (through, kept) => trimShipped(door, through, kept),
    unshippedErasures: async () => {
      const waiting = await mapPartitions(async (partition, number) => {
        const key = redis.unshippedErasuresKey(partition);
        const erasures = await runOn(key)(() =>
          callChecked('ZRANGE', commands.zRange(key, 0, -1), Array.isArray),
        );
        return erasures.map((erasure) => {
          const end = erasure.indexOf(' ');
          const place = { partition: number, ...parsePlace(erasure.slice(0, end)) };
          return { ...parseErasureEntry(erasure.slice(end + 1)), place };
        });
      });
      return waiting.flat();
    },
  };
}

function mapPartitions<T>(read: (partition: string, number: number) => Promise<T>): Promise<readonly T[]> {
  return Promise.all(redis.PARTITION_TAGS.map(read));
}

/** Finds the position of the entry after which this many newer ones follow. Returns null if there are fewer entries. */
async function findPlaceBefore(
  { commands, runOn }: RedisAccess,
  key: string,
  newest: number,
): Promise<JournalPlace | null> {
  let reached: string | null = null;
  for (let left = newest + 1; ; ) {
    const count = Math.min(left, BATCH_ENTRIES_MAX);
    const from: string = reached === null ? '+' : `(${reached}`;
    const rows = await searchThrottle.run(() =>
      runOn(key)(() =>
        callChecked('XREVRANGE', commands.xRevRange(key, from, '-', { COUNT: count }), areStreamEntries),
      ),
    );
    reached = rows?.at(-1)?.id ?? null;
    left -= count;
    if (reached === null || (rows?.length ?? 0) < count) return null;
    if (left === 0) return parsePlace(reached);
  }
}

/** Deletes shipped entries, one partition after the other, some entries at a time. */
async function trimShipped(
  { connection, runOn }: RedisAccess,
  through: string,
  { journalEntries, decisionsHotMs }: KeptAfterShippingLimits,
): Promise<void> {
  const kept = Math.ceil(journalEntries / redis.PARTITION_TAGS.length);
  for (const [index, place] of parseCursor(through).entries()) {
    const partition = redis.PARTITION_TAGS[index];
    if (place === null || partition === undefined) continue;
    const keys = [
      redis.journalKey,
      redis.journalLossKey,
      redis.unshippedErasuresKey,
      redis.rewrittenJournalKey,
    ].map((key) => key(partition));
    const numbers = [kept, BATCH_ENTRIES_MAX].map(String);
    const shorter = [decisionsHotMs, RETENTION.decisionMs - decisionsHotMs].map(String);
    const prefixes = [redis.partitionDecisionsPrefix(partition), redis.ordersPrefix(partition)];
    const args = [`${place.ms}-${place.seq}`, ...numbers, ...prefixes, ...shorter];
    const trimSome = () => trimScript.run(connection, keys, args, requireWholeNumber);
    while ((await runOn(redis.journalKey(partition))(trimSome)) === BATCH_ENTRIES_MAX);
  }
}

/** Reads the partitions as one journal. */
class JournalReader {
  readonly #door: RedisAccess;
  readonly #decisions: RedisDecisionReader;
  /**
   * Rows that were read beyond the last pages, by cursor, so that a reader who continues there need not read them
   * twice. These rows may name a client that was erased since. The reader then meets the erasure later, just as it
   * does for rows that it already has.
   */
  readonly #ahead = new Map<string, readonly PartitionRows[]>();

  constructor(door: RedisAccess, decisions: RedisDecisionReader) {
    this.#door = door;
    this.#decisions = decisions;
  }

  async read(after: string | null, limit: number): Promise<JournalPage> {
    const places = parseCursor(after);
    const ahead = this.#takeAhead(after);
    const feeds = ahead ?? this.#feedsAfter(places);
    const entries: PlacedEntry<AnyJournalEntry>[] = [];
    const others: (LostVerdictRecord | UnreadableEntry)[] = [];
    let batch = computeBatch(limit);
    while (entries.length < limit) {
      await this.#fill(feeds, batch);
      const before = entries.length + others.length;
      for (const { entry } of takeOldestOf(feeds, () => entries.length < limit)) {
        if (entry.kind === 'lost' || entry.kind === 'unreadable') others.push(entry);
        else entries.push(entry);
      }
      if (entries.length + others.length === before) break;
      batch = Math.min(2 * batch, BATCH_ENTRIES_MAX);
    }
    const nothing = entries.length + others.length === 0;
    const given = feeds.map((feed, index) => feed.given ?? places[index] ?? null);
    const cursor = nothing ? after : formatCursor(given);
    // A reader who starts with the oldest kept entry misses nothing.
    const pushedOut = after === null ? null : await this.#gapAfter(places);
    // An entry that was read ahead may be part of the gap by now, and would be reported twice.
    if (ahead !== null && pushedOut !== null) return this.read(after, limit);
    this.#keepAhead(cursor, feeds);
    const lost = others.filter((entry) => entry.kind === 'lost');
    return { entries, cursor, gap: addLostVerdictsToGap(lost, pushedOut), ...createUnreadableMember(others) };
  }

  #takeAhead(after: string | null): readonly PartitionRows[] | null {
    const feeds = after === null ? undefined : this.#ahead.get(after);
    if (after === null || feeds === undefined) return null;
    this.#ahead.delete(after);
    return feeds.map((feed) => ({ ...feed, ended: false }));
  }

  #keepAhead(cursor: string | null, feeds: readonly PartitionRows[]): void {
    if (cursor === null) return;
    this.#ahead.set(cursor, feeds);
    const [oldest] = this.#ahead.keys();
    if (this.#ahead.size > READERS_MAX && oldest !== undefined) this.#ahead.delete(oldest);
  }

  #feedsAfter(places: readonly (JournalPlace | null)[]): readonly PartitionRows[] {
    return redis.PARTITION_TAGS.map((partition, index) => {
      const place = places[index] ?? null;
      return { partition, fetched: place, given: place, rows: [], ended: false };
    });
  }

  /** Finds what the partitions lost after the positions. Returns null if nothing was lost. */
  async #gapAfter(places: readonly (JournalPlace | null)[]): Promise<JournalGap | null> {
    const losses = await mapPartitions(async (partition, index) => {
      const key = redis.journalLossKey(partition);
      const loss = await this.#door.runOn(key)(() =>
        callChecked('HGETALL', this.#door.commands.hGetAll(key), isJsonObject),
      );
      return findGap(loss, places[index] ?? null);
    });
    return losses.filter((loss) => loss !== null).reduce(joinGaps, null);
  }

  async #fill(feeds: readonly PartitionRows[], batch: number): Promise<void> {
    const hungry = feeds.filter(({ rows, ended }) => rows.length === 0 && !ended);
    // Redis answers all waiting commands of one connection before it serves the next connection. So only some
    // commands are sent at once.
    const together = Math.max(1, Math.floor(BATCH_ENTRIES_MAX / batch));
    for (let start = 0; start < hungry.length; start += together)
      await Promise.all(hungry.slice(start, start + together).map((feed) => this.#fillOne(feed, batch)));
  }

  async #fillOne(feed: PartitionRows, batch: number): Promise<void> {
    const key = redis.journalKey(feed.partition);
    const from = feed.fetched === null ? '-' : `(${feed.fetched.ms}-${feed.fetched.seq}`;
    const reply = await this.#door.runOn(key)(() =>
      callChecked('XRANGE', this.#door.commands.xRange(key, from, '+', { COUNT: batch }), areStreamEntries),
    );
    const partition = redis.getNumberOfPartitionTag(feed.partition);
    feed.rows.push(...(await this.#completeRows((reply ?? []).map((row) => toStoredEntry(partition, row)))));
    feed.fetched = feed.rows.at(-1)?.place ?? feed.fetched;
    feed.ended = feed.rows.length < batch;
  }

  /** Completes the rows. The journal only refers to the decision of a verdict, so the decision is read here. */
  async #completeRows(stored: readonly StoredEntry[]): Promise<readonly ReadRow[]> {
    const parsed = await Promise.all(
      stored.map(async (one) => ({
        one,
        entry: await readOrExplain(one, () => decodeJournalEntry(one.text)),
      })),
    );
    const named = parsed.flatMap(({ one: { clientHash }, entry }) =>
      isReference(entry) ? [{ clientHash, seq: entry.seq }] : [],
    );
    const decisions = (await this.#decisions.readEach(named)).values();
    return Promise.all(
      parsed.map(async ({ one, entry }): Promise<ReadRow> => {
        const { place } = one;
        if (!isReference(entry))
          return { place, entry: entry.kind === 'unreadable' ? entry : { ...entry, place } };
        const read = decisions.next().value ?? null;
        const whole = await readOrExplain(one, (): ReadEntry => {
          return read === null ? { kind: 'lost', at: entry.at } : { ...toVerdictEntry(read()), place };
        });
        return { place, entry: whole };
      }),
    );
  }
}

function findGap(loss: Readonly<Record<string, string>>, place: JournalPlace | null): JournalGap | null {
  const { from, to, entries } = loss;
  if (from === undefined || to === undefined) return null;
  if (place !== null && comparePlaces(parsePlace(to), place) <= 0) return null;
  return { from: parsePlace(from).ms, to: parsePlace(to).ms, entries: Number(entries) };
}

/**
 * Computes how many rows to read from each partition. Clients are spread evenly over the partitions, so the number is
 * the partition's share of the limit and some more. It is not larger, because nobody may ask for the surplus rows.
 */
function computeBatch(limit: number): number {
  return Math.min(BATCH_ENTRIES_MAX, 4 + Math.ceil((1.25 * limit) / redis.PARTITION_TAGS.length));
}

/**
 * Takes rows by age, until no more are wanted or the next row is unknown. The next row is unknown if a partition has
 * to be read further first.
 */
function* takeOldestOf(feeds: readonly PartitionRows[], isMoreWanted: () => boolean): Generator<ReadRow> {
  while (isMoreWanted()) {
    const row = takeOldest(feeds);
    if (row === null) return;
    yield row;
  }
}

/**
 * Takes the oldest row of all partitions. Returns null if there is none, or if a partition has to be read further
 * first.
 */
function takeOldest(feeds: readonly PartitionRows[]): ReadRow | null {
  let oldest: PartitionRows | null = null;
  let oldestPlace: JournalPlace | null = null;
  for (const feed of feeds) {
    const place = feed.rows[0]?.place;
    if (place === undefined) {
      if (!feed.ended) return null;
    } else if (oldestPlace === null || comparePlaces(place, oldestPlace) < 0) {
      oldest = feed;
      oldestPlace = place;
    }
  }
  if (oldest === null) return null;
  oldest.given = oldestPlace;
  return oldest.rows.shift() ?? null;
}

/** Formats the only field of a stream entry. Every further field would make each commit slower. */
export function formatStreamEntry(platform: string, clientHash: string, text: string): string {
  return `${platform} ${clientHash} ${text}`;
}

type StreamRow = { readonly id: string; readonly message: Readonly<Record<string, string>> };

/** Reads the client of a stream entry. Returns an empty text for an erasure. */
export function getStreamEntryClientHash({ message }: StreamRow): string {
  return message['entry']?.split(' ', 2)[1] ?? '';
}

function toStoredEntry(partition: number, row: StreamRow): StoredEntry {
  const text = (row.message['entry'] ?? '').split(' ').slice(2).join(' ');
  return { place: { partition, ...parsePlace(row.id) }, clientHash: getStreamEntryClientHash(row), text };
}

function isReference(
  entry: ReturnType<typeof decodeJournalEntry> | UnreadableEntry,
): entry is VerdictReference {
  return 'seq' in entry;
}
