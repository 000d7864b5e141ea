import { expect } from 'chai';
import fc from 'fast-check';
import { formatDuration, parseDuration } from '../../src/rules/duration.ts';

describe('a duration', () => {
  for (const [text, ms] of [
    ['1s', 1000],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['999999999s', 999_999_999_000],
  ] as const) {
    it(`of ${text} is ${ms} ms`, () => {
      expect(parseDuration(text)).to.equal(ms);
    });
  }

  for (const bad of [
    '',
    '0s',
    '-1s',
    '+1s',
    '01s',
    '1.5h',
    '1',
    's',
    '1ms',
    '1w',
    '1S',
    ' 1s',
    '1s ',
    '1s\n',
    '1h30m',
    '1e3s',
    '١s',
    '1000000000s',
  ]) {
    it(`is not ${JSON.stringify(bad)}`, () => {
      expect(parseDuration(bad)).to.equal(null);
    });
  }

  for (const [ms, text] of [
    [1000, '1s'],
    [60_000, '1m'],
    [90_000, '90s'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
    [90_000_000, '25h'],
    [1500, '1.5s'],
  ] as const) {
    it(`of ${ms} ms is written ${text}`, () => {
      expect(formatDuration(ms)).to.equal(text);
    });
  }

  it('is the same after being written and read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds * 1000))).to.equal(seconds * 1000);
      }),
    );
  });
});
