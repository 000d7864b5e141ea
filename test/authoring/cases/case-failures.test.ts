import { expect } from 'chai';
import { type CaseReport, runCases, traceFailure } from '../../../src/authoring/cases/cases.ts';
import type { CaseFailure } from '../../../src/authoring/cases/expectations.ts';
import type { RuleFiles } from '../../../src/rules/parse/parse.ts';
import { formatProblem } from '../../../src/rules/problem.ts';
import { edited, SOUND_FILES } from '../../rule-fixtures/sound-rules.ts';

const rules = edited({});

/** Runs one case file over the sound rules. */
function run(text: string): CaseReport {
  const files: RuleFiles = new Map([
    ...[...SOUND_FILES].filter(([path]) => !path.startsWith('cases/')),
    ['cases/it.yaml', text],
  ]);
  return runCases(rules, files);
}

/** Runs one case with these steps, a line each. */
function steps(...lines: readonly string[]): CaseReport {
  return run(
    ['cases:', '  - name: a case', '    steps:', ...lines.map((line) => `      - ${line}`)].join('\n'),
  );
}

function problems(report: CaseReport): readonly string[] {
  return report.problems.map(formatProblem);
}

function failure(report: CaseReport): CaseFailure {
  expect(problems(report)).to.deep.equal([]);
  const [first] = report.failures;
  if (first === undefined) throw new Error('the case passed');
  return first;
}

describe('a failing case', () => {
  it('names the step, its time and place, and every member that differs', () => {
    const failed = failure(
      steps(
        '{ verdict: {} }',
        '{ after: 10s, verdict: {}, expect: { verdict: GET_NEW, waitSeconds: null, isBot: false, rule: otherwise } }',
      ),
    );
    const { values: _, ...told } = failed;
    expect(told).to.deep.equal({
      caseName: 'a case',
      platform: 'demo',
      at: { file: 'cases/it.yaml', line: 5, column: 9 },
      step: 2,
      kind: 'verdict',
      clientIdKey: 'payer-1',
      times: 1,
      elapsedMs: 10_000,
      differences: [
        {
          member: 'verdict',
          expected: 'GET_NEW',
          seen: 'WAIT',
          at: { file: 'cases/it.yaml', line: 5, column: 46 },
        },
        {
          member: 'waitSeconds',
          expected: null,
          seen: 30,
          at: { file: 'cases/it.yaml', line: 5, column: 64 },
        },
        {
          member: 'rule',
          expected: 'otherwise',
          seen: 'attempt-unpaid',
          at: { file: 'cases/it.yaml', line: 5, column: 97 },
        },
      ],
    });
  });

  it('has the facts of that step, the last time it ran', async () => {
    const failed = failure(
      steps('{ verdict: {}, times: 3, every: 5s, expect: { verdict: BLOCK } }', '{ verdict: {} }'),
    );
    expect(failed).to.include({ step: 1, times: 3, elapsedMs: 10_000 });
    const trace = await traceFailure(rules, failed);
    const first = trace?.verdicts.find(({ matched }) => matched);
    expect(first?.name).to.equal('asked-too-early');
    expect(first?.condition).to.deep.include({ kind: 'all', passed: true });
    expect(JSON.stringify(first?.condition))
      .to.contain('"fact":"waitRemainingSeconds"')
      .and.contain('"seen":25');
  });

  it('has a trace of groups and signals when it is a score', async () => {
    const failed = failure(
      steps(
        '{ override: BLOCKED }',
        '{ score: { clientHints: { jsOk: false } }, expect: { clientGroup: NEW } }',
      ),
    );
    const trace = await traceFailure(rules, failed);
    expect(trace?.groups.find(({ matched }) => matched)?.name).to.equal('blocked-by-decision');
    expect(trace?.signals.filter(({ matched }) => matched).map(({ name }) => name)).to.deep.equal([
      'no-javascript',
    ]);
  });

  it('has no trace when the step evaluates no rules', async () => {
    const failed = failure(steps('{ outcome: { outcome: PAID }, expect: { effect: unchanged } }'));
    expect(failed.differences).to.deep.equal([
      {
        member: 'effect',
        expected: 'unchanged',
        seen: 'recorded',
        at: { file: 'cases/it.yaml', line: 4, column: 49 },
      },
    ]);
    expect(await traceFailure(rules, failed)).to.equal(null);
  });

  it('ends at its first failing step and does not affect the other cases', () => {
    const one = (name: string, verdict: string) =>
      `  - { name: ${name}, steps: [{ verdict: {}, expect: { verdict: ${verdict} } }, { verdict: {}, expect: { verdict: BLOCK } }] }`;
    const report = run(`cases:\n${one('first', 'WAIT')}\n${one('second', 'GET_NEW')}`);
    expect(report.failures.map(({ caseName, step }) => [caseName, step])).to.deep.equal([
      ['first', 1],
      ['second', 2],
    ]);
    expect(report.passed).to.equal(0);
  });
});

describe('what a case may do', () => {
  for (const [what, ...lines] of [
    [
      'bind a client for a while',
      '{ binding: { requisiteRef: r-1, acceptorKeys: [a], expiresAfter: 1h } }',
      '{ after: 59m, verdict: {}, expect: { verdict: GET_SAME_STICKY, stickyRequisiteRef: r-1 } }',
      '{ after: 1m, score: {}, expect: { clientGroup: NEW, preferredAcceptorKey: null } }',
    ],
    [
      'block a client for a while',
      '{ override: { group: BLOCKED, expiresAfter: 1h } }',
      '{ score: {}, expect: { clientGroup: BLOCKED } }',
      '{ after: 1h, score: {}, expect: { clientGroup: NEW } }',
    ],
    [
      'report an outcome late',
      '{ outcome: { outcome: UNPAID }, expect: { effect: recorded } }',
      '{ after: 1h, outcome: { outcome: PAID, ago: 2h }, expect: { effect: stale } }',
      '{ outcome: { outcome: PAID, ago: 10m }, expect: { effect: superseded } }',
      '{ outcome: { outcome: PAID, ago: 10m }, expect: { effect: unchanged } }',
    ],
    [
      'take one step as many clients',
      '{ client: "crowd-{n}", score: { ip: 192.0.2.1 }, times: 3 }',
      '{ client: "crowd-{n}", verdict: {}, times: 3, expect: { verdict: GET_NEW, signals: [] } }',
      '{ client: crowd-4, score: { ip: 192.0.2.1 } }',
      '{ client: crowd-4, verdict: {}, expect: { verdict: GET_NEW, signals: [crowded-ip] } }',
    ],
    [
      'name signals in any order',
      '{ score: { userAgent: curl/8.5.0, clientHints: { jsOk: false } }, expect: { signals: [automated-user-agent, no-javascript] } }',
    ],
  ] as const) {
    it(`may ${what}`, () => {
      const report = steps(...lines);
      expect(problems(report)).to.deep.equal([]);
      expect(report.failures).to.deep.equal([]);
      expect(report.passed).to.equal(1);
    });
  }
});

describe('a mistyped case file', () => {
  for (const [step, expected] of [
    ['{ verdict: {}, expct: {} }', '4:24  unknown member "expct" of a step; did you mean "expect"?'],
    [
      '{ verdict: {}, after: 10 seconds }',
      '4:31  after must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "10 seconds"',
    ],
    [
      '{ verdict: {}, expect: { verdict: WIAT } }',
      '4:43  unknown verdict "WIAT"; allowed: GET_NEW, GET_SAME_STICKY, WAIT, BLOCK',
    ],
    [
      '{ verdict: {}, expect: { rule: attempt-unpayed } }',
      '4:40  unknown rule "attempt-unpayed"; did you mean "attempt-unpaid"?',
    ],
    [
      '{ score: {}, expect: { signals: [honeypott] } }',
      '4:42  unknown signal "honeypott"; did you mean "honeypot"?',
    ],
    ['{ score: {}, expect: { isBot: "no" } }', '4:39  isBot must be true or false, not "no"'],
    ['{ score: {}, expect: { isBot: null } }', '4:39  isBot must be true or false, not nothing'],
    [
      '{ score: {}, expect: { paymentScore: 0.5 } }',
      '4:46  paymentScore must be a text with 4 decimals, like "0.5000"',
    ],
    ['{ verdict: {}, expect: { waitSeconds: "30" } }', '4:47  waitSeconds must be a whole number, not "30"'],
    [
      '{ score: {}, expect: { waitSeconds: 30 } }',
      '4:32  unknown member "waitSeconds" of what a score answers; allowed: clientGroup, paymentScore, isBot, signals, preferredAcceptorKey, payLimitValue',
    ],
    [
      '{ verdict: { amountRequested: 25.00 } }',
      '4:39  amountRequested must be a decimal number in quotes, like "25.00"',
    ],
    [
      '{ verdict: { amountRequested: "25,00" } }',
      '4:39  amountRequested must be a decimal number in quotes, like "25.00"',
    ],
    [
      '{ verdict: { toPayCurrency: EURO5 } }',
      '4:37  toPayCurrency must be 3 or 4 letters or digits, like EUR, not "EURO5"',
    ],
    ['{ verdict: { method: null } }', '4:30  method must be a text, not nothing'],
    ['{ verdict: null }', '4:20  verdict has no request; {} is the one of an ordinary payer'],
    [
      '{ binding: null, expect: { verdict: WAIT } }',
      '4:26  a binding has no answer; expect something of a score or verdict after it',
    ],
    ['{ binding: { requisiteRef: r } }', '4:20  binding lacks "acceptorKeys"'],
    ['{ override: BLOKED }', '4:21  unknown override "BLOKED"; did you mean "BLOCKED"?'],
    [
      '{ override: { group: BLOCKED, expires: 1h } }',
      '4:39  unknown member "expires" of override; allowed: group, expiresAfter',
    ],
    ['{ outcome: { outcome: PAYED } }', '4:31  unknown outcome "PAYED"; allowed: PAID, UNPAID'],
    [
      '{ score: {}, verdict: {} }',
      '4:9  a step has exactly one of score, verdict, outcome, binding, override; here is score and verdict',
    ],
    [
      '{ client: payer-2 }',
      '4:9  a step has exactly one of score, verdict, outcome, binding, override; here is none',
    ],
    ['{ verdict: {}, every: 1s }', '4:24  "every" says nothing without "times"'],
    ['{ verdict: {}, times: 5000 }', '4:31  times must be from 1 to 1000, not 5000'],
  ] as const) {
    it(`is refused with what is wrong with ${step}`, () => {
      const report = steps(step);
      expect(problems(report)).to.deep.equal([`cases/it.yaml:${expected}`]);
      expect(report.passed).to.equal(0);
    });
  }

  it('is refused with all problems at once, in the order of the file, and runs nothing', () => {
    const report = run(
      [
        'cases:',
        '  - name: twice',
        '    steps: [{ verdict: {}, expect: { verdict: BLOCK } }]',
        '  - name: twice',
        '    platform: Shop 1',
        '    steps: []',
        '  - nam: x',
        '    steps: [{ verdict: {} }]',
        '  - { name: twice, steps: [{ score: {} }] }',
        'case: []',
      ].join('\n'),
    );
    expect(problems(report)).to.deep.equal([
      'cases/it.yaml:5:15  platform must have lower-case letters, digits and "-", starting with a letter, at most 63 characters',
      'cases/it.yaml:6:12  "steps" must not be empty',
      'cases/it.yaml:7:5  unknown member "nam" of a case; did you mean "name"?',
      'cases/it.yaml:7:5  a case lacks "name"',
      'cases/it.yaml:9:5  the name "twice" is taken by the case at cases/it.yaml:2',
      'cases/it.yaml:10:1  unknown member "case" of the file; did you mean "cases"?',
    ]);
    expect(report.failures).to.deep.equal([]);
  });
});
