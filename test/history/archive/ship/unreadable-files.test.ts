import { copyFileSync, existsSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ClientKey, type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import { Archive, readUnshippedErasedClientNumbers } from '#history/archive/archive.ts';
import { FolderHome } from '#history/archive/archive-home.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { queryArchive } from '#history/archive/read/query.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { newClient, newPlatform, T0, verdict } from '../../../state/clients.ts';
import { all } from '../../evidence/source/recorded-evidence.ts';
import { ArchivedStore } from '../archived-store.ts';

const DAY_MS = 24 * 3_600_000;

/** What disk faults do to a file. */
const FAULTS: Readonly<Record<string, (path: string) => void>> = {
  'was cut off': (path) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  'is gone': (path) => rmSync(path),
  'has its length and holds nothing': (path) => writeFileSync(path, Buffer.alloc(statSync(path).size)),
};

/** A place of the archive that for a time takes no commit which removes something. */
class NarrowHome extends FolderHome {
  isNarrow = true;

  override async addCommit(version: number, text: string): Promise<boolean> {
    if (this.isNarrow && JSON.parse(text).remove.length > 0) throw new StoreUnavailable('too narrow');
    return super.addCommit(version, text);
  }
}

/** The engine distinguishes files of one name and length by the second of their writing; a test takes less. */
function dateAt(path: string, at: number): void {
  utimesSync(path, at / 1000, at / 1000);
}

describe('a file of the archive that cannot be read', () => {
  let place: ArchivedStore;
  let platform: PlatformName;
  let ann: ClientKey;
  let bob: ClientKey;
  /** Holds the first orders of both. */
  let segment: Segment;
  let goodCopy: string;

  before(async () => {
    place = await ArchivedStore.open();
  });
  after(() => place?.close());

  beforeEach(async () => {
    platform = newPlatform();
    [ann, bob] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
    await verdict(place.store, ann, 'ann-1', T0);
    await verdict(place.store, bob, 'bob-1', T0 + 1);
    await place.shipper().step();
    segment = segments()[0] ?? expect.fail('there is a segment');
    goodCopy = join(temporaryDirectory(), 'good.parquet');
    copyFileSync(place.archive.getSegmentPath(segment), goodCopy);
    await verdict(place.store, ann, 'ann-2', T0 + 2);
    await verdict(place.store, bob, 'bob-2', T0 + 3);
    await place.shipper().step();
  });
  // Leftovers of a test must not disturb the next one.
  afterEach(() => {
    if (place.archive.read().segments.has(segment.name)) putBack();
  });

  function segments(): readonly Segment[] {
    return place.archive.listSegments(place.archive.read(), { table: 'decisions', platform });
  }

  function harmBy(harm: (path: string) => void): void {
    const path = place.archive.getSegmentPath(segment);
    harm(path);
    if (existsSync(path)) dateAt(path, T0 + 60_000);
  }

  function putBack(): void {
    const path = place.archive.getSegmentPath(segment);
    copyFileSync(goodCopy, path);
    dateAt(path, T0 + 120_000);
  }

  async function erase(client: ClientKey): Promise<void> {
    await place.store.erase(client);
    await place.shipper().step();
  }

  /** Orders in the platform's files, including those that readers leave out. */
  async function ordersInFiles(): Promise<readonly string[]> {
    const paths = segments().map((one) => `'${place.archive.getSegmentPath(one)}'`);
    const rows = await place.duck.rows(`SELECT order_ref FROM read_parquet([${paths.join(', ')}])`);
    return rows.map((row) => String(row['order_ref'])).toSorted();
  }

  async function ordersFound(): Promise<readonly string[]> {
    const sql = `SELECT order_ref FROM decisions WHERE platform = '${platform}' ORDER BY order_ref`;
    const limits = { rowsMax: 100, timeoutMs: 60_000, memoryMiB: 256 };
    const { answer } = await queryArchive(
      place.archive.folder,
      sql,
      limits,
      await readUnshippedErasedClientNumbers(place.store),
    );
    return answer.rows.flat().map(String);
  }

  for (const [fault, harm] of Object.entries(FAULTS)) {
    it(`and ${fault} blocks neither an erasure nor shipping`, async () => {
      harmBy(harm);
      await place.store.erase(ann);
      await verdict(place.store, bob, 'bob-3', T0 + 4);
      await place.shipAll();
      expect(await readUnshippedErasedClientNumbers(place.store)).to.deep.equal([]);
      const others = segments().filter(({ name }) => name !== segment.name);
      const rows = await place.duck.rows(`SELECT order_ref FROM ${place.archive.createRowsSql(others)}`);
      expect(rows.map((row) => row['order_ref'])).to.have.members(['bob-2', 'bob-3']);
    });

    it(`and ${fault} shows nothing of a client who was erased before a good copy was restored`, async () => {
      harmBy(harm);
      await erase(ann);
      putBack();
      expect(await ordersInFiles()).to.deep.equal(['ann-1', 'bob-1', 'bob-2']);
      expect(await ordersFound()).to.deep.equal(['bob-1', 'bob-2']);
      const found = await place.reader().decisionsOfClient(ann, 10, 100);
      expect(found.decisions).to.deep.equal([]);
      const ask = { ...all({ kind: 'archive', folder: place.archive.folder }), platform };
      expect(await withEvidence(ask, async ({ span }) => span.decisions)).to.equal(2);
    });

    it(`and ${fault} is rewritten without the clients who were erased once it can be read again`, async () => {
      harmBy(harm);
      await erase(ann);
      const shipper = place.shipper();
      await shipper.step('tidy');
      expect(segments().map(({ name }) => name)).to.include(segment.name);
      putBack();
      await place.shipAll();
      expect(segments().map(({ name }) => name)).not.to.include(segment.name);
      expect(segments().flatMap(({ without = [] }) => without)).to.deep.equal([]);
      expect(await ordersInFiles()).to.deep.equal(['bob-1', 'bob-2']);
    });

    it(`and ${fault} does not prevent merging the others of its day`, async () => {
      await verdict(place.store, bob, 'bob-3', T0 + 4);
      await place.shipper().step();
      harmBy(harm);
      await place.shipAll(place.shipper({ clock: () => T0 + DAY_MS }));
      expect(segments().map(({ rows, name }) => [rows, name === segment.name])).to.have.deep.members([
        [2, true],
        [3, false],
      ]);
    });
  }

  it('that cannot be rewritten holds up nothing, shows nobody who was erased, and is rewritten once that goes', async () => {
    const narrow = new NarrowHome(place.archive.folder);
    await place.store.erase(ann);
    await verdict(place.store, bob, 'bob-3', T0 + 4);
    const shipper = place.shipper({ archive: new Archive(narrow) });
    const tried = await shipper.step().catch((error: Error) => error.message);
    expect(tried).to.equal('too narrow');
    expect(await shipper.step()).to.include({ did: 'shipped', entries: 2 });
    await place.archive.refresh();
    expect(await ordersFound()).to.deep.equal(['bob-1', 'bob-2', 'bob-3']);
    expect(await shipper.step('tidy').catch((error: Error) => error.message)).to.equal('too narrow');
    await verdict(place.store, bob, 'bob-4', T0 + 5);
    expect(await shipper.step()).to.include({ did: 'shipped', entries: 1 });
    narrow.isNarrow = false;
    await place.shipAll();
    expect(await ordersInFiles()).to.deep.equal(['bob-1', 'bob-2', 'bob-3', 'bob-4']);
    expect(segments().flatMap(({ without = [] }) => without)).to.deep.equal([]);
  });

  it('is read without all who were erased, one after the other', async () => {
    harmBy((path) => truncateSync(path, 10));
    await erase(ann);
    await erase(bob);
    const [left, ...others] = segments();
    expect([left?.name, others]).to.deep.equal([segment.name, []]);
    expect(left?.without).to.have.members([toClientNumberText(ann.hash), toClientNumberText(bob.hash)]);
    putBack();
    expect(await ordersFound()).to.deep.equal([]);
    await place.shipAll();
    expect(segments()).to.deep.equal([]);
  });

  it('is read without the past of an erased client, but with its data since its return', async () => {
    harmBy((path) => truncateSync(path, 10));
    await erase(ann);
    await verdict(place.store, ann, 'ann-again', T0 + 5);
    await place.shipper().step();
    putBack();
    expect(await ordersFound()).to.deep.equal(['ann-again', 'bob-1', 'bob-2']);
    await place.shipAll();
    expect(await ordersFound()).to.deep.equal(['ann-again', 'bob-1', 'bob-2']);
  });

  it('is removed after its retention, like any other', async () => {
    harmBy((path) => truncateSync(path, 10));
    await place.shipAll(place.shipper({ keepMs: DAY_MS, clock: () => T0 + 3 * DAY_MS }));
    expect(segments()).to.deep.equal([]);
  });
});
