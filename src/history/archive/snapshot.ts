import { randomUUID } from 'node:crypto';
import { existsSync, linkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readErrorCode } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import { scheduleFolderRemoval } from '#base/files/temporary-folder.ts';
import { NamedError } from '#base/named-error.ts';
import { archiveReadThrottle, WorkAbandoned } from '#base/work/step-throttle.ts';
import { Archive, type ErasedClientNumbers, excludeSegments, type SegmentFilter } from './archive.ts';
import {
  ArchiveDamaged,
  type ArchiveGap,
  type ArchiveState,
  type Segment,
  type UnreadSegment,
  writeTemporaryArchive,
} from './archive-log.ts';
import { formatDay } from './period.ts';
import {
  type BindAsPlaceholder,
  QueryEngine,
  quoteName,
  quoteSql,
  type ResultBatch,
  type ResultRow,
  type Statement,
  toNumbersByColumn,
  toTextOrNull,
} from './query-engine.ts';
import { READING_COPY_PREFIX } from './reading-copies.ts';
import { SegmentWriter } from './segment-writer.ts';
import { emptyTableSql, TABLE_NAMES, TABLES, type TableName } from './tables.ts';

/**
 * Returns SQL that can replace a table's name: the archived rows within the bounds, and the rows that only the
 * journal has. Of the bounds, only `platform` limits the rows of the journal.
 */
export type GetTableSql = (table: TableName, bounds?: SegmentFilter) => string;

/** Selects, among the segments that a question is about, those that have to be read for it. */
export type PickSegments = (segments: readonly Segment[]) => Promise<readonly Segment[]>;

const ALL: PickSegments = async (segments) => segments;

/** Builds the SQL of a question. `source` gives the SQL of a table, and `bind` the placeholder of a value. */
type Question = (source: GetTableSql, bind: BindAsPlaceholder) => string;

type Read<T> = (duck: QueryEngine, statement: Statement) => Promise<readonly T[]>;

export interface SnapshotParts {
  readonly archive: Archive;
  readonly state: ArchiveState;
  /** The rows that only the journal has. Null if the snapshot is of the archive alone. */
  readonly unshipped: UnshippedSpan | null;
  readonly erased: ErasedClientNumbers;
  /** True if the store's decisions are archived in a place that this machine does not read. */
  readonly isForeign: boolean;
  /** The segments that were found to be damaged before. */
  readonly damaged: readonly Segment[];
  readonly duck: () => Promise<QueryEngine>;
  /** Is called when nothing more is asked of the snapshot. */
  readonly release: () => void;
}

/** The part of the journal that the archive does not have. */
export interface UnshippedSpan {
  /** Returns SQL that can replace a table's name. A platform of null means all platforms. */
  readonly rows: (table: TableName, platform?: string | null) => string;
  /** The entries that were lost, and the entries beyond the number that a node reads from the journal. */
  readonly gaps: readonly ArchiveGap[];
  /** The time of the first entry that was not read, in epoch ms. Null if all were read. */
  readonly upTo: number | null;
}

/** The files of a snapshot, for a reader with an engine of its own. */
export interface SnapshotFiles {
  /** The folder of an archive that holds the wanted segments. */
  readonly folder: string;
  /** The wanted segments that the folder lacks. */
  readonly leftOut: readonly UnreadSegment[];
}

/** Opens a snapshot without the segments that were found to be damaged. */
export type OpenSnapshot = (damaged: readonly Segment[]) => Promise<Snapshot>;

/** Whether a reader wants a segment. */
type IsWanted = (segment: Segment) => boolean;

/**
 * The contents of archive and journal at one moment, as one source for one or several questions. The copy that
 * `files` makes stays until the snapshot is disposed of, also if segments are merged. An erasure removes it earlier.
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

  /** The segments that could not be read so far. Answers lack their rows and have all others. */
  get unreadable(): readonly UnreadSegment[] {
    return this.#leftOut;
  }

  /** The entries that were lost, and the entries beyond the number that a node reads from the journal. */
  get gaps(): readonly ArchiveGap[] {
    return [...this.#parts.state.gaps, ...this.unshippedGaps];
  }

  get unshippedGaps(): readonly ArchiveGap[] {
    return this.#parts.unshipped?.gaps ?? [];
  }

  /** Whether everything was read so far, except entries that were lost before they were archived. */
  get isWhole(): boolean {
    const { isForeign } = this.#parts;
    return !isForeign && this.#leftOut.length === 0 && this.upTo === null && this.unshippedGaps.length === 0;
  }

  /** The time, in epoch ms, before which everything was read. Null if everything was read. */
  get upTo(): number | null {
    return this.#parts.unshipped?.upTo ?? null;
  }

  /**
   * Answers a question in rows. `sql` may be called several times, because a segment that cannot be read is left out
   * of the whole answer.
   */
  rows(sql: Question, among: PickSegments = ALL): Promise<readonly ResultRow[]> {
    return this.#read(sql, among, (duck, statement) => duck.rows(statement));
  }

  /** Answers a question in batches, from which single rows are made later. */
  batches(sql: Question, among: PickSegments): Promise<readonly ResultBatch[]> {
    return this.#read(sql, among, (duck, statement) => duck.readAllBatches(statement));
  }

  async #read<T>(sql: Question, among: PickSegments, read: Read<T>): Promise<readonly T[]> {
    for (;;) {
      const wanted = await this.#listWanted(sql, among);
      const missing = await this.#parts.archive.makeReadable(wanted);
      if (missing.length > 0) await this.#requireCurrent();
      const found = missing.length > 0 ? { unreadable: missing } : await this.#tryQuestion(sql, wanted, read);
      if ('rows' in found) return found.rows;
      this.#leftOut = [...this.#leftOut, ...found.unreadable];
    }
  }

  /**
   * Makes a folder with links to the wanted segments and with the unshipped rows. After that, the rows of the journal
   * can no longer be read from the snapshot. If no links can be made, returns the archive's own folder, and the
   * unshipped rows are missing.
   */
  async files(isWanted: IsWanted): Promise<SnapshotFiles> {
    const { archive, state, unshipped, release } = this.#parts;
    if (state.version === 0 && unshipped === null) return { folder: archive.folder, leftOut: [] };
    const all = [...state.segments.values()];
    const wanted = excludeSegments(all, this.#leftOut).filter(isWanted);
    const away = await archive.makeReadable(wanted);
    if (away.length > 0) await this.#requireCurrent();
    const unwritten = (await this.#listUnshippedParts()).filter(isWanted);
    const leftOut = [...this.#leftOut.filter(isWanted), ...away];
    const copy = new Archive(join(archive.getStagingFolder(), `${READING_COPY_PREFIX}${randomUUID()}`));
    this.#copy = { archive: copy, removal: scheduleFolderRemoval(copy.folder) };
    const isMade = await this.#linkSegments(excludeSegments(wanted, away), unwritten, copy);
    release();
    if (isMade) return { folder: copy.folder, leftOut };
    if (all.every((segment) => existsSync(archive.getSegmentPath(segment))))
      return { folder: archive.folder, leftOut: [...away, ...unwritten] };
    throw new ArchiveDamaged(`${archive.folder} cannot be written to; set DATA_DIR to a folder with room`);
  }

  /**
   * Links the segments. Returns false if no links can be made. Throws if a segment was replaced since the state was
   * read.
   */
  async #linkSegments(
    segments: readonly Segment[],
    unwritten: readonly Segment[],
    copy: Archive,
  ): Promise<boolean> {
    const { archive, state } = this.#parts;
    try {
      makeOwnFolder(copy.folder);
      for (const segment of segments) {
        const path = copy.getSegmentPath(segment);
        makeOwnFolder(dirname(path));
        linkSync(archive.getSegmentPath(segment), path);
      }
      const all = [...segments, ...(await this.#writeUnshipped(unwritten, copy))];
      writeTemporaryArchive(copy.folder, {
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

  /**
   * Returns the damaged segments of the copy that made the work fail. A file that is gone is not damaged: it was
   * removed because a client was erased.
   */
  async findDamagedBy(cause: unknown): Promise<readonly Segment[]> {
    const copy = this.#copy?.archive;
    if (copy === undefined) return [];
    const suspects = copy.findSuspects([...copy.read().segments.values()], cause);
    if (suspects.length === 0) return [];
    const damaged = await copy.findDamaged(await this.#parts.duck(), suspects);
    return damaged.filter((segment) => !copy.isCutOff(segment));
  }

  /** Describes, for each table and platform, the segment into which its unshipped rows will be written. */
  async #listUnshippedParts(): Promise<readonly Segment[]> {
    if (this.#parts.unshipped === null) return [];
    const duck = await this.#parts.duck();
    const parts: Segment[] = [];
    for (const table of TABLE_NAMES) {
      const time = quoteName(TABLES[table].time);
      const rows = await duck.rows(
        `SELECT platform, count(*) AS rows, min(${time}) AS "from", max(${time}) AS "to"
        FROM ${this.#sourceSql(table, [])} GROUP BY platform`,
      );
      for (const row of rows) {
        const { rows, from, to } = toNumbersByColumn(row, { rows: 0, from: 0, to: 0 });
        const platform = toTextOrNull(row['platform']) ?? '';
        const name = `unshipped ${table} of ${platform}`;
        const unwritten = { bytes: 0, firstTick: 0, lastTick: 0 };
        parts.push({ table, platform, day: formatDay(from), name, rows, from, to, ...unwritten });
      }
    }
    return parts;
  }

  async #writeUnshipped(parts: readonly Segment[], copy: Archive): Promise<readonly Segment[]> {
    if (parts.length === 0) return [];
    const writer = new SegmentWriter(copy, await this.#parts.duck(), true);
    const written: Segment[] = [];
    for (const { table, platform, day } of parts) {
      const rows = `SELECT * FROM ${this.#sourceSql(table, [])} WHERE platform = ${quoteSql(platform)}`;
      const segment = await archiveReadThrottle.run(() =>
        writer.writeQueryRows(rows, { table, platform, day }),
      );
      if (segment !== null) written.push(segment);
    }
    return written;
  }

  async #tryQuestion<T>(sql: Question, wanted: readonly Segment[], read: Read<T>) {
    if (wanted.length === 0 && this.#parts.unshipped === null) return { rows: [] };
    const names = new Set(wanted.map(({ name }) => name));
    const source: GetTableSql = (table, bounds) => {
      const segments = this.#listSegments(table, bounds).filter(({ name }) => names.has(name));
      return this.#sourceSql(table, segments, bounds);
    };
    const duck = await this.#parts.duck();
    try {
      return { rows: await archiveReadThrottle.run(() => read(duck, (bind) => sql(source, bind))) };
    } catch (cause) {
      if (cause instanceof WorkAbandoned || (await this.isReplaced())) throw cause;
      const { archive } = this.#parts;
      const unreadable = await archive.findDamaged(duck, archive.findSuspects(wanted, cause));
      if (unreadable.length === 0 || (await this.isReplaced())) throw cause;
      return { unreadable };
    }
  }

  async #listWanted(sql: Question, among: PickSegments): Promise<readonly Segment[]> {
    const wanted = new Map<string, Segment>();
    const source: GetTableSql = (table, bounds) => {
      for (const segment of this.#listSegments(table, bounds)) wanted.set(segment.name, segment);
      return '';
    };
    sql(source, () => '');
    return among([...wanted.values()]);
  }

  #listSegments(table: TableName, bounds: SegmentFilter = {}): readonly Segment[] {
    const { archive, state } = this.#parts;
    return excludeSegments(archive.listSegments(state, { table, ...bounds }), this.#leftOut);
  }

  #sourceSql(table: TableName, segments: readonly Segment[], { platform }: SegmentFilter = {}) {
    const { archive, unshipped, erased } = this.#parts;
    const parts = [
      ...(segments.length === 0 ? [] : [archive.createRowsSql(segments, erased)]),
      ...(unshipped === null ? [] : [unshipped.rows(table, platform ?? null)]),
    ];
    const [only = emptyTableSql(table)] = parts;
    return parts.length < 2 ? only : `(${parts.map((part) => `FROM ${part}`).join(' UNION ALL BY NAME ')})`;
  }

  /** Whether a newer commit exists, which may have removed files of this snapshot. */
  async isReplaced(): Promise<boolean> {
    const { archive, state } = this.#parts;
    return (await archive.refresh()).version !== state.version;
  }

  async #requireCurrent(): Promise<void> {
    if (await this.isReplaced()) throw new Error('segments were replaced meanwhile');
  }
}

/**
 * The codes of errors that occur if a folder is read-only or belongs to another user, if the disk is full or is not
 * the disk of the archive, or if a file can have no more links.
 */
const CANNOT_LINK: ReadonlySet<string> = new Set([
  'EROFS',
  'EACCES',
  'EPERM',
  'ENOSPC',
  'EDQUOT',
  'EMLINK',
  'EXDEV',
]);

/** The most tries. A try fails because of an erasure, or because of a merge just before its files were linked. */
const READING_TRIES_MAX = 10;

/** Thrown if the archive was rewritten during every try, before the work had finished. */
class ArchiveRewritten extends NamedError {
  constructor(cause: unknown) {
    super(
      `the archive was rewritten ${READING_TRIES_MAX} times while it was read, which happens when clients are erased; ask for a shorter time span, or later`,
      { cause },
    );
  }
}

/**
 * Opens a snapshot and runs `work` on it. If the work fails, it runs again on a new snapshot: without the damaged
 * files, or because a newer commit removed files that the work read. Throws ArchiveRewritten after READING_TRIES_MAX
 * such commits.
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
      const found = await snapshot.findDamagedBy(cause);
      damaged = [...damaged, ...found];
      if (found.length > 0) continue;
      if (!(await snapshot.isReplaced())) throw cause;
      rewritten += 1;
      if (rewritten === READING_TRIES_MAX) throw new ArchiveRewritten(cause);
    }
  }
}

/** Runs `work` on the files of a snapshot, as `withSnapshot` does. */
export function withSnapshotFiles<T>(
  open: OpenSnapshot,
  isWanted: IsWanted,
  work: (files: SnapshotFiles) => Promise<T>,
): Promise<T> {
  return withSnapshot(open, async (snapshot) => work(await snapshot.files(isWanted)));
}

/** Opens snapshots of an archive without the journal. Each snapshot opens its own engine when it needs one. */
export function createSnapshotOpener(
  archive: Archive | string,
  erased: ErasedClientNumbers = [],
): OpenSnapshot {
  const opened = typeof archive === 'string' ? new Archive(archive) : archive;
  return async (damaged) => {
    const state = await opened.refresh();
    let engine: Promise<QueryEngine> | null = null;
    const duck = () => {
      engine ??= QueryEngine.open({
        ...PROBE_LIMITS,
        temporaryFolder: join(opened.getStagingFolder(), 'spill'),
      });
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
