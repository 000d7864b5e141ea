import { expect } from 'chai';
import fc from 'fast-check';
import { formatDuration, parseDuration } from '#base/duration.ts';
import { formatNameHint, formatProblem, sortProblems } from '#decision/rules/problem.ts';
import { editYaml } from '#decision/rules/text/edited-text.ts';

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

describe('a problem in a rule file', () => {
  it('is reported with its place, counted from 1', () => {
    const at = { file: 'verdicts.yaml', line: 12, column: 17 };
    expect(formatProblem({ at, message: 'unknown fact "x"' })).to.equal(
      'verdicts.yaml:12:17  unknown fact "x"',
    );
  });

  it('is sorted by file, line and column', () => {
    const places: readonly (readonly [string, number, number])[] = [
      ['verdicts.yaml', 1, 1],
      ['groups.yaml', 10, 2],
      ['groups.yaml', 9, 30],
      ['groups.yaml', 10, 1],
      ['bot-signals.yaml', 99, 1],
    ];
    const problems = places.map(([file, line, column]) => ({ at: { file, line, column }, message: 'x' }));
    expect(sortProblems(problems).map(formatProblem)).to.deep.equal([
      'bot-signals.yaml:99:1  x',
      'groups.yaml:9:30  x',
      'groups.yaml:10:1  x',
      'groups.yaml:10:2  x',
      'verdicts.yaml:1:1  x',
    ]);
  });
});

describe('a suggestion', () => {
  for (const [name, allowed, text] of [
    ['waitServd', ['waitServed', 'paidCount'], '; did you mean "waitServed"?'],
    ['new', ['NEW', 'PAYING'], '; did you mean "NEW"?'],
    ['paidCounts', ['unpaidCount', 'paidCount'], '; did you mean "paidCount"?'],
    ['all', ['any', 'not'], '; allowed: any, not'],
    ['shoeSize', ['paidCount', 'amount'], '; allowed: paidCount, amount'],
    ['', ['amount'], '; allowed: amount'],
    ['anything', [], '; nothing is allowed here'],
  ] as const) {
    it(`for "${name}" among ${allowed.join(', ') || 'nothing'} is "${text}"`, () => {
      expect(formatNameHint(name, allowed)).to.equal(text);
    });
  }
});

const TEXT = `# A comment.
settings:
  # Another one.
  smoothing: { prior: 0.5, weight: 2 }   # as it was
levels: [30s, 5m,   30m]
rules:
  - name: "first"
    value: 4
`;

describe('an edited rule file', () => {
  it('differs in the values that were replaced, and in nothing else', () => {
    const edits = [
      { path: ['settings', 'smoothing', 'weight'], value: 0.4 },
      { path: ['levels', 1], value: '10m' },
      { path: ['rules', 0, 'value'], value: 12 },
      { path: ['rules', 0, 'name'], value: 'a: b' },
    ];
    expect(editYaml(TEXT, edits)).to.equal(
      TEXT.replace('weight: 2', 'weight: 0.4')
        .replace('5m', '10m')
        .replace('value: 4', 'value: 12')
        .replace('"first"', '"a: b"'),
    );
  });

  it('has a value that was missing, and keeps its comments', () => {
    const text = editYaml(TEXT, [
      { path: ['platforms', 'shop', 'smoothing', 'prior'], value: 0.5 },
      { path: ['platforms', 'shop', 'smoothing', 'weight'], value: 0.4 },
    ]);
    expect(text).to.include('platforms:\n  shop:\n    smoothing:\n      prior: 0.5\n      weight: 0.4\n');
    expect(text).to.include('# Another one.');
  });
});
