import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Archive } from '#history/archive/archive.ts';
import { FolderHome } from '#history/archive/archive-home.ts';
import { ArchiveDamaged, ArchiveLog, CommitConflict, type Segment } from '#history/archive/archive-log.ts';
import { OrderBloomFilter, toOrderNumber } from '#history/archive/order-bloom-filter.ts';
import { createSnapshotOpener, withSnapshot } from '#history/archive/snapshot.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

const NOTHING = { by: 'test', at: 0, add: [], remove: [] };

describe('the folder of an archive', () => {
  let archive: Archive;
  beforeEach(() => {
    archive = new Archive(temporaryDirectory());
  });

  it('has a segment in its place before the commit that names it', async () => {
    const segment = written(archive, 's-1');
    const seen: boolean[] = [];
    const home = new FolderHome(archive.folder);
    home.addCommit = async (version, text) => {
      seen.push(existsSync(archive.getSegmentPath(segment)), existsSync(archive.getStagedPath('s-1')));
      return new FolderHome(archive.folder).addCommit(version, text);
    };
    const writer = new Archive(home);
    await writer.commit(writer.read(), { ...NOTHING, add: [segment] });
    expect(seen).to.deep.equal([true, false]);
    expect(readFileSync(archive.getSegmentPath(segment), 'utf8')).to.equal('rows');
  });

  it('removes a segment whose writer lost the race for the commit, so that no other program reads it', async () => {
    const slow = new Archive(archive.folder);
    const before = slow.read();
    await archive.commit(archive.read(), { ...NOTHING, add: [written(archive, 'fast')] });
    const segment = written(slow, 'slow');
    const lost = await slow.commit(before, { ...NOTHING, add: [segment] }).catch((error: unknown) => error);
    expect(lost).to.be.instanceOf(CommitConflict);
    expect(existsSync(slow.getSegmentPath(segment))).to.equal(false);
    expect([...slow.read().segments.keys()]).to.deep.equal(['fast']);
  });

  it('removes uncommitted files once another writer takes over', async () => {
    written(archive, 'never-committed');
    const segment = written(archive, 's-1');
    await archive.commit(archive.read(), { ...NOTHING, add: [segment] });
    const [settled, before] = [archive.getSegmentPath(segment), archive.read().version];
    const forgotten = settled.replace('s-1', 's-0');
    writeFileSync(forgotten, 'rows');
    const next = await new Archive(archive.folder).takeOver(NOTHING);
    expect(next.version).to.equal(before + 1);
    expect([
      existsSync(settled),
      existsSync(forgotten),
      existsSync(archive.getStagingFolder()),
    ]).to.deep.equal([true, false, false]);
  });

  it('repeats only work on files that a commit removed', async () => {
    const segment = written(archive, 's-1');
    await archive.commit(archive.read(), { ...NOTHING, add: [segment] });
    const writer = new Archive(archive.folder);
    await writer.takeOver(NOTHING);
    const seen: number[] = [];
    const rows = await withSnapshot(createSnapshotOpener(archive), async ({ state }) => {
      seen.push(state.segments.size);
      if (seen.length === 1) await writer.commit(writer.read(), { ...NOTHING, remove: ['s-1'] });
      return [...state.segments.values()].map((each) => readFileSync(archive.getSegmentPath(each), 'utf8'));
    });
    expect([seen, rows]).to.deep.equal([[1, 0], []]);
    const failing = () =>
      withSnapshot(createSnapshotOpener(archive), async () => readFileSync(archive.getSegmentPath(segment)));
    expect(await failing().catch((error: Error) => error.message)).to.include('ENOENT');
  });

  it('gives up on work when the archive is rewritten each time', async () => {
    let tries = 0;
    const failure = await withSnapshot(createSnapshotOpener(archive), async ({ state }) => {
      tries++;
      await archive.commit(state, NOTHING);
      throw new Error('gone');
    }).catch((error: Error) => error.message);
    expect(tries).to.equal(10);
    expect(failure).to.equal(
      'the archive was rewritten 10 times while it was read, which happens when clients are erased; ask for a shorter time span, or later',
    );
  });

  it('counts what it holds', async () => {
    await archive.commit(archive.read(), {
      ...NOTHING,
      add: [written(archive, 's-1'), written(archive, 's-2')],
    });
    expect(archive.computeTotals()).to.deep.equal({
      segments: 2,
      bytes: 8,
      gapEntries: 0,
      setAsideEntries: 0,
    });
  });
});

/** A segment as a writer leaves it before its commit. */
function written(archive: Archive, name: string): Segment {
  archive.prepareStaging();
  writeFileSync(archive.getStagedPath(name), 'rows');
  const when = { day: '2026-11-21', from: 0, to: 0, firstTick: 0, lastTick: 0 };
  return { table: 'outcomes', platform: 'shop', ...when, name, rows: 1, bytes: 4 };
}

describe('the log of an archive', () => {
  it('is empty before the first commit', () => {
    const { version, cursor, segments } = new ArchiveLog(new FolderHome(temporaryDirectory())).read();
    expect([version, cursor, segments.size]).to.deep.equal([0, null, 0]);
  });

  it('lets one of two writers commit and tells the other', async () => {
    const folder = temporaryDirectory();
    const [one, other] = [new ArchiveLog(new FolderHome(folder)), new ArchiveLog(new FolderHome(folder))];
    const [seen, alsoSeen] = [one.read(), other.read()];
    await one.commit(seen, commit({ cursor: 'a', add: [segment('s-1')] }));
    const late = other.commit(alsoSeen, commit({ cursor: 'b', add: [segment('s-2')] }));
    expect(await late.catch((error: unknown) => error)).to.be.instanceOf(CommitConflict);
    expect([...other.read().segments.keys()]).to.deep.equal(['s-1']);
    expect(other.read().cursor).to.equal('a');
  });

  it('keeps the cursor where a commit ships nothing', async () => {
    const log = new ArchiveLog(new FolderHome(temporaryDirectory()));
    const shipped = await log.commit(log.read(), commit({ cursor: 'a', at: 5, add: [segment('s-1')] }));
    const merged = await log.commit(shipped, commit({ at: 9, remove: ['s-1'] }));
    expect([merged.cursor, merged.shippedAt, merged.segments.size]).to.deep.equal(['a', 5, 0]);
  });

  it('is the same for readers from the start, late ones and rare ones', async () => {
    const folder = temporaryDirectory();
    const writer = new ArchiveLog(new FolderHome(folder));
    const seldom = new ArchiveLog(new FolderHome(folder));
    let state = seldom.read();
    for (let count = 1; count <= 200; count += 1) {
      const remove = count > 3 ? [`s-${count - 3}`] : [];
      state = await writer.commit(
        state,
        commit({ cursor: String(count), add: [segment(`s-${count}`)], remove }),
      );
    }
    for (const log of [writer, seldom, new ArchiveLog(new FolderHome(folder))]) {
      const { version, cursor, segments } = log.read();
      expect([version, cursor]).to.deep.equal([200, '200']);
      expect([...segments.keys()]).to.deep.equal(['s-198', 's-199', 's-200']);
    }
    expect(readdirSync(join(folder, 'log')).length).to.be.below(150);
  });

  it('names the file that is not readable', async () => {
    const folder = temporaryDirectory();
    const log = new ArchiveLog(new FolderHome(folder));
    await log.commit(log.read(), commit({ cursor: 'a' }));
    writeFileSync(join(folder, 'log', '000000000002.json'), '{"by":');
    expect(() => new ArchiveLog(new FolderHome(folder)).read()).to.throw(ArchiveDamaged, '000000000002.json');
  });
});

function commit(parts: object) {
  return { by: 'test', at: 1, add: [], remove: [], ...parts };
}

function segment(name: string): Segment {
  const when = { day: '2026-11-01', from: 1, to: 2, firstTick: 1, lastTick: 2 };
  return { table: 'decisions', platform: 'shop', ...when, name, rows: 1, bytes: 1 };
}

describe('the order filter of a segment', () => {
  it('never denies an order that is in the segment', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 300 }), (orders) => {
        const filter = OrderBloomFilter.from(OrderBloomFilter.of(orders.map(toOrderNumber)).bytes);
        expect(orders.every((order) => filter.mayHold(toOrderNumber(order)))).to.equal(true);
      }),
    );
  });

  it('denies all but about one in a hundred of the others', () => {
    const filter = OrderBloomFilter.of(
      Array.from({ length: 5000 }, (_, index) => toOrderNumber(`held-${index}`)),
    );
    const wrong = Array.from({ length: 20_000 }, (_, index) => toOrderNumber(`other-${index}`)).filter(
      (order) => filter.mayHold(order),
    );
    expect(wrong.length).to.be.within(50, 400);
  });
});
