import { expect } from 'chai';
import { formatProblem, sortProblems, suggest } from '../../src/rules/problem.ts';

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
      expect(suggest(name, allowed)).to.equal(text);
    });
  }
});
