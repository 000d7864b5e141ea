import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ArchiveDamaged, ArchiveLog, CommitConflict, type Segment } from '../../src/archive/archive-log.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

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
