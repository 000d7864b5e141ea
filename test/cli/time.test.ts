import { expect } from 'chai';
import { UsageError } from '../../src/cli/exit.ts';
import { parseTime } from '../../src/cli/options.ts';

describe('a time on the command line', () => {
  const TIMES: readonly (readonly [string, string])[] = [
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T10:00:00Z', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T10:00+02:00', '2026-11-01T08:00:00.000Z'],
  ];
  for (const [text, moment] of TIMES) {
    it(`may be ${text}`, () => {
      expect(new Date(parseTime(text, '--from') ?? 0).toISOString()).to.equal(moment);
    });
  }

  for (const text of [
    '2026-11-01T10:00:00',
    '2026-11-01 10:00',
    '7',
    'Nov 1',
    '2026-02-30',
    '1793520000',
    '',
  ]) {
    it(`may not be ${JSON.stringify(text)}, which is malformed or depends on the time zone`, () => {
      expect(() => parseTime(text, '--from')).to.throw(
        UsageError,
        `--from is "${text}"; it must be a time like 2026-11-01 (from midnight UTC), 2026-11-01T10:00:00Z or 2026-11-01T11:00:00+01:00`,
      );
    });
  }
});
