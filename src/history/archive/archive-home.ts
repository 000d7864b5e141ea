import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { createFileOnce } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import { NamedError } from '#base/named-error.ts';
import { readClaimedArchiveId } from '#state/archive-register.ts';
import type { Registers } from '#state/store.ts';
import {
  type ArchiveState,
  COMMIT_ENDING,
  type FileToStore,
  findNewestCommitName,
  formatCommitName,
  LOG_FOLDER,
  type LogHome,
  listFileNames,
  removeFileIfPresent,
  syncFolder,
} from './archive-log.ts';
import type { WhyUnread } from './unread-decisions.ts';

export interface ArchiveFile {
  /** The path below the archive's folder, with `/` between names: `log/000000000017.json`. */
  readonly path: string;
  /** The length of the file as it was written. Null if it was not noted. */
  readonly bytes: number | null;
}

/** An archive that cannot be adopted. The message says why. */
export class NotAdopted extends NamedError {}

/**
 * The place where an archive is kept for good: files that never change, and a log that says which files belong to the
 * archive. Readers read the files in a folder of this machine. That folder is the archive itself, or holds files that
 * were fetched from the archive.
 */
export interface ArchiveHome extends LogHome {
  /** The folder or the address, for people. */
  readonly name: string;
  /** Who makes this the archive of a store that has none yet: the store's first node that ships, or a person. */
  readonly adoptedBy: 'first node' | 'person';
  /** Asks for the newest commit, and makes the log readable here. Throws StoreUnavailable. */
  refresh(): Promise<void>;
  /**
   * Brings the small files of the newer state to this machine, and removes the files that the newer state no longer
   * has.
   */
  mirror(before: ArchiveState, now: ArchiveState): Promise<void>;
  /** Completes a commit that a killed writer had almost made. */
  finishCommits(): Promise<void>;
  /**
   * Makes the newest kept commit the valid one, whatever commit the store names. Returns the archive's id. Throws
   * NotAdopted.
   */
  adopt(): Promise<string>;
  /** Returns the id of the archive, which is the same for all its readers. Returns null if the archive has none yet. */
  readId(): Promise<string | null>;
  writeId(id: string): Promise<void>;
  /** Makes files readable here. Returns the paths of the files that are not readable, each with the reason. */
  makeReadable(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>>;
  /** Whether this machine knows that a file is gone or shorter than it was written. */
  isCutOff(file: ArchiveFile): boolean;
}

/** An archive in a folder that all its nodes share. */
export class FolderHome implements ArchiveHome {
  readonly name: string;
  readonly folder: string;
  readonly adoptedBy = 'first node';

  constructor(folder: string) {
    this.name = folder;
    this.folder = folder;
  }

  newestCommit(): string | null {
    return findNewestCommitName(listFileNames(join(this.folder, LOG_FOLDER)));
  }

  /** Only one writer can take the name of a commit, because link(2) refuses the second one. */
  async addCommit(version: number, text: string): Promise<boolean> {
    const log = join(this.folder, LOG_FOLDER);
    if (!createFileOnce(join(log, `${formatCommitName(version)}${COMMIT_ENDING}`), text, { flush: true }))
      return false;
    syncFolder(log);
    return true;
  }

  /** Moves each file, which is already on the disk, to its place. The new names are on the disk when this returns. */
  async put(files: readonly FileToStore[]): Promise<void> {
    const moved = files
      .map(({ path, from }) => ({ to: join(this.folder, path), from }))
      .filter(({ to, from }) => to !== from);
    for (const { to, from } of moved) {
      makeOwnFolder(dirname(to));
      renameSync(from, to);
    }
    for (const folder of new Set(moved.map(({ to }) => dirname(to)))) syncFolder(folder);
  }

  async list(below: string): Promise<ReadonlyMap<string, number>> {
    return new Map(
      listFilesBelow(join(this.folder, below)).flatMap((path) => {
        const found = statSync(path, { throwIfNoEntry: false });
        const named = relative(this.folder, path).replaceAll(sep, '/');
        return found === undefined ? [] : [[named, found.size] as const];
      }),
    );
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) removeFileIfPresent(join(this.folder, path));
  }

  async makeReadable(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
    return new Map(files.filter((file) => this.isCutOff(file)).map(({ path }) => [path, 'damaged']));
  }

  isCutOff({ path, bytes }: ArchiveFile): boolean {
    const found = statSync(join(this.folder, path), { throwIfNoEntry: false });
    return found === undefined || (bytes !== null && found.size !== bytes);
  }

  async readId(): Promise<string> {
    const path = join(this.folder, ARCHIVE_ID_FILE);
    if (!existsSync(path)) await this.writeId(randomUUID());
    return readFileSync(path, 'utf8').trim();
  }

  async writeId(id: string): Promise<void> {
    // If another process has just made an id, that id stays.
    createFileOnce(join(this.folder, ARCHIVE_ID_FILE), id);
  }

  async adopt(): Promise<never> {
    throw new NotAdopted(
      'ARCHIVE_DIR is a folder, which the first node that ships makes the archive of its store',
    );
  }

  // The folder is the archive itself, so there is nothing to fetch.
  async refresh(): Promise<void> {}
  async mirror(): Promise<void> {}
  async finishCommits(): Promise<void> {}
}

/** Lists the paths of all files below a folder. */
export function listFilesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export const ARCHIVE_ID_FILE = 'archive-id';
/** The folder with the rule sets that decided, by digest. */
export const RULE_SETS_FOLDER = 'rule-sets';

/**
 * Whether the store's decisions are archived in another folder than this one. A folder of null means that this node
 * archives nothing.
 */
export async function isArchivedElsewhere(
  registers: Pick<Registers, 'read'>,
  folder: string | null,
): Promise<boolean> {
  const claimed = await readClaimedArchiveId(registers);
  return claimed !== null && (folder === null || readArchiveId(folder) !== claimed);
}

/** Reads the id of the archive in a folder. Returns null if the folder is no archive. */
export function readArchiveId(folder: string): string | null {
  const path = join(folder, ARCHIVE_ID_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}
