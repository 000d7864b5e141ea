import { expect } from 'chai';
import { dateTime } from '../../src/console/page/parts/format.ts';
import { marksOf } from '../../src/console/page/parts/marks.ts';
import type { RolloutEntry } from '../../src/rollout/rollout.ts';
import { versionOf } from '../rollout/rule-folders.ts';

const HOUR_MS = 3_600_000;
const [P2_V10, P2_V11] = [versionOf('p2.v10'), versionOf('p2.v11')];
const span = { from: 10 * HOUR_MS, to: 20 * HOUR_MS };

const change = (hour: number, more: Partial<RolloutEntry>): RolloutEntry => ({
  at: hour * HOUR_MS,
  who: 'ann',
  action: 'canary',
  from: P2_V10,
  to: P2_V11,
  digest: 'd',
  reason: 'a longer wait',
  ...more,
});

const rolloutWith = (...history: readonly RolloutEntry[]) => ({
  revision: 1,
  active: { version: P2_V10, digest: 'd' },
  candidates: [],
  ended: [],
  history,
});

const told = (one: RolloutEntry) =>
  marksOf({ rollout: rolloutWith(one), gaps: [] }, span).map(({ text, isAlert }) => [isAlert, text]);

describe('the marks on a line of time', () => {
  it('are what happened within it, the first first', () => {
    const rollout = rolloutWith(change(9, {}), change(15, {}), change(20, {}));
    const counts = { entries: 1, ended: 0, changedAt: 12 * HOUR_MS };
    const list = { list: 'testers', kind: 'client', ofInstallation: false, ...counts } as const;
    expect(marksOf({ rollout, lists: [list], gaps: [] }, span)).to.deep.equal([
      { at: 12 * HOUR_MS, text: 'the list testers was last changed', isAlert: false },
      { at: 15 * HOUR_MS, text: 'canary p2.v11, by ann: a longer wait', isAlert: false },
    ]);
  });

  it('say when the guard raised an alert, and which version it took back', () => {
    const taken = change(12, {
      action: 'guard',
      who: 'guard',
      from: P2_V11,
      to: P2_V10,
      reason: 'BLOCK share',
    });
    expect(told(taken)).to.deep.equal([[true, 'the guard took p2.v11 back: BLOCK share']]);
  });

  it('say when one person alone returned to a version', () => {
    const alone = change(12, {
      action: 'rollback',
      to: P2_V10,
      reason: 'all are blocked',
      emergency: true,
    });
    expect(told(alone)).to.deep.equal([
      [true, 'rollback p2.v10, by ann without anybody else’s approval: all are blocked'],
    ]);
  });

  it('say what the archive lost, from where it shows when it began before', () => {
    const gap = { from: 9 * HOUR_MS, to: 11 * HOUR_MS, entries: 1200 };
    const text = `about 1,200 entries between ${dateTime(gap.from)} and ${dateTime(gap.to)} are lost`;
    expect(marksOf({ gaps: [gap] }, span)).to.deep.equal([{ at: span.from, text, isAlert: true }]);
  });
});
