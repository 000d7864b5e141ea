import { type CountedOutcome, NO_OUTCOMES, type OutcomeTally } from '../outcomes.ts';
import { type Cell, decodeToken, encodeToken, NONE } from './cell.ts';

/** Newest first, each as twice its distance in ms to the one after it, plus one when it was paid. */
type RecentRow = number[];
type OlderRow = [lastPaidAt: number | null, lastUnpaidAt: number | null, unpaidChain: number];
/** 0 when there are none; `older` only when some are not remembered singly. */
export type OutcomesRow =
  | 0
  | [paid: number, unpaid: number, technical: number, recent: RecentRow, older?: OlderRow];

/** What was paid, newest first: a cell for each paid one among the recent outcomes. */
export type PaidAmountsRow = Cell[];

export function encodeOutcomes(tally: OutcomeTally, lastAt: number): OutcomesRow {
  const { paidCount, unpaidCount, technicalCount, recent, older } = tally;
  if (paidCount + unpaidCount + technicalCount === 0) return 0;
  const row: OutcomesRow = [paidCount, unpaidCount, technicalCount, encodeRecent(recent, lastAt)];
  if (recent.length < paidCount + unpaidCount) {
    row.push([older.lastPaidAt, older.lastUnpaidAt, older.unpaidChain]);
  }
  return row;
}

function encodeRecent(recent: readonly CountedOutcome[], lastAt: number): RecentRow {
  const row: RecentRow = [];
  let after = lastAt;
  for (const { paid, at } of recent.toReversed()) {
    row.push(2 * (after - at) + (paid ? 1 : 0));
    after = at;
  }
  return row;
}

export function decodeOutcomes(row: OutcomesRow, lastAt: number): OutcomeTally {
  if (row === 0) return NO_OUTCOMES;
  const [paidCount, unpaidCount, technicalCount, newestFirst, older] = row;
  return {
    paidCount,
    unpaidCount,
    technicalCount,
    recent: decodeRecent(newestFirst, lastAt),
    older:
      older === undefined
        ? NO_OUTCOMES.older
        : { lastPaidAt: older[0], lastUnpaidAt: older[1], unpaidChain: older[2] },
  };
}

function decodeRecent(row: RecentRow, lastAt: number): readonly CountedOutcome[] {
  const recent: CountedOutcome[] = [];
  let at = lastAt;
  for (const cell of row) {
    at -= Math.floor(cell / 2);
    recent.push({ paid: cell % 2 === 1, at, amount: null });
  }
  return recent.reverse();
}

export function encodePaidAmounts(recent: readonly CountedOutcome[]): PaidAmountsRow {
  const newestFirst = recent.filter(({ paid }) => paid).toReversed();
  return newestFirst.map(({ amount }, index) => encodeToken(amount, newestFirst[index - 1]?.amount));
}

export function withPaidAmounts(tally: OutcomeTally, newestFirst: PaidAmountsRow): OutcomeTally {
  if (newestFirst.length === 0) return tally;
  const cells = newestFirst.values();
  let after: string | null = null;
  const recent = tally.recent.toReversed().map((outcome) => {
    if (!outcome.paid) return outcome;
    after = decodeToken(cells.next().value ?? NONE, after);
    return { ...outcome, amount: after };
  });
  return { ...tally, recent: recent.reverse() };
}
