import { expect } from 'chai';
import { runCases } from '../../../src/authoring/cases/cases.ts';
import { formatProblem } from '../../../src/rules/problem.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';

const RULES = edited({
  'verdicts.yaml': swap(
    '{ fact: clientGroup, operator: equal, value: BLOCKED }',
    '{ fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
  ),
});

function run(text: string): readonly string[] {
  const { problems, failures, passed } = runCases(RULES, new Map([['cases/own.yaml', text]]));
  if (problems.length > 0) return problems.map(formatProblem);
  return failures.length === 0
    ? [`${passed} passed`]
    : failures.map(({ differences }) => JSON.stringify(differences));
}

function withLists(lists: string, verdict = 'BLOCK'): string {
  return [
    'cases:',
    '  - name: own',
    `    lists: ${lists}`,
    '    steps:',
    '      - score: { fingerprint: device-1, ip: 203.0.113.9 }',
    `      - { verdict: {}, expect: { verdict: ${verdict} } }`,
    '',
  ].join('\n');
}

describe('the shared lists of a case', () => {
  for (const [kind, on, off] of [
    ['fingerprint', 'device-1', 'device-2'],
    ['ip', '203.0.113.0/24', '203.0.114.0/24'],
    ['client', 'payer-1', 'payer-2'],
    ['method', 'card', 'transfer'],
    ['sellPoint', 'shop-1', 'shop-2'],
  ] as const) {
    it(`put a payer on a list of kind ${kind}`, () => {
      const list = (entry: string) => `{ blocked-devices: { kind: ${kind}, entries: [${entry}] } }`;
      expect(run(withLists(list(on)))).to.deep.equal(['1 passed']);
      expect(run(withLists(list(off), 'GET_NEW'))).to.deep.equal(['1 passed']);
    });
  }

  it('are empty where a case names none', () => {
    expect(run(withLists('{}', 'GET_NEW'))).to.deep.equal(['1 passed']);
  });

  it('are refused with their place when they are bad', () => {
    expect(run(withLists('{ Bad: { kind: ip, entries: [x] } }'))).to.deep.equal([
      'cases/own.yaml:3:14  the name of a list has lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods, unlike "Bad"',
    ]);
    expect(
      run(withLists('{ a: { kind: ips, entries: [x] }, b: { kind: ip, entries: [x, 203.0.113.1/24] } }')),
    ).to.deep.equal([
      'cases/own.yaml:3:25  unknown kind "ips"; did you mean "ip"?',
      'cases/own.yaml:3:71  "x" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24',
      'cases/own.yaml:3:74  "203.0.113.1/24" does not begin where the range does; write 203.0.113.0/24',
    ]);
  });
});
