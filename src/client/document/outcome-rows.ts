import { moneyOf } from '../amount.ts';
import { type KnownOrder, rank } from '../order.ts';
import { NO_OUTCOMES, type OutcomeTally, type RecentOrder } from '../outcomes.ts';
import { DIGITS, digitValue } from './cell.ts';
import { decodeReports, encodeReports, resultOf } from './order-row.ts';

type OlderRow = [lastPaidAge: number | null, lastUnpaidAge: number | null, unpaidChain: number];
/** The order at this place has several reports. */
type ReportsRow = [place: number, ...reports: number[]];

/** 0 when there are none; zeros at the end are left out. */
export type OutcomesRow =
  | 0
  | [
      paid: number,
      unpaid: number,
      technical: number,
      newestAge?: number,
      orders?: string | 0,
      amounts?: string | 0,
      reports?: ReportsRow[] | 0,
      older?: OlderRow | 0,
    ];

const TOKEN_CHARACTERS = 6;

/** Above the rank of a result: the amount is that of the order before it in the text. */
const SAME_AMOUNT = 8;
/** The same: the order was turned away. */
const TURNED_AWAY = 16;

export function encodeOutcomes(tally: OutcomeTally, lastAt: number): OutcomesRow {
  const { paidCount, unpaidCount, neitherCount, recent, older } = tally;
  if (paidCount + unpaidCount + neitherCount === 0) return 0;
  const orders = recent.toReversed();
  const row: Exclude<OutcomesRow, 0> = [
    paidCount,
    unpaidCount,
    neitherCount,
    lastAt - (orders[0]?.occurredAt ?? lastAt),
    packOrders(orders) || 0,
    packAmounts(orders) || 0,
    reportsRows(orders),
    older === NO_OUTCOMES.older
      ? 0
      : [ageOf(older.lastPaidAt, lastAt), ageOf(older.lastUnpaidAt, lastAt), older.unpaidChain],
  ];
  while (row.length > 3 && row.at(-1) === 0) row.pop();
  return row;
}

export function decodeOutcomes(row: OutcomesRow, lastAt: number): OutcomeTally {
  if (row === 0) return NO_OUTCOMES;
  const [paidCount, unpaidCount, neitherCount, newestAge = 0, orders, amounts, reports, older] = row;
  const recent = unpackOrders(orders || '', lastAt - newestAge, (amounts || '').split(','));
  for (const [place, ...told] of reports || []) {
    const order = recent[place];
    if (order !== undefined) recent[place] = { ...order, reports: decodeReports(told, order.occurredAt) };
  }
  return {
    paidCount,
    unpaidCount,
    neitherCount,
    recent: recent.reverse(),
    older: older
      ? { lastPaidAt: ageOf(older[0], lastAt), lastUnpaidAt: ageOf(older[1], lastAt), unpaidChain: older[2] }
      : NO_OUTCOMES.older,
  };
}

/**
 * Newest first, as there may be 64 of them: of each its token, its result with whether the amount is the same as before,
 * and its distance in ms to the one before, in as many digits as the longest of them needs. That number comes first.
 */
function packOrders(orders: readonly RecentOrder[]): string {
  const distances = orders.map(
    ({ occurredAt }, place) => (orders[place - 1]?.occurredAt ?? occurredAt) - occurredAt,
  );
  const width = digitsOf(Math.max(0, ...distances), 0).length;
  const packed = orders.map((order, place) => {
    const same = order.amount === orders[place - 1]?.amount ? SAME_AMOUNT : 0;
    const turnedAway = order.turnedAway ? TURNED_AWAY : 0;
    return (
      order.token + DIGITS.charAt(rank(order) + same + turnedAway) + digitsOf(distances[place] ?? 0, width)
    );
  });
  return packed.length === 0 ? '' : width + packed.join('');
}

/** The amounts that are not the same as before, newest first; a currency is left out where it is. */
function packAmounts(orders: readonly RecentOrder[]): string {
  let currency = '';
  const cells: string[] = [];
  for (const [place, { amount }] of orders.entries()) {
    if (amount === orders[place - 1]?.amount) continue;
    const money = moneyOf(amount ?? '');
    cells.push(money !== null && money.currency === currency ? money.amount : (amount ?? ''));
    currency = money?.currency ?? currency;
  }
  return cells.join(',');
}

function unpackOrders(packed: string, newestAt: number, cells: readonly string[]): RecentOrder[] {
  const orders: RecentOrder[] = [];
  const amounts = amountsOf(cells).values();
  const width = Number(packed.charAt(0));
  const length = TOKEN_CHARACTERS + 1 + width;
  let occurredAt = newestAt;
  let amount: string | null = null;
  for (let start = 1; start < packed.length; start += length) {
    const token = packed.slice(start, start + TOKEN_CHARACTERS);
    const code = numberOf(packed.charAt(start + TOKEN_CHARACTERS));
    if ((code & SAME_AMOUNT) === 0) amount = amounts.next().value ?? null;
    occurredAt -= numberOf(packed.slice(start + TOKEN_CHARACTERS + 1, start + length));
    const exposed = (code & TURNED_AWAY) === 0 ? {} : { turnedAway: true as const };
    const known: KnownOrder = { ...resultOf(code % SAME_AMOUNT), occurredAt, ...exposed };
    orders.push(amount === null ? { ...known, token } : { ...known, amount, token });
  }
  return orders;
}

function amountsOf(cells: readonly string[]): readonly (string | null)[] {
  let currency = '';
  return cells.map((cell) => {
    if (cell === '') return null;
    const amount = cell.includes(' ') ? cell : `${cell} ${currency}`;
    currency = moneyOf(amount)?.currency ?? currency;
    return amount;
  });
}

function reportsRows(orders: readonly RecentOrder[]): ReportsRow[] | 0 {
  const rows: ReportsRow[] = [];
  for (const [place, { reports, occurredAt }] of orders.entries())
    if (reports !== undefined) rows.push([place, ...encodeReports(reports, occurredAt)]);
  return rows.length === 0 ? 0 : rows;
}

/** The age of a moment at `lastAt`, and the moment of an age. */
export function ageOf(momentOrAge: number | null, lastAt: number): number | null {
  return momentOrAge === null ? null : lastAt - momentOrAge;
}

/** A number to the base of 64, in so many digits or more; 0 in none. */
function digitsOf(value: number, width: number): string {
  let digits = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 64)) digits = DIGITS.charAt(rest % 64) + digits;
  return digits.padStart(width, DIGITS.charAt(0));
}

function numberOf(digits: string): number {
  let number = 0;
  for (const digit of digits) number = number * 64 + digitValue(digit);
  return number;
}
