import { expect } from 'chai';
import { formatProblem } from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { edited, whole } from '../../rule-fixtures/sound-rules.ts';

/** Everybody gets a requisite, but for two methods; the reason tells some facts. */
function telling(reason: string): RuleSet {
  const rule = (method: string, priority: number, verdict: string) => `
  - name: ${method}
    priority: ${priority}
    conditions: { all: [{ fact: method, operator: equal, value: ${method} }] }
    event: { type: verdict, params: { verdict: ${verdict}, reason: "${reason}" } }`;
  return edited({
    'verdicts.yaml': whole(
      `rules:${rule('waiting', 2, 'WAIT')}${rule('refused', 1, 'BLOCK')}\notherwise: { verdict: GET_NEW, reason: "${reason}" }\n`,
    ),
  });
}

/** What is wrong with a case that begins at noon of a day in UTC. */
function problemsOf(rules: RuleSet, ...steps: readonly string[]): readonly string[] {
  const text = `cases:\n  - name: own\n    startsAt: 2026-07-03T12:00:00Z\n    steps:\n${steps.map((step) => `      - ${step}\n`).join('')}`;
  const { problems, failures } = runCases(rules, new Map([['cases/own.yaml', text]]));
  const differences = failures.flatMap(({ step, differences: all }) =>
    all.map(({ member, expected, seen }) => `step ${step}: ${member} should be ${expected}, is ${seen}`),
  );
  return [...problems.map(formatProblem), ...differences];
}

const REQUEST_COUNTS = telling('{verdicts(1d)} {verdicts(2d)} {verdicts(3d)} {verdicts(30d)}');

describe('a window above a day', () => {
  it('is of whole days of UTC: of two days today and yesterday from its first moment on', () => {
    const asked = (reason: string, after = '0s') =>
      after === '0s'
        ? `{ verdict: {}, expect: { reason: "${reason}" } }`
        : `{ after: ${after}, verdict: {}, expect: { reason: "${reason}" } }`;
    expect(
      problemsOf(
        REQUEST_COUNTS,
        asked('1 1 1 1'),
        // The next day, an hour before midnight: 35 hours later.
        asked('1 2 2 2', '35h'),
        // After midnight the day before yesterday is of three days alone.
        asked('2 2 3 3', '1h'),
        asked('2 3 4 4', '23h'),
        asked('2 3 4 5', '1h'),
      ),
    ).to.deep.equal([]);
  });

  it('reaches thirty days back, and not to the day before them', () => {
    const facts = telling('{verdicts(29d)} {verdicts(30d)}');
    expect(
      problemsOf(
        facts,
        '{ verdict: {} }',
        '{ after: 29d, verdict: {}, expect: { reason: "1 2" } }',
        '{ after: 24h, verdict: {}, expect: { reason: "2 2" } }',
      ),
    ).to.deep.equal([]);
  });

  it('counts each kind of answer by itself, before this request', () => {
    const facts = telling('{attempts(7d)} {waits(7d)} {blocks(7d)} {earlyRequests(7d)} of {verdicts(7d)}');
    expect(
      problemsOf(
        facts,
        '{ verdict: {} }',
        '{ after: 1s, verdict: { method: waiting } }',
        '{ after: 1s, verdict: { method: refused } }',
        '{ after: 3d, verdict: {}, expect: { reason: "1 1 1 1 of 4" } }',
        '{ after: 3d, verdict: {}, expect: { reason: "2 1 1 1 of 5" } }',
        '{ after: 1d, verdict: {}, expect: { reason: "2 0 0 0 of 3" } }',
      ),
    ).to.deep.equal([]);
  });

  it('counts the money of an order once a day, in the currency of the request', () => {
    const facts = telling('{attemptedAmount(1d)} {attemptedAmount(3d)}');
    expect(
      problemsOf(
        facts,
        '{ verdict: { orderRef: a, amountRequested: "10.10" } }',
        '{ after: 1h, verdict: { orderRef: a, amountRequested: "12.50" }, expect: { reason: "12.5 12.5" } }',
        '{ verdict: { orderRef: b, amountRequested: "7", toPayCurrency: USD } }',
        '{ outcome: { orderRef: a, outcome: UNPAID } }',
        '{ outcome: { orderRef: b, outcome: UNPAID } }',
        '{ after: 2d, verdict: { orderRef: a, amountRequested: "20" }, expect: { reason: "20 32.5" } }',
        '{ verdict: { orderRef: c, amountRequested: "1", toPayCurrency: USD }, expect: { reason: "1 8" } }',
        '{ after: 1d, verdict: { orderRef: d, amountRequested: "5" }, expect: { reason: "5 25" } }',
      ),
    ).to.deep.equal([]);
  });

  it('counts a method once over all its days', () => {
    const facts = telling('{distinctMethods(1d)} {distinctMethods(30d)}');
    expect(
      problemsOf(
        facts,
        '{ verdict: { method: card } }',
        '{ verdict: { method: refused } }',
        '{ after: 2d, verdict: { method: card }, expect: { reason: "1 2" } }',
        '{ after: 2d, verdict: { method: transfer }, expect: { reason: "1 3" } }',
        '{ after: 27d, verdict: { method: transfer }, expect: { reason: "1 2" } }',
      ),
    ).to.deep.equal([]);
  });
});
