import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../rules/duration.ts';
import { whyUnread } from '../../state/decision-search.ts';
import type { Archive, ErasedClients } from '../archive.ts';
import type { ArchiveState, Commit, Segment } from '../archive-log.ts';
import { type Duck, numberOf, quote, quoteName } from '../duck.ts';
import { ORDER_NUMBER_SQL, OrderFilter } from '../order-filter.ts';
import type { ColumnType, FactTypes } from '../record-columns.ts';
import {
  type ArchiveRow,
  isAboutClients,
  JOURNAL_TICK_SQL,
  rowSource,
  TABLE_NAMES,
  TABLES,
  widenFacts,
} from '../tables.ts';

/** Parquet's filters cost nine bytes a row in a small segment, and what is looked for is found by the order of rows. */
const PARQUET = '(FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, WRITE_BLOOM_FILTER false)';

/** Writes segments: each file is whole and on the disk before it is named to anybody. */
export class SegmentWriter {
  readonly #archive: Archive;
  readonly #duck: Duck;
  readonly #isTemporary: boolean;

  /** A temporary archive does not outlast the process, so nothing waits for the disk. */
  constructor(archive: Archive, duck: Duck, isTemporary = false) {
    this.#archive = archive;
    this.#duck = duck;
    this.#isTemporary = isTemporary;
  }

  async write(drafts: RowDrafts): Promise<readonly Segment[]> {
    const segments: Segment[] = [];
    for (const draft of drafts.all()) segments.push(await this.#writeDraft(draft));
    return segments;
  }

  /**
   * One segment with the rows of several that have table, platform and month in common, but for those of which `without` is
   * true, and with other values of some columns.
   */
  async merge(
    segments: readonly Segment[],
    without: string | null = null,
    others: readonly string[] = [],
  ): Promise<Segment | null> {
    const [first] = segments;
    if (first === undefined) return null;
    const { table, platform } = first;
    const [missing] = await this.#archive.bring(segments);
    if (missing !== undefined) throw new Error(`a file of the archive ${whyUnread(missing.why)}`);
    const day = commonDay(segments.map((segment) => segment.day));
    const times = TABLES[table].columns.filter(({ type }) => type === 'TIMESTAMP_MS');
    const kept = times.map(({ name }) => `${quoteName(name)}::TIMESTAMP_MS AS ${quoteName(name)}`);
    const where = without === null ? '' : `WHERE NOT (${without})`;
    const select = `SELECT * REPLACE (${[...kept, ...others].join(', ')}) FROM ${this.#archive.source(segments)} ${where}`;
    return this.copy(select, { table, platform, day });
  }

  async #writeDraft(draft: RowDraft): Promise<Segment> {
    const { table, platform, day, rows } = draft;
    const segment = await this.copy(selectFrom(draft), { table, platform, day });
    if (segment?.rows === rows) return segment;
    throw new Error(`a segment of ${table} has ${segment?.rows ?? 0} rows instead of ${rows}`);
  }

  /** One segment with the rows that a SELECT gives; null when it gives none. */
  async copy(select: string, place: Pick<Segment, 'table' | 'platform' | 'day'>): Promise<Segment | null> {
    const { order, time } = TABLES[place.table];
    const name = randomUUID();
    const path = this.#archive.stagedPath(name);
    this.#archive.prepareStaging();
    const sorted = `${select} ORDER BY ${order.map(quoteName).join(', ')}`;
    try {
      await this.#duck.run(`COPY (${sorted}) TO ${quote(path)} ${PARQUET}`);
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    const [row = {}] = await this.#duck.rows(
      `SELECT count(*) AS n, min(${quoteName(time)}) AS oldest, max(${quoteName(time)}) AS newest,
        min(${JOURNAL_TICK_SQL}) AS first, max(${JOURNAL_TICK_SQL}) AS last FROM read_parquet(${quote(path)})`,
    );
    const rows = numberOf(row['n']) ?? 0;
    if (rows === 0) {
      rmSync(path);
      return null;
    }
    if (place.table === 'decisions') await this.#writeOrders(name);
    this.#finish(path);
    const [from, firstTick] = [numberOf(row['oldest']) ?? 0, numberOf(row['first']) ?? 0];
    const [to, lastTick] = [numberOf(row['newest']) ?? from, numberOf(row['last']) ?? firstTick];
    return { ...place, name, rows, bytes: statSync(path).size, from, to, firstTick, lastTick };
  }

  async #writeOrders(name: string): Promise<void> {
    const numbers: bigint[] = [];
    const select = `SELECT DISTINCT ${ORDER_NUMBER_SQL} AS number FROM read_parquet(${quote(this.#archive.stagedPath(name))})`;
    for await (const rows of this.#duck.stream(select))
      for (const { number } of rows) if (typeof number === 'bigint') numbers.push(number);
    const path = this.#archive.stagedPath(name, 'orders');
    writeFileSync(path, OrderFilter.of(numbers).bytes, { mode: 0o600 });
    this.#finish(path);
  }

  /** When this returns, the file survives a loss of power, and only this user may read it. */
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

function selectFrom({ table, path, facts }: RowDraft): string {
  const { cells, columns } = rowSource(table, facts);
  const select = columns.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`);
  const read = cells.map(({ cell, type }) => `${cell}: ${quote(type)}`);
  return `SELECT ${select.join(', ')}
    FROM read_json(${quote(path)}, format = 'newline_delimited', columns = {${read.join(', ')}})`;
}

/** Rows of one table, platform and day, as lines of JSON in a file. */
interface RowDraft extends Pick<Segment, 'table' | 'platform' | 'day'> {
  readonly path: string;
  readonly rows: number;
  readonly facts: FactTypes;
}

interface OpenDraft extends RowDraft {
  rows: number;
  readonly facts: Map<string, ColumnType>;
}

/**
 * Rows on their way into segments. They wait in files: in memory those of a commit would take a hundred megabytes
 * that the process would never return.
 */
export class RowDrafts {
  readonly #archive: Archive;
  readonly #periodOf: (at: number) => string;
  readonly #drafts = new Map<string, OpenDraft>();

  /** Segments are of a day, unless they are to be of a month. */
  constructor(archive: Archive, periodOf: (at: number) => string = dayOf) {
    this.#archive = archive;
    this.#periodOf = periodOf;
  }

  add(rows: readonly ArchiveRow[]): void {
    // A day is told from its number faster than from its name.
    const groups = Map.groupBy(
      rows,
      ({ table, platform, at }) => `${table}/${platform}/${Math.floor(at / DAY_MS)}`,
    );
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const name = `${first.table}/${first.platform}/${this.#periodOf(first.at)}`;
      const draft = this.#drafts.get(name) ?? this.#begin(name, first);
      appendFileSync(draft.path, group.map(({ cells }) => `${JSON.stringify(cells)}\n`).join(''), {
        mode: 0o600,
      });
      draft.rows += group.length;
      widenFacts(draft.facts, group);
    }
  }

  all(): readonly RowDraft[] {
    return [...this.#drafts.values()];
  }

  remove(): void {
    for (const { path } of this.#drafts.values()) rmSync(path, { force: true });
    this.#drafts.clear();
  }

  #begin(name: string, { table, platform, at }: ArchiveRow): OpenDraft {
    this.#archive.prepareStaging();
    const path = join(this.#archive.staging(), `${randomUUID()}.ndjson`);
    const draft = { table, platform, day: this.#periodOf(at), path, rows: 0, facts: new Map() };
    this.#drafts.set(name, draft);
    return draft;
  }
}

/** `2026-11-21`, UTC. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** How many segments of about the same size become one: each row is rewritten once a tier, about five times. */
const TIER_SEGMENTS = 10;

/** A merged segment stays below this, so that a merge holds up shipping for seconds and no longer. */
const SEGMENT_ROWS_MAX = 2_000_000;

/** Above this the fixed cost of a file (about 12 KB) is small beside its rows. */
const QUIET_DAY_ROWS_MAX = 50_000;

/**
 * Small segments that should become one; null when there are none. They have table and platform in common, and day or
 * month. A day that is over becomes one segment, and so do the quiet days of a month that is over; today's become fewer
 * whenever many of a size have come together.
 */
export function nextMerge(segments: readonly Segment[], today: string): readonly Segment[] | null {
  for (const day of groupsBy(segments, (segment) => segment.day)) {
    const parts = day[0]?.day === today ? fullTier(day) : withinRowsMax(day);
    if (parts !== null) return parts;
  }
  const quiet = segments.filter(
    ({ table, nameless, day, rows }) =>
      rows <= QUIET_DAY_ROWS_MAX &&
      monthOf(day) < monthOf(today) &&
      // A whole month of numbers would stay for as long as its last.
      (table !== 'erasures' || nameless === true),
  );
  for (const month of groupsBy(quiet, ({ day }) => monthOf(day))) {
    const parts = withinRowsMax(month);
    if (parts !== null) return parts;
  }
  return null;
}

function groupsBy(
  segments: readonly Segment[],
  period: (segment: Segment) => string,
): Iterable<readonly Segment[]> {
  return Map.groupBy(
    segments,
    (segment) => `${segment.table}/${segment.platform}/${segment.nameless ?? false}/${period(segment)}`,
  ).values();
}

/** The day that segments have in common, or else their month: `2026-11-21` or `2026-11`. */
export function commonDay(days: readonly string[]): string {
  const [first = ''] = days;
  return days.every((day) => day === first) ? first : monthOf(first);
}

/** Of a day. */
export function monthOf(day: string): string {
  return day.slice(0, '2026-11'.length);
}

function fullTier(segments: readonly Segment[]): readonly Segment[] | null {
  const tiers = Map.groupBy(segments, ({ rows }) => Math.floor(Math.log10(rows)));
  for (const tier of tiers.values()) {
    // Ten of the largest stay as they are, and must not keep smaller ones from being merged.
    const parts = tier.length < TIER_SEGMENTS ? null : withinRowsMax(tier);
    if (parts !== null) return parts;
  }
  return null;
}

/** The smallest segments that together stay below the limit; null when there are not two of them. */
function withinRowsMax(segments: readonly Segment[]): readonly Segment[] | null {
  let rows = 0;
  const parts = segments
    .toSorted((a, b) => a.rows - b.rows)
    .filter((segment) => {
      rows += segment.rows;
      return rows <= SEGMENT_ROWS_MAX;
    });
  return parts.length > 1 ? parts : null;
}

type Rewriting = Pick<Commit, 'add' | 'remove'>;

/** An erasure holds up what is shipped with it no longer than for this, and for no larger file; the rest is rewritten later. */
const REWRITING_MS_MAX = 20_000;
const REWRITTEN_BYTES_MAX = 16 * 1024 ** 2;

/** When a file of full length that cannot be read is tried again, ms; a shorter one is noticed at once. */
const TRY_AGAIN_MS = 600_000;

/** How long the archive names an erased client's number, ms; then only that somebody was erased. */
const ERASURES_NAMED_MS = 30 * 24 * 3_600_000;

const NAMELESS_SQL = ["'' AS client_number"];

function isOldErasure({ table, to, nameless }: Segment, now: number): boolean {
  return table === 'erasures' && nameless !== true && to < now - ERASURES_NAMED_MS;
}

/** A client's number and a count of rows. */
type ClientRows = readonly [string, number];

function sumsOf(counts: readonly ClientRows[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [client, rows] of counts) sums.set(client, rows + (sums.get(client) ?? 0));
  return sums;
}

/**
 * Writes segments anew: without clients who were erased, and many small ones as one. A file that cannot be read harms
 * only itself. Whom it is to be without is noted on its segment, and it is rewritten once it can be read again.
 */
export class SegmentRewriter {
  readonly #archive: Archive;
  readonly #duck: Duck;
  readonly #writer: SegmentWriter;
  /** When to try segments again that could not be read, by name, epoch ms. */
  readonly #tryAgainAt = new Map<string, number>();

  constructor(archive: Archive, duck: Duck, writer: SegmentWriter) {
    this.#archive = archive;
    this.#duck = duck;
    this.#writer = writer;
  }

  /**
   * The segments of a platform without some clients, and how many rows of each are gone. Segments that cannot be read, or
   * not in time, or all of them where they are only to be noted, are marked to be read without them; the next ones to
   * be rewritten are these.
   */
  async withoutClients(
    state: ArchiveState,
    platform: string,
    clients: ErasedClients,
    onlyNoted: boolean,
  ): Promise<Rewriting & { readonly rowsRemoved: ReadonlyMap<string, number> }> {
    const add: Segment[] = [];
    const remove: string[] = [];
    const removed: ClientRows[] = [];
    const isErased = `client_hash IN (${clients.join(', ')})`;
    const endMs = performance.now() + REWRITING_MS_MAX;
    const tables = TABLE_NAMES.filter(isAboutClients);
    for (const segment of tables.flatMap((table) => this.#archive.segments(state, { table, platform }))) {
      const isLater = onlyNoted || performance.now() > endMs || segment.bytes > REWRITTEN_BYTES_MAX;
      const left = isLater ? 'later' : await this.#leftOf(segment, isErased);
      if (left === 'nothing to remove') continue;
      if (left === 'later') {
        add.push({ ...segment, without: [...new Set([...(segment.without ?? []), ...clients])] });
        continue;
      }
      if (left.segment !== null) add.push(left.segment);
      remove.push(segment.name);
      removed.push(...left.removed);
    }
    return { add, remove, rowsRemoved: sumsOf(removed) };
  }

  /** What a segment is without some clients, null when it has no others, and how many rows of each it had. */
  async #leftOf(segment: Segment, isErased: string) {
    try {
      if ((await this.#archive.bring([segment])).length > 0) return 'later';
      const rows = await this.#duck.rows(
        `SELECT client_hash AS client, count(*) AS n FROM ${this.#archive.source([segment])} WHERE ${isErased} GROUP BY client_hash`,
      );
      if (rows.length === 0) return 'nothing to remove';
      const removed = rows.map(({ client, n }): ClientRows => [String(client), numberOf(n) ?? 0]);
      return { segment: await this.#writer.merge([segment], isErased), removed };
    } catch (error) {
      // Readable rows could not be written, for example to a full disk: the step must be repeated.
      if (await this.#archive.canRead(this.#duck, segment)) throw error;
      return 'later';
    }
  }

  /** One segment in the place of others; null when there is nothing to rewrite. */
  async next(state: ArchiveState, now: number): Promise<Rewriting | null> {
    const add = await this.#notedInVain(this.#readable(state, now));
    if (add.length > 0) return { add, remove: [] };
    for (;;) {
      const parts = this.#nextParts(state, now);
      if (parts === null) return null;
      try {
        const whole = await this.#asOne(parts, now);
        return { add: whole === null ? [] : [whole], remove: parts.map(({ name }) => name) };
      } catch (error) {
        if (!(await this.#setAside(parts, now))) throw error;
      }
    }
  }

  async #asOne(parts: readonly Segment[], now: number): Promise<Segment | null> {
    const isOld = parts.every((segment) => isOldErasure(segment, now));
    const whole = await this.#writer.merge(parts, null, isOld ? NAMELESS_SQL : []);
    const isNameless = isOld || parts.every(({ nameless }) => nameless);
    return whole === null || !isNameless ? whole : { ...whole, nameless: true };
  }

  /** Those that hold nothing of whom they are to be read without, and need not be. */
  async #notedInVain(readable: readonly Segment[]): Promise<readonly Segment[]> {
    const endMs = performance.now() + REWRITING_MS_MAX;
    const found: Segment[] = [];
    for (const { without, ...segment } of readable) {
      if (without === undefined || performance.now() > endMs) continue;
      if ((await this.#archive.bring([segment])).length > 0) continue;
      const held = `SELECT 1 FROM ${this.#archive.source([segment])} WHERE client_hash IN (${without.join(', ')}) LIMIT 1`;
      const rows = await this.#duck.rows(held).catch(() => null);
      if (rows?.length === 0) found.push(segment);
    }
    return found;
  }

  #readable(state: ArchiveState, now: number): readonly Segment[] {
    return [...state.segments.values()]
      .filter(({ name }) => (this.#tryAgainAt.get(name) ?? 0) <= now)
      .filter((segment) => this.#archive.isWhole(segment));
  }

  /** Who was erased goes first, as soon as the file is back; then the numbers of those erased long ago, and what is small. */
  #nextParts(state: ArchiveState, now: number): readonly Segment[] | null {
    const readable = this.#readable(state, now);
    const noted =
      readable.find(({ without }) => without !== undefined) ??
      readable.find((segment) => isOldErasure(segment, now));
    return noted === undefined ? nextMerge(readable, dayOf(now)) : [noted];
  }

  /** Leaves segments for later, by their names, whose rewriting could not be committed. */
  postpone(names: readonly string[], now: number): void {
    for (const name of names) this.#tryAgainAt.set(name, now + TRY_AGAIN_MS);
  }

  /** Leaves those for later that cannot be read; false when all can, so that something else went wrong. */
  async #setAside(segments: readonly Segment[], now: number): Promise<boolean> {
    let isAny = false;
    for (const segment of segments) {
      if (await this.#archive.canRead(this.#duck, segment)) continue;
      this.#tryAgainAt.set(segment.name, now + TRY_AGAIN_MS);
      isAny = true;
    }
    return isAny;
  }
}
