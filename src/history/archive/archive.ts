import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import type { UnreadableEntry } from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { type ArchiveFile, type ArchiveHome, FolderHome } from './archive-home.ts';
import {
  type ArchiveCommit,
  ArchiveLog,
  type ArchiveState,
  CommitConflict,
  EMPTY_ARCHIVE_STATE,
  type FileToStore,
  type Segment,
  type UnreadSegment,
} from './archive-log.ts';
import { eraseFromQuarantine, listQuarantinedFiles, quarantineEntries } from './quarantine.ts';
import { isDamagedInput, type QueryEngine, quoteSql } from './query-engine.ts';
import { endReadings } from './reading-copies.ts';
import {
  getSegmentFilePath,
  listSegmentFiles,
  SEGMENT_FILE_KINDS,
  type SegmentFileKind,
  type SegmentPlace,
} from './segment-files.ts';
import { hasClientRows, TABLE_NAMES, type TableName } from './tables.ts';

export interface ArchiveTotals {
  readonly segments: number;
  readonly bytes: number;
  /** The number of entries that were removed before they were shipped, because the journal reached its limit. */
  readonly gapEntries: number;
  readonly setAsideEntries: number;
}

/** Which segments to read. A member that is null or missing excludes no segment. */
export interface SegmentFilter {
  readonly platform?: string | null | undefined;
  /** Epoch ms. Segments that end before `from` or begin after `to` are left out. */
  readonly from?: number | null | undefined;
  readonly to?: number | null | undefined;
}

/**
 * The folder of the archive on this machine. A writer writes a segment to `staging/`, and moves it to its place,
 * `decisions/platform=shop/day=2026-11-21/NAME.parquet`. The commit that names the segment makes it part of the
 * archive. The next writer removes the files that no commit names.
 */
export class Archive {
  readonly folder: string;
  readonly home: ArchiveHome;
  readonly #log: ArchiveLog;
  #mirrored: ArchiveState = EMPTY_ARCHIVE_STATE;
  /** The files besides segments that were added or removed since the last commit. */
  readonly #filesAdded = new Set<string>();
  readonly #filesRemoved = new Set<string>();

  constructor(home: ArchiveHome | string) {
    this.home = typeof home === 'string' ? new FolderHome(home) : home;
    this.folder = this.home.folder;
    this.#log = new ArchiveLog(this.home);
  }

  /** Returns the state that this machine knows. */
  read(): ArchiveState {
    return this.#log.read();
  }

  /** Reads the newest state of the archive. */
  async refresh(): Promise<ArchiveState> {
    await this.home.refresh();
    const now = this.read();
    if (now !== this.#mirrored) {
      await this.home.mirror(this.#mirrored, now);
      this.#mirrored = now;
    }
    return now;
  }

  computeTotals(): ArchiveTotals {
    const { segments, gaps } = this.read();
    return {
      segments: segments.size,
      bytes: [...segments.values()].reduce((sum, { bytes }) => sum + bytes, 0),
      gapEntries: gaps.reduce((sum, { entries }) => sum + entries, 0),
      setAsideEntries: listQuarantinedFiles(this.folder).length,
    };
  }

  /** Moves the new segments to their places and commits them. Throws CommitConflict if another writer was faster. */
  async commit(state: ArchiveState, commit: ArchiveCommit): Promise<ArchiveState> {
    const staged = commit.add.flatMap((segment) => this.#listStaged(segment));
    await this.home.put(staged);
    const next = await this.#log.commit(state, { ...commit, ...this.#fileChanges() }).catch(async (error) => {
      if (error instanceof CommitConflict) await this.#withdraw(staged);
      throw error;
    });
    this.#filesAdded.clear();
    this.#filesRemoved.clear();
    const gone = commit.remove.flatMap((name) => state.segments.get(name) ?? []);
    await this.home.remove(gone.flatMap(listSegmentFiles));
    return next;
  }

  #listStaged(segment: Segment): readonly FileToStore[] {
    return SEGMENT_FILE_KINDS.map((kind) => ({
      path: getSegmentFilePath(segment, kind),
      from: this.getStagedPath(segment.name, kind),
    })).filter(({ from }) => existsSync(from));
  }

  #fileChanges(): Pick<ArchiveCommit, 'files'> {
    if (this.#filesAdded.size === 0 && this.#filesRemoved.size === 0) return {};
    return { files: { add: [...this.#filesAdded], remove: [...this.#filesRemoved] } };
  }

  /**
   * Removes the files of a commit that failed because another writer was faster. Otherwise other programs might read
   * them.
   */
  async #withdraw(files: readonly FileToStore[]): Promise<void> {
    const named = this.#listNamedFiles(await this.refresh());
    await this.home.remove(files.map(({ path }) => path).filter((path) => !named.has(path)));
  }

  /**
   * Finishes the work of a killed writer, commits, and removes the files that no commit names. After this commit the
   * next commit of every other writer fails, so no file that is removed here can still be committed. Throws
   * CommitConflict if another writer was faster.
   */
  async takeOver(commit: ArchiveCommit): Promise<ArchiveState> {
    await this.home.finishCommits();
    const before = await this.refresh();
    const strays = await this.#findStrays(before);
    const state = await this.commit(before, commit);
    rmSync(this.getStagingFolder(), { recursive: true, force: true });
    await this.home.remove(strays);
    return state;
  }

  /**
   * Removes the files that no commit names, because a writer that was cut off may have written them late. A commit is
   * made first, so that the writer of these files cannot commit them any more. Returns false if there are no such
   * files.
   */
  async sweep(commit: ArchiveCommit): Promise<boolean> {
    const strays = await this.#findStrays(this.read());
    if (strays.length === 0) return false;
    await this.commit(this.read(), commit);
    await this.home.remove(strays);
    return true;
  }

  async #findStrays(state: ArchiveState): Promise<readonly string[]> {
    const named = this.#listNamedFiles(state);
    return [...(await this.#readSizes()).keys()].filter((path) => !named.has(path));
  }

  /** Returns the paths of all files of the segments in a state. */
  #listNamedFiles({ segments }: ArchiveState): ReadonlySet<string> {
    return new Set([...segments.values()].flatMap(listSegmentFiles));
  }

  /** Returns the lengths of all segment files that are kept, by path. */
  async #readSizes(): Promise<ReadonlyMap<string, number>> {
    const lists = await Promise.all(TABLE_NAMES.map((table) => this.home.list(`${table}/`)));
    return new Map(lists.flatMap((sizes) => [...sizes]));
  }

  /**
   * Makes segments readable here, the newest first, as long as there is room. Returns the segments that are not
   * readable.
   */
  async makeReadable(
    segments: readonly Segment[],
    kinds: readonly SegmentFileKind[] = ['parquet'],
  ): Promise<readonly UnreadSegment[]> {
    const missing = await this.home.makeReadable(
      segments.flatMap((segment) => kinds.map((kind) => this.#toFile(segment, kind))),
    );
    return segments.flatMap((segment) => {
      const why = missing.get(getSegmentFilePath(segment, 'parquet'));
      if (why === undefined) return [];
      return [why === 'damaged' ? segment : { ...segment, why }];
    });
  }

  #toFile(segment: Segment, kind: SegmentFileKind): ArchiveFile {
    return { path: getSegmentFilePath(segment, kind), bytes: kind === 'parquet' ? segment.bytes : null };
  }

  async quarantine(entries: readonly UnreadableEntry[]): Promise<void> {
    await this.keepFiles(quarantineEntries(this.folder, entries));
  }

  /** Removes the quarantined entries of erased clients. */
  async eraseFromQuarantine(clientNumbers: ReadonlySet<string>): Promise<void> {
    const gone = eraseFromQuarantine(this.folder, clientNumbers);
    await this.home.remove(gone);
    for (const path of gone) {
      this.#filesAdded.delete(path);
      this.#filesRemoved.add(path);
    }
  }

  /** Keeps files that lie in this folder. The next commit names them. */
  async keepFiles(paths: readonly string[]): Promise<void> {
    await this.home.put(paths.map((path) => ({ path, from: join(this.folder, path) })));
    for (const path of paths) this.#filesAdded.add(path);
  }

  /** Removes the segment files that `state` does not name. */
  async removeUnnamedFiles(state: ArchiveState): Promise<void> {
    await this.home.remove(await this.#findStrays(state));
  }

  /**
   * Removes the copies that are being read, after a commit. Readers of the copies start again on the remaining
   * segments.
   */
  endReading(): void {
    endReadings(this.folder);
  }

  getStagingFolder(): string {
    return join(this.folder, 'staging');
  }

  getStagedPath(name: string, kind: SegmentFileKind = 'parquet'): string {
    return join(this.getStagingFolder(), `${name}.${kind}`);
  }

  /** Writes and removes a test file in the way in which a segment is written. Throws if this process cannot write. */
  async tryWriting(): Promise<void> {
    this.prepareStaging();
    const path = `staging/trial-${randomUUID()}`;
    const from = join(this.getStagingFolder(), basename(path));
    writeFileSync(from, '', { mode: 0o600 });
    await this.home.put([{ path, from }]);
    await this.home.remove([path]);
  }

  prepareStaging(): void {
    makeOwnFolder(this.getStagingFolder());
  }

  getSegmentPath(segment: SegmentPlace, kind: SegmentFileKind = 'parquet'): string {
    return join(this.folder, getSegmentFilePath(segment, kind));
  }

  /** Returns the segments that may hold rows for the filter, the newest first. */
  listSegments(
    state: ArchiveState,
    { table, platform, from, to }: SegmentFilter & { readonly table: TableName },
  ): readonly Segment[] {
    return [...state.segments.values()]
      .filter((segment) => segment.table === table && segment.platform === (platform ?? segment.platform))
      .filter((segment) => segment.to >= (from ?? segment.to) && segment.from <= (to ?? segment.from))
      .toSorted((a, b) => b.to - a.to);
  }

  /**
   * Returns the segments whose files were cut off or are gone. Throws if a commit has replaced segments since `state`
   * was read.
   */
  async findTornSegments(state: ArchiveState): Promise<readonly Segment[]> {
    const sizes = await this.#readSizes();
    const torn = [...state.segments.values()].filter(
      (segment) => sizes.get(getSegmentFilePath(segment, 'parquet')) !== segment.bytes,
    );
    if (torn.length > 0 && (await this.refresh()).version !== state.version)
      throw new Error('segments were replaced meanwhile');
    return torn;
  }

  /** Whether this machine knows that a segment's file is gone or shorter than it was written. */
  isCutOff(segment: Segment): boolean {
    return this.home.isCutOff(this.#toFile(segment, 'parquet'));
  }

  /**
   * Returns the segments that may have caused a failure: the segments that the engine's message names, or all if it
   * names none. Returns an empty list if the failure was not about files.
   */
  findSuspects(segments: readonly Segment[], cause: unknown): readonly Segment[] {
    if (!(cause instanceof Error) || !isDamagedInput(cause)) return [];
    const named = segments.filter((segment) => cause.message.includes(this.getSegmentPath(segment)));
    return named.length > 0 ? named : segments;
  }

  async findDamaged(duck: QueryEngine, segments: readonly Segment[]): Promise<readonly Segment[]> {
    const damaged: Segment[] = [];
    for (const segment of segments) if (!(await this.canRead(duck, segment))) damaged.push(segment);
    return damaged;
  }

  async canRead(duck: QueryEngine, segment: Segment): Promise<boolean> {
    if ((await this.makeReadable([segment])).length > 0) return false;
    try {
      await duck.rows(`SELECT bit_xor(hash(one)) FROM ${this.createRowsSql([segment])} AS one`);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Returns the rows of segments as SQL that can replace a table's name. The rows of erased clients are left out: the
   * clients in `without` of a segment, and the clients in `erased`. Read `erased` first, and then the state that
   * names the segments. With the other sequence, a commit in between could take a client off `erased` while the
   * segments that were read still have the client's rows.
   */
  createRowsSql(segments: readonly Segment[], erased: ErasedClientNumbers = []): string {
    const groups = Map.groupBy(segments, ({ table, without = [] }) =>
      hasClientRows(table) ? [...new Set([...without, ...erased])].join(', ') : '',
    );
    const parts = [...groups].map(([leftOut, some]) =>
      rowsSql(
        some.map((segment) => this.getSegmentPath(segment)),
        leftOut,
      ),
    );
    const [only = ''] = parts;
    if (parts.length === 1) return only;
    return `(${parts.map((part) => `SELECT * FROM ${part}`).join(' UNION ALL BY NAME ')})`;
  }
}

/** Returns SQL for the rows of files, without the rows of the clients whose numbers `leftOut` lists. */
function rowsSql(paths: readonly string[], leftOut: string): string {
  const rows = `read_parquet([${paths.map(quoteSql).join(', ')}], union_by_name = true, hive_partitioning = false)`;
  return leftOut === '' ? rows : `(SELECT * FROM ${rows} WHERE client_hash NOT IN (${leftOut}))`;
}

export function excludeSegments(
  segments: readonly Segment[],
  others: readonly Segment[],
): readonly Segment[] {
  const names = new Set(others.map(({ name }) => name));
  return segments.filter(({ name }) => !names.has(name));
}

/** The numbers (`toClientNumberText`) of erased clients whom the archive may still hold. */
export type ErasedClientNumbers = readonly string[];

/**
 * Reads from the store which clients were erased and may still be in the archive. Call it before the archive is read.
 */
export async function readUnshippedErasedClientNumbers(
  store: Pick<Store, 'unshippedErasures'>,
): Promise<ErasedClientNumbers> {
  const erasures = await store.unshippedErasures();
  return [...new Set(erasures.map((erasure) => erasure.clientNumber))];
}
