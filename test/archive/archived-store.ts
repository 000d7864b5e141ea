import { Archive } from '../../src/archive/archive.ts';
import { Duck } from '../../src/archive/duck.ts';
import { Lease } from '../../src/archive/ship/lease.ts';
import { RuleSetShelf } from '../../src/archive/ship/rule-set-shelf.ts';
import { Shipper, type ShipperParts, type ShippingStep } from '../../src/archive/ship/shipper.ts';
import { openSqliteStore } from '../../src/state/sqlite/store.ts';
import type { Store } from '../../src/state/store.ts';
import { TEST_SALT } from '../client/client-keys.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { T0 } from '../state/clients.ts';

/** A store with an archive and the engine to read it; to be closed after the suite. */
export class ArchivedStore {
  readonly store: Store;
  readonly archive: Archive;
  readonly duck: Duck;

  private constructor(store: Store, archive: Archive, duck: Duck) {
    this.store = store;
    this.archive = archive;
    this.duck = duck;
  }

  static async open(
    store: Store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT }),
    folder: string = temporaryDirectory(),
  ): Promise<ArchivedStore> {
    const duck = await Duck.open({ threads: 1, memoryMiB: 256, temporaryFolder: `${folder}/spill` });
    return new ArchivedStore(store, new Archive(folder), duck);
  }

  /** A shipper of its own; several of one name renew each other's lease. */
  shipper(parts: Partial<ShipperParts> & { readonly holder?: string } = {}): Shipper {
    const { holder = 'tester', ...others } = parts;
    return new Shipper({
      store: this.store,
      archive: new Archive(this.archive.folder),
      duck: this.duck,
      lease: new Lease(this.store.registers, holder, () => performance.now()),
      ruleSets: new RuleSetShelf(this.archive.folder, null),
      name: holder,
      clock: () => T0 + 3_600_000,
      keepMs: 400 * 24 * 3_600_000,
      kept: { journalEntries: 1_000_000, decisionsHotMs: 7 * 24 * 3_600_000 },
      ...others,
    });
  }

  /** Ships all that there is; gives what the steps did. */
  async shipAll(shipper: Shipper = this.shipper()): Promise<readonly ShippingStep[]> {
    const steps: ShippingStep[] = [];
    for (;;) {
      const step = await shipper.step();
      steps.push(step);
      if (step.did === 'nothing') return steps;
    }
  }

  async close(): Promise<void> {
    this.duck.close();
    await this.store.close();
  }
}
