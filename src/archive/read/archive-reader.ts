import { join } from 'node:path';
import { type ClientKey, clientNumber, type PlatformName, parseDecisionId } from '../../client/client-key.ts';
import { type Exposure, exposureOf, type KnownOrder, stillKnown, withReport } from '../../client/order.ts';
import type { Decision } from '../../decision/decision.ts';
import { type DecisionFilter, newestFirst, timeBound } from '../../decision/decision-filter.ts';
import {
  type JournalEntry,
  newestEntryFirst,
  type OutcomeEntry,
  type Placed,
  recordedExposure,
} from '../../state/journal.ts';
import { searchSteps } from '../../state/paced-steps.ts';
import type { JournalPage, Store } from '../../state/store.ts';
import { StoreUnavailable } from '../../state/store-errors.ts';
import { Archive, type ErasedClients, erasedClients, type SegmentFilter, withoutThese } from '../archive.ts';
import type { ArchiveState, LeftOut, Segment } from '../archive-log.ts';
import { Duck, type DuckBatch, type DuckRow, flagOf, quote, textOf } from '../duck.ts';
import { fateCondition, GRANTED_SQL, type OrderFate, REPORT_NUMBER_SQL } from '../order-fate.ts';
import { OrderFilters } from '../order-filter.ts';
import {
  decisionOf,
  entryOf,
  isAboutClients,
  JOURNAL_ORDER_SQL,
  TABLE_NAMES,
  TABLES,
  type TableName,
} from '../tables.ts';
import { eachUnshipped, unshippedPage } from '../unshipped.ts';
import type { ArchivedOrder, AskedOrder } from './archived-orders.ts';
import { type AsOf, asOfBy, erasedSql } from './as-of.ts';
import {
  askBatches,
  askRows,
  filterCondition,
  type ReadRows,
  type RowsOf,
  rowsOfSegments,
} from './segment-rows.ts';

/** How far back the archive reaches, and what is missing within that. */
export interface ArchiveReach {
  /** Time of the oldest row, epoch ms; null when the archive is empty. */
  readonly from: number | null;
  readonly unreadable: readonly LeftOut[];
}

type VerdictEntry = Extract<JournalPage['entries'][number], { readonly kind: 'verdict' }>;

export interface ArchivedDecisions extends ArchiveReach {
  readonly decisions: readonly Decision[];
}

/** Which of a table's segments are read, and which of other tables beside them. */
interface WhichSegments {
  readonly among?: (segments: readonly Segment[]) => Promise<readonly Segment[]>;
  readonly also?: (state: ArchiveState) => readonly Segment[];
}

/** How many entries of other platforms, or scores, are skipped before giving up. */
const UNSHIPPED_LOOKED_AT_MAX = 200;

/** Beside a service that answers callers: one thread, and memory that a container can spare. */
const READER_LIMITS = { threads: 1, memoryMiB: 256 } as const;

/**
 * Looks things up in the archive; the limits of a question bound what it reads. An erased client is not found any
 * more from the moment at which the store forgot it.
 */
export class ArchiveReader {
  readonly #archive: Archive;
  readonly #orders: OrderFilters;
  readonly #store: Pick<Store, 'unshippedErasures' | 'readJournal' | 'clientKeys'>;
  readonly #decisionOf = (row: DuckRow) => decisionOf(row, this.#store.clientKeys);
  readonly #asked;
  #duck: Promise<Duck> | null = null;

  /** `archive`: the folder of one is enough. */
  constructor(
    archive: Archive | string,
    store: Pick<Store, 'unshippedErasures' | 'readJournal' | 'clientKeys'>,
  ) {
    this.#archive = typeof archive === 'string' ? new Archive(archive) : archive;
    this.#store = store;
    this.#asked = { archive: this.#archive, duck: () => this.#open() };
    this.#orders = new OrderFilters(this.#archive);
  }

  /** The decision of this id, of any platform where that is null; null when there is none in what could be read. */
  async decision(
    decisionId: string,
    platform: PlatformName | null,
  ): Promise<Pick<ArchiveReach, 'unreadable'> & { readonly decision: Decision | null }> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return { decision: null, unreadable: [] };
    const where = `client_hash = ${clientNumber(parsed.clientHash)} AND seq = ${parsed.seq}`;
    const filter = { table: 'decisions', ...(platform === null ? {} : { platform }) } as const;
    const { rows, unreadable } = await this.#rows(filter, (source) => select(source, where));
    const found = rows.map(this.#decisionOf).find((decision) => decision.decisionId === decisionId);
    return { decision: found ?? null, unreadable };
  }

  /** Newest first. */
  async decisionsOfOrder(
    platform: PlatformName,
    orderRef: string,
    limit: number,
  ): Promise<ArchivedDecisions> {
    const where = `order_ref = ${quote(orderRef)}`;
    return this.#decisions({ table: 'decisions', platform }, () => where, limit, {
      among: (segments) => this.#orders.holding(segments, [orderRef]),
    });
  }

  /** A client's decisions with a seq below `beforeSeq`, newest first. */
  async decisionsOfClient(client: ClientKey, limit: number, beforeSeq: number): Promise<ArchivedDecisions> {
    const where = `client_hash = ${clientNumber(client.hash)} AND client_id_key = ${quote(client.clientIdKey)} AND seq < ${beforeSeq}`;
    return this.#decisions({ table: 'decisions', platform: client.platform }, () => where, limit);
  }

  /** The newest fitting decisions before a time, and with a fate the segments of outcomes that could not be read. */
  async findDecisions(
    platform: PlatformName,
    filter: DecisionFilter,
    before: number,
    limit: number,
    fate: OrderFate | null = null,
  ): Promise<ArchivedDecisions & { readonly unreadReports: readonly Segment[] }> {
    const to = Math.min(before, timeBound(filter) ?? before);
    const { from } = filter;
    const segments = { table: 'decisions', platform, to, ...(from === undefined ? {} : { from }) } as const;
    const find = (unread: readonly Segment[]) => {
      const where = (state: ArchiveState) =>
        [
          filterCondition({ ...filter, to }),
          ...(fate === null ? [] : [this.#fateCondition(state, platform, fate, unread)]),
        ].join(' AND ');
      const also = (state: ArchiveState) => (fate === null ? [] : this.#reports(state, platform, unread));
      return this.#decisions(segments, where, limit, { also });
    };
    const found = await find([]);
    const isSuspect = fate !== null && found.unreadable.length > 0;
    const unreadReports = isSuspect ? await this.#unreadReports(platform) : [];
    return { ...(unreadReports.length === 0 ? found : await find(unreadReports)), unreadReports };
  }

  /** The time of the first decision or outcome of a platform that is not in the archive yet; null when all are. */
  async knowsUpTo(platform: PlatformName): Promise<number | null> {
    const state = await this.#archive.refresh();
    const { entries } = await unshippedPage(this.#store, state, UNSHIPPED_LOOKED_AT_MAX);
    const missing = entries.filter(
      (entry) => entry.platform === platform && (entry.kind === 'verdict' || entry.kind === 'outcome'),
    );
    const last = entries.length < UNSHIPPED_LOOKED_AT_MAX ? [] : entries.slice(-1);
    const times = [...missing, ...last].map(({ at }) => at);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** What is known of some orders of a platform, by their indexes. Throws StoreUnavailable. */
  async orders(platform: PlatformName, asked: readonly AskedOrder[]): Promise<readonly ArchivedOrder[]> {
    const listed = (items: readonly string[]) => [...new Set(items)].join(', ');
    const clients = listed(asked.map(({ client }) => clientNumber(client.hash)));
    const orders = listed(asked.map(({ orderRef }) => quote(orderRef)));
    const where = `client_hash IN (${clients}) AND order_ref IN (${orders})`;
    const [known, exposures] = await Promise.all([
      this.#knownOrders(platform, where),
      this.#exposures(platform, where, asked),
    ]);
    return asked.map(({ client, orderRef }) => {
      const name = orderName(client.clientIdKey, orderRef);
      return { known: known.get(name) ?? null, exposure: exposures.get(name) ?? 'notAsked' };
    });
  }

  async #knownOrders(platform: PlatformName, where: string): Promise<ReadonlyMap<string, KnownOrder>> {
    const sql = (source: string) => `${select(source, where)} ORDER BY ${JOURNAL_ORDER_SQL}`;
    const known = new Map<string, KnownOrder>();
    for (const row of whole(await this.#rows({ table: 'outcomes', platform }, sql))) {
      const entry = entryOf('outcomes', row, this.#store.clientKeys);
      if (entry?.kind !== 'outcome') continue;
      const name = orderName(entry.clientIdKey, entry.orderRef);
      known.set(name, afterEntry(known.get(name) ?? null, entry));
    }
    return known;
  }

  async #exposures(
    platform: PlatformName,
    where: string,
    asked: readonly AskedOrder[],
  ): Promise<ReadonlyMap<string, Exposure>> {
    const orderRefs = asked.map(({ orderRef }) => orderRef);
    const among = (segments: readonly Segment[]) => this.#orders.holding(segments, orderRefs);
    const sql = (source: string) =>
      `SELECT client_id_key, order_ref, bool_or(${GRANTED_SQL}) AS granted FROM ${source} WHERE ${where} GROUP BY ALL`;
    const exposures = new Map<string, Exposure>();
    for (const row of whole(await this.#rows({ table: 'decisions', platform }, sql, { among }))) {
      const name = orderName(textOf(row['client_id_key']) ?? '', textOf(row['order_ref']) ?? '');
      exposures.set(name, exposureOf(flagOf(row['granted']) === true));
    }
    return exposures;
  }

  /** SQL: what became of a decision's order, by the outcomes that were shipped but for some segments. */
  #fateCondition(
    state: ArchiveState,
    platform: PlatformName,
    fate: OrderFate,
    unread: readonly Segment[],
  ): string {
    const segments = this.#reports(state, platform, unread);
    return fateCondition(segments.length === 0 ? null : this.#archive.source(segments), fate);
  }

  #reports(state: ArchiveState, platform: PlatformName, unread: readonly Segment[]): readonly Segment[] {
    return withoutThese(this.#archive.segments(state, { table: 'outcomes', platform }), unread);
  }

  async #unreadReports(platform: PlatformName): Promise<readonly Segment[]> {
    const values = `client_hash, order_ref, ${REPORT_NUMBER_SQL}`;
    const sql = (source: string) => `SELECT bit_xor(hash(${values})) FROM ${source}`;
    return (await this.#rows({ table: 'outcomes', platform }, sql)).unreadable;
  }

  /** What happened to a client before an entry (null: ever), in the order of the journal, newest first. */
  async history(
    client: ClientKey,
    before: Placed<JournalEntry> | null,
    limit: number,
    tables: readonly TableName[] = TABLE_NAMES.filter(isAboutClients),
  ): Promise<ArchiveReach & { readonly entries: readonly Placed<JournalEntry>[] }> {
    const where = `client_hash = ${clientNumber(client.hash)} AND client_id_key = ${quote(client.clientIdKey)}`;
    const parts = await Promise.all(
      tables.map(async (table) => {
        const { time } = TABLES[table];
        const older = before === null ? '' : ` AND ${isBefore(time, before)}`;
        const sql = (source: string) =>
          `${select(source, `${where}${older}`)} ORDER BY ${time} DESC, journal_ms DESC, journal_seq DESC LIMIT ${limit}`;
        const to = before === null ? {} : { to: before.at + 1 };
        const filter = { table, platform: client.platform, ...to };
        const { rows, unreadable } = await this.#rows(filter, sql);
        const entries = await searchSteps.map(rows, async (some) =>
          some.map((row) => entryOf(table, row, this.#store.clientKeys)),
        );
        return { entries, unreadable };
      }),
    );
    const entries = parts
      .flatMap((part) => part.entries)
      .filter((entry) => entry !== null)
      .toSorted(newestEntryFirst)
      .slice(0, limit);
    const { from } = this.#reach(this.#archive.read(), client.platform);
    return { entries, from, unreadable: parts.flatMap(({ unreadable }) => unreadable) };
  }

  /** Rows of a question about a table within a time; one damaged segment harms only itself, and is a gap like any other. */
  async ask(
    filter: SegmentFilter,
    sql: (source: string) => string,
  ): Promise<{ readonly rows: readonly DuckRow[]; readonly gaps: ArchiveState['gaps'] }> {
    const { rows, state, unreadable } = await this.#rows(filter, sql);
    return { rows, gaps: [...state.gaps, ...lostWith(unreadable)] };
  }

  /**
   * As `ask`, with the verdicts that the journal has and the archive has not: `sql` and `add` get them, once. `upTo`
   * is the time of the first that was not read, epoch ms; null: all were.
   */
  async askAsOne(
    filter: SegmentFilter,
    sql: (source: string, unshipped: readonly VerdictEntry[]) => string,
    add: (verdict: VerdictEntry) => void,
  ): Promise<Awaited<ReturnType<ArchiveReader['ask']>> & { readonly upTo: number | null }> {
    await this.#open();
    const erased = await erasedClients(this.#store);
    return this.#archive.reading(async (state) => {
      const unshipped: VerdictEntry[] = [];
      const upTo = await eachUnshipped(this.#store, state, (entry) => {
        if (entry.kind === 'verdict' && entry.platform === (filter.platform ?? entry.platform))
          unshipped.push(entry);
      });
      const { rows, unreadable } = await this.#rowsOf(
        state,
        this.#archive.segments(state, filter),
        (source) => sql(source, unshipped),
        erased,
      );
      unshipped.forEach(add);
      return { rows, gaps: [...state.gaps, ...lostWith(unreadable)], upTo };
    });
  }

  /** What is told of a moment of the past: who was erased since. */
  async asOf(at: number, platform: PlatformName | null): Promise<AsOf> {
    const ofPlatform = platform === null ? {} : { platform };
    const since = `${TABLES.erasures.time} > make_timestamp_ms(${at})`;
    const { rows } = await this.ask({ table: 'erasures', from: at + 1, ...ofPlatform }, (source) =>
      erasedSql(`(${select(source, since)})`),
    );
    const erasures = await this.#store.unshippedErasures();
    const unshipped = erasures.filter((one) => one.at > at && one.platform === (platform ?? one.platform));
    return asOfBy(
      at,
      rows,
      unshipped.flatMap(({ clientNumber }) => clientNumber),
    );
  }

  /** When the newest erasure was that the archive was told of, epoch ms; Infinity while it is empty. */
  async erasedTo(): Promise<number> {
    const state = await this.#archive.refresh();
    if (state.segments.size === 0) return Number.POSITIVE_INFINITY;
    const erasures = this.#archive.segments(state, { table: 'erasures' });
    return erasures.reduce((latest, { to }) => Math.max(latest, to), 0);
  }

  get folder(): string {
    return this.#archive.folder;
  }

  async close(): Promise<void> {
    (await this.#duck)?.close();
  }

  async #decisions(
    filter: SegmentFilter & { readonly platform: PlatformName },
    where: (state: ArchiveState) => string,
    limit: number,
    which: WhichSegments = {},
  ): Promise<ArchivedDecisions> {
    const sql = (source: string, state: ArchiveState) =>
      `${select(source, where(state))} ORDER BY decided_at DESC, client_hash DESC, seq DESC LIMIT ${limit}`;
    const { rows, state, unreadable } = await this.#rows(filter, sql, which);
    const found = await searchSteps.map(rows, async (some) => some.map(this.#decisionOf));
    const decisions = found.toSorted(newestFirst).slice(0, limit);
    return { decisions, from: this.#reach(state, filter.platform).from, unreadable };
  }

  /**
   * Asks several questions of one state of the archive. Rows of clients who were erased and are still in it are for the
   * asker to leave out, but for those whose numbers are given.
   */
  reading<T>(
    work: (state: ArchiveState, rowsOf: RowsOf) => Promise<T>,
    erased: ErasedClients = [],
  ): Promise<T> {
    return this.#archive.reading((state) =>
      work(state, (segments, sql) => this.#rowsOf(state, segments, sql, erased)),
    );
  }

  async #rows(
    filter: SegmentFilter,
    sql: (source: string, state: ArchiveState) => string,
    { among = async (all) => all, also = () => [] }: WhichSegments = {},
  ): Promise<ReadRows & { readonly state: ArchiveState }> {
    await this.#open();
    const erased = await erasedClients(this.#store);
    return this.#archive.reading(async (state) => {
      const wanted = await among(this.#archive.segments(state, filter));
      await this.#archive.bring(also(state));
      return { ...(await this.#rowsOf(state, wanted, (source) => sql(source, state), erased)), state };
    });
  }

  /** The same with rows that are taken out of batches later. */
  readingBatches<T>(work: (state: ArchiveState, batchesOf: RowsOf<DuckBatch>) => Promise<T>): Promise<T> {
    return this.#archive.reading((state) =>
      work(state, (segments, sql) => rowsOfSegments(this.#asked, askBatches, state, segments, sql, [])),
    );
  }

  #rowsOf(
    state: ArchiveState,
    wanted: readonly Segment[],
    sql: (source: string) => string,
    erased: ErasedClients,
  ): Promise<ReadRows> {
    return rowsOfSegments(this.#asked, askRows, state, wanted, sql, erased);
  }

  #reach(state: ArchiveState, platform: string): { readonly from: number | null } {
    const segments = this.#archive.segments(state, { table: 'decisions', platform });
    if (segments.length === 0) return { from: null };
    return {
      from: segments.reduce((from, segment) => Math.min(from, segment.from), Number.MAX_SAFE_INTEGER),
    };
  }

  /** The engine is loaded when it is first needed: most services are never asked about last year. */
  #open(): Promise<Duck> {
    const temporaryFolder = join(this.#archive.folder, 'staging', 'spill');
    this.#duck ??= Duck.open({ ...READER_LIMITS, temporaryFolder }).catch((error: unknown) => {
      // Out of files or memory for a moment: the next question tries again.
      this.#duck = null;
      throw error;
    });
    return this.#duck;
  }
}

function lostWith(unreadable: readonly Segment[]): ArchiveState['gaps'] {
  return unreadable.map(({ from, to, rows: entries }) => ({ from, to, entries }));
}

/** SQL: whether a row's entry came before another of its client. */
function isBefore(time: string, { at, place }: Placed<JournalEntry>): string {
  const moment = `make_timestamp_ms(${at})`;
  return `(${time} < ${moment} OR (${time} = ${moment} AND (journal_ms, journal_seq) < (${place.ms}, ${place.seq})))`;
}

/** What is known of an order after one more report of it. */
function afterEntry(
  before: KnownOrder | null,
  { order, report = order, amount = before?.amount, turnedAway }: OutcomeEntry,
): KnownOrder {
  const exposure = recordedExposure(turnedAway);
  const known = withReport(stillKnown(before, exposure), report, exposure);
  return amount === undefined ? known : { ...known, amount };
}

function orderName(clientIdKey: string, orderRef: string): string {
  return JSON.stringify([clientIdKey, orderRef]);
}

/** The rows where all could be read: what is missing may be what is asked about. */
function whole(found: { readonly rows: readonly DuckRow[] } & Pick<ArchiveReach, 'unreadable'>) {
  if (found.unreadable.length === 0) return found.rows;
  throw new StoreUnavailable('a part of the archive cannot be read, and the order may be there');
}

function select(source: string, where: string): string {
  return `SELECT * FROM ${source} WHERE ${where}`;
}
