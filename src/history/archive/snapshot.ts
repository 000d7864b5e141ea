import { randomUUID } from 'node:crypto';
import { existsSync, linkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readErrorCode } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import { scheduleFolderRemoval } from '#base/files/temporary-folder.ts';
import { NamedError } from '#base/named-error.ts';
import { archiveReadThrottle, WorkAbandoned } from '#base/work/step-throttle.ts';
import { Archive, type ErasedClients, removeSegments, type SegmentBounds } from './archive.ts';
import {
  ArchiveDamaged,
  type ArchiveGap,
  type ArchiveState,
  type Segment,
  type UnreadSegment,
  writeTemporaryState,
} from './archive-log.ts';
import { formatDay } from './period.ts';
import {
  type Bind,
  type DuckBatch,
  type DuckRow,
  QueryEngine,
  quote,
  quoteName,
  type Statement,
  toNumbers,
  toTextOrNull,
} from './query-engine.ts';
import { READING } from './reading-copies.ts';
import { SegmentWriter } from './segment-writer.ts';
import { emptyTableSql, TABLE_NAMES, TABLES, type TableName } from './tables.ts';

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

export interface SnapshotParts {
  readonly archive: Archive;
  readonly state: ArchiveState;
  /** Null: the archive alone. */
  readonly unshipped: UnshippedSpan | null;
  readonly erased: ErasedClients;
  /** The store's decisions are archived where this machine does not look. */
  readonly isForeign: boolean;
  /** What was found to be damaged before. */
  readonly damaged: readonly Segment[];
  readonly duck: () => Promise<QueryEngine>;
  /** Called once nothing is asked of the snapshot any more. */
  readonly release: () => void;
}

/** What the journal has that an archive does not. */
export interface UnshippedSpan {
  /** SQL that stands where a table may; null: of all platforms. */
  readonly rows: (table: TableName, platform?: string | null) => string;
  /** Entries that were lost, or that the journal holds too many of. */
  readonly gaps: readonly ArchiveGap[];
  /** When the first entry came that was not read, epoch ms; null: all were. */
  readonly upTo: number | null;
}

/** Files of a snapshot, for an engine of the reader's own. */
export interface SnapshotFiles {
  /** An archive of its own, of what was wanted. */
  readonly folder: string;
  /** What was wanted and is not in it. */
  readonly leftOut: readonly UnreadSegment[];
}

/** Opens a snapshot without the segments that were found to be damaged. */
export type OpenSnapshot = (damaged: readonly Segment[]) => Promise<Snapshot>;

/** Which segments a reader wants. */
type IsWanted = (segment: Segment) => boolean;

/**
 * What is known of the past at one moment: the archive, and the journal as one source with it, for one question or several. What
 * `files` gives stays until this is disposed of, whatever is merged meanwhile; only an erasure takes it away.
 */
export class Snapshot implements Disposable {
  readonly #parts: SnapshotParts;
  #leftOut: readonly UnreadSegment[];
  #copy: { readonly archive: Archive; readonly removal: Disposable } | null = null;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
    this.#leftOut = parts.damaged.filter(({ name }) => parts.state.segments.has(name));
  }

  [Symbol.dispose](): void {
    this.#parts.release();
    this.#copy?.removal[Symbol.dispose]();
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
    const { isForeign } = this.#parts;
    return !isForeign && this.#leftOut.length === 0 && this.upTo === null && this.unshippedGaps.length === 0;
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
      if (missing.length > 0) await this.#requireCurrent();
      const found = missing.length > 0 ? { unreadable: missing } : await this.#ask(sql, wanted, read);
      if ('rows' in found) return found.rows;
      this.#leftOut = [...this.#leftOut, ...found.unreadable];
    }
  }

  /**
   * Makes a folder of links to the segments that are wanted, and of the unshipped rows, which are asked for no more after that.
   * Gives the folder of the archive itself where no links can be made: then the unshipped rows are missing.
   */
  async files(isWanted: IsWanted): Promise<SnapshotFiles> {
    const { archive, state, unshipped, release } = this.#parts;
    if (state.version === 0 && unshipped === null) return { folder: archive.folder, leftOut: [] };
    const all = [...state.segments.values()];
    const wanted = removeSegments(all, this.#leftOut).filter(isWanted);
    const away = await archive.bring(wanted);
    if (away.length > 0) await this.#requireCurrent();
    const unwritten = (await this.#unshippedParts()).filter(isWanted);
    const leftOut = [...this.#leftOut.filter(isWanted), ...away];
    const copy = new Archive(join(archive.staging(), `${READING}${randomUUID()}`));
    this.#copy = { archive: copy, removal: scheduleFolderRemoval(copy.folder) };
    const isMade = await this.#link(removeSegments(wanted, away), unwritten, copy);
    release();
    if (isMade) return { folder: copy.folder, leftOut };
    if (all.every((segment) => existsSync(archive.pathOf(segment))))
      return { folder: archive.folder, leftOut: [...away, ...unwritten] };
    throw new ArchiveDamaged(`${archive.folder} cannot be written to; set DATA_DIR to a folder with room`);
  }

  /** False where no links can be made; throws when a segment was replaced since the state was read. */
  async #link(segments: readonly Segment[], unwritten: readonly Segment[], copy: Archive): Promise<boolean> {
    const { archive, state } = this.#parts;
    try {
      makeOwnFolder(copy.folder);
      for (const segment of segments) {
        const path = copy.pathOf(segment);
        makeOwnFolder(dirname(path));
        linkSync(archive.pathOf(segment), path);
      }
      const all = [...segments, ...(await this.#write(unwritten, copy))];
      writeTemporaryState(copy.folder, {
        ...state,
        version: Math.max(1, state.version),
        gaps: this.gaps,
        segments: new Map(all.map((segment) => [segment.name, segment])),
      });
      return true;
    } catch (error) {
      if (CANNOT_LINK.has(readErrorCode(error) ?? '')) return false;
      throw error;
    }
  }

  /** Those of its files at which work failed; files that vanished meanwhile were not damaged: a client was erased. */
  async damagedBy(cause: unknown): Promise<readonly Segment[]> {
    const copy = this.#copy?.archive;
    if (copy === undefined) return [];
    const suspects = copy.suspects([...copy.read().segments.values()], cause);
    if (suspects.length === 0) return [];
    const damaged = await copy.damagedAmong(await this.#parts.duck(), suspects);
    return damaged.filter((segment) => !copy.isCutOff(segment));
  }

  /** The unshipped rows of each table and platform, as a segment that is not written yet. */
  async #unshippedParts(): Promise<readonly Segment[]> {
    if (this.#parts.unshipped === null) return [];
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
    if (parts.length === 0) return [];
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
      if (cause instanceof WorkAbandoned || (await this.isReplaced())) throw cause;
      const { archive } = this.#parts;
      const unreadable = await archive.damagedAmong(duck, archive.suspects(wanted, cause));
      if (unreadable.length === 0 || (await this.isReplaced())) throw cause;
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

  /** Whether a commit has come since, which may have taken away what is read here. */
  async isReplaced(): Promise<boolean> {
    const { archive, state } = this.#parts;
    return (await archive.refresh()).version !== state.version;
  }

  async #requireCurrent(): Promise<void> {
    if (await this.isReplaced()) throw new Error('segments were replaced meanwhile');
  }
}

/** A folder that is read-only or of another user, or a disk that is full or out of links. */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  'EROFS',
  'EACCES',
  'EPERM',
  'ENOSPC',
  'EDQUOT',
  'EMLINK',
  'EXDEV',
]);

/** Each is ended by an erasure, or by a merge in the moment before its files were linked. */
const READING_TRIES_MAX = 10;

/** Everything that the work read of the archive was rewritten before it finished. */
class ArchiveRewritten extends NamedError {
  constructor(cause: unknown) {
    super(
      `the archive was rewritten ${READING_TRIES_MAX} times while it was read, as it is when clients are erased; ask for a shorter span, or when fewer are erased`,
      { cause },
    );
  }
}

/**
 * Opens a snapshot for as long as `work` takes. When the work fails, it is done once more on a new one: without the files that
 * were damaged, or because a commit has meanwhile taken away what it read. Gives up when that happens again and again.
 */
export async function withSnapshot<T>(
  open: OpenSnapshot,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  let damaged: readonly Segment[] = [];
  for (let rewritten = 0; ; ) {
    using snapshot = await open(damaged);
    try {
      return await work(snapshot);
    } catch (cause) {
      const found = await snapshot.damagedBy(cause);
      damaged = [...damaged, ...found];
      if (found.length > 0) continue;
      if (!(await snapshot.isReplaced())) throw cause;
      rewritten += 1;
      if (rewritten === READING_TRIES_MAX) throw new ArchiveRewritten(cause);
    }
  }
}

/** The same for work on files. */
export function withFiles<T>(
  open: OpenSnapshot,
  isWanted: IsWanted,
  work: (files: SnapshotFiles) => Promise<T>,
): Promise<T> {
  return withSnapshot(open, async (snapshot) => work(await snapshot.files(isWanted)));
}

/** Opens snapshots of an archive alone, with an engine of their own where they need one. */
export function createSnapshotOpener(archive: Archive | string, erased: ErasedClients = []): OpenSnapshot {
  const opened = typeof archive === 'string' ? new Archive(archive) : archive;
  return async (damaged) => {
    const state = await opened.refresh();
    let engine: Promise<QueryEngine> | null = null;
    const duck = () => {
      engine ??= QueryEngine.open({ ...PROBE_LIMITS, temporaryFolder: join(opened.staging(), 'spill') });
      return engine;
    };
    const release = () => {
      engine?.then(
        (one) => one.close(),
        () => {},
      );
      engine = null;
    };
    return new Snapshot({
      archive: opened,
      state,
      unshipped: null,
      isForeign: false,
      erased,
      damaged,
      duck,
      release,
    });
  };
}

const PROBE_LIMITS = { threads: 1, memoryMiB: 512 } as const;
