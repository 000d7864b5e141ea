import { randomUUID } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import type { Archive } from './archive.ts';
import type { Segment } from './archive-log.ts';
import { ORDER_NUMBER_SQL, OrderBloomFilter } from './order-bloom-filter.ts';
import { getCommonDayOrMonth } from './period.ts';
import { type QueryEngine, quoteName, quoteSql, toNumberOrNull } from './query-engine.ts';
import type { BufferedRowsFile, RowBuffer } from './row-buffer.ts';
import type { SegmentFileKind, SegmentPlace } from './segment-files.ts';
import { getJsonCellsAndColumns, JOURNAL_TICK_SQL, TABLES } from './tables.ts';
import { explainUnread } from './unread-decisions.ts';

/**
 * Parquet's own Bloom filters take nine bytes a row in a small segment. They are not needed, because the rows are
 * sorted and a search uses that.
 */
const PARQUET = '(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, WRITE_BLOOM_FILTER false)';

/** Writes segments. Each file is complete and on the disk before its name is returned. */
export class SegmentWriter {
  readonly #archive: Archive;
  readonly #duck: QueryEngine;
  readonly #isTemporary: boolean;

  /** A temporary archive ends with the process, so its files are not synced to the disk. */
  constructor(archive: Archive, duck: QueryEngine, isTemporary = false) {
    this.#archive = archive;
    this.#duck = duck;
    this.#isTemporary = isTemporary;
  }

  async write(drafts: RowBuffer): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    for (const draft of drafts.all()) segments.push(await this.#writeDraft(draft));
    return segments;
  }

  /**
   * Writes one segment with the rows of several segments of the same table, platform and month. `without` is SQL for
   * the rows to leave out. `others` are expressions that replace the values of columns.
   */
  async merge(
    segments: readonly Segment[],
    without: string | null = null,
    others: readonly string[] = [],
  ): Promise<Segment | null> {
    const [first] = segments;
    if (first === undefined) return null;
    const { table, platform } = first;
    const [missing] = await this.#archive.makeReadable(segments);
    if (missing !== undefined) throw new Error(`a file of the archive ${explainUnread(missing.why)}`);
    const day = getCommonDayOrMonth(segments.map((segment) => segment.day));
    const times = TABLES[table].columns.filter(({ type }) => type === 'TIMESTAMP_MS');
    const kept = times.map(({ name }) => `${quoteName(name)}::TIMESTAMP_MS AS ${quoteName(name)}`);
    const where = without === null ? '' : `WHERE NOT (${without})`;
    const select = `SELECT * REPLACE (${[...kept, ...others].join(', ')}) FROM ${this.#archive.createRowsSql(segments)} ${where}`;
    return this.writeQueryRows(select, { table, platform, day });
  }

  async #writeDraft(draft: BufferedRowsFile): Promise<Segment> {
    const { table, platform, day, rows } = draft;
    const segment = await this.writeQueryRows(selectBufferedSql(draft), { table, platform, day });
    if (segment?.rows === rows) return segment;
    throw new Error(`a segment of ${table} has ${segment?.rows ?? 0} rows instead of ${rows}`);
  }

  /** Writes one segment with the rows of a SELECT. Returns null if there are no rows. */
  async writeQueryRows(
    select: string,
    place: Pick<Segment, 'table' | 'platform' | 'day'>,
  ): Promise<Segment | null> {
    const { order, time } = TABLES[place.table];
    const name = randomUUID();
    const path = this.#choosePath({ ...place, name }, 'parquet');
    const sorted = `${select} ORDER BY ${order.map(quoteName).join(', ')}`;
    try {
      await this.#duck.run(`COPY (${sorted}) TO ${quoteSql(path)} ${PARQUET}`);
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    const [row = {}] = await this.#duck.rows(
      `SELECT count(*) AS n, min(${quoteName(time)}) AS oldest, max(${quoteName(time)}) AS newest,
        min(${JOURNAL_TICK_SQL}) AS first, max(${JOURNAL_TICK_SQL}) AS last FROM read_parquet(${quoteSql(path)})`,
    );
    const rows = toNumberOrNull(row['n']) ?? 0;
    if (rows === 0) {
      rmSync(path);
      return null;
    }
    if (place.table === 'decisions') await this.#writeOrders({ ...place, name });
    this.#finish(path);
    const [from, firstTick] = [toNumberOrNull(row['oldest']) ?? 0, toNumberOrNull(row['first']) ?? 0];
    const [to, lastTick] = [toNumberOrNull(row['newest']) ?? from, toNumberOrNull(row['last']) ?? firstTick];
    return { ...place, name, rows, bytes: statSync(path).size, from, to, firstTick, lastTick };
  }

  async #writeOrders(place: SegmentPlace): Promise<void> {
    const numbers: bigint[] = [];
    const select = `SELECT DISTINCT ${ORDER_NUMBER_SQL} AS number FROM read_parquet(${quoteSql(this.#choosePath(place, 'parquet'))})`;
    for await (const rows of this.#duck.stream(select))
      for (const { number } of rows) if (typeof number === 'bigint') numbers.push(number);
    const path = this.#choosePath(place, 'orders');
    writeFileSync(path, OrderBloomFilter.of(numbers).bytes, { mode: 0o600 });
    this.#finish(path);
  }

  /** Nobody reads a temporary archive before its commit, so its segments are written directly to their places. */
  #choosePath(place: SegmentPlace, kind: SegmentFileKind): string {
    const path = this.#isTemporary
      ? this.#archive.getSegmentPath(place, kind)
      : this.#archive.getStagedPath(place.name, kind);
    makeOwnFolder(dirname(path));
    return path;
  }

  /**
   * Makes a file readable for this user alone, and syncs it to the disk, so that it survives a power failure. Files
   * of a temporary archive are not synced.
   */
  #finish(path: string): void {
    const file = openSync(path, 'r+');
    try {
      fchmodSync(file, 0o600);
      if (!this.#isTemporary) fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

function selectBufferedSql({ table, path, facts }: BufferedRowsFile): string {
  const { cells, columns } = getJsonCellsAndColumns(table, facts);
  const select = columns.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`);
  const read = cells.map(({ cell, type }) => `${cell}: ${quoteSql(type)}`);
  return `SELECT ${select.join(', ')}
    FROM read_json(${quoteSql(path)}, format = 'newline_delimited', columns = {${read.join(', ')}})`;
}
