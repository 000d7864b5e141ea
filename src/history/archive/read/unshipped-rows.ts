import { searchThrottle } from '#base/work/step-throttle.ts';
import type { ArchiveGap, ArchiveState } from '#history/archive/archive-log.ts';
import {
  type FactColumnType,
  type FactColumnTypes,
  type FactKey,
  toColumnOfFactKey,
} from '#history/archive/fact-columns.ts';
import { STEP_ENTRIES_MAX } from '#history/archive/journal-follower.ts';
import {
  BATCH_ROWS_MAX,
  type QueryEngine,
  quoteName,
  quoteSql,
  toNumberOrNull,
  toNumbersByColumn,
} from '#history/archive/query-engine.ts';
import type { ColumnType } from '#history/archive/record-columns.ts';
import type { UnshippedSpan } from '#history/archive/snapshot.ts';
import {
  getJsonCellsAndColumns,
  hasClientRows,
  isAfterSql,
  JOURNAL_TICK_SQL,
  SEARCHED_FACT_TYPES,
  TABLE_NAMES,
  TABLES,
  type TableName,
  toErasureRow,
  toUnerasedPageRows,
  widenFactTypes,
} from '#history/archive/tables.ts';
import { listPageGaps, readPageNewerThanArchive } from '#history/archive/unshipped.ts';
import {
  type ErasureEntry,
  isPlaceRead,
  type JournalPlace,
  type JournalPlaces,
  type PlacedEntry,
  pickLaterPlace,
} from '#state/journal.ts';
import type { JournalPage, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';

/** The most unshipped rows in memory. Shipping leaves at most a tenth of this, unless it has stopped. */
export const UNSHIPPED_ROWS_MAX = 100_000;

/** The part of the rows that is removed at once when the limit is reached. */
const ROOM_PART = 0.1;

/** The most entries for which one question waits. Later entries are read after the question was answered. */
const READ_AT_ONCE_MAX = 20_000;

const FOLLOWED_EVERY_MS = 1_000;

/** The time, in ms, for which the journal is followed after a question. A later question reads it anew. */
const FOLLOWED_FOR_MS = 600_000;

const MISSING_MAX = 100;

/** The entries that only the journal had at one moment. They stay in the tables until the span is disposed of. */
interface OpenSpan extends Disposable {
  readonly state: ArchiveState;
  readonly span: UnshippedSpan;
}

/** A gap in the entries. It lies before the positions `through` of the journal. */
interface Missing {
  readonly gap: ArchiveGap;
  readonly through: JournalPlaces;
}

type Journal = Pick<Store, 'readJournal' | 'journalLength' | 'newestCursor' | 'cursors' | 'clientKeys'>;

interface Parts {
  readonly store: Journal;
  readonly duck: () => Promise<QueryEngine>;
  /** Returns the newest state of the archive. */
  readonly archived: () => Promise<ArchiveState>;
  /** The number of newest entries that the tables hold at most. */
  readonly rowsMax: number;
}

/**
 * The journal's entries that the archive does not have, as tables of the engine with the archive's columns. The first
 * question makes the tables. New entries are added for as long as questions come. Every row has the position of its
 * entry in the journal. A question takes the rows after the cursor of the archive state that it reads. Therefore no
 * entry is counted twice or left out, whatever is shipped in the meantime.
 */
export class UnshippedRows {
  readonly #parts: Parts;
  /** The types of all facts that were read, and of the facts for which the table has a column. */
  readonly #facts = new Map<FactKey, FactColumnType>();
  #columns = new Map<string, ColumnType>();
  #begun = false;
  /** The cursor up to which the journal was read. */
  #cursor: string | null = null;
  /** The archive's cursor if this store does not know it. All rows then count as missing in the archive. */
  #unknownCursor: string | null = null;
  #missing: readonly Missing[] = [];
  /** The states of the archive that questions read now. Rows that one of these states lacks stay in the tables. */
  readonly #held = new Set<{ readonly state: ArchiveState }>();
  #prunedTo: string | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #askedMs = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Opens the entries that the archive lacks, together with the archive's state at the same moment. */
  async open(): Promise<OpenSpan> {
    this.#askedMs = performance.now();
    for (;;) {
      const state = await this.#parts.archived();
      const held = this.#hold(state);
      try {
        const span = await this.#inTurn(() => this.#readFor(state));
        // Otherwise entries may have been shipped, and removed from the journal, before they were read.
        if ((await this.#parts.archived()).cursor === state.cursor) return { state, span, ...held };
      } catch (error) {
        held[Symbol.dispose]();
        throw error;
      }
      held[Symbol.dispose]();
    }
  }

  /**
   * Keeps in the tables the rows that `state` lacks, until the returned object is disposed of. It may be disposed of
   * more than once.
   */
  #hold(state: ArchiveState): Disposable {
    const hold = { state };
    this.#held.add(hold);
    return {
      [Symbol.dispose]: () => {
        if (this.#held.delete(hold)) this.#follow();
      },
    };
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#askedMs = Number.NEGATIVE_INFINITY;
  }

  /** Keeps reading the journal while questions come, so that no question has much to read. */
  #follow(): void {
    if (this.#timer !== null || this.#askedMs === Number.NEGATIVE_INFINITY) return;
    this.#timer = setTimeout(async () => {
      const isWanted = performance.now() - this.#askedMs < FOLLOWED_FOR_MS;
      await this.#inTurn(async () => {
        if (isWanted) await this.#readFor(await this.#parts.archived());
        else await this.#begin(await this.#parts.duck());
      }).catch(() => {
        // The store or the archive cannot be read. The next question reports it.
      });
      if (this.#timer === null) return;
      this.#timer = null;
      if (isWanted) this.#follow();
    }, FOLLOWED_EVERY_MS).unref();
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(step);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #readFor(state: ArchiveState): Promise<UnshippedSpan> {
    const duck = await this.#parts.duck();
    if (!this.#begun) await this.#begin(duck);
    const upTo = await this.#readOn(duck, state);
    await this.#prune(duck, state);
    const { cursors } = this.#parts.store;
    const begin = this.#readArchivedPlaces(state);
    const isUnshipped = `${isAfterSql(begin)} AND NOT ${isAfterSql(cursors.parse(this.#cursor))}`;
    return {
      rows: (table, platform = null) => {
        const ofPlatform = platform === null ? '' : ` AND platform = ${quoteSql(platform)}`;
        return `(SELECT * FROM ${getTableName(table)} WHERE ${isUnshipped}${ofPlatform})`;
      },
      gaps: this.#missing.filter((missing) => isBehindAny(missing, begin)).map(({ gap }) => gap),
      upTo,
    };
  }

  #readArchivedPlaces({ cursor }: ArchiveState): JournalPlaces {
    return cursor === this.#unknownCursor ? [] : this.#parts.store.cursors.parse(cursor);
  }

  /** Makes the tables empty, so that the journal is read anew. */
  async #begin(duck: QueryEngine): Promise<void> {
    this.#facts.clear();
    for (const [label, type] of SEARCHED_FACT_TYPES) this.#facts.set(label, type);
    this.#columns = new Map(this.#facts);
    for (const table of TABLE_NAMES) {
      const facts = table === 'decisions' ? [...this.#facts] : [];
      const columns = [
        ...TABLES[table].columns.map(({ name, type }) => `${quoteName(name)} ${toColumnType(type)}`),
        ...facts.map(([label, type]) => `${quoteName(toColumnOfFactKey(label))} ${type}`),
      ];
      await duck.run(`CREATE OR REPLACE TABLE ${getTableName(table)} (${columns.join(', ')})`);
    }
    this.#missing = [];
    this.#unknownCursor = null;
    this.#cursor = null;
    this.#prunedTo = null;
    this.#begun = true;
  }

  /**
   * Reads the new entries. Returns the time of the first entry that was not read, in epoch ms. Returns null if all
   * were read.
   */
  async #readOn(duck: QueryEngine, state: ArchiveState): Promise<number | null> {
    const lines = new RowLines();
    try {
      return await this.#readInto(lines, duck, state);
    } finally {
      // Rows are kept even if the store fails between two pages, because entries that were read are not read again.
      await this.#insertOrBeginAnew(duck, lines);
    }
  }

  async #readInto(lines: RowLines, duck: QueryEngine, state: ArchiveState): Promise<number | null> {
    const { clientKeys } = this.#parts.store;
    const newest = this.#cursor === null ? await this.#findNewestPlaces() : null;
    for (let read = 0, isFirst = true; ; isFirst = false) {
      const before = this.#cursor;
      const { page, rows } = await searchThrottle.run(async () => {
        const next = isFirst
          ? await this.#readFirstPage(duck, state, newest)
          : await this.#readPage(this.#cursor);
        const tombstones = listErasures(next).map((erasure) => toErasureRow(erasure, NOTHING_REMOVED));
        const made = [...toUnerasedPageRows(next.entries, clientKeys), ...tombstones];
        widenFactTypes(this.#facts, made);
        return { page: next, rows: made.map(({ table, cells }) => [table, JSON.stringify(cells)] as const) };
      });
      if (page.cursor === before || read >= READ_AT_ONCE_MAX) return page.entries[0]?.at ?? null;
      const erased = listErasures(page).map(({ clientNumber }) => clientNumber);
      if (erased.length > 0) {
        await this.#insertOrBeginAnew(duck, lines);
        for (const table of TABLE_NAMES.filter(hasClientRows))
          await duck.run(`DELETE FROM ${getTableName(table)} WHERE client_hash IN (${erased.join(', ')})`);
      }
      lines.add(rows);
      if (lines.size >= BATCH_ROWS_MAX) await this.#insertOrBeginAnew(duck, lines);
      read += page.entries.length;
      this.#cursor = page.cursor;
      this.#addMissing(listPageGaps(page), this.#parts.store.cursors.parse(page.cursor));
    }
  }

  /** Reads the first page after the shipped entries. */
  async #readFirstPage(
    duck: QueryEngine,
    state: ArchiveState,
    newest: JournalPlaces | null,
  ): Promise<JournalPage> {
    const { cursors } = this.#parts.store;
    try {
      const shipped = this.#readArchivedPlaces(state);
      const read = newest ?? cursors.parse(this.#cursor);
      const longer = read.length > shipped.length ? read : shipped;
      this.#cursor = cursors.format(
        longer.map((_, one) => pickLaterPlace(read[one] ?? null, shipped[one] ?? null)),
      );
      const page = await this.#readPage(this.#cursor);
      if (newest !== null) await this.#addOlderMissing(newest, state, page);
      return page;
    } catch (error) {
      if (!(error instanceof UnknownCursor)) throw error;
      await this.#begin(duck);
      this.#unknownCursor = state.cursor;
      return readPageNewerThanArchive(this.#parts.store, state, STEP_ENTRIES_MAX);
    }
  }

  /**
   * Returns the positions from which reading begins if more entries are unshipped than the tables may hold. Returns
   * null if reading can begin with the first unshipped entry. The journal also keeps as many shipped entries as the
   * tables may hold, so its length is compared with twice that number.
   */
  async #findNewestPlaces(): Promise<JournalPlaces | null> {
    const { store } = this.#parts;
    if ((await store.journalLength()) <= 2 * this.#parts.rowsMax) return null;
    const cursor = await store.newestCursor(this.#rowsAfterMakingRoom);
    return cursor === null ? null : store.cursors.parse(cursor);
  }

  /** Records the entries between the archive and the newest entries as a gap. */
  async #addOlderMissing(
    newest: JournalPlaces,
    { shippedAt }: ArchiveState,
    { entries }: JournalPage,
  ): Promise<void> {
    const older = (await this.#parts.store.journalLength()) - this.#rowsAfterMakingRoom;
    this.#addMissing(
      [{ from: shippedAt ?? 0, to: entries[0]?.at ?? 0, entries: Math.max(0, older) }],
      newest,
    );
  }

  /** The number of rows that the tables hold after room was made. */
  get #rowsAfterMakingRoom(): number {
    return Math.floor(this.#parts.rowsMax * (1 - ROOM_PART));
  }

  #readPage(after: string | null): Promise<JournalPage> {
    return this.#parts.store.readJournal(after, STEP_ENTRIES_MAX);
  }

  #addMissing(gaps: readonly ArchiveGap[], through: JournalPlaces): void {
    this.#missing = [...this.#missing, ...gaps.map((gap) => ({ gap, through }))].slice(-MISSING_MAX);
  }

  /**
   * Inserts lines into their tables, and makes room if there are too many rows. If the engine fails, everything is
   * read anew.
   */
  #insertOrBeginAnew(duck: QueryEngine, lines: RowLines): Promise<void> {
    return this.#insert(duck, lines).catch((error: unknown) => {
      this.#begun = false;
      throw error;
    });
  }

  async #insert(duck: QueryEngine, lines: RowLines): Promise<void> {
    await this.#widenColumns(duck);
    for (const [table, some] of lines.takeAll()) {
      const { cells, columns } = getJsonCellsAndColumns(
        table,
        table === 'decisions' ? this.#facts : NO_FACTS,
      );
      const form = JSON.stringify(Object.fromEntries(cells.map(({ cell, type }) => [cell, type])));
      const select = columns.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`).join(', ');
      await duck.run('CREATE OR REPLACE TABLE unshipped_lines (line VARCHAR)');
      const appender = await duck.openAppender('unshipped_lines');
      for (let start = 0; start < some.length; start += BATCH_ROWS_MAX)
        appender.append([some.slice(start, start + BATCH_ROWS_MAX)]);
      appender.close();
      await duck.run(`INSERT INTO ${getTableName(table)} BY NAME SELECT ${select}
        FROM (SELECT unnest(json_transform(line, ${quoteSql(form)})) FROM unshipped_lines)`);
      await duck.run('DROP TABLE unshipped_lines');
    }
    await this.#makeRoom(duck);
  }

  async #widenColumns(duck: QueryEngine): Promise<void> {
    for (const [label, type] of this.#facts) {
      const before = this.#columns.get(label);
      if (before === type) continue;
      const [table, column] = [getTableName('decisions'), quoteName(toColumnOfFactKey(label))];
      const change = before === undefined ? `ADD COLUMN ${column} ${type}` : `ALTER ${column} TYPE ${type}`;
      await duck.run(`ALTER TABLE ${table} ${change}`);
      this.#columns.set(label, type);
    }
  }

  /** Removes the rows that every open question finds in the archive. */
  async #prune(duck: QueryEngine, now: ArchiveState): Promise<void> {
    const oldest = [...this.#held]
      .map((hold) => hold.state)
      .reduce((state, held) => (held.version < state.version ? held : state), now);
    if (oldest.cursor === this.#prunedTo) return;
    const places = this.#readArchivedPlaces(oldest);
    await this.#keepOnly(duck, isAfterSql(places));
    this.#missing = this.#missing.filter((missing) => isBehindAny(missing, places));
    this.#prunedTo = oldest.cursor;
  }

  /** Copies the tables with the wanted rows. A table from which rows are only deleted would keep their memory. */
  async #keepOnly(duck: QueryEngine, where: string): Promise<void> {
    for (const table of TABLE_NAMES) {
      const name = getTableName(table);
      await duck.run(`CREATE OR REPLACE TABLE ${name} AS SELECT * FROM ${name} WHERE ${where}`);
    }
  }

  /** Removes the oldest rows if there are too many, because the newest matter most. */
  async #makeRoom(duck: QueryEngine): Promise<void> {
    const [{ held } = { held: 0 }] = await duck.rows(`SELECT count(*) AS held FROM ${ALL_ROWS_SQL}`);
    if ((toNumberOrNull(held) ?? 0) <= this.#parts.rowsMax) return;
    const [{ tick } = { tick: 0 }] = await duck.rows(
      `SELECT tick FROM ${ALL_ROWS_SQL} ORDER BY tick DESC LIMIT 1 OFFSET ${this.#rowsAfterMakingRoom}`,
    );
    const gone = await duck.rows(
      `SELECT journal_partition AS partition, max(journal_ms) AS ms, arg_max(journal_seq, journal_ms * 1000000 + journal_seq) AS seq,
        min("at") AS from, max("at") AS to, count(*) AS entries
      FROM ${ALL_ROWS_SQL} WHERE tick <= ${toNumberOrNull(tick)} GROUP BY ALL`,
    );
    const numbers = gone.map((row) =>
      toNumbersByColumn(row, { partition: 0, ms: 0, seq: 0, from: 0, to: 0, entries: 0 }),
    );
    for (const { partition, ms, seq, ...gap } of numbers) {
      const through: (JournalPlace | null)[] = Array(partition + 1).fill(null);
      through[partition] = { ms, seq };
      this.#addMissing([gap], through);
    }
    await this.#keepOnly(duck, `${JOURNAL_TICK_SQL} > ${toNumberOrNull(tick)}`);
  }
}

/** Rows for the tables, as lines of JSON. */
class RowLines {
  readonly #lines = new Map<TableName, string[]>();

  get size(): number {
    return this.#lines.values().reduce((sum, some) => sum + some.length, 0);
  }

  add(lines: readonly (readonly [TableName, string])[]): void {
    for (const [table, line] of lines) this.#lines.getOrInsertComputed(table, () => []).push(line);
  }

  takeAll(): readonly (readonly [TableName, readonly string[]])[] {
    const all = [...this.#lines];
    this.#lines.clear();
    return all;
  }
}

const NO_FACTS: FactColumnTypes = new Map();

const NOTHING_REMOVED: ReadonlyMap<string, number> = new Map();

function listErasures({ entries }: JournalPage): readonly PlacedEntry<ErasureEntry>[] {
  return entries.filter((entry) => entry.kind === 'erasure');
}

function getTableName(table: TableName): string {
  return `unshipped_${table}`;
}

/** Returns the type in which a column of this type is read from Parquet. */
function toColumnType(type: ColumnType): string {
  return type === 'TIMESTAMP_MS' ? 'TIMESTAMP' : type;
}

const ALL_ROWS_SQL = `(${TABLE_NAMES.map(
  (table) =>
    `SELECT journal_partition, journal_ms, journal_seq, epoch_ms(${TABLES[table].time}) AS "at", ${JOURNAL_TICK_SQL} AS tick FROM ${getTableName(table)}`,
).join(' UNION ALL ')})`;

/** Whether a part of the gap lies after what was read. */
function isBehindAny({ through }: Missing, read: JournalPlaces): boolean {
  return through.some((place, one) => place !== null && !isPlaceRead(read, { partition: one, ...place }));
}
