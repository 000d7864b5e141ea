import { expect } from 'chai';
import type { WithMomentsAsText } from '#base/shapes.ts';
import type { RolloutHistoryEntry } from '#checkout/rollout/rollout.ts';
import { RULE_VERSION_FORM, RULE_VERSION_PATTERN } from '#decision/rules/rule-set.ts';
import {
  formatDateTime,
  formatDuration,
  formatFact,
  formatMinute,
  formatMoney,
  parseMinute,
  showTimesInUtc,
  toMomentText,
  VERSION_NAME_FORM_TEXT,
  VERSION_NAME_PATTERN,
} from '#workbench/console/page/parts/format.ts';
import { listTimeMarks } from '#workbench/console/page/parts/marks.ts';
import { versionOf } from '../../checkout/rollout/rule-folders.ts';

describe('the value of a fact in the console', () => {
  it('has no rounding error, no exponent and no empty text', () => {
    for (const [value, text] of [
      [25, '25'],
      [1234567.5, '1234567.5'],
      [0.5833, '0.5833'],
      [0.00012345, '0.00012345'],
      [0.00000001, '0.00000001'],
      [0.1 + 0.2, '0.3'],
      [1e21, '1000000000000000000000'],
      [null, 'not known'],
      ['', '(empty)'],
      [true, 'true'],
      [[0.00005, 2], '0.00005, 2'],
    ] as const)
      expect(formatFact(value)).to.equal(text);
  });
});

describe('an amount in the console', () => {
  it('keeps its zeros and its decimals', () => {
    for (const [amount, currency, text] of [
      [25, 'EUR', '25.00 EUR'],
      [25.5, 'EUR', '25.50 EUR'],
      [500, 'JPY', '500 JPY'],
      [1.25, 'USDT', '1.25 USDT'],
      [0.00004, 'BTC', '0.00004 BTC'],
      [25, '', '25'],
    ] as const)
      expect(formatMoney(amount, currency)).to.equal(text);
  });
});

describe('a time in the console', () => {
  it('is that of UTC where the reader chose it, and is read back from its field', () => {
    const at = Date.UTC(2026, 0, 1, 14, 3);
    showTimesInUtc(true);
    expect([formatDateTime(at), formatMinute(at)]).to.deep.equal(['2026-01-01 14:03:00', '2026-01-01T14:03']);
    expect(parseMinute(formatMinute(at))).to.equal(at);
    showTimesInUtc(false);
    expect(parseMinute(formatMinute(at))).to.equal(at);
  });

  it('has the two largest parts of a duration', () => {
    for (const [seconds, text] of [
      [0, '0 s'],
      [30, '30 s'],
      [300, '5 min'],
      [5400, '1 h 30 min'],
      [5401, '1 h 30 min'],
      [2 * 86_400, '2 d'],
      [2 * 86_400 + 3600 + 60, '2 d 1 h'],
    ] as const)
      expect(formatDuration(seconds * 1000)).to.equal(text);
  });
});

describe("the console's field for the name of a version", () => {
  it('takes what the service takes', () => {
    expect(`^${VERSION_NAME_PATTERN}$`).to.equal(RULE_VERSION_PATTERN);
    expect(VERSION_NAME_FORM_TEXT).to.equal(RULE_VERSION_FORM);
  });
});

const HOUR_MS = 3_600_000;
const [P2_V10, P2_V11] = [versionOf('p2.v10'), versionOf('p2.v11')];
const span = { from: 10 * HOUR_MS, to: 20 * HOUR_MS };

type ShownEntry = WithMomentsAsText<RolloutHistoryEntry>;

const change = (hour: number, more: Partial<ShownEntry>): ShownEntry => ({
  at: toMomentText(hour * HOUR_MS),
  who: 'ann',
  action: 'canary',
  from: P2_V10,
  to: P2_V11,
  percent: 20,
  digest: 'd',
  reason: 'a longer wait',
  ...more,
});

const rolloutWith = (...history: readonly ShownEntry[]) => ({
  revision: 1,
  active: { version: P2_V10, digest: 'd' },
  candidates: [],
  ended: [],
  history,
});

const told = (one: ShownEntry) =>
  listTimeMarks({ rollout: rolloutWith(one), gaps: [] }, span).map(({ text, isAlert }) => [isAlert, text]);

describe('the marks on a line of time', () => {
  it('are what happened within it, the first first', () => {
    const rollout = rolloutWith(change(9, {}), change(15, {}), change(20, {}));
    const counts = { entries: 1, ended: 0, changedAt: toMomentText(12 * HOUR_MS) };
    const list = { list: 'testers', kind: 'client', ofInstallation: false, ...counts } as const;
    expect(listTimeMarks({ rollout, lists: [list], gaps: [] }, span)).to.deep.equal([
      { at: 12 * HOUR_MS, text: 'the list testers was last changed', label: null, isAlert: false },
      {
        at: 15 * HOUR_MS,
        text: 'p2.v11 canary 20 %, by ann: a longer wait',
        label: 'p2.v11 canary',
        isAlert: false,
      },
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
    expect(told(taken)).to.deep.equal([[true, 'p2.v11 taken back, by the guard: BLOCK share']]);
  });

  it('say when one person alone returned to a version', () => {
    const alone = change(12, {
      action: 'rollback',
      from: P2_V11,
      to: P2_V10,
      reason: 'all are blocked',
      emergency: true,
    });
    expect(told(alone)).to.deep.equal([
      [true, 'p2.v11 taken back, p2.v10 decides, by ann without a second person’s approval: all are blocked'],
    ]);
  });

  it('say what the archive lost, from where it shows when it began before', () => {
    const gap = { from: toMomentText(9 * HOUR_MS), to: toMomentText(11 * HOUR_MS), entries: 1200 };
    const text = `about 1,200 entries between ${formatDateTime(gap.from)} and ${formatDateTime(gap.to)} are lost`;
    expect(listTimeMarks({ gaps: [gap] }, span)).to.deep.equal([
      { at: span.from, text, label: 'lost', isAlert: true },
    ]);
  });
});
