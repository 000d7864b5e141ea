import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { replaceFile } from '#base/files/atomic-file.ts';
import { makeOwnFolder } from '#base/files/folders.ts';
import {
  ARCHIVE_ID_FILE,
  type ArchiveFile,
  type ArchiveHome,
  listFilesBelow,
  NotAdopted,
  RULE_SETS_FOLDER,
} from '#history/archive/archive-home.ts';
import {
  type ArchiveState,
  COMMIT_ENDING,
  type FileToStore,
  findNewestCommitName,
  formatCommitName,
  isOldLogFile,
  LOG_FOLDER,
  listFileNames,
  SNAPSHOT_COMMITS,
  SNAPSHOT_ENDING,
  toCommitVersion,
} from '#history/archive/archive-log.ts';
import { SALT_FILE } from '#history/archive/archived-salt.ts';
import { listQuarantinedFiles, QUARANTINE_FOLDER } from '#history/archive/quarantine.ts';
import { endReadings } from '#history/archive/reading-copies.ts';
import { listRemovedFiles, listSegmentFiles } from '#history/archive/segment-files.ts';
import { TABLE_NAMES } from '#history/archive/tables.ts';
import type { WhyUnread } from '#history/archive/unread-decisions.ts';
import type { Registers } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type FileCache, workOnEach } from './file-cache.ts';

/** The store's register that names the newest commit. */
export const HEAD_REGISTER = 'archive-head';

/** The number of files that are sent at once. */
const UPLOADS_AT_ONCE = 4;

const SET_ASIDE = `${QUARANTINE_FOLDER}/`;
const LOG = `${LOG_FOLDER}/`;

/**
 * An archive in an object store with the S3 interface. The objects have the same paths as the files of an archive in
 * a folder, and never change. A commit is put under a name of its own. Then the register is changed from the previous
 * commit to the new one. Of two writers, only one can do so. If a writer is killed before it changes the register,
 * the next writer completes the commit.
 */
export class BucketHome implements ArchiveHome {
  readonly name: string;
  readonly folder: string;
  readonly adoptedBy = 'person';
  readonly #bucket: Bucket;
  readonly #cache: FileCache;
  readonly #registers: Registers;
  /** The newest commit that is readable on this machine. */
  #newest: string | null;
  /** The register's last known value. Null before the first commit, and if the store was lost. */
  #register: string | null = null;
  /** The files besides segments that this process put. Perhaps no commit names them yet. */
  readonly #putBeside = new Set<string>();
  #id: string | null = null;
  #isMirrored = false;

  constructor(folder: string, bucket: Bucket, cache: FileCache, registers: Registers) {
    this.name = bucket.name;
    this.folder = folder;
    this.#bucket = bucket;
    this.#cache = cache;
    this.#registers = registers;
    // Until `refresh` asks which commit is valid now, the newest commit is that of an earlier process.
    this.#newest = findNewestCommitName(listFileNames(join(folder, LOG_FOLDER)));
  }

  newestCommit(): string | null {
    return this.#newest;
  }

  async refresh(): Promise<void> {
    const register = await this.#registers.read(HEAD_REGISTER);
    const newest = register ?? findNewestCommitName(await this.#listLog());
    await this.#fetchLog(newest);
    this.#newest = newest;
    this.#register = register;
  }

  async finishCommits(): Promise<void> {
    for (;;) {
      await this.refresh();
      const next = this.#register === null ? this.#newest : await this.#findFollower();
      if (next === null || !(await this.#registers.compareAndSet(HEAD_REGISTER, this.#register, next)))
        return;
    }
  }

  /**
   * Puts the commit, then makes the register name it. Returns false if the register no longer names the commit that
   * this machine knows, because another writer has changed it.
   */
  async addCommit(version: number, text: string): Promise<boolean> {
    const name = `${formatCommitName(version)}-${randomUUID()}`;
    const path = `${LOG}${name}${COMMIT_ENDING}`;
    await this.#bucket.put(path, Buffer.from(text));
    if (!(await this.#registers.compareAndSet(HEAD_REGISTER, this.#register, name))) return false;
    this.#writeHere(path, text);
    this.#newest = name;
    this.#register = name;
    return true;
  }

  async readId(): Promise<string | null> {
    this.#id ??= (await this.#bucket.text(ARCHIVE_ID_FILE))?.trim() ?? null;
    return this.#id;
  }

  async writeId(id: string): Promise<void> {
    await this.#bucket.put(ARCHIVE_ID_FILE, Buffer.from(id));
    this.#id = id;
  }

  async adopt(): Promise<string> {
    const register = await this.#registers.read(HEAD_REGISTER);
    const newest = findNewestCommitName(await this.#listLog());
    const id = await this.readId();
    if (newest === null || id === null) throw new NotAdopted(`${this.name} holds no archive`);
    if (!(await this.#registers.compareAndSet(HEAD_REGISTER, register, newest)))
      throw new NotAdopted(`${this.name} got another commit at the same moment; run the command again`);
    await this.refresh();
    return id;
  }

  async put(files: readonly FileToStore[]): Promise<void> {
    await workOnEach(files, UPLOADS_AT_ONCE, async ({ path, from }) => {
      await this.#bucket.put(path, await readFile(from));
      const here = join(this.folder, path);
      makeOwnFolder(dirname(here));
      await rename(from, here);
      if (BESIDE.some((below) => path.startsWith(below))) this.#putBeside.add(path);
    });
  }

  list(below: string): Promise<ReadonlyMap<string, number>> {
    return this.#bucket.list(below);
  }

  async remove(paths: readonly string[]): Promise<void> {
    this.#removeHere(paths);
    await this.#bucket.remove(paths);
  }

  makeReadable(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
    return this.#cache.fetchMissing(files);
  }

  /** Returns false for a file that was not fetched, because nothing is known about the file. */
  isCutOff({ path, bytes }: ArchiveFile): boolean {
    const found = statSync(join(this.folder, path), { throwIfNoEntry: false });
    return found !== undefined && bytes !== null && found.size !== bytes;
  }

  /** Brings the files on this machine to the state `now`. Files with erased clients are removed, too. */
  async mirror(before: ArchiveState, now: ArchiveState): Promise<void> {
    const id = await this.readId();
    if (id !== null) this.#writeHere(ARCHIVE_ID_FILE, id);
    await this.makeReadable([SALT_FILE, ...now.files].map((path) => ({ path, bytes: null })));
    const named = new Set([...now.files, ...this.#putBeside]);
    const quarantine = listQuarantinedFiles(this.folder).map((name) => `${SET_ASIDE}${name}`);
    this.#removeHere(quarantine.filter((path) => !named.has(path)));
    const logged = listFileNames(join(this.folder, LOG_FOLDER)).map((name) => `${LOG}${name}`);
    this.#removeHere(logged.filter((path) => isOldLogFile(path, now)));
    this.#removeHere(this.#isMirrored ? listRemovedFiles(before, now) : this.#listFilesUnknownTo(now));
    this.#isMirrored = true;
    if (hasNewErasure(before, now)) endReadings(this.folder);
  }

  /** Lists files that an earlier process fetched and that the archive no longer has. */
  #listFilesUnknownTo(now: ArchiveState): readonly string[] {
    const named = new Set([...now.segments.values()].flatMap(listSegmentFiles));
    return TABLE_NAMES.flatMap((table) => listFilesBelow(join(this.folder, table)))
      .map((path) => relative(this.folder, path).replaceAll(sep, '/'))
      .filter((path) => !named.has(path));
  }

  #removeHere(paths: readonly string[]): void {
    for (const path of paths) this.#putBeside.delete(path);
    this.#cache.forget(paths);
  }

  /** Fetches the commits up to `newest` that this machine lacks, or the snapshot that stands for the older ones. */
  async #fetchLog(newest: string | null): Promise<void> {
    const fetched: (readonly [path: string, text: string])[] = [];
    for (let name = newest; name !== null && !this.#isHere(name); ) {
      const commit = await this.#readLogText(name, COMMIT_ENDING);
      const parent = commit === null ? null : readParent(commit[1]);
      const isNext = parent === null ? commit !== null : this.#isHere(parent);
      const mayHaveSnapshot = commit === null || toCommitVersion(name) % SNAPSHOT_COMMITS === 0;
      const snapshot = isNext || !mayHaveSnapshot ? null : await this.#readLogText(name, SNAPSHOT_ENDING);
      const found = [commit, snapshot].filter((one) => one !== null);
      if (found.length === 0) throw new StoreUnavailable(this.#explainMissing(name));
      fetched.push(...found);
      name = snapshot === null ? parent : null;
    }
    // The oldest commit is written first. If the process is killed meanwhile, this machine has an older state in
    // which no commit is missing.
    for (const [path, text] of fetched.toReversed()) this.#writeHere(path, text);
  }

  async #readLogText(name: string, ending: string): Promise<readonly [path: string, text: string] | null> {
    const path = `${LOG}${name}${ending}`;
    const text = await this.#bucket.text(path);
    return text === null ? null : [path, text];
  }

  #explainMissing(name: string): string {
    return `${this.name} has no ${LOG}${name}${COMMIT_ENDING}, which the store names as its newest or which came before; when one of the two was put back from a backup, run archive adopt`;
  }

  #isHere(name: string): boolean {
    return [COMMIT_ENDING, SNAPSHOT_ENDING].some((ending) =>
      existsSync(join(this.folder, `${LOG}${name}${ending}`)),
    );
  }

  /** Finds the commit that a killed writer put after the newest one. */
  async #findFollower(): Promise<string | null> {
    const next = toCommitVersion(this.#newest) + 1;
    for (const file of await this.#listLog()) {
      if (toCommitVersion(file) !== next || !file.endsWith(COMMIT_ENDING)) continue;
      const text = await this.#bucket.text(`${LOG}${file}`);
      if (text !== null && readParent(text) === this.#newest) return findNewestCommitName([file]);
    }
    return null;
  }

  /** Lists the names of the objects of the log. */
  async #listLog(): Promise<readonly string[]> {
    return [...(await this.#bucket.list(LOG)).keys()].map((path) => path.slice(LOG.length));
  }

  #writeHere(path: string, text: string): void {
    replaceFile(join(this.folder, path), text);
  }
}

/** Whether clients were erased between two states. */
function hasNewErasure(before: ArchiveState, now: ArchiveState): boolean {
  return [...now.segments.values()].some(
    ({ table, name }) => table === 'erasures' && !before.segments.has(name),
  );
}

/** The folders of small files that are the same on every node. */
const BESIDE = [`${RULE_SETS_FOLDER}/`, SET_ASIDE];

function readParent(commit: string): string | null {
  const { parent = null }: { readonly parent?: string | null } = JSON.parse(commit);
  return parent;
}
