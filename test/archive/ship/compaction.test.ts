import { expect } from 'chai';
import type { Segment } from '../../../src/archive/archive-log.ts';
import { commonDay } from '../../../src/archive/period.ts';
import { nextMerge } from '../../../src/archive/ship/next-merge.ts';

const TODAY = '2026-11-21';

describe('the segments that are merged', () => {
  it('are those of a day that is over', () => {
    const day = [segment('a', '2026-11-20', 5), segment('b', '2026-11-20', 7)];
    expect(nextMerge([...day, segment('c', '2026-11-19', 5)], TODAY)).to.deep.equal(day);
  });

  it("are today's once there are ten of about the same size", () => {
    const ten = Array.from({ length: 10 }, (_, index) => segment(`s-${index}`, TODAY, 10 + index));
    expect(nextMerge(ten.slice(1), TODAY)).to.equal(null);
    expect(nextMerge([...ten, segment('large', TODAY, 1000)], TODAY)).to.deep.equal(ten);
  });

  it("are today's small ones also beside ten that are as large as a segment may be", () => {
    const large = Array.from({ length: 10 }, (_, index) => segment(`l-${index}`, TODAY, 2_000_000));
    const small = Array.from({ length: 10 }, (_, index) => segment(`s-${index}`, TODAY, 5000));
    expect(nextMerge(large, TODAY)).to.equal(null);
    expect(nextMerge([...large, ...small], TODAY)).to.deep.equal(small);
  });

  it('are those of quiet days of a month that is over', () => {
    const [quiet, also] = [segment('a', '2026-10-03', 200), segment('b', '2026-10-31', 50_000)];
    expect(nextMerge([quiet, also, segment('c', '2026-10-04', 50_001)], TODAY)).to.deep.equal([quiet, also]);
    for (const [day, other] of [
      ['2026-11-03', '2026-11-04'],
      ['2026-10-03', '2026-09-03'],
    ] as const)
      expect(nextMerge([segment('a', day, 200), segment('b', other, 200)], TODAY)).to.equal(null);
  });

  it('are those of quiet days of erasures only when these name nobody any more', () => {
    const days = ['2026-10-03', '2026-10-04'].map((day) => ({
      ...segment(day, day, 3),
      table: 'erasures' as const,
    }));
    expect(nextMerge(days, TODAY)).to.equal(null);
    const nameless = days.map((one) => ({ ...one, nameless: true as const }));
    expect(nextMerge(nameless, TODAY)).to.deep.equal(nameless);
    const [first, second] = days.map((one) => ({ ...one, day: '2026-11-20' }));
    if (first === undefined || second === undefined) throw new Error('no segments');
    expect(nextMerge([first, { ...second, nameless: true }], TODAY)).to.equal(null);
  });

  it('are never those of two platforms or tables', () => {
    const one = segment('a', '2026-10-03', 200);
    const others = [
      { ...one, name: 'b', platform: 'other' },
      { ...one, name: 'c', table: 'scores' } as const,
    ];
    expect(nextMerge([one, ...others], TODAY)).to.equal(null);
  });

  it('have at most two million rows together', () => {
    const rows = { a: 1_500_000, b: 600_000, c: 9 };
    const day = Object.entries(rows).map(([name, some]) => segment(name, '2026-11-20', some));
    expect(nextMerge(day, TODAY)?.map(({ name }) => name)).to.deep.equal(['c', 'b']);
  });

  it('are named by their day, or else by their month', () => {
    expect(commonDay(['2026-10-03', '2026-10-03'])).to.equal('2026-10-03');
    expect(commonDay(['2026-10-03', '2026-10-04'])).to.equal('2026-10');
    expect(commonDay(['2026-10', '2026-10-04'])).to.equal('2026-10');
  });
});

function segment(name: string, day: string, rows: number): Segment {
  const when = { day, from: 0, to: 0, firstTick: 0, lastTick: 0 };
  return { table: 'decisions', platform: 'shop', ...when, name, rows, bytes: 1 };
}
