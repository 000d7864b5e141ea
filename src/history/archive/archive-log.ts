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
import { makeOwnFolder } from '#base/files/folders.ts';
import { createFileOnce, readErrorCode, replaceFile } from '#base/files/placed.ts';
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
};

/** A reader that starts reads at most this many commits. */
const SNAPSHOT_COMMITS = 64;

/** Commits older than the snapshot stay this long for readers that are a little behind. */
const BEHIND_COMMITS_MAX = 64;

const GAPS_MAX = 1000;

export const LOG_FOLDER = 'log';

/**
 * The archive's contents as a log of numbered commits. A commit is a file that comes into being whole and that
 * only one writer can create (link(2) refuses a name that is taken), so of two shippers that both believe in
 * their lease one commits and the other learns that it lost. The journal's cursor stands in the same file as the
 * segments that it stands for: no crash can part them.
 */
export class ArchiveLog {
  readonly #folder: string;
  #state: ArchiveState = EMPTY_ARCHIVE_STATE;

  constructor(archiveDir: string) {
    this.#folder = join(archiveDir, LOG_FOLDER);
  }

  /** The newest state; reads only what was committed since the last call. */
  read(): ArchiveState {
    if (this.#state.version === 0) this.#toSnapshot();
    for (;;) {
      const next = this.#readCommit(this.#state.version + 1);
      if (next !== null) this.#state = applyCommit(this.#state, next);
      // A rare reader may find that the commits after its own were removed: then a snapshot leads on.
      else if (!this.#toSnapshot()) return this.#state;
    }
  }

  /** Makes the commit after `state`, or throws CommitConflict when there is one already. */
  commit(state: ArchiveState, commit: Commit): ArchiveState {
    const version = state.version + 1;
    const name = commitFile(version);
    if (!createFileOnce(join(this.#folder, name), JSON.stringify(commit), { flush: true }))
      throw new CommitConflict(`${name} was committed by somebody else`);
    syncFolder(this.#folder);
    this.#state = applyCommit(state, commit);
    if (version % SNAPSHOT_COMMITS === 0) this.#snapshot(this.#state);
    return this.#state;
  }

  /** Goes on to the newest snapshot; false when there is none that is newer. */
  #toSnapshot(): boolean {
    const version = this.#numbers(SNAPSHOT_ENDING).at(-1) ?? 0;
    const text = version > this.#state.version ? this.#readFile(formatSnapshotName(version)) : null;
    if (text === null) return false;
    this.#state = parseSnapshot(text, formatSnapshotName(version));
    return true;
  }

  #numbers(ending: string): readonly number[] {
    return listNames(this.#folder)
      .filter((name) => !name.startsWith('.') && name.endsWith(ending) && /^\d+\.[a-z]+$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .toSorted((a, b) => a - b);
  }

  #readCommit(version: number): Commit | null {
    const text = this.#readFile(commitFile(version));
    if (text === null) return null;
    try {
      const commit: Commit = JSON.parse(text);
      return commit;
    } catch (cause) {
      throw new ArchiveDamaged(`${join(this.#folder, commitFile(version))} is not readable`, { cause });
    }
  }

  #readFile(name: string): string | null {
    try {
      return readFileSync(join(this.#folder, name), 'utf8');
    } catch (error) {
      if (readErrorCode(error) === 'ENOENT') return null;
      throw error;
    }
  }

  #snapshot(state: ArchiveState): void {
    writeSnapshot(this.#folder, state);
    for (const ending of [COMMIT_ENDING, SNAPSHOT_ENDING])
      for (const number of this.#numbers(ending))
        if (number < state.version - BEHIND_COMMITS_MAX)
          unlinkSync(join(this.#folder, fileOf(number, ending)));
  }
}

/**
 * Makes a temporary folder into an archive that holds what a state says. It is not synced to the disk: on the file
 * system that the store shares verdicts would wait for that.
 */
export function writeTemporaryState(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  makeOwnFolder(folder);
  writeFileSync(join(folder, formatSnapshotName(state.version)), formatSnapshot(state), {
    flag: 'wx',
    mode: 0o600,
  });
}

/** Makes a folder into an archive that holds what a state says; nothing is left of the log of one that was there before. */
export function replaceState(archiveDir: string, state: ArchiveState): void {
  const folder = join(archiveDir, LOG_FOLDER);
  writeSnapshot(folder, state);
  for (const name of listNames(folder))
    if (name !== formatSnapshotName(state.version)) unlinkSync(join(folder, name));
}

function writeSnapshot(folder: string, state: ArchiveState): void {
  replaceFile(join(folder, formatSnapshotName(state.version)), formatSnapshot(state), { flush: true });
}

export function formatSnapshot(state: ArchiveState): string {
  return JSON.stringify({ ...state, segments: [...state.segments.values()] });
}

const COMMIT_ENDING = '.json';
export const SNAPSHOT_ENDING = '.snapshot';

function commitFile(version: number): string {
  return fileOf(version, COMMIT_ENDING);
}

export function formatSnapshotName(version: number): string {
  return fileOf(version, SNAPSHOT_ENDING);
}

function fileOf(version: number, ending: string): string {
  return `${String(version).padStart(12, '0')}${ending}`;
}

export function applyCommit(state: ArchiveState, { at, cursor, add, remove, gap }: Commit): ArchiveState {
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
  };
}

export function parseSnapshot(text: string, name: string): ArchiveState {
  try {
    const { segments, ...rest }: Omit<ArchiveState, 'segments'> & { readonly segments: readonly Segment[] } =
      JSON.parse(text);
    return { ...rest, segments: new Map(segments.map((segment) => [segment.name, segment])) };
  } catch (cause) {
    throw new ArchiveDamaged(`the archive's ${name} is not readable`, { cause });
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
