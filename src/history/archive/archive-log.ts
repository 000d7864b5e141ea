import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { readErrorCode, replaceFile } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import { NamedError } from '#base/named-error.ts';
import type { TableName } from './tables.ts';
import type { WhyUnread } from './unread-decisions.ts';

/** A Parquet file with rows of one table, one platform and one UTC day, or of a month with few rows a day. */
export interface Segment {
  readonly table: TableName;
  readonly platform: string;
  /** The UTC day, `2026-11-21`, or the month, `2026-11`. */
  readonly day: string;
  /** The file's name without folder and ending. It is unique in the archive. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** The times of the oldest and of the newest row, in epoch ms. */
  readonly from: number;
  readonly to: number;
  /** The positions of the first and the last row in the journal, as `JOURNAL_TICK_SQL` computes them. */
  readonly firstTick: number;
  readonly lastTick: number;
  /**
   * The numbers of clients who were erased while the file could not be read. Readers leave out the rows of these
   * clients, also if the file can be read again. When the file is rewritten without them, it is another segment.
   * Missing if there are none.
   */
  readonly without?: readonly string[];
  /** True for erasures that are so old that their rows no longer name a client. */
  readonly nameless?: true;
}

/** A segment whose rows cannot be read here now. If there is no reason, its file was cut off, is gone or is damaged. */
export interface UnreadSegment extends Segment {
  readonly why?: WhyUnread;
}

/** Journal entries that were removed before they were shipped, because the journal reached its limit. */
export interface ArchiveGap {
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  readonly entries: number;
}

/** One change of the archive. It happens completely or not at all. */
export interface ArchiveCommit {
  /** The name of the writer, for people. */
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** The cursor from which the journal is read next. Missing if the commit shipped nothing. */
  readonly cursor?: string | null;
  readonly add: readonly Segment[];
  readonly remove: readonly string[];
  readonly gap?: ArchiveGap;
  /** The files besides the segments that were added or removed. */
  readonly files?: FileChanges;
}

/** The paths, below the archive's folder, of rule sets and of quarantined entries. */
export interface FileChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** What the archive contains after a commit. */
export interface ArchiveState {
  /** The number of the newest commit, or 0 before the first. */
  readonly version: number;
  readonly cursor: string | null;
  /** The time of the last shipping, in epoch ms. */
  readonly shippedAt: number | null;
  readonly segments: ReadonlyMap<string, Segment>;
  /** The oldest gap comes first. */
  readonly gaps: readonly ArchiveGap[];
  /** The cursors after which the gaps lie, in the sequence of `gaps`. */
  readonly gapCursors: readonly (string | null)[];
  /** The paths of rule sets and of quarantined entries. */
  readonly files: readonly string[];
}

/** Another writer committed first. The writer that lost reads the log again before it writes anything else. */
export class CommitConflict extends NamedError {}

/** A file of the log does not hold what the commit wrote. */
export class ArchiveDamaged extends NamedError {}

export const EMPTY_ARCHIVE_STATE: ArchiveState = {
  version: 0,
  cursor: null,
  shippedAt: null,
  segments: new Map(),
  gaps: [],
  gapCursors: [],
  files: [],
};

/**
 * The number of commits between two snapshots. A reader that starts reads at most this many commits, one after the
 * other.
 */
export const SNAPSHOT_COMMITS = 16;

/** How many commits before the snapshot are kept, for readers that are a little behind. */
const BEHIND_COMMITS_MAX = 64;

const GAPS_MAX = 1000;

export const LOG_FOLDER = 'log';

/** A file to be kept, and where it lies on this machine now. */
export interface FileToStore {
  /** The path below the archive, with `/` between names. */
  readonly path: string;
  readonly from: string;
}

/** The place of an archive's log. Its files are read on this machine. */
export interface LogHome {
  readonly folder: string;
  /** Returns the name of the newest commit that this machine knows. Returns null before the first commit. */
  newestCommit(): string | null;
  /** Adds the commit of this number. Returns false if another writer has already added one. */
  addCommit(version: number, text: string): Promise<boolean>;
  /** Moves files to where they are kept for good. Each file is there completely or not at all. */
  put(files: readonly FileToStore[]): Promise<void>;
  /** Returns the lengths of all files below a folder, by path. */
  list(below: string): Promise<ReadonlyMap<string, number>>;
  remove(paths: readonly string[]): Promise<void>;
}

/** A commit as it is stored in the log. */
type LoggedCommit = ArchiveCommit & { readonly parent: string | null };

/**
 * The archive's contents as a log of numbered commits. If two writers make a commit of the same number, the LogHome
 * lets only one of them succeed. Each commit names the commit before it. After every SNAPSHOT_COMMITS commits, a
 * snapshot beside the commit holds everything that the archive then consists of. A commit holds the journal's cursor
 * and the segments that were shipped up to it, so a crash cannot separate the cursor from the segments.
 */
export class ArchiveLog {
  readonly #home: LogHome;
  #name: string | null = null;
  #state: ArchiveState = EMPTY_ARCHIVE_STATE;

  constructor(home: LogHome) {
    this.#home = home;
  }

  /** Returns the newest state that this machine knows. Reads only the commits since the last call. */
  read(): ArchiveState {
    const newest = this.#home.newestCommit();
    if (newest !== this.#name) {
      this.#state = this.#readStateAt(newest);
      this.#name = newest;
    }
    return this.#state;
  }

  /** Makes the commit that follows `state`. Throws CommitConflict if another writer has already made that commit. */
  async commit(state: ArchiveState, commit: ArchiveCommit): Promise<ArchiveState> {
    const version = state.version + 1;
    const made: LoggedCommit = { ...commit, parent: this.#home.newestCommit() };
    if (
      toCommitVersion(made.parent) !== state.version ||
      !(await this.#home.addCommit(version, JSON.stringify(made)))
    )
      throw new CommitConflict(`commit ${version} was made by somebody else`);
    this.#name = this.#home.newestCommit();
    this.#state = applyCommit(state, commit);
    if (version % SNAPSHOT_COMMITS === 0) await this.#addSnapshot(this.#name, this.#state);
    return this.#state;
  }

  #readStateAt(newest: string | null): ArchiveState {
    const commits: ArchiveCommit[] = [];
    for (let name = newest; name !== null; ) {
      if (name === this.#name) return commits.reduceRight(applyCommit, this.#state);
      const made = this.#readCommit(name);
      const snapshot = made !== null && made.parent === this.#name ? null : this.#readSnapshot(name);
      if (snapshot !== null) return commits.reduceRight(applyCommit, snapshot);
      if (made === null) throw new ArchiveDamaged(`${this.#getPath(name, COMMIT_ENDING)} is missing`);
      commits.push(made);
      name = made.parent;
    }
    return commits.reduceRight(applyCommit, EMPTY_ARCHIVE_STATE);
  }

  #readCommit(name: string): LoggedCommit | null {
    const path = this.#getPath(name, COMMIT_ENDING);
    const text = readText(path);
    if (text === null) return null;
    try {
      const made: LoggedCommit = JSON.parse(text);
      return made;
    } catch (cause) {
      throw new ArchiveDamaged(`${path} is not readable`, { cause });
    }
  }

  #readSnapshot(name: string): ArchiveState | null {
    const path = this.#getPath(name, SNAPSHOT_ENDING);
    const text = readText(path);
    return text === null ? null : parseSnapshot(text, path);
  }

  #getPath(name: string, ending: string): string {
    return join(this.#home.folder, LOG_FOLDER, `${name}${ending}`);
  }

  async #addSnapshot(name: string | null, state: ArchiveState): Promise<void> {
    const draft = join(this.#home.folder, LOG_FOLDER, `.${randomUUID()}`);
    writeFileSync(draft, formatSnapshot(state), { flag: 'wx', mode: 0o600, flush: true });
    await this.#home.put([{ path: `${LOG_FOLDER}/${name}${SNAPSHOT_ENDING}`, from: draft }]);
    const logged = [...(await this.#home.list(`${LOG_FOLDER}/`)).keys()];
    await this.#home.remove(logged.filter((path) => isOldLogFile(path, state)));
  }
}

/** Whether a file of the log is so old that no reader of this state needs it. */
export function isOldLogFile(path: string, { version }: ArchiveState): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return LOG_FILE.test(name) && toCommitVersion(name) < version - BEHIND_COMMITS_MAX;
}

/**
 * Matches a file of the log, such as `000000000017.json`. If two writers can put the commit of one number, each adds
 * a UUID of its own to the name.
 */
const LOG_FILE = /^(\d{12}(?:-[0-9a-f-]{36})?)\.(?:json|snapshot)$/;

/** Formats a commit's number as its name: 17 as `000000000017`. */
export function formatCommitName(version: number): string {
  return String(version).padStart(12, '0');
}

/** Parses the number from a commit's name. Returns 0 for null, which stands for the time before the first commit. */
export function toCommitVersion(name: string | null): number {
  return name === null ? 0 : Number.parseInt(name, 10);
}

/** Finds the newest commit among the file names of a log. Returns null if there is none. */
export function findNewestCommitName(files: Iterable<string>): string | null {
  const names = [...files].flatMap((file) => LOG_FILE.exec(file)?.[1] ?? []);
  return names.toSorted().at(-1) ?? null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Makes a temporary folder an archive that holds `state`. The files are not synced to the disk, because verdicts
 * would wait for the sync if the store is on the same file system.
 */
export function writeTemporaryArchive(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  makeOwnFolder(folder);
  writeFileSync(join(folder, formatSnapshotName(state)), formatSnapshot(state), { flag: 'wx', mode: 0o600 });
}

/** Makes a folder an archive that holds `state`, and removes the log that the folder had before. */
export function replaceArchiveState(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  replaceFile(join(folder, formatSnapshotName(state)), formatSnapshot(state), { flush: true });
  for (const name of listFileNames(folder))
    if (name !== formatSnapshotName(state)) unlinkSync(join(folder, name));
}

function formatSnapshot(state: ArchiveState): string {
  return JSON.stringify({ ...state, segments: [...state.segments.values()] });
}

export const COMMIT_ENDING = '.json';
export const SNAPSHOT_ENDING = '.snapshot';

function formatSnapshotName({ version }: ArchiveState): string {
  return `${formatCommitName(version)}${SNAPSHOT_ENDING}`;
}

function applyCommit(
  state: ArchiveState,
  { at, cursor, add, remove, gap, files }: ArchiveCommit,
): ArchiveState {
  const segments = new Map(state.segments);
  for (const name of remove) segments.delete(name);
  for (const segment of add) segments.set(segment.name, segment);
  return {
    version: state.version + 1,
    cursor: cursor === undefined ? state.cursor : cursor,
    shippedAt: cursor === undefined ? state.shippedAt : at,
    segments,
    gaps: [...state.gaps, ...(gap === undefined ? [] : [gap])].slice(-GAPS_MAX),
    gapCursors: [...state.gapCursors, ...(gap === undefined ? [] : [state.cursor])].slice(-GAPS_MAX),
    files: files === undefined ? state.files : changeFiles(state.files, files),
  };
}

function changeFiles(files: readonly string[], { add, remove }: FileChanges): readonly string[] {
  const named = new Set([...files, ...add]);
  for (const path of remove) named.delete(path);
  return [...named];
}

function parseSnapshot(text: string, path: string): ArchiveState {
  try {
    const { segments, ...rest }: Omit<ArchiveState, 'segments'> & { readonly segments: readonly Segment[] } =
      JSON.parse(text);
    return { ...rest, segments: new Map(segments.map((segment) => [segment.name, segment])) };
  } catch (cause) {
    throw new ArchiveDamaged(`${path} is not readable`, { cause });
  }
}

/** Writes a folder to the disk. Only then do names that were made or removed in the folder survive a power failure. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Lists the names in a folder. Returns an empty list if there is no such folder. */
export function listFileNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Removes a file, if it exists. */
export function removeFileIfPresent(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (readErrorCode(error) !== 'ENOENT') throw error;
  }
}
