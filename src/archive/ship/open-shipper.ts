import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { storeClock } from '../../state/clock-offset.ts';
import type { StorePlace } from '../../state/open-store.ts';
import { RETENTION } from '../../state/retention.ts';
import type { Store } from '../../state/store.ts';
import type { Archive } from '../archive.ts';
import { Duck } from '../duck.ts';
import { type ArchivePlace, openArchive, openStoreOf } from '../s3/open-archive.ts';
import { Lease } from './lease.ts';
import { RuleSetShelf } from './rule-set-shelf.ts';
import { Shipper } from './shipper.ts';

/** What a process needs to ship; plain data, so that it can be handed to a thread. */
export interface ShippingConfig extends StorePlace, ArchivePlace {
  readonly archiveDir: string;
  readonly archiveKeepMs: number;
  /** How long decisions stay in the store after they were made, ms. */
  readonly decisionsHotMs: number;
  readonly rulesDir: string;
}

export interface OpenShipper {
  readonly store: Store;
  readonly shipper: Shipper;
  readonly archive: Archive;
  /** Gives up the lease and closes what was opened. */
  close(): Promise<void>;
}

/** Merging sorts at most two million rows; more than this goes to the disk. */
const SHIPPER_LIMITS = { threads: 1, memoryMiB: 512 } as const;

/** A shipper with a connection of its own to the store. Throws StoreUnavailable. */
export async function openShipper(
  { archiveDir, archiveS3, archiveKeepMs, decisionsHotMs, rulesDir, ...place }: ShippingConfig,
  onError: (error: Error) => void,
): Promise<OpenShipper> {
  const store = await openStoreOf({ ...place, archiveDir, archiveS3 }, onError);
  const duck = await Duck.open({ ...SHIPPER_LIMITS, temporaryFolder: join(archiveDir, 'staging', 'spill') });
  // Containers may share host name and process number.
  const name = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
  const lease = new Lease(store.registers, name, () => performance.now());
  const archive = openArchive({ archiveDir, archiveS3 }, store.registers);
  const shipper = new Shipper({
    store,
    archive,
    duck,
    lease,
    ruleSets: new RuleSetShelf(archiveDir, rulesDir),
    name,
    clock: storeClock(Date.now, store),
    keepMs: archiveKeepMs,
    kept: { journalEntries: RETENTION.journalLookBackEntries, decisionsHotMs },
  });
  const close = async () => {
    await lease.release().catch(() => {
      // The store is away: the lease runs out by itself.
    });
    duck.close();
    await store.close();
  };
  return { store, shipper, archive, close };
}
