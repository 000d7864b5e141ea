import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readdirSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { readErrorCode } from '#base/files/placed.ts';
import { NamedError } from '#base/named-error.ts';
import type { UnreadableEntry } from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { type ArchiveHome, type FileToKeep, FolderHome } from './archive-home.ts';
import {
  type ArchiveState,
  type Commit,
  listNames,
  type Segment,
  syncFolder,
  type UnreadSegment,
} from './archive-log.ts';
import { isDamagedInput, type QueryEngine, quote } from './duck.ts';
import { eraseFromQuarantine, listQuarantined, quarantine } from './set-aside.ts';
import { isAboutClients, TABLE_NAMES, type TableName } from './tables.ts';

export interface ArchiveContents {
  readonly segments: number;
  readonly bytes: number;
  /** Entries that the journal's bound pushed out. */
  readonly gapEntries: number;
  readonly setAsideEntries: number;
}

/** Which segments are read at most; null or absent is no bound. */
export interface SegmentBounds {
  readonly platform?: string | null | undefined;
  /** Epoch ms; segments that end before or begin after are left out. */
  readonly from?: number | null | undefined;
  readonly to?: number | null | undefined;
}

/**
 * The folder of the archive. A segment is written whole under `staging/`, becomes part of the archive with the
 * commit that names it, and is then linked to where people and engines look for it:
 * `decisions/platform=shop/day=2026-11-21/NAME.parquet`. Its first name goes after the next commit alone, so that
 * every path that was given out holds for as long as the version does that it was given out under.
 */
export class Archive {
  readonly folder: string;
  readonly home: ArchiveHome;
  /** Segments of the last commit, which have both names. */
  #linked: readonly Segment[] = [];

  /** `home`: where the archive is kept when the folder only holds fetched files. */
  constructor(folder: string, home: ArchiveHome = new FolderHome(folder)) {
    this.folder = folder;
    this.home = home;
  }

  read(): ArchiveState {
    return this.home.read();
  }

  /** Learns what is in the archive now, and removes fetched files that the archive no longer has. */
  async refresh(): Promise<ArchiveState> {
    const before = this.read();
    await this.home.refresh();
    const now = this.read();
    if (this.home.isElsewhere && now !== before) this.#forget(before, now);
    return now;
  }

  #forget(before: ArchiveState, now: ArchiveState): void {
    if (before.version === 0) this.keepOnly(now);
    for (const segment of before.segments.values())
      if (!now.segments.has(segment.name)) this.#removeHere(segment);
    const erasures = this.segments(now, { table: 'erasures' });
    if (erasures.some(({ name }) => !before.segments.has(name))) this.endReading();
  }

  contents(): ArchiveContents {
    const { segments, gaps } = this.read();
    return {
      segments: segments.size,
      bytes: [...segments.values()].reduce((sum, { bytes }) => sum + bytes, 0),
      gapEntries: gaps.reduce((sum, { entries }) => sum + entries, 0),
      setAsideEntries: listQuarantined(this.folder).length,
    };
  }

  /**
   * Does work on what is in the archive now, and does it once more when it failed and a commit has meanwhile taken
   * away what it read; gives up when that happens again and again.
   */
  async reading<T>(work: (state: ArchiveState) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const state = await this.refresh();
      try {
        return await work(state);
      } catch (cause) {
        if ((await this.refresh()).version === state.version) throw cause;
        if (tries === READING_TRIES_MAX) throw new ArchiveRewritten(cause);
      }
    }
  }

  /** Commits and links the new segments to their places; throws CommitConflict when somebody was faster. */
  async commit(state: ArchiveState, commit: Commit): Promise<ArchiveState> {
    await this.home.keep(commit.add.flatMap((segment) => this.#staged(segment)));
    const next = await this.home.commit(state, commit);
    for (const { name } of this.#linked)
      for (const kind of SEGMENT_FILES) removeFile(this.stagedPath(name, kind));
    for (const segment of commit.add) this.#settle(segment);
    this.#linked = commit.add;
    const gone = commit.remove.flatMap((name) => state.segments.get(name) ?? []);
    for (const segment of gone) this.#removeHere(segment);
    await this.home.remove(gone.flatMap((segment) => this.#filesOf(segment)));
    return next;
  }

  #staged(segment: Segment): readonly FileToKeep[] {
    return SEGMENT_FILES.map((kind) => ({
      path: this.#fileOf(segment, kind),
      from: this.stagedPath(segment.name, kind),
    })).filter(({ from }) => existsSync(from));
  }

  #removeHere(segment: Segment): void {
    for (const kind of SEGMENT_FILES) removeFile(this.#placeOf(segment, kind));
  }

  /**
   * Finishes the work of a killed writer: links committed segments to their places and, after the commit, removes
   * files that no commit names. Every other writer's next commit then fails, so what is removed here can never be
   * committed. Throws CommitConflict when somebody was faster.
   */
  async takeOver(commit: Commit): Promise<ArchiveState> {
    await this.home.finishCommits();
    const before = this.read();
    for (const segment of before.segments.values()) this.#settle(segment);
    const strays = await this.#strays(before);
    const state = await this.commit(before, commit);
    rmSync(this.staging(), { recursive: true, force: true });
    this.keepOnly(state);
    await this.home.remove(strays);
    return state;
  }

  /**
   * Removes files that no commit names from where they are kept: a writer that was cut off may have written them
   * late. It removes them after a commit, so that their writer cannot commit any more. False when there are none.
   */
  async sweep(commit: Commit): Promise<boolean> {
    const strays = await this.#strays(this.read());
    if (strays.length === 0) return false;
    await this.commit(this.read(), commit);
    await this.home.remove(strays);
    return true;
  }

  async #strays(state: ArchiveState): Promise<readonly string[]> {
    const kept = await this.home.sizes();
    if (kept === null) return [];
    const named = new Set([...state.segments.values()].flatMap((segment) => this.#filesOf(segment)));
    return [...kept.keys()].filter((path) => !named.has(path));
  }

  /**
   * Fetches the segments that cannot be read here yet, newest first as far as there is room. Returns those that
   * cannot be fetched.
   */
  async bring(
    segments: readonly Segment[],
    kinds: readonly SegmentFile[] = ['parquet'],
  ): Promise<readonly UnreadSegment[]> {
    if (!this.home.isElsewhere) return [];
    const files = segments
      .filter(({ name }) => !existsSync(this.stagedPath(name)))
      .flatMap((segment) =>
        kinds.map((kind) => ({
          path: this.#fileOf(segment, kind),
          bytes: kind === 'parquet' ? segment.bytes : null,
        })),
      );
    const missing = await this.home.bring(files);
    // A commit removed it while it was being fetched.
    for (const segment of segments) if (!this.read().segments.has(segment.name)) this.#removeHere(segment);
    return segments.flatMap((segment) => {
      const why = missing.get(this.#fileOf(segment, 'parquet'));
      return why === undefined ? [] : [{ ...segment, why }];
    });
  }

  async setAside(entries: readonly UnreadableEntry[]): Promise<void> {
    await this.keepFiles(quarantine(this.folder, entries));
  }

  /** Takes those of erased clients out again. */
  async forgetSetAside(clientNumbers: ReadonlySet<string>): Promise<void> {
    await this.home.remove(eraseFromQuarantine(this.folder, clientNumbers));
  }

  async keepFiles(paths: readonly string[]): Promise<void> {
    await this.home.keep(paths.map((path) => ({ path, from: join(this.folder, path) })));
  }

  /** Removes the files of segments that a state does not name. */
  keepOnly(state: ArchiveState): void {
    const wanted = new Set(
      [...state.segments.values()].flatMap((segment) =>
        SEGMENT_FILES.map((kind) => this.#placeOf(segment, kind)),
      ),
    );
    for (const table of TABLE_NAMES)
      for (const path of filesBelow(join(this.folder, table))) if (!wanted.has(path)) removeFile(path);
  }

  /** Removes the copies that are being read; after a commit, the readers start again on what is left. */
  endReading(): void {
    for (const name of listNames(this.staging())) if (name.startsWith(READING)) this.#endCopy(name);
  }

  #endCopy(name: string): void {
    try {
      rmSync(join(this.staging(), name), { recursive: true, force: true });
    } catch (error) {
      // A copy of another user is removed when its reading ends.
      if (readErrorCode(error) !== 'EACCES' && readErrorCode(error) !== 'EPERM') throw error;
    }
  }

  staging(): string {
    return join(this.folder, 'staging');
  }

  stagedPath(name: string, kind: SegmentFile = 'parquet'): string {
    return join(this.staging(), `${name}.${kind}`);
  }

  /** Throws where this process cannot write, as it would have to for a segment. */
  async tryWriting(): Promise<void> {
    this.prepareStaging();
    const trial = join(this.staging(), `trial-${randomUUID()}`);
    writeFileSync(trial, '', { mode: 0o600 });
    rmSync(trial);
    await this.home.tryWriting();
  }

  prepareStaging(): void {
    makeOwnFolder(this.staging());
  }

  pathOf(segment: Segment, kind: SegmentFile = 'parquet'): string {
    const place = this.#placeOf(segment, kind);
    // Between its commit and the link, and after a crash in between, it only lies where it was written.
    const staged = this.stagedPath(segment.name, kind);
    return existsSync(place) || !existsSync(staged) ? place : staged;
  }

  /** The segments that may hold what is looked for, newest first. */
  segments(
    state: ArchiveState,
    { table, platform, from, to }: SegmentBounds & { readonly table: TableName },
  ): readonly Segment[] {
    return [...state.segments.values()]
      .filter((segment) => segment.table === table && segment.platform === (platform ?? segment.platform))
      .filter((segment) => segment.to >= (from ?? segment.to) && segment.from <= (to ?? segment.from))
      .toSorted((a, b) => b.to - a.to);
  }

  /** Segments whose files were cut off or are gone. Throws when they were replaced since the state was read. */
  async torn(state: ArchiveState): Promise<readonly Segment[]> {
    const sizes = await this.home.sizes();
    const torn = [...state.segments.values()].filter((segment) =>
      sizes === null ? !this.isWhole(segment) : sizes.get(this.#fileOf(segment, 'parquet')) !== segment.bytes,
    );
    if (torn.length > 0 && (await this.refresh()).version !== state.version)
      throw new Error('segments were replaced meanwhile');
    return torn;
  }

  /** Whether a segment's file has its full length; unknown for one that was not fetched. */
  isWhole(segment: Segment): boolean {
    return this.hasFile(segment) || (this.home.isElsewhere && !existsSync(this.pathOf(segment)));
  }

  /** Whether its file is here, with its full length. */
  hasFile(segment: Segment): boolean {
    return statSync(this.pathOf(segment), { throwIfNoEntry: false })?.size === segment.bytes;
  }

  /** The segments at which work may have failed: those that the engine names, otherwise all; none when it was not about files. */
  suspects(segments: readonly Segment[], cause: unknown): readonly Segment[] {
    if (!(cause instanceof Error) || !isDamagedInput(cause)) return [];
    const named = segments.filter((segment) => cause.message.includes(this.pathOf(segment)));
    return named.length > 0 ? named : segments;
  }

  async damagedAmong(duck: QueryEngine, segments: readonly Segment[]): Promise<readonly Segment[]> {
    const damaged: Segment[] = [];
    for (const segment of segments) if (!(await this.canRead(duck, segment))) damaged.push(segment);
    return damaged;
  }

  async canRead(duck: QueryEngine, segment: Segment): Promise<boolean> {
    if ((await this.bring([segment])).length > 0) return false;
    try {
      await duck.rows(`SELECT bit_xor(hash(one)) FROM ${this.source([segment])} AS one`);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * The rows of some segments as SQL that stands where a table may, but for those of clients who were erased: whom a
   * segment is to be read without, and those whose numbers are given. These must have been asked for before the state was
   * read that names the segments: a commit takes an erasure off that list and the client out of the segments.
   */
  source(segments: readonly Segment[], erased: ErasedClients = []): string {
    const groups = Map.groupBy(segments, ({ table, without = [] }) =>
      isAboutClients(table) ? [...new Set([...without, ...erased])].join(', ') : '',
    );
    const parts = [...groups].map(([leftOut, some]) =>
      rowsOf(
        some.map((segment) => this.pathOf(segment)),
        leftOut,
      ),
    );
    const [only = ''] = parts;
    if (parts.length === 1) return only;
    return `(${parts.map((part) => `SELECT * FROM ${part}`).join(' UNION ALL BY NAME ')})`;
  }

  #placeOf(segment: Segment, kind: SegmentFile): string {
    return join(this.folder, this.#fileOf(segment, kind));
  }

  #filesOf(segment: Segment): readonly string[] {
    return SEGMENT_FILES.map((kind) => this.#fileOf(segment, kind));
  }

  #fileOf({ table, platform, day, name }: Segment, kind: SegmentFile): string {
    return `${table}/platform=${platform}/day=${day}/${name}.${kind}`;
  }

  #settle(segment: Segment): void {
    const folder = dirname(this.#placeOf(segment, 'parquet'));
    if (existsSync(this.#placeOf(segment, 'parquet'))) return;
    if (this.home.isElsewhere && !existsSync(this.stagedPath(segment.name))) return;
    makeOwnFolder(folder);
    for (const kind of SEGMENT_FILES) {
      try {
        linkSync(this.stagedPath(segment.name, kind), this.#placeOf(segment, kind));
      } catch (error) {
        // There is none, or a killed writer has linked it; a lost file is reported where it is read.
        if (readErrorCode(error) !== 'ENOENT' && readErrorCode(error) !== 'EEXIST') throw error;
      }
    }
    syncFolder(folder);
  }
}

/** SQL: the rows of some files but for those of clients, whose numbers are listed. */
function rowsOf(paths: readonly string[], leftOut: string): string {
  const rows = `read_parquet([${paths.map(quote).join(', ')}], union_by_name = true, hive_partitioning = false)`;
  return leftOut === '' ? rows : `(SELECT * FROM ${rows} WHERE client_hash NOT IN (${leftOut}))`;
}

export function removeSegments(segments: readonly Segment[], others: readonly Segment[]): readonly Segment[] {
  const names = new Set(others.map(({ name }) => name));
  return segments.filter(({ name }) => !names.has(name));
}

/** The numbers (`toClientNumber`) of clients who were erased and whom the archive may still hold. */
export type ErasedClients = readonly string[];

/** To be asked for before the archive is read. */
export async function readErasedClients(store: Pick<Store, 'unshippedErasures'>): Promise<ErasedClients> {
  const erasures = await store.unshippedErasures();
  return [...new Set(erasures.map((erasure) => erasure.clientNumber))];
}

/** Each is ended by an erasure, or by a merge in the moment before its copy was made. */
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

/** The names of reading copies under `staging/`. */
export const READING = 'reading-';

/** The rows last: once they are in place, so is everything that helps to find them. */
export const SEGMENT_FILES = ['orders', 'parquet'] as const;

type SegmentFile = (typeof SEGMENT_FILES)[number];

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (readErrorCode(error) !== 'ENOENT') throw error;
  }
}

function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
