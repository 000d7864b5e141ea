import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type ReportWithOrderRef, recordOutcome } from '#decision/payer/changes.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import type { ReportedResult } from '#decision/payer/order.ts';

const PAGE = readFileSync(new URL('../../../src/decision/payer/README.md', import.meta.url), 'utf8');

/** The first report is of this moment, and each report arrives a second after the one before. */
const FIRST_AT = 1_000_000;
const ARRIVALS = [FIRST_AT + 10_000, FIRST_AT + 11_000] as const;

const FAILURES = [null, 'EXPIRED', 'CANCELLED', 'DECLINED', 'TECHNICAL'] as const;

const PAID: ReportedResult = { outcome: 'PAID', cause: null };
const REVERSED: ReportedResult = { outcome: 'UNPAID', cause: 'REVERSED' };

/** How the words of the table date the second report. */
const MOMENTS: Readonly<Record<string, readonly (number | null)[]>> = {
  later: [FIRST_AT + 500],
  earlier: [FIRST_AT - 500],
  'of the same moment': [FIRST_AT],
  undated: [null],
  'dated or undated, of any moment': [FIRST_AT - 500, FIRST_AT, FIRST_AT + 500, null],
};

interface Row {
  readonly first: string;
  readonly second: string;
  readonly answer: string;
  readonly holds: string;
}

/** The rows of the table of pairs. */
function rowsOfPage(): readonly Row[] {
  const lines = PAGE.split('\n');
  const head = lines.findIndex((line) => line.startsWith('| first | second |'));
  return lines
    .slice(head + 2, lines.indexOf('', head))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, first = '', second = '', answer = '', holds = '']) => ({ first, second, answer, holds }));
}

function firstResults(first: string): readonly ReportedResult[] {
  if (first.startsWith('PAID')) return [PAID];
  return first === 'REVERSED' ? [REVERSED] : FAILURES.map((cause) => ({ outcome: 'UNPAID', cause }));
}

/** The results that the second cell means beside a first one. */
function secondResults(second: string, first: ReportedResult): readonly ReportedResult[] {
  if (second.startsWith('PAID')) return [PAID];
  if (second.startsWith('REVERSED')) return [REVERSED];
  if (second.startsWith('the same failure')) return [first];
  const isOther = second.startsWith('another failure');
  return FAILURES.filter((cause) => !isOther || cause !== first.cause).map((cause) => ({
    outcome: 'UNPAID',
    cause,
  }));
}

function momentsOf(second: string): readonly (number | null)[] {
  const named = Object.keys(MOMENTS).filter((words) => second.includes(words));
  const isAny = named.find((words) => words.startsWith('dated'));
  return (isAny === undefined ? named : [isAny]).flatMap((words) => MOMENTS[words] ?? []);
}

function report(state: ClientState, result: ReportedResult, occurredAt: number | null, now: number) {
  const told: ReportWithOrderRef = { ...result, occurredAt, orderRef: 'order-1' };
  return recordOutcome(state, null, told, now, 'granted');
}

/** What the row says holds, since when where it says so. */
function expectHeld(
  row: Row,
  first: ReportedResult,
  second: ReportedResult,
  held: ReturnType<typeof report>['order'],
): void {
  const { outcome, cause, occurredAt } = held;
  const isSecond = row.holds.startsWith('the second');
  const expected = row.holds.startsWith('PAID')
    ? PAID
    : row.holds.startsWith('REVERSED')
      ? REVERSED
      : isSecond
        ? second
        : first;
  expect({ outcome, cause }).to.deep.equal(expected);
  if (row.holds.endsWith('since the first')) expect(occurredAt).to.equal(FIRST_AT);
  if (row.holds.endsWith('since the second')) expect(occurredAt).to.equal(FIRST_AT - 500);
}

describe('the table of two reports of one order', () => {
  const rows = rowsOfPage();

  it('has rows of each kind of first report', () => {
    expect([...new Set(rows.map(({ first }) => first))]).to.deep.equal([
      'failure',
      'PAID',
      'PAID, undated',
      'REVERSED',
    ]);
  });

  for (const row of rows)
    it(`holds for ${row.first}, then ${row.second}`, () => {
      expect(momentsOf(row.second)).not.to.deep.equal([]);
      const firstAt = row.first.endsWith('undated') ? null : FIRST_AT;
      for (const first of firstResults(row.first))
        for (const second of secondResults(row.second, first))
          for (const moment of momentsOf(row.second)) {
            const { state } = report(UNKNOWN_CLIENT_STATE, first, firstAt, ARRIVALS[0]);
            const change = report(state, second, moment, ARRIVALS[1]);
            expect(`\`${change.effect}\``, JSON.stringify([first, second, moment])).to.equal(row.answer);
            expectHeld(row, first, second, change.order);
          }
    });
});
