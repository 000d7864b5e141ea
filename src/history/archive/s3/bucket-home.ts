import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, type Dirent, existsSync, readFileSync, unlinkSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeOwnFolder } from '#base/files/folders.ts';
import { replaceFile } from '#base/files/placed.ts';
import { NamedError } from '#base/named-error.ts';
import {
  type ArchiveFile,
  type ArchiveHome,
  type FileToKeep,
  ID_FILE,
  RULE_SETS_FOLDER,
} from '#history/archive/archive-home.ts';
import {
  type ArchiveState,
  applyCommit,
  type Commit,
  CommitConflict,
  EMPTY_ARCHIVE_STATE,
  formatSnapshot,
  formatSnapshotName,
  LOG_FOLDER,
  parseSnapshot,
  SNAPSHOT_ENDING,
} from '#history/archive/archive-log.ts';
import { fetchSalt } from '#history/archive/archived-salt.ts';
import { listQuarantined, QUARANTINE_FOLDER } from '#history/archive/set-aside.ts';
import { TABLE_NAMES } from '#history/archive/tables.ts';
import type { WhyUnread } from '#history/archive/unread-decisions.ts';
import type { Registers } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { Bucket } from './bucket.ts';

/** The register that names the newest log object. */
export const HEAD_REGISTER = 'archive-head';

/** How many log objects stay for nodes that are a little behind. */
const LOG_OBJECTS_KEPT = 64;

/** How many files are sent at once. */
const UPLOADS_AT_ONCE = 4;

const SET_ASIDE = `${QUARANTINE_FOLDER}/`;
/** Below these lies what is small, and is the same on every node. */
const BESIDE = [`${RULE_SETS_FOLDER}/`, SET_ASIDE];
const LOG = `${LOG_FOLDER}/`;

interface Head {
  /** What the register held; null before the first commit, and when the store was lost. */
  readonly register: string | null;
  /** Null of an archive without commits. */
  readonly name: string | null;
  /** The log object that this one followed. */
  readonly parent: string | null;
  /** The paths of rule sets, and of entries that were set aside: named here, so that no node has to list them. */
  readonly beside: readonly string[];
  readonly state: ArchiveState;
}

const NO_HEAD: Head = { register: null, name: null, parent: null, beside: [], state: EMPTY_ARCHIVE_STATE };

/**
 * An archive in a store that speaks S3. Objects have the paths that the files of a folder have, and never change. A
 * commit puts its files, then a log object that tells all that the archive then consists of, and then changes the
 * register from the log object before to this one: only one of two writers succeeds. Whoever is killed before the last
 * step leaves a log object that follows the newest one; the next writer completes that commit.
 */
export class BucketHome implements ArchiveHome {
  readonly name: string;
  readonly isElsewhere = true;
  readonly #folder: string;
  readonly #bucket: Bucket;
  readonly #cache: FileCache;
  readonly #registers: Registers;
  #head: Head;
  /** What this process put beside the segments, for the next commit to name. */
  readonly #putBeside = new Set<string>();
  #id: string | null = null;

  constructor(folder: string, bucket: Bucket, cache: FileCache, registers: Registers) {
    this.name = bucket.name;
    this.#folder = folder;
    this.#bucket = bucket;
    this.#cache = cache;
    this.#registers = registers;
    this.#head = this.#knownHead();
  }

  read(): ArchiveState {
    return this.#head.state;
  }

  async refresh(): Promise<void> {
    const register = await this.#registers.read(HEAD_REGISTER);
    const name = register ?? (await this.#newest());
    if (name === this.#head.name) {
      this.#head = { ...this.#head, register };
      return;
    }
    const head = name === null ? NO_HEAD : await this.#headOf(name);
    await this.#mirror(head.beside);
    this.#know({ ...head, register });
  }

  async finishCommits(): Promise<void> {
    for (;;) {
      await this.refresh();
      const { name, state, register } = this.#head;
      const next = register === null ? name : await this.#follower(name, state.version + 1);
      if (next === null || !(await this.#registers.compareAndSet(HEAD_REGISTER, register, next))) return;
    }
  }

  async commit(state: ArchiveState, commit: Commit): Promise<ArchiveState> {
    const { register, name: parent, beside: named, state: known } = this.#head;
    if (state.version !== known.version) throw new CommitConflict('somebody else has committed');
    const next = applyCommit(state, commit);
    const name = formatSnapshotName(next.version).replace(
      SNAPSHOT_ENDING,
      `-${randomUUID()}${SNAPSHOT_ENDING}`,
    );
    const beside = [...new Set([...named, ...this.#putBeside])];
    const also = JSON.stringify({ parent, beside });
    await this.#bucket.put(
      `${LOG}${name}`,
      Buffer.from(`${also.slice(0, -1)},${formatSnapshot(next).slice(1)}`),
    );
    if (!(await this.#registers.compareAndSet(HEAD_REGISTER, register, name)))
      throw new CommitConflict(`${name} was too late: somebody else has committed`);
    this.#know({ register: name, name, parent, beside, state: next });
    if (next.version % LOG_OBJECTS_KEPT === 0) await this.#tidyLog(next.version);
    return next;
  }

  async id(): Promise<string | null> {
    this.#id ??= (await this.#bucket.text(ID_FILE))?.trim() ?? null;
    return this.#id;
  }

  async giveId(id: string): Promise<void> {
    await this.#bucket.put(ID_FILE, Buffer.from(id));
    this.#id = id;
  }

  /** The newest log object that there is becomes the one that holds, whatever the register says. */
  async adopt(): Promise<ArchiveState> {
    const register = await this.#registers.read(HEAD_REGISTER);
    const newest = await this.#newest();
    if (newest === null) throw new StoreUnavailable(`${this.name} holds no archive`);
    await this.#registers.compareAndSet(HEAD_REGISTER, register, newest);
    await this.refresh();
    return this.read();
  }

  async tryWriting(): Promise<void> {
    await this.#bucket.put('staging/trial', Buffer.from(''));
  }

  async keep(files: readonly FileToKeep[]): Promise<void> {
    await eachOf(files, UPLOADS_AT_ONCE, async ({ path, from }) =>
      this.#bucket.put(path, await readFile(from)),
    );
    for (const { path } of files)
      if (BESIDE.some((below) => path.startsWith(below))) this.#putBeside.add(path);
  }

  bring(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
    return this.#cache.bring(files);
  }

  async sizes(): Promise<ReadonlyMap<string, number>> {
    const lists = await Promise.all(TABLE_NAMES.map((table) => this.#bucket.list(`${table}/`)));
    return new Map(lists.flatMap((sizes) => [...sizes]));
  }

  async remove(paths: readonly string[]): Promise<void> {
    await this.#bucket.remove(paths);
    const gone = new Set(paths);
    for (const path of gone) this.#putBeside.delete(path);
    this.#head = { ...this.#head, beside: this.#head.beside.filter((path) => !gone.has(path)) };
  }

  /** Of a folder that was an archive's, or an earlier process's, until it is asked what holds now. */
  #knownHead(): Head {
    try {
      const { text, name, ...rest }: Pick<Head, 'parent' | 'beside'> & { name: string; text: string } =
        JSON.parse(readFileSync(join(this.#folder, HEAD_FILE), 'utf8'));
      return { ...rest, register: name, name, state: parseSnapshot(text, name) };
    } catch {
      return NO_HEAD;
    }
  }

  #know(head: Head): void {
    this.#head = head;
    const { name, parent, beside, state } = head;
    this.#writeHere(HEAD_FILE, JSON.stringify({ name, parent, beside, text: formatSnapshot(state) }));
  }

  async #headOf(name: string): Promise<Omit<Head, 'register'>> {
    const text = await this.#bucket.text(`${LOG}${name}`);
    if (text === null)
      throw new StoreUnavailable(
        `${this.name} has no ${LOG}${name}, which the store names as its newest; when one of the two was put back from a backup, run archive adopt`,
      );
    const { parent, beside, ...state }: ArchiveState & Pick<Head, 'parent' | 'beside'> = {
      parent: null,
      beside: [],
      ...parseSnapshot(text, name),
    };
    return { name, parent, beside, state };
  }

  async #newest(): Promise<string | null> {
    return (await this.#log()).at(-1) ?? null;
  }

  /** The log object that a killed writer put after this one. */
  async #follower(name: string | null, version: number): Promise<string | null> {
    for (const candidate of (await this.#log()).filter((one) => Number.parseInt(one, 10) === version))
      if ((await this.#headOf(candidate)).parent === name) return candidate;
    return null;
  }

  /** The names of log objects, oldest first. */
  async #log(): Promise<readonly string[]> {
    const names = [...(await this.#bucket.list(LOG)).keys()].map((path) => path.slice(LOG.length));
    return names.filter((name) => name.endsWith(SNAPSHOT_ENDING)).toSorted();
  }

  async #tidyLog(version: number): Promise<void> {
    const old = (await this.#log()).filter((name) => Number.parseInt(name, 10) < version - LOG_OBJECTS_KEPT);
    await this.#bucket.remove(old.map((name) => `${LOG}${name}`));
  }

  /** Makes what is small the same here: the id, rule sets, and entries that were set aside. */
  async #mirror(beside: readonly string[]): Promise<void> {
    const id = await this.id();
    if (id !== null) this.#writeHere(ID_FILE, id);
    await fetchSalt(this);
    const named = new Set([...beside, ...this.#putBeside]);
    for (const path of named) {
      if (existsSync(join(this.#folder, path))) continue;
      const text = await this.#bucket.text(path);
      if (text !== null) this.#writeHere(path, text);
    }
    for (const path of listQuarantined(this.#folder).map((name) => `${SET_ASIDE}${name}`))
      if (!named.has(path)) unlinkSync(join(this.#folder, path));
  }

  #writeHere(path: string, text: string): void {
    replaceFile(join(this.#folder, path), text);
  }
}

/** Works on all of them, on so many at once. */
async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>) {
  const left = items.values();
  const workOn = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, workOn));
}

const HEAD_FILE = 'head.json';

/** How many files are fetched at once. */
const DOWNLOADS_AT_ONCE = 8;

/** A file that was cut off is fetched again. */
const TRIES = 2;

/** A file that was asked for within this time is in use. */
const IN_USE_MS = 120_000;

/** A file that is still incomplete by then belongs to a killed process. */
const LEFT_OVER_MS = 3_600_000;

/** The fetched file differs from the written one. */
class WrongBytes extends NamedError {}

/**
 * The fetched files of an archive on this machine; the least recently used are removed when there are too many. A
 * file gets its name once it is complete and checked; a second request for it waits for the first.
 */
export class FileCache {
  readonly #folder: string;
  readonly #bucket: Bucket;
  readonly #bytesMax: number;
  readonly #underWay = new Map<string, Promise<void>>();
  #making: Promise<void> = Promise.resolve();

  constructor(folder: string, bucket: Bucket, bytesMax: number) {
    this.#folder = folder;
    this.#bucket = bucket;
    this.#bytesMax = bytesMax;
  }

  /** Returns the paths of those that cannot be fetched, and why. */
  async bring(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
    const missing = new Map<string, WhyUnread>();
    const waiting: ArchiveFile[] = [];
    let room = this.#bytesMax;
    for (const file of files) {
      room -= file.bytes ?? 0;
      if (room < 0) missing.set(file.path, 'noRoom');
      else if (!(await this.#isHere(file))) waiting.push(file);
    }
    if (waiting.length === 0) return missing;
    let isAway = false;
    await eachOf(waiting, DOWNLOADS_AT_ONCE, async (file) => {
      try {
        if (isAway) throw new StoreUnavailable('it did not answer before');
        await this.#shared(file);
      } catch (error) {
        isAway ||= error instanceof StoreUnavailable;
        missing.set(file.path, error instanceof StoreUnavailable ? 'away' : 'damaged');
      }
    });
    this.#making = this.#making.then(() => this.#makeRoom()).catch(() => {});
    await this.#making;
    return missing;
  }

  /** Whether it is here; it was used then. */
  async #isHere({ path, bytes }: ArchiveFile): Promise<boolean> {
    const place = join(this.#folder, path);
    try {
      const { size, mtime } = await stat(place);
      if (bytes !== null && size !== bytes) return false;
      await utimes(place, new Date(), mtime);
      return true;
    } catch {
      return false;
    }
  }

  #shared(file: ArchiveFile): Promise<void> {
    return this.#underWay.getOrInsertComputed(file.path, () =>
      this.#bring(file).finally(() => this.#underWay.delete(file.path)),
    );
  }

  async #bring(file: ArchiveFile): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#bringOnce(file);
      } catch (error) {
        if (error instanceof StoreUnavailable || tries === TRIES) throw error;
      }
    }
  }

  async #bringOnce({ path, bytes }: ArchiveFile): Promise<void> {
    const coming = await this.#bucket.get(path);
    if (coming === null) throw new WrongBytes(`${path} is not there`);
    makeOwnFolder(join(this.#folder, PARTIAL_FOLDER));
    const part = join(this.#folder, PARTIAL_FOLDER, randomUUID());
    const digest = createHash('sha256');
    let got = 0;
    const counted = new Transform({
      transform: (chunk: Buffer, _, done) => {
        digest.update(chunk);
        got += chunk.length;
        done(null, chunk);
      },
    });
    try {
      await pipeline(coming.body, counted, createWriteStream(part, { mode: 0o600 }));
      const isSame = coming.sha256 === null || coming.sha256 === digest.digest('hex');
      if (!isSame || (bytes !== null && bytes !== got))
        throw new WrongBytes(`${path} is not what was written`);
      makeOwnFolder(dirname(join(this.#folder, path)));
      await rename(part, join(this.#folder, path));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  /** Removes the least recently used files, and what killed processes left. */
  async #makeRoom(): Promise<void> {
    const now = Date.now();
    const kept = (
      await Promise.all(TABLE_NAMES.map((table) => filesBelow(join(this.#folder, table))))
    ).flat();
    let bytes = kept.reduce((sum, { size }) => sum + size, 0);
    for (const file of kept.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= this.#bytesMax || now - file.usedAt < IN_USE_MS) break;
      await rm(file.path, { force: true });
      bytes -= file.size;
    }
    for (const { path, usedAt } of await filesBelow(join(this.#folder, PARTIAL_FOLDER)))
      if (now - usedAt > LEFT_OVER_MS) await rm(path, { force: true });
  }
}

const PARTIAL_FOLDER = 'partial';

interface CachedFile {
  readonly path: string;
  readonly size: number;
  /** Epoch ms. */
  readonly usedAt: number;
}

async function filesBelow(folder: string): Promise<readonly CachedFile[]> {
  const entries: readonly Dirent[] = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  const files = entries.filter((entry) => entry.isFile());
  const found = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      try {
        const { size, atimeMs } = await stat(path);
        return [{ path, size, usedAt: atimeMs }];
      } catch {
        // It has just gone.
        return [];
      }
    }),
  );
  return found.flat();
}
