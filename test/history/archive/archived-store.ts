import { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { ShippingLease } from '#history/archive/ship/lease.ts';
import { Shipper, type ShipperParts, type ShippingStepResult } from '#history/archive/ship/shipper.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { T0 } from '../../state/clients.ts';

/** Opens the archive for another node; `disk` names its own disk where nodes share none. */
export type NodeArchives = (folder?: string) => Archive;

/** A store with an archive and the engine to read it; to be closed after the suite. */
export class ArchivedStore {
  readonly store: Store;
  readonly archive: Archive;
  readonly duck: QueryEngine;
  readonly node: NodeArchives;
  readonly #readers: ArchiveReader[] = [];

  private constructor(store: Store, node: NodeArchives, duck: QueryEngine) {
    this.store = store;
    this.node = node;
    this.archive = node();
    this.duck = duck;
  }

  static async open(
    store: Store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT }),
    at: string | NodeArchives = temporaryDirectory(),
  ): Promise<ArchivedStore> {
    const temporaryFolder = `${temporaryDirectory()}/spill`;
    const duck = await QueryEngine.open({ threads: 1, memoryMiB: 256, temporaryFolder });
    return new ArchivedStore(store, typeof at === 'string' ? () => new Archive(at) : at, duck);
  }

  /** A reader that is closed with this; without arguments of this archive, for its store. */
  reader(
    archive: Archive | string = this.archive.folder,
    store: ConstructorParameters<typeof ArchiveReader>[1] = this.store,
    rowsMax?: number,
  ): ArchiveReader {
    const reader = new ArchiveReader(archive, store, rowsMax);
    this.#readers.push(reader);
    return reader;
  }

  /** A new shipper; several of one name renew each other's lease. */
  shipper(parts: Partial<ShipperParts> & { readonly holder?: string } = {}): Shipper {
    const { holder = 'tester', ...others } = parts;
    return new Shipper({
      store: this.store,
      archive: this.node(this.archive.folder),
      duck: this.duck,
      lease: new ShippingLease(this.store.registers, holder, () => performance.now()),
      ruleSets: new ArchivedRuleSets(this.archive.folder, null),
      name: holder,
      clock: () => T0 + 3_600_000,
      keepMs: 400 * 24 * 3_600_000,
      kept: { journalEntries: 1_000_000, decisionsHotMs: 7 * 24 * 3_600_000 },
      ...others,
    });
  }

  /** Ships everything; gives the results of the steps. */
  async shipAll(shipper: Shipper = this.shipper()): Promise<readonly ShippingStepResult[]> {
    const steps: ShippingStepResult[] = [];
    for (;;) {
      const step = await shipper.step();
      steps.push(step);
      if (step.did !== 'nothing') continue;
      await this.archive.refresh();
      return steps;
    }
  }

  /** Ends the engine and the readers, and leaves the store to others. */
  async release(): Promise<void> {
    this.duck.close();
    for (const reader of this.#readers.splice(0)) await reader.close();
  }

  async close(): Promise<void> {
    await this.release();
    await this.store.close();
  }
}
