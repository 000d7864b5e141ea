import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { createFileOnce } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import { NamedError } from '#base/named-error.ts';
import { readClaimedArchive } from '#state/archive-register.ts';
import type { Registers } from '#state/store.ts';
import {
  type ArchiveState,
  COMMIT_ENDING,
  type FileToKeep,
  findNewestCommit,
  formatCommitName,
  LOG_FOLDER,
  type LogHome,
  listNames,
  removeFile,
  syncFolder,
} from './archive-log.ts';
import type { WhyUnread } from './unread-decisions.ts';

export interface ArchiveFile {
  /** Below the archive's folder, with `/` between names. */
  readonly path: string;
  /** As long as it was written; null where nobody noted that. */
  readonly bytes: number | null;
}

/** The archive cannot be adopted; the message says why. */
export class NotAdopted extends NamedError {}

/**
 * Where an archive is kept for good: files that never change, and a log of what it consists of. They are read in a folder of
 * this machine, which is either the archive itself or holds what was fetched from it.
 */
export interface ArchiveHome extends LogHome {
  /** For people: the folder, or an address. */
  readonly name: string;
  /** Who makes this the archive of a store that knows of none yet: the store's first node that ships, or a person. */
  readonly adoptedBy: 'first node' | 'person';
  /** Learns which commit is the newest now, and makes the log readable here. Throws StoreUnavailable. */
  refresh(): Promise<void>;
  /** Makes this machine hold what is small of a newer state, and nothing of what that has no more. */
  mirror(before: ArchiveState, now: ArchiveState): Promise<void>;
  /** Completes the commit that a killed writer had almost made. */
  finishCommits(): Promise<void>;
  /** The newest commit that is kept becomes the one that holds, whatever the store says. Gives the id. Throws NotAdopted. */
  adopt(): Promise<string>;
  /** The id of the archive, the same for everybody; null where there is none yet. */
  id(): Promise<string | null>;
  giveId(id: string): Promise<void>;
  /** Makes files readable here. Returns the paths of those that are not, and why. */
  bring(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>>;
  /** Whether a file is known here to have lost a part, or all, of what was written. */
  isCutOff(file: ArchiveFile): boolean;
}

/** An archive in a folder, which all its nodes share. */
export class FolderHome implements ArchiveHome {
  readonly name: string;
  readonly folder: string;
  readonly adoptedBy = 'first node';

  constructor(folder: string) {
    this.name = folder;
    this.folder = folder;
  }

  newest(): string | null {
    return findNewestCommit(listNames(join(this.folder, LOG_FOLDER)));
  }

  /** The name of a commit is taken once: link(2) refuses the second writer. */
  async addCommit(version: number, text: string): Promise<boolean> {
    const log = join(this.folder, LOG_FOLDER);
    if (!createFileOnce(join(log, `${formatCommitName(version)}${COMMIT_ENDING}`), text, { flush: true }))
      return false;
    syncFolder(log);
    return true;
  }

  /** Each is on the disk before it is moved to its place, and the place is when this returns. */
  async put(files: readonly FileToKeep[]): Promise<void> {
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
    for (const path of paths) removeFile(join(this.folder, path));
  }

  async bring(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
    return new Map(files.filter((file) => this.isCutOff(file)).map(({ path }) => [path, 'damaged']));
  }

  isCutOff({ path, bytes }: ArchiveFile): boolean {
    const found = statSync(join(this.folder, path), { throwIfNoEntry: false });
    return found === undefined || (bytes !== null && found.size !== bytes);
  }

  async id(): Promise<string> {
    const path = join(this.folder, ID_FILE);
    if (!existsSync(path)) await this.giveId(randomUUID());
    return readFileSync(path, 'utf8').trim();
  }

  async giveId(id: string): Promise<void> {
    // Where another process has just made it, that one's holds.
    createFileOnce(join(this.folder, ID_FILE), id);
  }

  async adopt(): Promise<never> {
    throw new NotAdopted(
      'ARCHIVE_DIR is a folder, which the first node that ships makes the archive of its store',
    );
  }

  // The folder itself is the archive, so everything is here and is known.
  async refresh(): Promise<void> {}
  async mirror(): Promise<void> {}
  async finishCommits(): Promise<void> {}
}

/** The paths of all files below a folder. */
export function listFilesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export const ID_FILE = 'archive-id';
/** The rule sets that decided, by digest. */
export const RULE_SETS_FOLDER = 'rule-sets';

/**
 * Whether the store's decisions are archived in a folder that is not this one; null: the decisions are not archived
 * at all.
 */
export async function isArchivedElsewhere(
  registers: Pick<Registers, 'read'>,
  folder: string | null,
): Promise<boolean> {
  const claimed = await readClaimedArchive(registers);
  return claimed !== null && (folder === null || readArchiveId(folder) !== claimed);
}

/** Null where the folder is no archive. */
export function readArchiveId(folder: string): string | null {
  const path = join(folder, ID_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}
