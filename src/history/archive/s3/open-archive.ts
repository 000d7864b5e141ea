import { Archive } from '#history/archive/archive.ts';
import { FolderHome } from '#history/archive/archive-home.ts';
import {
  openStoreBesideArchiveFolder,
  readSalt,
  SALT_FILE,
  type StoreListeners,
} from '#history/archive/archived-salt.ts';
import type { OpenStoreOptions } from '#state/open-store.ts';
import type { Registers, Store } from '#state/store.ts';
import { Bucket, type S3Place } from './bucket.ts';
import { BucketHome } from './bucket-home.ts';
import { FileCache } from './file-cache.ts';

export interface ArchivePlace {
  /** The folder of the archive itself, or of the part that this machine holds. */
  readonly archiveDir: string;
  /** The place where the archive is kept for good. Null or missing if it is kept in the folder. */
  readonly archiveS3?: S3Place | null | undefined;
}

/** Opens the archive of a place. If the archive is in S3, the store's registers say which commit is the newest. */
export function openArchive({ archiveDir, archiveS3 = null }: ArchivePlace, registers: Registers): Archive {
  if (archiveS3 === null) return new Archive(new FolderHome(archiveDir));
  const bucket = new Bucket(archiveS3);
  const cache = new FileCache(archiveDir, bucket, archiveS3.cacheBytesMax);
  return new Archive(new BucketHome(archiveDir, bucket, cache, registers));
}

/** Fetches the archive's salt, then opens the store as `openStoreBesideArchiveFolder` does. Throws SaltRefused. */
export async function openStoreWithArchivedSalt(
  place: OpenStoreOptions & {
    readonly archiveDir: string | null;
    readonly archiveS3?: S3Place | null | undefined;
  },
  ...listeners: StoreListeners
): Promise<Store> {
  const { archiveDir, archiveS3 } = place;
  if (archiveDir !== null && readSalt(archiveDir) === null)
    await openArchive({ archiveDir, archiveS3 }, REGISTERS_WITHOUT_STORE).home.makeReadable([SALT]);
  return openStoreBesideArchiveFolder(place, ...listeners);
}

const SALT = { path: SALT_FILE, bytes: null };

/**
 * Registers for an archive whose store is not asked, because the store is lost, was restored to an earlier moment, or
 * is not open yet.
 */
export const REGISTERS_WITHOUT_STORE: Registers = {
  read: async () => null,
  compareAndSet: async () => false,
  version: async () => '',
};

const FOLLOWED_EVERY_MS = 10_000;

/**
 * Refreshes an archive every ten seconds, so that files which the archive removes are removed from this machine, too.
 * This matters above all for erased clients. Returns a function that ends the refreshing.
 */
export function followArchive(archive: Archive): () => void {
  const follow = () => {
    archive.refresh().catch(() => {
      // The store or the archive cannot be reached. Every question reports it.
    });
  };
  follow();
  const timer = setInterval(follow, FOLLOWED_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
