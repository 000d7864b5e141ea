import { expect } from 'chai';
import { formatLocation, formatProblem, formatProblems } from '#decision/rules/problem.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { listRuleVersions } from '#state/rule-folders/rules-dir.ts';
import { runCases, traceFailure, updateCaseWaits } from '#workbench/authoring/cases/cases.ts';
import type { CaseFailure } from '#workbench/authoring/cases/expectations.ts';
import {
  type Edit,
  edited,
  editedFiles,
  RULES_DIR,
  swap,
  whole,
} from '../../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../../rule-fixtures/told.ts';

type Edits = Readonly<Record<string, Edit>>;

/** The result of one file of cases: problems of the file, failures, or how many passed. */
function run(text: string, changes: Edits = {}): readonly string[] {
  const { problems, failures, passed } = runCases(edited(changes), new Map([['cases/own.yaml', text]]));
  if (problems.length > 0) return [...problems.map(formatProblem), `${failures.length + passed} ran`];
  if (failures.length === 0) return [`${passed} passed`];
  return failures.flatMap(({ caseName, step, kind, differences }) =>
    differences.map(
      ({ member, expected, seen, at }) =>
        `${formatLocation(at)}  ${caseName}: step ${step} (${kind}): ${member} should be ${JSON.stringify(expected)} and is ${JSON.stringify(seen)}`,
    ),
  );
}

/** One case with these steps, a line each. */
function steps(...lines: readonly string[]): string {
  return ['cases:', '  - name: own', '    steps:', ...lines.map((line) => `      - ${line}`), ''].join('\n');
}

function failure(...lines: readonly string[]): CaseFailure {
  const { problems, failures } = runCases(edited({}), new Map([['cases/own.yaml', steps(...lines)]]));
  expect(problems).to.deep.equal([]);
  const [first] = failures;
  if (first === undefined) throw new Error('the case passed');
  return first;
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

  it('count requests and unpaid orders on an address over the window of the rule, as a node does', () => {
    const asking = (window: string, unpaid: string) => {
      const busy = `{ fact: verdictsOnIp, params: { window: ${window} }, operator: greaterThanInclusive, value: 5 }`;
      const owing = `{ fact: unpaidOrdersOnIp, params: { window: ${unpaid} }, operator: greaterThanInclusive, value: 3 }`;
      const rule = `  - { name: busy, priority: 99, conditions: { all: [${busy}, ${owing}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "r" } } }`;
      return { 'verdicts.yaml': swap('rules:\n', `rules:\n${rule}\n`) };
    };
    const on = 'ip: 198.51.100.7';
    const text = steps(
      `{ score: { ${on} } }`,
      '{ outcome: { orderRef: a, outcome: UNPAID } }',
      '{ outcome: { orderRef: b, outcome: UNPAID } }',
      '{ outcome: { orderRef: c, outcome: UNPAID } }',
      '{ verdict: {}, times: 4, every: 1s }',
      `{ client: other, score: { ${on} } }`,
      '{ client: other, after: 5s, verdict: {}, expect: { rule: busy } }',
      '{ client: other, after: 40m, verdict: {}, expect: { rule: otherwise } }',
    );
    expect(run(text, asking('30m', '1h'))).to.deep.equal(['1 passed']);
    expect(run(text, asking('1h', '1h'))).to.deep.equal([
      'cases/own.yaml:11:61  own: step 8 (verdict): rule should be "otherwise" and is "busy"',
    ]);
    expect(run(text, asking('30m', '1s'))).to.deep.equal([
      'cases/own.yaml:10:60  own: step 7 (verdict): rule should be "busy" and is "otherwise"',
    ]);
  });

  it('begin when they say, on the clock of the platform', () => {
    const text = `cases:
  - name: late in Berlin
    startsAt: 2026-07-03T23:59:50+02:00
    steps:
      - { verdict: {}, expect: { reason: "23 o'clock on FRIDAY" } }
      - { outcome: { outcome: PAID } }
      - { after: 10s, verdict: {}, expect: { reason: "0 o'clock on SATURDAY" } }
`;
    const changes = {
      'ruleset.yaml': swap('currency: EUR', 'currency: EUR\n  timeZone: Europe/Berlin'),
      'verdicts.yaml': swap('No reason to hold the payer back.', "{hourOfDay} o'clock on {dayOfWeek}"),
    };
    expect(run(text, changes)).to.deep.equal(['1 passed']);
  });

  it('begin each with unknown clients, also of the same name', () => {
    const one = '    steps: [{ verdict: {}, expect: { verdict: GET_NEW } }]';
    expect(run(`cases:\n  - name: a\n${one}\n  - name: b\n${one}\n`)).to.deep.equal(['2 passed']);
  });
});

describe('a failing case', () => {
  it('names the step, its time and place, and every member that differs', () => {
    const failed = failure(
      '{ verdict: {} }',
      '{ after: 10s, verdict: {}, expect: { verdict: GET_NEW, waitSeconds: null, isBot: false, rule: otherwise } }',
    );
    const { values: _, ...told } = failed;
    expect(told).to.deep.equal({
      caseName: 'own',
      platform: 'demo',
      at: { file: 'cases/own.yaml', line: 5, column: 9 },
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
          at: { file: 'cases/own.yaml', line: 5, column: 46 },
        },
        {
          member: 'waitSeconds',
          expected: null,
          seen: 30,
          at: { file: 'cases/own.yaml', line: 5, column: 64 },
        },
        {
          member: 'rule',
          expected: 'otherwise',
          seen: 'attempt-unpaid',
          at: { file: 'cases/own.yaml', line: 5, column: 97 },
        },
      ],
    });
  });

  it('has the facts of that step, the last time it ran', async () => {
    const failed = failure(
      '{ verdict: {}, times: 3, every: 5s, expect: { verdict: BLOCK } }',
      '{ verdict: {} }',
    );
    expect(failed).to.include({ step: 1, times: 3, elapsedMs: 10_000 });
    const trace = await traceFailure(edited({}), failed);
    const first = trace?.verdicts.find(({ matched }) => matched);
    expect(first?.name).to.equal('asked-too-early');
    expect(first?.condition).to.deep.include({ kind: 'all', passed: true });
    expect(JSON.stringify(first?.condition))
      .to.contain('"fact":"waitRemainingSeconds"')
      .and.contain('"seen":25');
  });

  it('has a trace of groups and signals when it is a score', async () => {
    const failed = failure(
      '{ override: BLOCKED }',
      '{ score: { clientHints: { jsOk: false } }, expect: { clientGroup: NEW } }',
    );
    const trace = await traceFailure(edited({}), failed);
    expect(trace?.groups.find(({ matched }) => matched)?.name).to.equal('blocked-by-decision');
    expect(trace?.signals.filter(({ matched }) => matched).map(({ name }) => name)).to.deep.equal([
      'no-javascript',
    ]);
  });

  it('has no trace when the step evaluates no rules', async () => {
    const failed = failure('{ outcome: { outcome: PAID }, expect: { effect: unchanged } }');
    expect(failed.differences).to.deep.equal([
      {
        member: 'effect',
        expected: 'unchanged',
        seen: 'recorded',
        at: { file: 'cases/own.yaml', line: 4, column: 49 },
      },
    ]);
    expect(await traceFailure(edited({}), failed)).to.equal(null);
  });
});

describe('what a case may do', () => {
  for (const [what, ...lines] of [
    [
      'repeat a step, and check its last run',
      '{ verdict: {}, times: 3, every: 1s, expect: { waitSeconds: 300 } }',
    ],
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
      '{ outcome: { outcome: PAID }, expect: { effect: recorded } }',
      '{ after: 1h, outcome: { outcome: UNPAID, cause: REVERSED, ago: 2h }, expect: { effect: stale } }',
      '{ outcome: { outcome: UNPAID, ago: 10m }, expect: { effect: outweighed } }',
      '{ outcome: { outcome: PAID, ago: 10m }, expect: { effect: unchanged } }',
    ],
    [
      'report what was captured and what was taken back',
      '{ outcome: { outcome: PAID, amount: 40.00 EUR }, expect: { effect: recorded } }',
      '{ outcome: { outcome: UNPAID, cause: REVERSED, amount: 15 EUR, ago: null }, expect: { effect: superseded } }',
      '{ after: 1h, outcome: { outcome: UNPAID, cause: REVERSED, amount: 40 EUR }, expect: { effect: superseded } }',
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
      expect(run(steps(...lines))).to.deep.equal(['1 passed']);
    });
  }
});

describe('what a case is told', () => {
  const told = {
    'a member too many': steps('verdict: {}', '{ verdict: {}, expect: { waitSeconds: null } }'),
    'a missing member': steps('{ verdict: {}, expect: { waitSeconds: 30 } }'),
    'a list in another order': steps(
      'binding: { requisiteRef: r, acceptorKeys: [a, b] }',
      '{ score: {}, expect: { preferredAcceptorKey: [b, a] } }',
    ),
    'the first step that fails of each case': `cases:
  - { name: first, steps: [{ verdict: {}, expect: { verdict: WAIT } }, { verdict: {}, expect: { verdict: BLOCK } }] }
  - { name: second, steps: [{ verdict: {}, expect: { verdict: GET_NEW } }] }
  - { name: third, steps: [{ score: {} }, { verdict: {}, expect: { isBot: true } }] }
`,
    'a bad name of a list': withLists('{ Bad: { kind: ip, entries: [x] } }'),
    'bad entries of lists': withLists(
      '{ a: { kind: ips, entries: [x] }, b: { kind: ip, entries: [x, 203.0.113.1/24] } }',
    ),
    'an impossible time': 'cases: [{ name: own, startsAt: tomorrow, steps: [{ verdict: {} }] }]',
    'a file without cases': 'case: []\n',
    'an empty file': '',
    'no cases': 'cases: []\n',
    'a case without steps': 'cases: [{ name: own }]\n',
    'all problems at once, in the order of the file': `cases:
  - name: twice
    steps: [{ verdict: {}, expect: { verdict: BLOCK } }]
  - name: twice
    platform: Shop 1
    steps: []
  - nam: x
    steps: [{ verdict: {} }]
  - { name: twice, steps: [{ score: {} }] }
  - { name: own, steps: [{ after: 10, verdict: {}, times: 0 }] }
case: []
`,
  };
  const mistyped = [
    '{ verdict: {}, expct: {} }',
    '{ verdict: {}, after: 10 seconds }',
    '{ verdict: {}, expect: { verdict: WIAT } }',
    '{ verdict: {}, expect: { rule: attempt-unpayed } }',
    '{ score: {}, expect: { signals: [honeypott] } }',
    '{ score: {}, expect: { isBot: "no" } }',
    '{ score: {}, expect: { isBot: null } }',
    '{ score: {}, expect: { paymentScore: 0.5 } }',
    '{ verdict: {}, expect: { waitSeconds: "30" } }',
    '{ score: {}, expect: { waitSeconds: 30 } }',
    '{ verdict: { amountRequested: 25.00 } }',
    '{ verdict: { amountRequested: "25,00" } }',
    '{ verdict: { toPayCurrency: EURO5 } }',
    '{ verdict: { method: null } }',
    '{ verdict: null }',
    '{ binding: null, expect: { verdict: WAIT } }',
    '{ binding: { requisiteRef: r } }',
    '{ override: BLOKED }',
    '{ override: { group: BLOCKED, expires: 1h } }',
    '{ outcome: { outcome: PAYED } }',
    '{ score: {}, verdict: {} }',
    '{ client: payer-2 }',
    '{ verdict: {}, every: 1s }',
    '{ verdict: {}, times: 5000 }',
    '{ verdct: {} }',
    '{ verdict: { ip: 192.0.2.1 } }',
    '{ score: { clientHints: { jsOk: "no" } } }',
    '{ outcome: { outcome: UNPAID, cause: BORED } }',
    '{ override: PAYING }',
    '{ verdict: {}, expect: { verdct: WAIT } }',
    '{ verdict: {}, expect: { signals: { honeypot: true } } }',
    '{ verdict: {}, expect: { signals: [[honeypot]] } }',
  ];
  const all = [...Object.entries(told), ...mistyped.map((step) => [step, steps(step)] as const)];
  const runs = all.map(([title, text]) => [title, () => run(text)] as const);
  itTells(new URL('told.txt', import.meta.url), Object.fromEntries(runs));

  it('names the file, also where another has a case of the name', () => {
    const texts = ['a', 'b'].map((file) => [`cases/${file}.yaml`, steps('{ verdict: {} }')] as const);
    const { problems, passed } = runCases(edited({}), new Map(texts));
    expect([problems.map(formatProblem), passed]).to.deep.equal([
      ['cases/b.yaml:2:5  the name "own" is taken by the case at cases/a.yaml:2'],
      0,
    ]);
  });
});

const LISTED = {
  'verdicts.yaml': swap(
    '{ fact: clientGroup, operator: equal, value: BLOCKED }',
    '{ fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
  ),
};

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
      expect(run(withLists(list(on)), LISTED)).to.deep.equal(['1 passed']);
      expect(run(withLists(list(off), 'GET_NEW'), LISTED)).to.deep.equal(['1 passed']);
    });
  }

  it('are empty where a case names none', () => {
    expect(run(withLists('{}', 'GET_NEW'), LISTED)).to.deep.equal(['1 passed']);
  });
});

const CASES = `
# What a payer sees.
cases:
  - name: waits
    steps:
      - verdict: {}
      - after: 1s # at once
        verdict: {}
        expect: { verdict: WAIT, waitSeconds: 30 }
      - after: 1s
        verdict: {}
        expect: { verdict: WAIT, waitSeconds: 300 }
  - name: comes back in time
    steps:
      - verdict: {}
      - after: 1s
        verdict: {}
        expect: { waitSeconds: 30 }
      - after: 30s
        verdict: {}
        expect: { verdict: GET_NEW }
  - name: is told why
    steps:
      - verdict: {}
      - verdict: {}
        expect:
          reason: The previous attempt did not reach payment; wait 30 s, cooldown level 1.
`;

/** p2.v10 with another ladder and these cases alone. */
function withLadder(levels: string) {
  const changes = {
    'ladder.yaml': swap('[30s, 5m, 30m]', levels),
    'cases/ladder.yaml': whole(CASES),
  };
  const files = [...editedFiles(changes)];
  const alone = files.filter(([path]) => !path.startsWith('cases/') || path === 'cases/ladder.yaml');
  return { rules: edited(changes), files: new Map(alone) };
}

describe('updating cases', () => {
  it('updates what only the seconds of the ladder changed, and keeps comments and layout', () => {
    const { rules, files } = withLadder('[20s, 10m, 30m]');
    const updated = updateCaseWaits(rules, files);
    const text = CASES.replaceAll('waitSeconds: 300', 'waitSeconds: 600')
      .replaceAll('waitSeconds: 30 ', 'waitSeconds: 20 ')
      .replace('wait 30 s', 'wait 20 s');
    expect(Object.fromEntries(updated.files)).to.deep.equal({ 'cases/ladder.yaml': text });
    expect(updated.lines[0]).to.deep.equal({
      file: 'cases/ladder.yaml',
      line: 9,
      before: '        expect: { verdict: WAIT, waitSeconds: 30 }',
      after: '        expect: { verdict: WAIT, waitSeconds: 20 }',
    });
    expect(updated.left).to.deep.equal([]);
    expect(runCases(rules, new Map([...files, ...updated.files])).failures).to.deep.equal([]);
  });

  it('leaves a case with a different verdict as it is, also its waits before that', () => {
    const { rules, files } = withLadder('[40s, 5m, 30m]');
    const { files: changed, written, left } = updateCaseWaits(rules, files);
    const [, text = ''] = [...changed][0] ?? [];
    const backInTime = text.slice(text.indexOf('comes back in time'), text.indexOf('is told why'));
    expect(backInTime).to.include('waitSeconds: 30').and.not.include('40');
    expect(left.map(({ caseName, step }) => [caseName, step])).to.deep.equal([['comes back in time', 3]]);
    expect(text).to.include('wait 40 s');
    expect(written).to.equal(2);
  });

  it('changes nothing where all cases hold', () => {
    const { rules, files } = withLadder('[30s, 5m, 30m]');
    const { files: changed, lines, left } = updateCaseWaits(rules, files);
    expect([changed.size, lines, left]).to.deep.equal([0, [], []]);
  });
});
