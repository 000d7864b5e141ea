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

/** One Parquet file: rows of one table, platform and UTC day, or of the quiet days of a month. */
export interface Segment {
  readonly table: TableName;
  readonly platform: string;
  /** `2026-11-21`, UTC, or `2026-11`. */
  readonly day: string;
  /** Without the folder and the ending; unique in the archive. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Time of the oldest and of the newest row, epoch ms. */
  readonly from: number;
  readonly to: number;
  /** The first and the last row's place in the journal, `JOURNAL_TICK_SQL`. */
  readonly firstTick: number;
  readonly lastTick: number;
  /**
   * The numbers of clients who were erased while the file could not be read. Nothing of them is read from it, also when
   * it is put back; rewritten without them it is another segment. Absent: nobody.
   */
  readonly without?: readonly string[];
  /** True for erasures so old that their rows name nobody any more. */
  readonly nameless?: true;
}

/** A segment whose rows cannot be read here now. Without a reason its file was cut off, is gone or is damaged. */
export interface UnreadSegment extends Segment {
  readonly why?: WhyUnread;
}

/** Journal entries that were pushed out by the journal's bound before anybody shipped them. */
export interface ArchiveGap {
  /** Epoch ms. */
  readonly from: number;
  readonly to: number;
  readonly entries: number;
}

/** One change of the archive: all of it or nothing. */
export interface Commit {
  /** Who committed; for people. */
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
  /** Where the journal is read on from; absent when the commit shipped nothing. */
  readonly cursor?: string | null;
  readonly add: readonly Segment[];
  readonly remove: readonly string[];
  readonly gap?: ArchiveGap;
  /** Which files beside the segments came and went. */
  readonly files?: FileChanges;
}

/** Paths of rule sets and of entries that were set aside, below the archive. */
export interface FileChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** The archive's contents after some commit. */
export interface ArchiveState {
  /** Number of the newest commit; 0 before the first. */
  readonly version: number;
  readonly cursor: string | null;
  /** When something was last shipped, epoch ms. */
  readonly shippedAt: number | null;
  readonly segments: ReadonlyMap<string, Segment>;
  /** Oldest first. */
  readonly gaps: readonly ArchiveGap[];
  /** The cursors after which the gaps lie, in their order. */
  readonly gapCursors: readonly (string | null)[];
  /** The paths of rule sets, and of entries that were set aside. */
  readonly files: readonly string[];
}

/** Another writer committed first: the loser reads the log again before it writes anything else. */
export class CommitConflict extends NamedError {}

/** A file of the log is not what a commit wrote. */
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

/** A reader that starts reads at most this many commits, one after the other. */
export const SNAPSHOT_COMMITS = 16;

/** Commits older than the snapshot stay this long for readers that are a little behind. */
const BEHIND_COMMITS_MAX = 64;

const GAPS_MAX = 1000;

export const LOG_FOLDER = 'log';

/** A file that is to be kept, and where it lies on this machine. */
export interface FileToKeep {
  /** Below the archive, with `/` between names. */
  readonly path: string;
  readonly from: string;
}

/** Where the log of an archive is kept. Its files are read on this machine, once they are there. */
export interface LogHome {
  readonly folder: string;
  /** The name of the newest commit, as far as this machine knows; null before the first. */
  newest(): string | null;
  /** Adds the commit of this number; false when somebody else has added one. */
  addCommit(version: number, text: string): Promise<boolean>;
  /** Keeps files for good: each is whole or not there. They are moved from where they lie. */
  put(files: readonly FileToKeep[]): Promise<void>;
  /** The lengths of all files below a folder, by their paths. */
  list(below: string): Promise<ReadonlyMap<string, number>>;
  remove(paths: readonly string[]): Promise<void>;
}

/** A commit as the log has it. */
type LoggedCommit = Commit & { readonly parent: string | null };

/**
 * The archive's contents as a log of numbered commits. Of two writers that make the commit of the same number, its home lets
 * one succeed. Each commit names the one before, and now and then a snapshot beside it has all that the archive
 * then consists of. The journal's cursor stands in the same file as the segments that it stands for: no crash can
 * part them.
 */
export class ArchiveLog {
  readonly #home: LogHome;
  #name: string | null = null;
  #state: ArchiveState = EMPTY_ARCHIVE_STATE;

  constructor(home: LogHome) {
    this.#home = home;
  }

  /** The newest state that this machine knows; reads only what was committed since the last call. */
  read(): ArchiveState {
    const newest = this.#home.newest();
    if (newest !== this.#name) {
      this.#state = this.#stateAt(newest);
      this.#name = newest;
    }
    return this.#state;
  }

  /** Makes the commit after `state`, or throws CommitConflict when there is one already. */
  async commit(state: ArchiveState, commit: Commit): Promise<ArchiveState> {
    const version = state.version + 1;
    const made: LoggedCommit = { ...commit, parent: this.#home.newest() };
    if (
      parseCommitVersion(made.parent) !== state.version ||
      !(await this.#home.addCommit(version, JSON.stringify(made)))
    )
      throw new CommitConflict(`commit ${version} was made by somebody else`);
    this.#name = this.#home.newest();
    this.#state = applyCommit(state, commit);
    if (version % SNAPSHOT_COMMITS === 0) await this.#addSnapshot(this.#name, this.#state);
    return this.#state;
  }

  #stateAt(newest: string | null): ArchiveState {
    const commits: Commit[] = [];
    for (let name = newest; name !== null; ) {
      if (name === this.#name) return commits.reduceRight(applyCommit, this.#state);
      const made = this.#readCommit(name);
      const snapshot = made !== null && made.parent === this.#name ? null : this.#readSnapshot(name);
      if (snapshot !== null) return commits.reduceRight(applyCommit, snapshot);
      if (made === null) throw new ArchiveDamaged(`${this.#path(name, COMMIT_ENDING)} is missing`);
      commits.push(made);
      name = made.parent;
    }
    return commits.reduceRight(applyCommit, EMPTY_ARCHIVE_STATE);
  }

  #readCommit(name: string): LoggedCommit | null {
    const path = this.#path(name, COMMIT_ENDING);
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
    const path = this.#path(name, SNAPSHOT_ENDING);
    const text = readText(path);
    return text === null ? null : parseSnapshot(text, path);
  }

  #path(name: string, ending: string): string {
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

/** Whether a file of the log is older than any reader of this state wants. */
export function isOldLogFile(path: string, { version }: ArchiveState): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return LOG_FILE.test(name) && parseCommitVersion(name) < version - BEHIND_COMMITS_MAX;
}

/** `000000000017.json`; where two writers may put the commit of one number, each puts a name of its own. */
const LOG_FILE = /^(\d{12}(?:-[0-9a-f-]{36})?)\.(?:json|snapshot)$/;

/** The name of the commit of a number. */
export function formatCommitName(version: number): string {
  return String(version).padStart(12, '0');
}

/** The number of a commit, by its name; 0 before the first. */
export function parseCommitVersion(name: string | null): number {
  return name === null ? 0 : Number.parseInt(name, 10);
}

/** The newest commit that the files of a log name; null where there is none. */
export function findNewestCommit(files: Iterable<string>): string | null {
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
 * Makes a temporary folder into an archive that holds what a state says. It is not synced to the disk: on the file
 * system that the store shares verdicts would wait for that.
 */
export function writeTemporaryState(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  makeOwnFolder(folder);
  writeFileSync(join(folder, formatSnapshotName(state)), formatSnapshot(state), { flag: 'wx', mode: 0o600 });
}

/** Makes a folder into an archive that holds what a state says; nothing is left of the log of one that was there before. */
export function replaceState(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  replaceFile(join(folder, formatSnapshotName(state)), formatSnapshot(state), { flush: true });
  for (const name of listNames(folder))
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

function applyCommit(state: ArchiveState, { at, cursor, add, remove, gap, files }: Commit): ArchiveState {
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

/** A name that was made or removed lasts only once its folder was written, too. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The names in a folder; none when there is no such folder. */
export function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** A file that is gone already is no trouble. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (readErrorCode(error) !== 'ENOENT') throw error;
  }
}
