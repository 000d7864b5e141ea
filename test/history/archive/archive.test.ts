import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Archive } from '#history/archive/archive.ts';
import { ArchiveDamaged, ArchiveLog, CommitConflict, type Segment } from '#history/archive/archive-log.ts';
import { OrderFilter, toOrderNumber } from '#history/archive/order-filter.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

const NOTHING = { by: 'test', at: 0, add: [], remove: [] };

describe('the folder of an archive', () => {
  let archive: Archive;
  beforeEach(() => {
    archive = new Archive(temporaryDirectory());
  });

  it('keeps each path in use until its version has passed', async () => {
    const segment = written(archive, 's-1');
    const reader = new Archive(archive.folder);
    await archive.commit(archive.read(), { ...NOTHING, add: [segment] });
    const path = reader.pathOf(segment);
    const staged = reader.stagedPath('s-1');
    expect([readFileSync(path, 'utf8'), readFileSync(staged, 'utf8')]).to.deep.equal(['rows', 'rows']);
    await archive.commit(archive.read(), { ...NOTHING, add: [written(archive, 's-2')] });
    expect([existsSync(path), existsSync(staged)]).to.deep.equal([true, false]);
  });

  it('completes a segment whose writer was killed before the rename', async () => {
    const segment = written(archive, 's-1');
    const log = new ArchiveLog(archive.folder);
    log.commit(log.read(), { ...NOTHING, add: [segment] });
    expect(archive.pathOf(segment)).to.equal(archive.stagedPath('s-1'));
    await archive.takeOver(NOTHING);
    expect(archive.pathOf(segment)).not.to.equal(archive.stagedPath('s-1'));
    expect(readFileSync(archive.pathOf(segment), 'utf8')).to.equal('rows');
    expect(existsSync(archive.staging())).to.equal(false);
  });

  it('removes uncommitted files once another writer takes over', async () => {
    written(archive, 'never-committed');
    const segment = written(archive, 's-1');
    await archive.commit(archive.read(), { ...NOTHING, add: [segment] });
    const [settled, before] = [archive.pathOf(segment), archive.read().version];
    const forgotten = settled.replace('s-1', 's-0');
    writeFileSync(forgotten, 'rows');
    const next = await new Archive(archive.folder).takeOver(NOTHING);
    expect(next.version).to.equal(before + 1);
    expect([existsSync(settled), existsSync(forgotten), existsSync(archive.staging())]).to.deep.equal([
      true,
      false,
      false,
    ]);
  });

  it('repeats only work on files that a commit removed', async () => {
    const segment = written(archive, 's-1');
    await archive.commit(archive.read(), { ...NOTHING, add: [segment] });
    const writer = new Archive(archive.folder);
    await writer.takeOver(NOTHING);
    const seen: number[] = [];
    const rows = await archive.reading(async (state) => {
      seen.push(state.segments.size);
      if (seen.length === 1) await writer.commit(writer.read(), { ...NOTHING, remove: ['s-1'] });
      return [...state.segments.values()].map((each) => readFileSync(archive.pathOf(each), 'utf8'));
    });
    expect([seen, rows]).to.deep.equal([[1, 0], []]);
    const failing = () => archive.reading(async () => readFileSync(archive.pathOf(segment)));
    expect(await failing().catch((error: Error) => error.message)).to.include('ENOENT');
  });

  it('gives up on work when the archive is rewritten each time', async () => {
    let tries = 0;
    const failure = await archive
      .reading(async (state) => {
        tries++;
        await archive.commit(state, NOTHING);
        throw new Error('gone');
      })
      .catch((error: Error) => error.message);
    expect(tries).to.equal(10);
    expect(failure).to.equal(
      'the archive was rewritten 10 times while it was read, as it is when clients are erased; ask for a shorter span, or when fewer are erased',
    );
  });

  it('counts what it holds', async () => {
    await archive.commit(archive.read(), {
      ...NOTHING,
      add: [written(archive, 's-1'), written(archive, 's-2')],
    });
    rmSync(archive.staging(), { recursive: true });
    expect(archive.contents()).to.deep.equal({ segments: 2, bytes: 8, gapEntries: 0, setAsideEntries: 0 });
  });
});

/** A segment as a writer leaves it before its commit. */
function written(archive: Archive, name: string): Segment {
  archive.prepareStaging();
  writeFileSync(archive.stagedPath(name), 'rows');
  const when = { day: '2026-11-21', from: 0, to: 0, firstTick: 0, lastTick: 0 };
  return { table: 'outcomes', platform: 'shop', ...when, name, rows: 1, bytes: 4 };
}

describe('the log of an archive', () => {
  it('is empty before the first commit', () => {
    const { version, cursor, segments } = new ArchiveLog(temporaryDirectory()).read();
    expect([version, cursor, segments.size]).to.deep.equal([0, null, 0]);
  });

  it('lets one of two writers commit and tells the other', () => {
    const folder = temporaryDirectory();
    const [one, other] = [new ArchiveLog(folder), new ArchiveLog(folder)];
    const [seen, alsoSeen] = [one.read(), other.read()];
    one.commit(seen, commit({ cursor: 'a', add: [segment('s-1')] }));
    expect(() => other.commit(alsoSeen, commit({ cursor: 'b', add: [segment('s-2')] }))).to.throw(
      CommitConflict,
    );
    expect([...other.read().segments.keys()]).to.deep.equal(['s-1']);
    expect(other.read().cursor).to.equal('a');
  });

  it('keeps the cursor where a commit ships nothing', () => {
    const log = new ArchiveLog(temporaryDirectory());
    const shipped = log.commit(log.read(), commit({ cursor: 'a', at: 5, add: [segment('s-1')] }));
    const merged = log.commit(shipped, commit({ at: 9, remove: ['s-1'] }));
    expect([merged.cursor, merged.shippedAt, merged.segments.size]).to.deep.equal(['a', 5, 0]);
  });

  it('is the same for readers from the start, late ones and rare ones', () => {
    const folder = temporaryDirectory();
    const writer = new ArchiveLog(folder);
    const seldom = new ArchiveLog(folder);
    let state = seldom.read();
    for (let count = 1; count <= 200; count += 1) {
      const remove = count > 3 ? [`s-${count - 3}`] : [];
      state = writer.commit(state, commit({ cursor: String(count), add: [segment(`s-${count}`)], remove }));
    }
    for (const log of [writer, seldom, new ArchiveLog(folder)]) {
      const { version, cursor, segments } = log.read();
      expect([version, cursor]).to.deep.equal([200, '200']);
      expect([...segments.keys()]).to.deep.equal(['s-198', 's-199', 's-200']);
    }
    expect(readdirSync(join(folder, 'log')).length).to.be.below(150);
  });

  it('names the file that is not readable', () => {
    const folder = temporaryDirectory();
    const log = new ArchiveLog(folder);
    log.commit(log.read(), commit({ cursor: 'a' }));
    writeFileSync(join(folder, 'log', '000000000002.json'), '{"by":');
    expect(() => new ArchiveLog(folder).read()).to.throw(ArchiveDamaged, '000000000002.json');
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
        const filter = OrderFilter.from(OrderFilter.of(orders.map(toOrderNumber)).bytes);
        expect(orders.every((order) => filter.mayHold(toOrderNumber(order)))).to.equal(true);
      }),
    );
  });

  it('denies all but about one in a hundred of the others', () => {
    const filter = OrderFilter.of(Array.from({ length: 5000 }, (_, index) => toOrderNumber(`held-${index}`)));
    const wrong = Array.from({ length: 20_000 }, (_, index) => toOrderNumber(`other-${index}`)).filter(
      (order) => filter.mayHold(order),
    );
    expect(wrong.length).to.be.within(50, 400);
  });
});
