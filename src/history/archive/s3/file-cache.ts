import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, type Dirent } from 'node:fs';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeOwnFolder } from '#base/files/folders.ts';
import { NamedError } from '#base/named-error.ts';
import type { ArchiveFile } from '#history/archive/archive-home.ts';
import { removeFileIfPresent } from '#history/archive/archive-log.ts';
import { TABLE_NAMES } from '#history/archive/tables.ts';
import type { WhyUnread } from '#history/archive/unread-decisions.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { Bucket } from './bucket.ts';

/** Runs `work` on all items, on `atOnce` of them at a time. */
export async function workOnEach<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>) {
  const left = items.values();
  const workOn = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, workOn));
}

/** The number of files that are fetched at once. */
const DOWNLOADS_AT_ONCE = 8;

/** How often it is tried to fetch a file. A file that arrived cut off is fetched again. */
const TRIES = 2;

/** A file that was asked for within this time, in ms, is in use and is not removed. */
const IN_USE_MS = 120_000;

/** A partial file that is older than this, in ms, belongs to a killed process. */
const LEFT_OVER_MS = 3_600_000;

/** Thrown if a file is missing in the bucket, or differs from the file that was written. */
class WrongBytes extends NamedError {}

/**
 * The fetched files of an archive on this machine. The least recently used files are removed when the files take too
 * much room. A file gets its name when it is complete and checked. A second request for a file waits for the first.
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

  /**
   * Fetches the files that this machine lacks. Returns the paths of the files that cannot be fetched, each with the
   * reason.
   */
  async fetchMissing(files: readonly ArchiveFile[]): Promise<ReadonlyMap<string, WhyUnread>> {
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
    await workOnEach(waiting, DOWNLOADS_AT_ONCE, async (file) => {
      try {
        if (isAway) throw new StoreUnavailable('it did not answer before');
        await this.#fetchShared(file);
      } catch (error) {
        isAway ||= error instanceof StoreUnavailable;
        missing.set(file.path, error instanceof StoreUnavailable ? 'away' : 'damaged');
      }
    });
    this.#making = this.#making.then(() => this.#makeRoom()).catch(() => {});
    await this.#making;
    return missing;
  }

  /** Removes files that the archive no longer has, also those that are still being fetched. */
  forget(paths: readonly string[]): void {
    for (const path of paths) {
      const remove = () => removeFileIfPresent(join(this.#folder, path));
      remove();
      this.#underWay.get(path)?.then(remove, () => {});
    }
  }

  /** Whether a file is on this machine. Marks it as used. */
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

  #fetchShared(file: ArchiveFile): Promise<void> {
    return this.#underWay.getOrInsertComputed(file.path, () =>
      this.#fetch(file).finally(() => this.#underWay.delete(file.path)),
    );
  }

  async #fetch(file: ArchiveFile): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#fetchOnce(file);
      } catch (error) {
        if (error instanceof StoreUnavailable || tries === TRIES) throw error;
      }
    }
  }

  async #fetchOnce({ path, bytes }: ArchiveFile): Promise<void> {
    const coming = await this.#bucket.get(path);
    if (coming === null) throw new WrongBytes(`${path} is not there`);
    makeOwnFolder(join(this.#folder, PARTIAL_FOLDER));
    const part = join(this.#folder, PARTIAL_FOLDER, randomUUID());
    const digest = createHash('sha256');
    let got = 0;
    const hashing = new Transform({
      transform: (chunk: Buffer, _, done) => {
        digest.update(chunk);
        got += chunk.length;
        done(null, chunk);
      },
    });
    try {
      await pipeline(coming.body, hashing, createWriteStream(part, { mode: 0o600 }));
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

  /** Removes the least recently used files, and the partial files of killed processes. */
  async #makeRoom(): Promise<void> {
    const now = Date.now();
    const kept = (
      await Promise.all(TABLE_NAMES.map((table) => listCachedFiles(join(this.#folder, table))))
    ).flat();
    let bytes = kept.reduce((sum, { size }) => sum + size, 0);
    for (const file of kept.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= this.#bytesMax || now - file.usedAt < IN_USE_MS) break;
      await rm(file.path, { force: true });
      bytes -= file.size;
    }
    for (const { path, usedAt } of await listCachedFiles(join(this.#folder, PARTIAL_FOLDER)))
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

async function listCachedFiles(folder: string): Promise<readonly CachedFile[]> {
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
        // The file was removed in the meantime.
        return [];
      }
    }),
  );
  return found.flat();
}
