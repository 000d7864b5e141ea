import { Archive } from '#history/archive/archive.ts';
import {
  type OnTrouble,
  openStoreBesideArchive,
  readSalt,
  SALT_FILE,
} from '#history/archive/archived-salt.ts';
import type { StorePlace } from '#state/open-store.ts';
import type { Registers, Store } from '#state/store.ts';
import { Bucket, type S3Place } from './bucket.ts';
import { BucketHome, FileCache } from './bucket-home.ts';

export interface ArchivePlace {
  /** The archive itself, or what this machine holds of it. */
  readonly archiveDir: string;
  /** Where it is kept for good; null or absent: in the folder. */
  readonly archiveS3?: S3Place | null | undefined;
}

/** The archive of a place. The store's registers tell what an archive elsewhere consists of. */
export function openArchive({ archiveDir, archiveS3 = null }: ArchivePlace, registers: Registers): Archive {
  if (archiveS3 === null) return new Archive(archiveDir);
  return new Archive(archiveDir, createBucketHome(archiveDir, archiveS3, registers));
}

export function createBucketHome(folder: string, place: S3Place, registers: Registers): BucketHome {
  const bucket = new Bucket(place);
  return new BucketHome(folder, bucket, new FileCache(folder, bucket, place.cacheBytesMax), registers);
}

/** As openStoreBesideArchive: the salt of an archive elsewhere is brought first. Throws SaltRefused. */
export async function openStoreWithSalt(
  place: StorePlace & { readonly archiveDir: string | null; readonly archiveS3?: S3Place | null | undefined },
  ...told: OnTrouble
): Promise<Store> {
  const { archiveDir, archiveS3 = null } = place;
  if (archiveDir !== null && archiveS3 !== null && readSalt(archiveDir) === null)
    await new FileCache(archiveDir, new Bucket(archiveS3), archiveS3.cacheBytesMax).bring([SALT]);
  return openStoreBesideArchive(place, ...told);
}

const SALT = { path: SALT_FILE, bytes: null };

const FOLLOWED_EVERY_MS = 10_000;

/**
 * Keeps what a process knows of its archive fresh, so that what was taken out of it, erased clients above all, goes from
 * this machine, too. Gives a function that ends it. What lies in a folder needs none of it.
 */
export function followArchive(archive: Archive): () => void {
  if (!archive.home.isElsewhere) return () => {};
  const follow = () => {
    archive.refresh().catch(() => {
      // The store or the archive is away; every question says so.
    });
  };
  follow();
  const timer = setInterval(follow, FOLLOWED_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
