import { expect } from 'chai';
import { runCases } from '../../../src/authoring/cases/cases.ts';
import {
  formatProblems,
  listRuleVersions,
  loadRuleSet,
  readRuleFiles,
} from '../../../src/rules/folder/rule-folder.ts';
import { formatLocation, formatProblem } from '../../../src/rules/problem.ts';
import { type Edit, edited, RULES_DIR, swap } from '../../rule-fixtures/sound-rules.ts';

/** The result of one file of cases: problems of the file, failures, or how many passed. */
function run(text: string, changes: Readonly<Record<string, Edit>> = {}): readonly string[] {
  const { problems, failures, passed } = runCases(edited(changes), new Map([['cases/own.yaml', text]]));
  if (problems.length > 0) return problems.map(formatProblem);
  if (failures.length === 0) return [`${passed} passed`];
  return failures.flatMap(({ caseName, step, kind, differences }) =>
    differences.map(
      ({ member, expected, seen, at }) =>
        `${formatLocation(at)}  ${caseName}: step ${step} (${kind}): ${member} should be ${JSON.stringify(expected)} and is ${JSON.stringify(seen)}`,
    ),
  );
}

function steps(...lines: readonly string[]): string {
  return ['cases:', '  - name: own', '    steps:', ...lines.map((line) => `      - ${line}`), ''].join('\n');
}

describe('the cases beside the rules', () => {
  for (const version of listRuleVersions(RULES_DIR)) {
    it(`all pass in ${version}`, () => {
      const folder = `${RULES_DIR}/${version}`;
      const result = loadRuleSet(folder);
      if (!result.ok) throw new Error(formatProblems(folder, result.problems));
      const files = readRuleFiles(folder, []) ?? new Map();
      const { problems, failures, passed } = runCases(result.ruleSet, files);
      expect({ problems, failures }).to.deep.equal({ problems: [], failures: [] });
      expect(passed).to.be.above(20);
    });
  }

  it('fail with the step, the member, the expected and the actual value', () => {
    expect(
      run(steps('verdict: {}', '{ after: 10s, verdict: {}, expect: { verdict: WAIT, waitSeconds: 31 } }')),
    ).to.deep.equal(['cases/own.yaml:5:61  own: step 2 (verdict): waitSeconds should be 31 and is 30']);
  });

  it('fail for a member too many and for a missing one', () => {
    const waits = '{ verdict: {}, expect: { waitSeconds: null } }';
    expect(run(steps('verdict: {}', waits))).to.deep.equal([
      'cases/own.yaml:5:34  own: step 2 (verdict): waitSeconds should be null and is 30',
    ]);
    expect(run(steps('{ verdict: {}, expect: { waitSeconds: 30 } }'))).to.deep.equal([
      'cases/own.yaml:4:34  own: step 1 (verdict): waitSeconds should be 30 and is null',
    ]);
  });

  it('are refused for a text where only a number can be', () => {
    expect(run(steps('verdict: {}', '{ verdict: {}, expect: { waitSeconds: "30" } }'))).to.deep.equal([
      'cases/own.yaml:5:47  waitSeconds must be a whole number, not "30"',
    ]);
  });

  it('fail for a list in another order', () => {
    const bound = 'binding: { requisiteRef: r, acceptorKeys: [a, b] }';
    expect(run(steps(bound, '{ score: {}, expect: { preferredAcceptorKey: [b, a] } }'))).to.deep.equal([
      'cases/own.yaml:5:32  own: step 2 (score): preferredAcceptorKey should be ["b","a"] and is ["a","b"]',
    ]);
  });

  it('begin when they say, on the clock of the platform', () => {
    const text = [
      'cases:',
      '  - name: late in Berlin',
      '    startsAt: 2026-07-03T23:59:50+02:00',
      '    steps:',
      '      - { verdict: {}, expect: { reason: "23 o\'clock on FRIDAY" } }',
      '      - { outcome: { outcome: PAID } }',
      '      - { after: 10s, verdict: {}, expect: { reason: "0 o\'clock on SATURDAY" } }',
      '',
    ].join('\n');
    const changes = {
      'ruleset.yaml': swap('currency: EUR', 'currency: EUR\n  timeZone: Europe/Berlin'),
      'verdicts.yaml': swap('No reason to hold the payer back.', "{hourOfDay} o'clock on {dayOfWeek}"),
    };
    expect(run(text, changes)).to.deep.equal(['1 passed']);
  });

  it('are refused when they begin at an impossible time', () => {
    const text = 'cases:\n  - name: own\n    startsAt: tomorrow\n    steps: [{ verdict: {} }]\n';
    expect(run(text)).to.deep.equal([
      'cases/own.yaml:3:15  startsAt must be a moment with its offset, like "2026-07-03T23:30:00+02:00", not "tomorrow"',
    ]);
  });

  it('end with the first step that fails, and do not stop other cases', () => {
    const text = [
      'cases:',
      '  - name: first',
      '    steps:',
      '      - { verdict: {}, expect: { verdict: WAIT } }',
      '      - { verdict: {}, expect: { verdict: BLOCK } }',
      '  - name: second',
      '    steps:',
      '      - { verdict: {}, expect: { verdict: GET_NEW } }',
      '  - name: third',
      '    steps:',
      '      - { verdict: {}, expect: { isBot: true } }',
      '',
    ].join('\n');
    expect(run(text)).to.deep.equal([
      'cases/own.yaml:4:34  first: step 1 (verdict): verdict should be "WAIT" and is "GET_NEW"',
      'cases/own.yaml:11:34  third: step 1 (verdict): isBot should be true and is false',
    ]);
  });

  it('repeat a step, and check its last run', () => {
    expect(run(steps('{ verdict: {}, times: 3, every: 1s, expect: { waitSeconds: 300 } }'))).to.deep.equal([
      '1 passed',
    ]);
  });

  it('begin each with unknown clients, also of the same name', () => {
    const one = ['    steps:', '      - { verdict: {}, expect: { verdict: GET_NEW } }'];
    expect(run(['cases:', '  - name: a', ...one, '  - name: b', ...one].join('\n'))).to.deep.equal([
      '2 passed',
    ]);
  });
});

describe('a bad file of cases', () => {
  const bad: readonly (readonly [title: string, text: string, problems: readonly string[]])[] = [
    [
      'a file without cases',
      'case: []\n',
      [
        'cases/own.yaml:1:1  unknown member "case" of the file; did you mean "cases"?',
        'cases/own.yaml:1:1  the file lacks "cases"',
      ],
    ],
    ['no cases', 'cases: []\n', ['cases/own.yaml:1:8  "cases" must not be empty']],
    ['a case without steps', 'cases: [{ name: own }]\n', ['cases/own.yaml:1:9  a case lacks "steps"']],
    [
      'a misspelt step',
      steps('{ verdct: {} }'),
      [
        'cases/own.yaml:4:9  a step has exactly one of score, verdict, outcome, binding, override; here is none',
        'cases/own.yaml:4:11  unknown member "verdct" of a step; did you mean "verdict"?',
      ],
    ],
    [
      'a member that a verdict does not have',
      steps('verdict: { ip: 192.0.2.1 }'),
      [
        'cases/own.yaml:4:20  unknown member "ip" of verdict; allowed: sellPointKey, amountRequested, method, orderRef, toPayCurrency',
      ],
    ],
    [
      'a hint that is a text',
      steps('score: { clientHints: { jsOk: "no" } }'),
      ['cases/own.yaml:4:39  jsOk must be true or false, not "no"'],
    ],
    [
      'an unknown cause',
      steps('outcome: { outcome: UNPAID, cause: BORED }'),
      [
        'cases/own.yaml:4:44  unknown cause "BORED"; allowed: DECLINED, EXPIRED, CANCELLED, TECHNICAL, REVERSED',
      ],
    ],
    [
      'an unknown override',
      steps('override: PAYING'),
      ['cases/own.yaml:4:19  unknown override "PAYING"; allowed: BLOCKED, TRUSTED'],
    ],
    [
      'an expectation that verdicts do not have',
      steps('{ verdict: {}, expect: { verdct: WAIT } }'),
      ['cases/own.yaml:4:34  unknown member "verdct" of what a verdict answers; did you mean "verdict"?'],
    ],
    [
      'an expected mapping, which no answer has',
      steps('{ verdict: {}, expect: { signals: { honeypot: true } } }'),
      ['cases/own.yaml:4:43  signals must be a list, not a mapping'],
    ],
    [
      'an expected list of lists',
      steps('{ verdict: {}, expect: { signals: [[honeypot]] } }'),
      [
        'cases/own.yaml:4:44  signal must be one of honeypot, shared-fingerprint, crowded-ip, very-crowded-ip, relentless-requests, frequent-requests, ignores-waits, no-javascript, automated-user-agent, missing-user-agent, verdict-without-score, method-churn, amount-churn, device-churn, not a list',
      ],
    ],
  ];

  for (const [title, text, problems] of bad) {
    it(`is refused for ${title}`, () => {
      expect(run(text)).to.deep.equal(problems);
    });
  }

  it('reports all problems at once and runs nothing', () => {
    const files = new Map([
      ['cases/a.yaml', steps('{ after: 10, verdict: {}, times: 0 }')],
      ['cases/b.yaml', steps('{ verdict: {}, expect: { verdict: BLOCK } }')],
      ['cases/c.yaml', ''],
    ]);
    const { problems, failures, passed } = runCases(edited({}), files);
    expect(problems.map(formatProblem)).to.deep.equal([
      'cases/a.yaml:4:18  after must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not 10',
      'cases/a.yaml:4:42  times must be from 1 to 1000, not 0',
      'cases/b.yaml:2:5  the name "own" is taken by the case at cases/a.yaml:2',
      'cases/c.yaml:1:1  the file is empty',
    ]);
    expect({ failures, passed }).to.deep.equal({ failures: [], passed: 0 });
  });
});

const RULES = edited({
  'verdicts.yaml': swap(
    '{ fact: clientGroup, operator: equal, value: BLOCKED }',
    '{ fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
  ),
});

function runWithLists(text: string): readonly string[] {
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
      expect(runWithLists(withLists(list(on)))).to.deep.equal(['1 passed']);
      expect(runWithLists(withLists(list(off), 'GET_NEW'))).to.deep.equal(['1 passed']);
    });
  }

  it('are empty where a case names none', () => {
    expect(runWithLists(withLists('{}', 'GET_NEW'))).to.deep.equal(['1 passed']);
  });

  it('are refused with their place when they are bad', () => {
    expect(runWithLists(withLists('{ Bad: { kind: ip, entries: [x] } }'))).to.deep.equal([
      'cases/own.yaml:3:14  the name of a list has lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods, unlike "Bad"',
    ]);
    expect(
      runWithLists(
        withLists('{ a: { kind: ips, entries: [x] }, b: { kind: ip, entries: [x, 203.0.113.1/24] } }'),
      ),
    ).to.deep.equal([
      'cases/own.yaml:3:25  unknown kind "ips"; did you mean "ip"?',
      'cases/own.yaml:3:71  "x" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24',
      'cases/own.yaml:3:74  "203.0.113.1/24" does not begin where the range does; write 203.0.113.0/24',
    ]);
  });
});
