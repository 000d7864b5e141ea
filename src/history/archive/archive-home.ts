import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFileOnce } from '#base/files/placed.ts';
import { readClaimedArchive } from '#state/archive-register.ts';
import type { Registers } from '#state/store.ts';
import { ArchiveLog, type ArchiveState, type Commit } from './archive-log.ts';
import type { WhyUnread } from './unread-decisions.ts';

export interface ArchiveFile {
  /** Below the archive's folder, with `/` between names. */
  readonly path: string;
  /** As long as it was written; null where nobody noted that. */
  readonly bytes: number | null;
}

/** A file that is to be kept, and where it lies on this machine. */
export interface FileToKeep {
  readonly path: string;
  readonly from: string;
}

/**
 * Where an archive is kept for good. A folder of this machine is either the archive itself or holds the files that
 * were fetched from it.
 */
export interface ArchiveHome {
  /** For people: the folder, or an address. */
  readonly name: string;
  /** Whether files have to be fetched before they can be read. */
  readonly isElsewhere: boolean;
  read(): ArchiveState;
  /** Learns what was committed meanwhile. Throws StoreUnavailable. */
  refresh(): Promise<void>;
  /** Completes the commit that a killed writer had almost made. */
  finishCommits(): Promise<void>;
  /** Makes the commit after `state`, or throws CommitConflict when there is one already. */
  commit(state: ArchiveState, commit: Commit): Promise<ArchiveState>;
  /** The id of the archive, the same for everybody; null where there is none yet. */
  id(): Promise<string | null>;
  giveId(id: string): Promise<void>;
  /** Throws where nothing can be written. */
  tryWriting(): Promise<void>;
  keep(files: readonly FileToKeep[]): Promise<void>;
  /** Returns the paths of those that cannot be fetched, and why. */
  bring(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>>;
  /** The lengths of all segment files that are kept, by their paths; null where the folder tells. */
  sizes(): Promise<ReadonlyMap<string, number> | null>;
  remove(paths: readonly string[]): Promise<void>;
}

/** An archive in a folder, which all its nodes share. */
export class FolderHome implements ArchiveHome {
  readonly name: string;
  readonly isElsewhere = false;
  readonly #log: ArchiveLog;

  constructor(folder: string) {
    this.name = folder;
    this.#log = new ArchiveLog(folder);
  }

  read(): ArchiveState {
    return this.#log.read();
  }

  async commit(state: ArchiveState, commit: Commit): Promise<ArchiveState> {
    return this.#log.commit(state, commit);
  }

  async id(): Promise<string> {
    const path = join(this.name, ID_FILE);
    if (!existsSync(path)) await this.giveId(randomUUID());
    return readFileSync(path, 'utf8').trim();
  }

  async giveId(id: string): Promise<void> {
    // Where another process has just made it, that one's holds.
    createFileOnce(join(this.name, ID_FILE), id);
  }

  async bring(): Promise<ReadonlyMap<string, WhyUnread>> {
    return NONE;
  }

  async sizes(): Promise<null> {
    return null;
  }

  // The folder itself is the archive, so nothing has to be fetched or sent.
  async refresh(): Promise<void> {}
  async finishCommits(): Promise<void> {}
  async tryWriting(): Promise<void> {}
  async keep(): Promise<void> {}
  async remove(): Promise<void> {}
}

const NONE: ReadonlyMap<string, WhyUnread> = new Map();

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
