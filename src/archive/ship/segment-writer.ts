import { randomUUID } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive } from '../archive.ts';
import type { Segment } from '../archive-log.ts';
import { type Duck, numberOf, quote, quoteName } from '../duck.ts';
import { ORDER_NUMBER_SQL, OrderFilter } from '../order-filter.ts';
import type { ArchiveRow, Cell } from '../rows.ts';
import { type Column, type ColumnType, isAboutClients, TABLES, type TableName } from '../tables.ts';

const PARQUET = '(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)';

/** Writes segments: each file is whole and on the disk before it is named to anybody. */
export class SegmentWriter {
  readonly #archive: Archive;
  readonly #duck: Duck;

  constructor(archive: Archive, duck: Duck) {
    this.#archive = archive;
    this.#duck = duck;
  }

  /** Segments of the rows, one for each table, platform and UTC day. */
  async write(rows: readonly ArchiveRow[]): Promise<readonly Segment[]> {
    const groups = Map.groupBy(rows, ({ table, platform, at }) => `${table}/${platform}/${dayOf(at)}`);
    const segments: Segment[] = [];
    for (const group of groups.values()) segments.push(await this.#writeGroup(group));
    return segments;
  }

  /** One segment with the rows of several that have the table, platform and day of the first in common. */
  async merge(segments: readonly Segment[], without: string | null = null): Promise<Segment | null> {
    const [first] = segments;
    if (first === undefined) return null;
    const { table, platform, day } = first;
    const times = TABLES[table].columns.filter(({ type }) => type === 'TIMESTAMP_MS');
    const kept = times.map(({ name }) => `${quoteName(name)}::TIMESTAMP_MS AS ${quoteName(name)}`).join(', ');
    const where = without === null ? '' : `WHERE NOT (${without})`;
    const select = `SELECT * REPLACE (${kept}) FROM ${this.#archive.source(segments)} ${where}`;
    return this.#copy(select, { table, platform, day });
  }

  async #writeGroup(rows: readonly ArchiveRow[]): Promise<Segment> {
    const [first] = rows;
    if (first === undefined) throw new Error('a segment has rows');
    const { table, platform, at } = first;
    const columns = columnsOf(table, rows);
    this.#archive.prepareStaging();
    const draft = join(this.#archive.staging(), `${randomUUID()}.ndjson`);
    try {
      writeFileSync(draft, rows.map(({ cells }) => JSON.stringify(cells)).join('\n'), { mode: 0o600 });
      const segment = await this.#copy(selectFrom(draft, columns), { table, platform, day: dayOf(at) });
      if (segment?.rows === rows.length) return segment;
      throw new Error(`a segment of ${table} has ${segment?.rows ?? 0} rows instead of ${rows.length}`);
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Null when the selection is empty. */
  async #copy(select: string, place: Pick<Segment, 'table' | 'platform' | 'day'>): Promise<Segment | null> {
    const { order, time } = TABLES[place.table];
    const name = randomUUID();
    const path = this.#archive.stagedPath(name);
    this.#archive.prepareStaging();
    const sorted = `${select} ORDER BY ${order.map(quoteName).join(', ')}`;
    await this.#duck.run(`COPY (${sorted}) TO ${quote(path)} ${PARQUET}`);
    const [row = {}] = await this.#duck.rows(
      `SELECT count(*) AS n, min(${quoteName(time)}) AS oldest, max(${quoteName(time)}) AS newest FROM read_parquet(${quote(path)})`,
    );
    const rows = numberOf(row['n']) ?? 0;
    if (rows === 0) {
      rmSync(path);
      return null;
    }
    if (place.table === 'decisions') await this.#writeOrders(name);
    syncFile(path);
    const from = numberOf(row['oldest']) ?? 0;
    return { ...place, name, rows, bytes: statSync(path).size, from, to: numberOf(row['newest']) ?? from };
  }

  async #writeOrders(name: string): Promise<void> {
    const numbers: bigint[] = [];
    const select = `SELECT DISTINCT ${ORDER_NUMBER_SQL} AS number FROM read_parquet(${quote(this.#archive.stagedPath(name))})`;
    for await (const rows of this.#duck.stream(select))
      for (const { number } of rows) if (typeof number === 'bigint') numbers.push(number);
    const path = this.#archive.stagedPath(name, 'orders');
    writeFileSync(path, OrderFilter.of(numbers).bytes, { mode: 0o600 });
    syncFile(path);
  }
}

/** What was written before this returns outlasts a loss of power, and is for this user alone. */
function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fchmodSync(file, 0o600);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** What a condition says of one client's rows. */
export function isClient(number: string): string {
  return `client_hash = ${number}`;
}

/** `2026-11-21`, UTC. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The table's own columns, then one for each fact of any of the rows. */
function columnsOf(table: TableName, rows: readonly ArchiveRow[]): readonly Column[] {
  const own: readonly Column[] = TABLES[table].columns;
  if (!isAboutClients(table) || table !== 'decisions') return own;
  const known = new Set(own.map(({ name }) => name));
  const types = new Map<string, ColumnType>();
  for (const { cells } of rows) {
    for (const [name, cell] of Object.entries(cells)) {
      if (!known.has(name)) types.set(name, widest(types.get(name), cell));
    }
  }
  return [...own, ...[...types].map(([name, type]) => ({ name, type, description: '' }))];
}

/** Whole numbers are kept as such until the first that is not whole. */
function widest(before: ColumnType | undefined, cell: Cell): ColumnType {
  switch (typeof cell) {
    case 'boolean':
      return 'BOOLEAN';
    case 'number':
      return before === 'DOUBLE' || !Number.isSafeInteger(cell) ? 'DOUBLE' : 'BIGINT';
    default:
      return 'VARCHAR';
  }
}

function selectFrom(draft: string, columns: readonly Column[]): string {
  const read = columns.map(({ name, type }) => `${quote(name)}: ${quote(onTheWay(type))}`).join(', ');
  const select = columns.map(({ name, type }) =>
    type === 'TIMESTAMP_MS'
      ? `make_timestamp_ms(${quoteName(name)})::TIMESTAMP_MS AS ${quoteName(name)}`
      : quoteName(name),
  );
  return `SELECT ${select.join(', ')}
    FROM read_json(${quote(draft)}, format = 'newline_delimited', columns = {${read}})`;
}

function onTheWay(type: ColumnType): string {
  return type === 'TIMESTAMP_MS' ? 'BIGINT' : type;
}
