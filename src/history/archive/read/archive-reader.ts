import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { searchThrottle } from '#base/work/step-throttle.ts';
import type { Decision } from '#decision/decision.ts';
import { compareNewestFirst, type DecisionFilter, findUpperTimeBound } from '#decision/decision-filter.ts';
import {
  type ClientKey,
  type PlatformName,
  parseDecisionId,
  toClientNumberText,
} from '#decision/payer/client-key.ts';
import type { ArchivedOrder, ClientOrder } from '#decision/payer/order.ts';
import { Archive, readUnshippedErasedClientNumbers, type SegmentFilter } from '#history/archive/archive.ts';
import { isArchivedElsewhere } from '#history/archive/archive-home.ts';
import type { ArchiveGap, ArchiveState, Segment, UnreadSegment } from '#history/archive/archive-log.ts';
import { OrderBloomFilters } from '#history/archive/order-bloom-filter.ts';
import { hasStatusSql, type OrderStatus } from '#history/archive/order-status.ts';
import {
  type BindAsPlaceholder,
  QueryEngine,
  type ResultRow,
  toNumberOrNull,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import {
  type GetTableSql,
  type OpenSnapshot,
  type PickSegments,
  Snapshot,
  type SnapshotParts,
  withSnapshot,
} from '#history/archive/snapshot.ts';
import {
  hasClientRows,
  TABLE_NAMES,
  TABLES,
  type TableName,
  toDecision,
  toJournalEntry,
} from '#history/archive/tables.ts';
import {
  compareNewestEntryFirst,
  type DatedJournalPlace,
  type JournalEntry,
  type PlacedEntry,
} from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { readArchivedOrders } from './archived-orders.ts';
import { filterConditionSql, selectRowsSql } from './decision-sql.ts';
import { UNSHIPPED_ROWS_MAX, UnshippedRows } from './unshipped-rows.ts';

/** The decisions that were found, and the segments that could not be read. */
interface ArchivedDecisions {
  readonly decisions: readonly Decision[];
  readonly unreadable: readonly UnreadSegment[];
}

/** The decisions that a search found, and the parts of archive and journal that it did not read. */
interface SearchedDecisions extends ArchivedDecisions {
  /** Whether more decisions fit than were returned. */
  readonly isCut: boolean;
  /** The time of the oldest decision that was compared, in epoch ms. Null if none was compared. */
  readonly backTo: number | null;
  /** The number of decisions that were compared with the filter. */
  readonly compared: number;
  readonly unreadReports: readonly UnreadSegment[];
  /** The spans of the journal that were not read, because they have more entries than one question may read. */
  readonly gaps: readonly ArchiveGap[];
  /** The time, in epoch ms, before which everything was searched. Null if everything was searched. */
  readonly upTo: number | null;
}

/**
 * The limits of the engine beside a service that answers callers: one thread, and an amount of memory that a
 * container can spare.
 */
const READER_LIMITS = { threads: 1, memoryMiB: 256 } as const;

/**
 * A search first reads this many of the newest rows, and most searches need no more. Each further step reads
 * SEARCHED_GROWTH times as many.
 */
const SEARCHED_FIRST_ROWS = 50_000;
const SEARCHED_GROWTH = 8;

type ReadStore = Pick<
  Store,
  | 'unshippedErasures'
  | 'readJournal'
  | 'journalLength'
  | 'newestCursor'
  | 'clientKeys'
  | 'cursors'
  | 'registers'
>;

/**
 * Looks up decisions and other entries in the archive and the journal. Each question has limits for how much it
 * reads. An erased client is no longer found as soon as the store has forgotten the client.
 */
export class ArchiveReader {
  readonly archive: Archive;
  readonly #orders: OrderBloomFilters;
  readonly #store: ReadStore;
  readonly #unshipped: UnshippedRows;
  readonly #decisionOf = (row: ResultRow) => toDecision(row, this.#store.clientKeys);
  #duck: Promise<QueryEngine> | null = null;

  /**
   * `archive` may also be the path of the archive's folder. `rowsMax` is the number of unshipped entries that a
   * question reads at most.
   */
  constructor(archive: Archive | string, store: ReadStore, rowsMax = UNSHIPPED_ROWS_MAX) {
    this.archive = typeof archive === 'string' ? new Archive(archive) : archive;
    this.#store = store;
    this.#orders = new OrderBloomFilters(this.archive);
    this.#unshipped = new UnshippedRows({
      store,
      duck: () => this.#openEngine(),
      archived: () => this.archive.refresh(),
      rowsMax,
    });
  }

  /** Creates a reader for a node without an archive. The reader knows only the entries of the journal. */
  static withoutArchive(store: ReadStore): ArchiveReader {
    return new ArchiveReader(join(tmpdir(), `scoring-no-archive-${randomUUID()}`), store);
  }

  /** Opens archive and journal as one source, as they are at one moment. */
  readonly open: OpenSnapshot = async (damaged) => {
    // The erasures are read before the archive. In the other sequence, a commit of the archive in between could take
    // an erasure off this list, although the state that was read still has the client's rows.
    const erased = await readUnshippedErasedClientNumbers(this.#store);
    const isForeign = await isArchivedElsewhere(this.#store.registers, this.folder);
    const opened = await this.#unshipped.open();
    return this.#createSnapshot(opened.state, {
      unshipped: opened.span,
      erased,
      isForeign,
      damaged,
      release: () => opened[Symbol.dispose](),
    });
  };

  /**
   * Opens archive and journal as `open` does, and repeats this until the journal was read to its end. Readers of
   * files need it: the files still have rows of clients who were erased, and only the journal names these clients.
   */
  readonly openToEnd: OpenSnapshot = async (damaged) => {
    for (;;) {
      const snapshot = await this.open(damaged);
      if (snapshot.upTo === null) return snapshot;
      snapshot[Symbol.dispose]();
    }
  };

  /**
   * Opens the archive without the journal. Rows of erased clients that are still in the files are not left out. The
   * feed uses this, because its positions count every row, also those of erased clients.
   */
  readonly openArchive: OpenSnapshot = async (damaged) =>
    this.#createSnapshot(await this.archive.refresh(), { damaged });

  /** Runs `work` on archive and journal as one source. `work` may run several times. */
  withOpenSnapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    return withSnapshot(this.open, work);
  }

  /** Runs `work` on the archive alone, for a look-up that has already asked the store. */
  #readArchive<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    return withSnapshot(async (damaged) => {
      const erased = await readUnshippedErasedClientNumbers(this.#store);
      return this.#createSnapshot(await this.archive.refresh(), { erased, damaged });
    }, work);
  }

  #createSnapshot(state: ArchiveState, parts: Partial<SnapshotParts>): Snapshot {
    const { archive } = this;
    return new Snapshot({ ...ARCHIVE_ALONE, archive, state, duck: () => this.#openEngine(), ...parts });
  }

  /**
   * Finds a decision by its id. A platform of null means any platform. The decision is null if the readable parts do
   * not hold it.
   */
  async decision(
    decisionId: string,
    platform: PlatformName | null,
  ): Promise<Pick<ArchivedDecisions, 'unreadable'> & { readonly decision: Decision | null }> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return { decision: null, unreadable: [] };
    const where = `client_hash = ${toClientNumberText(parsed.clientHash)} AND seq = ${parsed.seq}`;
    return this.#readArchive(async (past) => {
      const rows = await past.rows((source) => selectRowsSql(source('decisions', { platform }), where));
      const found = rows.map(this.#decisionOf).find((decision) => decision.decisionId === decisionId);
      return { decision: found ?? null, unreadable: past.unreadable };
    });
  }

  /** Returns the decisions of an order, the newest first. */
  async decisionsOfOrder(
    platform: PlatformName,
    orderRef: string,
    limit: number,
  ): Promise<ArchivedDecisions> {
    const where = (_: GetTableSql, bind: BindAsPlaceholder) => `order_ref = ${bind(orderRef)}`;
    const among = (segments: readonly Segment[]) =>
      this.#orders.selectSegmentsThatMayHold(segments, [orderRef]);
    return this.#readArchive((past) => this.#findDecisions(past, { platform }, where, limit, among));
  }

  /** Returns a client's decisions with a seq below `beforeSeq`, the newest first. */
  async decisionsOfClient(client: ClientKey, limit: number, beforeSeq: number): Promise<ArchivedDecisions> {
    const where = (_: GetTableSql, bind: BindAsPlaceholder) =>
      `${isClientSql(client, bind)} AND seq < ${beforeSeq}`;
    return this.#readArchive((past) =>
      this.#findDecisions(past, { platform: client.platform }, where, limit),
    );
  }

  /**
   * Returns the newest decisions of a platform that match the filter. If a status is given, their order must have
   * that status.
   */
  async findDecisions(
    platform: PlatformName,
    filter: DecisionFilter,
    limit: number,
    status: OrderStatus | null = null,
  ): Promise<SearchedDecisions> {
    const to = findUpperTimeBound(filter);
    return this.withOpenSnapshot(async (past) => {
      const within = (from: number | null | undefined): SegmentFilter => ({ platform, from, to });
      const segments = this.archive.listSegments(past.state, { table: 'decisions', ...within(filter.from) });
      for (let rows = SEARCHED_FIRST_ROWS; ; rows *= SEARCHED_GROWTH) {
        const since = findBeginOfNewest(segments, rows, filter.from);
        const from = since ?? filter.from;
        const where = (source: GetTableSql, bind: BindAsPlaceholder) =>
          [
            filterConditionSql({ ...filter, from }, bind),
            ...(status === null ? [] : [hasStatusSql(source('outcomes', { platform }), status)]),
          ].join(' AND ');
        // One decision more than the limit shows whether there are more.
        const { decisions, unreadable } = await this.#findDecisions(past, within(from), where, limit + 1);
        const isCut = decisions.length > limit;
        if (since !== null && !isCut) continue;
        const found = decisions.slice(0, limit);
        const backTo = isCut ? found.at(-1)?.at : from;
        const looked = await countCompared(past, within(backTo), filter);
        const [unread, unreadReports] = partition(unreadable, ({ table }) => table === 'decisions');
        const { unshippedGaps: gaps, upTo } = past;
        return { decisions: found, isCut, ...looked, unreadable: unread, unreadReports, gaps, upTo };
      }
    });
  }

  /** Returns what is known of orders of a platform, in the sequence of `asked`. Throws StoreUnavailable. */
  async readOrders(platform: PlatformName, asked: readonly ClientOrder[]): Promise<readonly ArchivedOrder[]> {
    const orderRefs = asked.map(({ orderRef }) => orderRef);
    const among: PickSegments = (segments) => this.#orders.selectSegmentsThatMayHold(segments, orderRefs);
    return this.#readArchive((past) =>
      readArchivedOrders(past, platform, asked, among, this.#store.clientKeys),
    );
  }

  /**
   * Returns the entries about a client from the given tables, the newest first. Only entries before the position
   * `before` are returned. If it is null, they start with the newest entry.
   */
  async readHistory(
    client: ClientKey,
    before: DatedJournalPlace | null,
    limit: number,
    tables: readonly TableName[] = TABLE_NAMES.filter(hasClientRows),
  ): Promise<{ readonly entries: readonly PlacedEntry<JournalEntry>[]; readonly isWhole: boolean }> {
    const { clientKeys } = this.#store;
    const bounds = { platform: client.platform, to: before && before.at + 1 };
    return this.withOpenSnapshot(async (past) => {
      const entries: (PlacedEntry<JournalEntry> | null)[] = [];
      for (const table of tables) {
        const { time } = TABLES[table];
        const older = before === null ? '' : ` AND ${isBeforeSql(time, before)}`;
        const rows = await past.rows(
          (source, bind) => `${selectRowsSql(source(table, bounds), `${isClientSql(client, bind)}${older}`)}
            ORDER BY ${time} DESC, journal_ms DESC, journal_seq DESC LIMIT ${limit}`,
        );
        const made = async (some: readonly ResultRow[]) =>
          some.map((row) => toJournalEntry(table, row, clientKeys));
        entries.push(...(await searchThrottle.mapInSteps(rows, made)));
      }
      const newest = entries.filter((entry) => entry !== null).toSorted(compareNewestEntryFirst);
      return { entries: newest.slice(0, limit), isWhole: past.isWhole };
    });
  }

  /** Finds the client with this hash. Returns null if nothing is known of such a client. */
  async findClient(hash: string): Promise<ClientKey | null> {
    const { clientKeys } = this.#store;
    return this.withOpenSnapshot(async (past) => {
      for (const table of TABLE_NAMES.filter(hasClientRows)) {
        const where = `client_hash = ${toClientNumberText(hash)} LIMIT 1`;
        const [row] = await past.rows((source) => selectRowsSql(source(table), where));
        const entry = row === undefined ? null : toJournalEntry(table, row, clientKeys);
        if (entry !== null) return clientKeys.of(entry.platform, entry.clientIdKey);
      }
      return null;
    });
  }

  /** Returns the time of the newest erasure in the archive, in epoch ms. Returns Infinity if the archive is empty. */
  async findNewestErasureTime(): Promise<number> {
    const state = await this.archive.refresh();
    if (state.segments.size === 0) return Number.POSITIVE_INFINITY;
    const erasures = this.archive.listSegments(state, { table: 'erasures' });
    return erasures.reduce((latest, { to }) => Math.max(latest, to), 0);
  }

  /**
   * Returns the times of the last erasures, in epoch ms, by the client's number. The archive names erased clients
   * only for some time.
   */
  async readErasureTimes(): Promise<ReadonlyMap<string, number>> {
    const times = (rows: string) =>
      `SELECT client_number, epoch_ms(max(erased_at))::DOUBLE AS last_at FROM ${rows} GROUP BY ALL`;
    const rows = await this.#readArchive((past) => past.rows((source) => times(source('erasures'))));
    return new Map(
      rows.map((row) => [toTextOrNull(row['client_number']) ?? '', toNumberOrNull(row['last_at']) ?? 0]),
    );
  }

  get folder(): string {
    return this.archive.folder;
  }

  async close(): Promise<void> {
    this.#unshipped.close();
    (await this.#duck)?.close();
  }

  async #findDecisions(
    past: Snapshot,
    bounds: SegmentFilter,
    where: (source: GetTableSql, bind: BindAsPlaceholder) => string,
    limit: number,
    among?: PickSegments,
  ): Promise<ArchivedDecisions> {
    const rows = await past.rows(
      (source, bind) =>
        `${selectRowsSql(source('decisions', bounds), where(source, bind))} ORDER BY decided_at DESC, client_hash DESC, seq DESC LIMIT ${limit}`,
      among,
    );
    const found = await searchThrottle.mapInSteps(rows, async (some) => some.map(this.#decisionOf));
    const decisions = found.toSorted(compareNewestFirst).slice(0, limit);
    return { decisions, unreadable: past.unreadable };
  }

  /** Returns the newest state of the archive. */
  readArchiveState(): Promise<ArchiveState> {
    return this.archive.refresh();
  }

  /** Opens the engine when it is first needed. Most services are never asked about old decisions. */
  #openEngine(): Promise<QueryEngine> {
    const temporaryFolder = join(this.archive.folder, 'staging', 'spill');
    this.#duck ??= openEngine(temporaryFolder).catch((error: unknown) => {
      // The process may be out of files or memory for a moment. The next question tries again.
      this.#duck = null;
      throw error;
    });
    return this.#duck;
  }
}

const ARCHIVE_ALONE = {
  unshipped: null,
  isForeign: false,
  erased: [],
  damaged: [],
  release: () => {},
} as const;

async function openEngine(temporaryFolder: string): Promise<QueryEngine> {
  const duck = await QueryEngine.open({ ...READER_LIMITS, temporaryFolder });
  // No question depends on the sequence of rows in a file, and keeping that sequence takes memory.
  await duck.run('SET preserve_insertion_order = false');
  return duck;
}

/** Returns SQL: whether a row's entry came before a position in the history of its client. */
function isBeforeSql(time: string, { at, place }: DatedJournalPlace): string {
  const moment = `make_timestamp_ms(${at})`;
  return `(${time} < ${moment} OR (${time} = ${moment} AND (journal_ms, journal_seq) < (${place.ms}, ${place.seq})))`;
}

/** Returns SQL: whether a row is about this client. */
function isClientSql({ hash, clientIdKey }: ClientKey, bind: BindAsPlaceholder): string {
  return `client_hash = ${toClientNumberText(hash)} AND client_id_key = ${bind(clientIdKey)}`;
}

/** Counts the decisions within the bounds, and finds the time of the oldest of them. */
async function countCompared(
  past: Snapshot,
  bounds: SegmentFilter,
  { after }: DecisionFilter,
): Promise<Pick<SearchedDecisions, 'compared' | 'backTo'>> {
  const bound = { from: bounds.from, to: bounds.to, after };
  const [row = {}] = await past.rows(
    (source, bind) =>
      `SELECT count(*) AS compared, min(decided_at) AS oldest FROM ${source('decisions', bounds)} WHERE ${filterConditionSql(bound, bind)}`,
  );
  return { compared: toNumberOrNull(row['compared']) ?? 0, backTo: toNumberOrNull(row['oldest']) };
}

function partition<T>(
  all: readonly T[],
  isFirst: (one: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

/**
 * Returns the time at which the newest `rows` rows begin, in epoch ms. Returns null if the segments do not have many
 * more rows.
 */
function findBeginOfNewest(
  newestFirst: readonly Segment[],
  rows: number,
  notBefore = Number.NEGATIVE_INFINITY,
): number | null {
  let held = 0;
  const last = newestFirst.findIndex((segment) => {
    held += segment.rows;
    return held >= rows;
  });
  const begin = newestFirst[last]?.from ?? notBefore;
  return last === newestFirst.length - 1 || begin <= notBefore ? null : begin;
}
