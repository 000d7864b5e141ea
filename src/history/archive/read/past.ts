import { archiveReadThrottle, WorkAbandoned } from '#base/paced-steps.ts';
import {
  type AskedMember,
  type DecisionFilter,
  type DecisionPosition,
  listAskedMembers,
} from '#decision/decision-filter.ts';
import type { FilterMember, FilterValueKind } from '#decision/filter-members.ts';
import { toClientNumber } from '#decision/payer/client-key.ts';
import {
  type Archive,
  type ErasedClients,
  removeSegments,
  type SegmentBounds,
} from '#history/archive/archive.ts';
import type { ArchiveGap, ArchiveState, Segment, UnreadSegment } from '#history/archive/archive-log.ts';
import {
  type Bind,
  type DuckBatch,
  type DuckRow,
  type QueryEngine,
  quote,
  quoteName,
  type Statement,
  toNumbers,
  toTextOrNull,
} from '#history/archive/duck.ts';
import { toFactColumn } from '#history/archive/fact-columns.ts';
import { linkSegments } from '#history/archive/frozen-archive.ts';
import { formatDay } from '#history/archive/period.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import { emptyTableSql, RECORDS, TABLE_NAMES, TABLES, type TableName } from '#history/archive/tables.ts';
import type { UnreadDecisions } from '#history/archive/unread-decisions.ts';
import type { UnshippedSpan } from './unshipped-rows.ts';

/**
 * SQL that stands where a table may: what was archived of it, and what is still in the journal alone, of which only the
 * platform is looked at.
 */
export type Source = (table: TableName, bounds?: SegmentBounds) => string;

/** Which of the segments that a question is about have to be read for it. */
export type SegmentFilter = (segments: readonly Segment[]) => Promise<readonly Segment[]>;

const ALL: SegmentFilter = async (segments) => segments;

/** A question in SQL, made of its tables and of the places of its values. */
type Question = (source: Source, bind: Bind) => string;

type Read<T> = (duck: QueryEngine, statement: Statement) => Promise<readonly T[]>;

interface PastParts {
  readonly archive: Archive;
  readonly state: ArchiveState;
  /** Null: the archive alone. */
  readonly unshipped: UnshippedSpan | null;
  readonly erased: ErasedClients;
  readonly duck: () => Promise<QueryEngine>;
}

/** An archive of its own, of the past at one moment. */
interface PastCopy {
  readonly isMade: boolean;
  readonly leftOut: readonly UnreadSegment[];
}

/** What is known of the past at one moment: archive and journal as one source, for one question or several. */
export class Past {
  readonly #parts: PastParts;
  #leftOut: readonly UnreadSegment[] = [];

  constructor(parts: PastParts) {
    this.#parts = parts;
  }

  get state(): ArchiveState {
    return this.#parts.state;
  }

  /** Segments that could not be read so far: what they hold is in no answer, and all else is. */
  get unreadable(): readonly UnreadSegment[] {
    return this.#leftOut;
  }

  /** Entries that were lost, or that the journal holds too many of. */
  get gaps(): readonly ArchiveGap[] {
    return [...this.#parts.state.gaps, ...this.unshippedGaps];
  }

  get unshippedGaps(): readonly ArchiveGap[] {
    return this.#parts.unshipped?.gaps ?? [];
  }

  /** Whether everything could be read so far that was not lost. */
  get isWhole(): boolean {
    return this.#leftOut.length === 0 && this.upTo === null && this.unshippedGaps.length === 0;
  }

  /** Before this all was read, epoch ms; null: all was. */
  get upTo(): number | null {
    return this.#parts.unshipped?.upTo ?? null;
  }

  /** `sql` may be made several times: a segment that cannot be read is left out of all that the question says. */
  rows(sql: Question, among: SegmentFilter = ALL): Promise<readonly DuckRow[]> {
    return this.#read(sql, among, (duck, statement) => duck.rows(statement));
  }

  /** The same for rows that are made one by one later. */
  batches(sql: Question, among: SegmentFilter): Promise<readonly DuckBatch[]> {
    return this.#read(sql, among, (duck, statement) => duck.wholeBatches(statement));
  }

  async #read<T>(sql: Question, among: SegmentFilter, read: Read<T>): Promise<readonly T[]> {
    for (;;) {
      const wanted = await this.#wanted(sql, among);
      const missing = await this.#parts.archive.bring(wanted);
      if (missing.length > 0 && (await this.#isReplaced()))
        throw new Error('segments were replaced meanwhile');
      const found = missing.length > 0 ? { unreadable: missing } : await this.#ask(sql, wanted, read);
      if ('rows' in found) return found.rows;
      this.#leftOut = [...this.#leftOut, ...found.unreadable];
    }
  }

  /**
   * Makes an archive of those segments that are wanted and of the unshipped rows. Gives what of them it does not have, and
   * whether one could be made: otherwise the unshipped rows are what is missing.
   */
  async copyTo(folder: string, isWanted: (segment: Segment) => boolean): Promise<PastCopy> {
    const { archive, state } = this.#parts;
    const wanted = [...state.segments.values()].filter(isWanted);
    const away = archive.home.isElsewhere ? await archive.bring(wanted) : await archive.torn(state);
    const unshipped = (await this.#unshippedParts()).filter(isWanted);
    const told = { ...state, version: Math.max(1, state.version), gaps: this.gaps };
    const isMade = await linkSegments(archive, told, removeSegments(wanted, away), folder, (copy) =>
      this.#write(unshipped, copy),
    );
    return { isMade, leftOut: [...away.filter(isWanted), ...(isMade ? [] : unshipped)] };
  }

  /** The unshipped rows of each table and platform, as a segment that is not written yet. */
  async #unshippedParts(): Promise<readonly Segment[]> {
    const duck = await this.#parts.duck();
    const parts: Segment[] = [];
    for (const table of TABLE_NAMES) {
      const time = quoteName(TABLES[table].time);
      const rows = await duck.rows(
        `SELECT platform, count(*) AS rows, min(${time}) AS "from", max(${time}) AS "to"
        FROM ${this.#source(table, [])} GROUP BY platform`,
      );
      for (const row of rows) {
        const { rows, from, to } = toNumbers(row, { rows: 0, from: 0, to: 0 });
        const platform = toTextOrNull(row['platform']) ?? '';
        const name = `unshipped ${table} of ${platform}`;
        const unwritten = { bytes: 0, firstTick: 0, lastTick: 0 };
        parts.push({ table, platform, day: formatDay(from), name, rows, from, to, ...unwritten });
      }
    }
    return parts;
  }

  async #write(parts: readonly Segment[], copy: Archive): Promise<readonly Segment[]> {
    const writer = new SegmentWriter(copy, await this.#parts.duck(), true);
    const written: Segment[] = [];
    for (const { table, platform, day } of parts) {
      const rows = `SELECT * FROM ${this.#source(table, [])} WHERE platform = ${quote(platform)}`;
      const segment = await archiveReadThrottle.run(() => writer.copy(rows, { table, platform, day }));
      if (segment !== null) written.push(segment);
    }
    return written;
  }

  async #ask<T>(sql: Question, wanted: readonly Segment[], read: Read<T>) {
    if (wanted.length === 0 && this.#parts.unshipped === null) return { rows: [] };
    const names = new Set(wanted.map(({ name }) => name));
    const source: Source = (table, bounds) => {
      const segments = this.#segments(table, bounds).filter(({ name }) => names.has(name));
      return this.#source(table, segments, bounds);
    };
    const duck = await this.#parts.duck();
    try {
      return { rows: await archiveReadThrottle.run(() => read(duck, (bind) => sql(source, bind))) };
    } catch (cause) {
      if (cause instanceof WorkAbandoned || (await this.#isReplaced())) throw cause;
      const { archive } = this.#parts;
      const unreadable = await archive.damagedAmong(duck, archive.suspects(wanted, cause));
      if (unreadable.length === 0 || (await this.#isReplaced())) throw cause;
      return { unreadable };
    }
  }

  async #wanted(sql: Question, among: SegmentFilter): Promise<readonly Segment[]> {
    const wanted = new Map<string, Segment>();
    const source: Source = (table, bounds) => {
      for (const segment of this.#segments(table, bounds)) wanted.set(segment.name, segment);
      return '';
    };
    sql(source, () => '');
    return among([...wanted.values()]);
  }

  #segments(table: TableName, bounds: SegmentBounds = {}): readonly Segment[] {
    const { archive, state } = this.#parts;
    return removeSegments(archive.segments(state, { table, ...bounds }), this.#leftOut);
  }

  #source(table: TableName, segments: readonly Segment[], { platform }: SegmentBounds = {}) {
    const { archive, unshipped, erased } = this.#parts;
    const parts = [
      ...(segments.length === 0 ? [] : [archive.source(segments, erased)]),
      ...(unshipped === null ? [] : [unshipped.rows(table, platform ?? null)]),
    ];
    const [only = emptyTableSql(table)] = parts;
    return parts.length < 2 ? only : `(${parts.map((part) => `FROM ${part}`).join(' UNION ALL BY NAME ')})`;
  }

  async #isReplaced(): Promise<boolean> {
    const { archive, state } = this.#parts;
    return (await archive.refresh()).version !== state.version;
  }
}

export function toUnreadDecisions({ from, to, rows: decisions, why }: UnreadSegment): UnreadDecisions {
  return { from, to, decisions, ...(why === undefined ? {} : { why }) };
}

/** SQL: that a decision fits, as `matchesFilter` says. */
export function createFilterCondition(filter: AskedFilter, bind: Bind): string {
  const { after, ...members } = filter;
  return [
    'true',
    ...listAskedMembers(members).map((asked) => askedSql(asked, bind)),
    ...(after === undefined || after === null ? [] : [afterSql(after)]),
  ].join(' AND ');
}

type AskedFilter = { readonly [Name in keyof DecisionFilter]: DecisionFilter[Name] | null | undefined };

function askedSql({ member, wanted }: AskedMember, bind: Bind): string {
  const { compared, comparison, value } = member;
  const column = getComparedColumn(compared);
  switch (comparison) {
    case 'includes':
      return `list_contains(${column}, ${wantedSql(wanted, value, bind)})`;
    case 'equals':
    case 'atLeast':
    case 'atMost':
    case 'before':
      return `${column} ${OPERATORS[comparison]} ${wantedSql(wanted, value, bind)}`;
    default:
      return comparison satisfies never;
  }
}

const OPERATORS = { equals: '=', atLeast: '>=', atMost: '<=', before: '<' } as const;

function wantedSql(wanted: string | number, value: FilterValueKind, bind: Bind): string {
  if (typeof wanted === 'string') return bind(wanted);
  return value === 'moment' ? `make_timestamp_ms(${wanted})` : String(wanted);
}

/** The column of `decisions` that a member of a filter is compared with. */
export function getComparedColumn(compared: FilterMember['compared']): string {
  return 'fact' in compared ? toFactColumn(compared.fact) : RECORDS.decisions.columnOf(compared.member);
}

/** What `isAfter` says, in SQL. */
function afterSql({ at, clientHash, seq }: DecisionPosition): string {
  const [time, client] = [`make_timestamp_ms(${at})`, toClientNumber(clientHash)];
  const sameTime = `client_hash < ${client} OR (client_hash = ${client} AND seq < ${seq})`;
  return `(decided_at < ${time} OR (decided_at = ${time} AND (${sameTime})))`;
}

/** SQL: whole rows. */
export function selectRows(source: string, where: string): string {
  return `SELECT * FROM ${source} WHERE ${where}`;
}
