import { LRUCache } from 'lru-cache';
import { searchThrottle } from '#base/work/step-throttle.ts';
import { type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import { excludeSegments } from '#history/archive/archive.ts';
import type { ArchiveState, Segment } from '#history/archive/archive-log.ts';
import { JournalFollower, type JournalWatch, STEP_ENTRIES_MAX } from '#history/archive/journal-follower.ts';
import type { ResultBatch, ResultRow } from '#history/archive/query-engine.ts';
import { type Snapshot, withSnapshot } from '#history/archive/snapshot.ts';
import {
  isAfterSql,
  JOURNAL_TICK_SQL,
  PLACE_COLUMNS,
  type TableName,
  toJournalRecord,
} from '#history/archive/tables.ts';
import { listPageGaps } from '#history/archive/unshipped.ts';
import {
  type AnyJournalEntry,
  comparePlaces,
  type ErasureEntry,
  isPlaceRead,
  type JournalCursorFormat,
  type JournalGap,
  type JournalPlace,
  type JournalPlaces,
  type PlacedEntry,
  pickLaterPlace,
  type ScoreEntry,
} from '#state/journal.ts';
import type { JournalPage, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import type { ArchiveReader } from './archive-reader.ts';

/** An event of the feed. Scores are in the journal and not in the feed. */
export type FeedEvent = Exclude<PlacedEntry<AnyJournalEntry>, ScoreEntry>;

export interface FeedPage {
  /** The oldest event comes first. */
  readonly records: readonly FeedEvent[];
  /**
   * The gaps left by entries that were lost before the feed had them. A gap lies before the records or between them.
   */
  readonly gaps: readonly JournalGap[];
  /** The cursor after the page. It stays valid when entries are shipped and segments are merged. */
  readonly cursor: string | null;
  /** Whether no further entry is known. */
  readonly ended: boolean;
}

/**
 * The most steps in which a page reads the journal. If all steps find only scores and entries of other platforms, a
 * page without a record is returned.
 */
const STEPS_MAX = 50;

/** The events of a platform's clients, from archive and journal as one source, the oldest first. */
export class EventFeed {
  readonly #store: Store;
  readonly #archive: ArchiveReader | null;
  readonly #archived: ArchivedEvents | null;
  readonly #tail: JournalFollower;

  constructor(store: Store, archive: ArchiveReader | null) {
    this.#store = store;
    this.#archive = archive;
    this.#archived = archive && new ArchivedEvents(archive, store);
    this.#tail = new JournalFollower(store);
  }

  /**
   * Returns the events after a cursor. If the cursor is null, starts at the oldest kept event. A page may have fewer
   * events than the limit. Throws UnknownCursor.
   */
  async readPage(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    this.#store.cursors.parse(after);
    try {
      return await this.#read(platform, after, limit);
    } catch (error) {
      if (!(error instanceof UnknownCursor)) throw error;
      return this.#pageAfterRestore(after);
    }
  }

  async #read(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    const told = (await this.#archived?.page(platform, after, limit)) ?? null;
    if (told === null) return this.#readJournal(platform, after, limit);
    const records = told.records.filter(isFeedRecord);
    if (records.length + told.gaps.length > 0) return { ...told, records, ended: false };
    return this.#readJournal(platform, told.cursor, limit);
  }

  /** Returns the number by which an erasure names a client. */
  readonly getClientNumber = (platform: PlatformName, clientIdKey: string): string =>
    toClientNumberText(this.#store.clientKeys.of(platform, clientIdKey).hash);

  /** The cursor before the first entry. */
  get beginning(): string {
    return this.#store.cursors.format([]);
  }

  /** Begins a watch. Begin it before a page is read, to wait for the events after that page. */
  watch(platform: PlatformName): JournalWatch {
    return this.#tail.watch(platform);
  }

  /** Answers all readers that wait. From now on no reader waits. */
  endWaiting(): void {
    this.#tail.end();
  }

  get hasEnded(): boolean {
    return this.#tail.hasEnded;
  }

  async #readJournal(platform: PlatformName, after: string | null, limit: number): Promise<FeedPage> {
    const most = Math.min(limit, STEP_ENTRIES_MAX);
    const records: FeedEvent[] = [];
    const gaps: JournalGap[] = [];
    let cursor = after;
    for (let step = 0; step < STEPS_MAX && records.length + most <= limit; step += 1) {
      const page = await this.#readJournalPage(cursor, most);
      records.push(...page.entries.filter(isFeedRecord).filter((entry) => entry.platform === platform));
      gaps.push(...listPageGaps(page));
      cursor = page.cursor;
      if (page.entries.length === 0 && page.unreadable === undefined)
        return { records, gaps, cursor, ended: true };
    }
    return { records, gaps, cursor, ended: false };
  }

  /**
   * Returns a page with a gap, for a store that was restored to an earlier moment. Such a store gives numbers to new
   * entries that it had given before, so a cursor from before the restore has no meaning in it. The reader continues
   * at the end of the archive and may miss entries that were shipped since the restore, so the page has a gap.
   */
  async #pageAfterRestore(after: string | null): Promise<FeedPage> {
    const { cursor = null, shippedAt } = (await this.#archive?.readArchiveState()) ?? {};
    const to = shippedAt ?? 0;
    // Nothing was shipped since the restore. The caller asks again, because shipping takes only seconds.
    if (cursor === after) return { records: [], gaps: [], cursor, ended: true };
    return { records: [], gaps: [{ from: to, to, entries: 0 }], cursor, ended: false };
  }

  #readJournalPage(after: string | null, limit: number): Promise<JournalPage> {
    return searchThrottle.run(() => this.#store.readJournal(after, limit));
  }
}

function isFeedRecord(record: PlacedEntry<AnyJournalEntry>): record is FeedEvent {
  return record.kind !== 'score';
}

/**
 * The tables of the entries that platforms get. Scores are not among them, because a score only answers a question of
 * a caller.
 */
const FEED_TABLES = [
  'decisions',
  'outcomes',
  'bindings',
  'overrides',
  'waits_ended',
  'erasures',
] as const satisfies TableName[];

/** The archive's entries after a cursor, in the sequence of the journal. */
interface ArchivedPage {
  readonly records: readonly PlacedEntry<AnyJournalEntry>[];
  readonly gaps: readonly JournalGap[];
  readonly cursor: string | null;
}

/** A row that is made into an entry when it is needed. */
interface PlacedRow {
  readonly table: TableName;
  readonly row: () => ResultRow;
  readonly place: { readonly partition: number } & JournalPlace;
}

interface FoundRows {
  readonly rows: readonly PlacedRow[];
  readonly unreadable: readonly Segment[];
  /** Whether the archive may have further rows after `rows`. */
  readonly more: boolean;
}

/**
 * The number of rows that are kept for the next pages. A merged segment is sorted by client, so each read has to
 * search all of it.
 */
const ROWS_AHEAD = 4096;
const READERS_AHEAD_MAX = 4;
const AHEAD_KEPT_MS = 60_000;

const PLACE_COLUMN_NAMES = PLACE_COLUMNS.columns.map(({ name }) => name);

class ArchivedEvents {
  readonly #reader: ArchiveReader;
  readonly #store: Pick<Store, 'cursors' | 'unshippedErasures' | 'clientKeys'>;
  /** The rows for the next pages, by platform, cursor and version of the archive. */
  readonly #ahead = new LRUCache<string, FoundRows>({
    max: READERS_AHEAD_MAX,
    ttl: AHEAD_KEPT_MS,
    ttlAutopurge: true,
  });

  constructor(reader: ArchiveReader, store: Pick<Store, 'cursors' | 'unshippedErasures' | 'clientKeys'>) {
    this.#reader = reader;
    this.#store = store;
  }

  /**
   * Returns the oldest archived events of a platform's clients after a cursor. Returns null if the archive has none
   * after it. The journal then has the next events. Throws UnknownCursor.
   */
  async page(platform: PlatformName, after: string | null, limit: number): Promise<ArchivedPage | null> {
    const { cursors, clientKeys } = this.#store;
    const begin = cursors.parse(after);
    // The erasures are read before the archive. In the other sequence, a commit of the archive in between could take
    // an erasure off this list, although the state that was read still has the client's rows.
    const erasures = await this.#store.unshippedErasures();
    return withSnapshot(this.#reader.openArchive, async (past) => {
      const { state } = past;
      const through = cursors.parse(state.cursor);
      const from = findFirstTickBehind(begin, through);
      if (from === null) return null;
      const key = (cursor: string | null) => `${platform} ${cursor} ${state.version}`;
      const found =
        this.#ahead.get(key(after)) ??
        (await findOldestRows(listSegmentsBehind(state, platform, from), past, { begin, from }));
      const rows = found.rows.slice(0, limit);
      const left = found.rows.slice(limit);
      const ended = left.length === 0 && !found.more;
      const end = ended
        ? through.map((place, one) => pickLaterPlace(begin[one] ?? null, place))
        : computePlacesAfter(rows, begin, through);
      const cursor = cursors.format(end);
      // If files could not be read, the rows are not kept, because the files may be readable the next time.
      if (left.length > 0 && found.unreadable.length === 0)
        this.#ahead.set(key(cursor), { ...found, rows: left });
      const isTold = ({ lastTick }: Segment) => ended || lastTick < toTick(rows.at(-1)?.place ?? null);
      const records = await searchThrottle.mapInSteps(rows, async (some) =>
        some.map((one) => {
          const row = one.row();
          return { client: String(row['client_hash']), record: toJournalRecord(one.table, row, clientKeys) };
        }),
      );
      return {
        records: records.filter((one) => !isErased(one, erasures)).map(({ record }) => record),
        gaps: [
          ...listGapsBetween(state, cursors, begin, ended ? null : end),
          ...found.unreadable
            .filter(isTold)
            .map((segment) => ({ from: segment.from, to: segment.to, entries: segment.rows })),
        ],
        cursor,
      };
    });
  }
}

/**
 * Returns the tick (see `JOURNAL_TICK_SQL`) from which on a reader may lack archived entries. Returns null if the
 * reader lacks none.
 */
function findFirstTickBehind(begin: JournalPlaces, through: JournalPlaces): number | null {
  const behind = through.flatMap((place, partition) => {
    const read = begin[partition] ?? null;
    return place === null || isPlaceRead(begin, { partition, ...place }) ? [] : [toTick(read)];
  });
  return behind.length === 0 ? null : Math.min(...behind);
}

/** Computes the tick of a position, as `JOURNAL_TICK_SQL` does. Returns 0 if nothing was read. */
function toTick(place: JournalPlace | null): number {
  if (place === null) return 0;
  return place.ms === 0 ? place.seq : place.ms;
}

/** Lists the segments that may hold events from a tick on, sorted by their earliest row. */
function listSegmentsBehind({ segments }: ArchiveState, platform: string, from: number): readonly Segment[] {
  return [...segments.values()]
    .filter((segment) => segment.platform === platform && segment.lastTick >= from)
    .filter(({ table }) => FEED_TABLES.some((told) => told === table))
    .toSorted((a, b) => a.firstTick - b.firstTick);
}

interface Asked {
  readonly begin: JournalPlaces;
  readonly from: number;
}

/** Finds the oldest rows, in the sequence of the journal. Segments that begin after these rows are not read. */
async function findOldestRows(
  segments: readonly Segment[],
  past: Snapshot,
  asked: Asked,
): Promise<FoundRows> {
  for (let count = countSegmentsHolding(segments, ROWS_AHEAD); ; count *= 2) {
    const before = segments[count]?.firstTick ?? null;
    const byTable = Map.groupBy(segments.slice(0, count), ({ table }) => table);
    const rows: PlacedRow[] = [];
    for (const [table, some] of byTable) {
      const batches = await past.batches(
        (source) => oldestRowsSql(source(table), asked, before),
        async () => excludeSegments(some, past.unreadable),
      );
      rows.push(...batches.flatMap((batch) => toPlacedRows(table, batch)));
    }
    const more = rows.length > ROWS_AHEAD;
    if (!more && before !== null) continue;
    const sorted = rows.toSorted(
      ({ place: a }, { place: b }) => comparePlaces(a, b) || a.partition - b.partition,
    );
    return { rows: sorted.slice(0, ROWS_AHEAD), unreadable: past.unreadable, more };
  }
}

function toPlacedRows(table: TableName, batch: ResultBatch): readonly PlacedRow[] {
  return Array.from({ length: batch.rowCount }, (_, index) => ({
    table,
    row: () => batch.row(index),
    place: PLACE_COLUMNS.read(batch.row(index, PLACE_COLUMN_NAMES)),
  }));
}

function countSegmentsHolding(segments: readonly Segment[], limit: number): number {
  let held = 0;
  const last = segments.findIndex(({ rows }) => {
    held += rows;
    return held > limit;
  });
  return last === -1 ? segments.length : last + 1;
}

function oldestRowsSql(source: string, { begin, from }: Asked, before: number | null): string {
  return `SELECT * FROM ${source}
    WHERE ${JOURNAL_TICK_SQL} >= ${from} ${before === null ? '' : `AND ${JOURNAL_TICK_SQL} < ${before}`}
      AND ${isAfterSql(begin)}
    ORDER BY journal_ms, journal_seq, journal_partition LIMIT ${ROWS_AHEAD + 1}`;
}

/**
 * Returns the position up to which each partition of the journal was read. `rows` must have all rows up to its last
 * one.
 */
function computePlacesAfter(
  rows: readonly PlacedRow[],
  begin: JournalPlaces,
  through: JournalPlaces,
): JournalPlaces {
  const last = rows.at(-1)?.place;
  const own = new Map(rows.map(({ place: { partition, ms, seq } }) => [partition, { ms, seq }]));
  // A partition without rows has none before the last row. So the next read of the partition begins just before that
  // row.
  const justBefore = last === undefined || last.ms === 0 ? null : { ms: last.ms - 1, seq: 0 };
  return through.map((end, partition) => {
    const read = begin[partition] ?? null;
    return own.get(partition) ?? pickLaterPlace(read, pickEarlierPlace(justBefore, end));
  });
}

function pickEarlierPlace(a: JournalPlace | null, b: JournalPlace | null): JournalPlace | null {
  if (a === null || b === null) return null;
  return comparePlaces(a, b) < 0 ? a : b;
}

/**
 * Returns the gaps that lie after the positions `begin` and before the positions `end`. If `end` is null, returns all
 * gaps after `begin`.
 */
function listGapsBetween(
  { gaps, gapCursors }: ArchiveState,
  cursors: JournalCursorFormat,
  begin: JournalPlaces,
  end: JournalPlaces | null,
): readonly JournalGap[] {
  return gaps.filter((_, index) => {
    const places = cursors.parse(gapCursors[index] ?? null);
    return !isPast(begin, places) && (end === null || isPast(end, places));
  });
}

/**
 * Whether everything before a gap was read, and something after it. `gap` has the positions after which the gap lies.
 */
function isPast(read: JournalPlaces, gap: JournalPlaces): boolean {
  const order = read.map((place, partition) => compareRead(place, gap[partition] ?? null));
  return order.every((sign) => sign >= 0) && order.some((sign) => sign > 0);
}

function compareRead(a: JournalPlace | null, b: JournalPlace | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return comparePlaces(a, b);
}

/** Whether a client was erased after this entry. The client may have come again since. */
function isErased(
  { client, record }: { readonly client: string; readonly record: PlacedEntry<AnyJournalEntry> },
  erasures: readonly PlacedEntry<ErasureEntry>[],
): boolean {
  return erasures.some(
    ({ clientNumber, place }) => clientNumber === client && comparePlaces(record.place, place) < 0,
  );
}
