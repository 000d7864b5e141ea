import { clientNumber, type PlatformName } from '../../client/client-key.ts';
import type { DecisionFilter, DecisionPosition } from '../../decision/decision-filter.ts';
import type { UnreadDecisions } from '../../state/decision-search.ts';
import { archiveReadings, NobodyWaits } from '../../state/paced-steps.ts';
import { type Archive, type ErasedClients, withoutThese } from '../archive.ts';
import type { ArchiveGap, ArchiveState, LeftOut, Segment } from '../archive-log.ts';
import { type Duck, type DuckRow, isAboutWhatWasRead, quote } from '../duck.ts';
import { emptyTable, type TableName } from '../tables.ts';
import type { UnshippedSpan } from './unshipped-rows.ts';

/** SQL that stands where a table may: what was archived of it, and what is still in the journal alone. */
export type Source = (table: TableName, bounds?: Bounds) => string;

/** Which segments are read at most: times are epoch ms. Of the journal only the platform is looked at. */
export interface Bounds {
  readonly platform?: PlatformName;
  readonly from?: number;
  readonly to?: number;
}

/** Which of the segments that a question is about have to be read for it. */
export type Among = (segments: readonly Segment[]) => Promise<readonly Segment[]>;

const ALL: Among = async (segments) => segments;

export interface PastParts {
  readonly archive: Archive;
  readonly state: ArchiveState;
  /** Null: the archive alone. */
  readonly unshipped: UnshippedSpan | null;
  readonly erased: ErasedClients;
  readonly duck: () => Promise<Duck>;
}

/** What is known of the past at one moment: archive and journal as one source, for one question or several. */
export class Past {
  readonly #parts: PastParts;
  #leftOut: readonly LeftOut[] = [];

  constructor(parts: PastParts) {
    this.#parts = parts;
  }

  get state(): ArchiveState {
    return this.#parts.state;
  }

  /** Segments that could not be read so far: what they hold is in no answer, and all else is. */
  get unreadable(): readonly LeftOut[] {
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
  async rows(sql: (source: Source) => string, among: Among = ALL): Promise<readonly DuckRow[]> {
    for (;;) {
      const wanted = await this.#wanted(sql, among);
      const missing = await this.#parts.archive.bring(wanted);
      if (missing.length > 0 && (await this.#isReplaced()))
        throw new Error('segments were replaced meanwhile');
      const read = missing.length > 0 ? { unreadable: missing } : await this.#ask(sql, wanted);
      if ('rows' in read) return read.rows;
      this.#leftOut = [...this.#leftOut, ...read.unreadable];
    }
  }

  async #ask(
    sql: (source: Source) => string,
    wanted: readonly Segment[],
  ): Promise<{ readonly rows: readonly DuckRow[] } | { readonly unreadable: readonly LeftOut[] }> {
    if (wanted.length === 0 && this.#parts.unshipped === null) return { rows: [] };
    const names = new Set(wanted.map(({ name }) => name));
    const text = sql((table, bounds) => {
      const segments = this.#segments(table, bounds).filter(({ name }) => names.has(name));
      return this.#source(table, segments, bounds);
    });
    const duck = await this.#parts.duck();
    try {
      return { rows: await archiveReadings.run(() => duck.rows(text)) };
    } catch (cause) {
      if (cause instanceof NobodyWaits || (await this.#isReplaced())) throw cause;
      const unreadable = await this.#damaged(duck, wanted, cause);
      if (unreadable.length === 0 || (await this.#isReplaced())) throw cause;
      return { unreadable };
    }
  }

  async #wanted(sql: (source: Source) => string, among: Among): Promise<readonly Segment[]> {
    const wanted = new Map<string, Segment>();
    sql((table, bounds) => {
      for (const segment of this.#segments(table, bounds)) wanted.set(segment.name, segment);
      return '';
    });
    return among([...wanted.values()]);
  }

  #segments(table: TableName, bounds: Bounds = {}): readonly Segment[] {
    const { archive, state } = this.#parts;
    return withoutThese(archive.segments(state, { table, ...bounds }), this.#leftOut);
  }

  #source(table: TableName, segments: readonly Segment[], { platform }: Bounds = {}) {
    const { archive, unshipped, erased } = this.#parts;
    const parts = [
      ...(segments.length === 0 ? [] : [archive.source(segments, erased)]),
      ...(unshipped === null ? [] : [unshipped.rows(table, platform)]),
    ];
    const [only = emptyTable(table)] = parts;
    return parts.length < 2 ? only : `(${parts.map((part) => `FROM ${part}`).join(' UNION ALL BY NAME ')})`;
  }

  /** The segments because of which a question failed: those that the engine names, otherwise all that cannot be read. */
  async #damaged(duck: Duck, segments: readonly Segment[], cause: unknown): Promise<readonly Segment[]> {
    if (!(cause instanceof Error) || !isAboutWhatWasRead(cause)) return [];
    const { archive } = this.#parts;
    const named = segments.filter((segment) => cause.message.includes(archive.pathOf(segment)));
    const damaged: Segment[] = [];
    for (const segment of named.length > 0 ? named : segments)
      if (!(await archive.canRead(duck, segment))) damaged.push(segment);
    return damaged;
  }

  async #isReplaced(): Promise<boolean> {
    const { archive, state } = this.#parts;
    return (await archive.refresh()).version !== state.version;
  }
}

export function unreadOf({ from, to, rows: decisions, why }: LeftOut): UnreadDecisions {
  return { from, to, decisions, ...(why === undefined ? {} : { why }) };
}

/** SQL: that a decision fits, as `fitsFilter` says. */
export function filterCondition(filter: DecisionFilter): string {
  const { signal, amountMin, amountMax, from, to, after } = filter;
  const equals = (column: string, value: string | undefined) =>
    value === undefined ? [] : [`${column} = ${quote(value)}`];
  return [
    'true',
    ...equals('verdict', filter.verdict),
    ...equals('rule', filter.rule),
    ...equals('rule_version', filter.ruleVersion),
    ...equals('client_group', filter.clientGroup),
    ...(signal === undefined ? [] : [`list_contains(signals, ${quote(signal)})`]),
    ...equals('sell_point_key', filter.sellPointKey),
    ...equals('fact_method', filter.method),
    ...equals('arm', filter.arm),
    ...(amountMin === undefined ? [] : [`fact_amount >= ${amountMin}`]),
    ...(amountMax === undefined ? [] : [`fact_amount <= ${amountMax}`]),
    ...(from === undefined ? [] : [`decided_at >= make_timestamp_ms(${from})`]),
    ...(to === undefined ? [] : [`decided_at < make_timestamp_ms(${to})`]),
    ...(after === undefined ? [] : [afterSql(after)]),
  ].join(' AND ');
}

/** What `isAfter` says, in SQL. */
function afterSql({ at, clientHash, seq }: DecisionPosition): string {
  const [time, client] = [`make_timestamp_ms(${at})`, clientNumber(clientHash)];
  const sameTime = `client_hash < ${client} OR (client_hash = ${client} AND seq < ${seq})`;
  return `(decided_at < ${time} OR (decided_at = ${time} AND (${sameTime})))`;
}
