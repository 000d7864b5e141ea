import { parseMoney } from './amount.ts';
import { BASE64_DIGITS, formatBase64Number, parseBase64Number } from './client-key.ts';
import { convertBetweenTimeAndAge } from './instant.ts';
import type { KnownOrder } from './order.ts';
import {
  decodeReportCells,
  decodeResultCode,
  encodeReportCells,
  RESULT_CODE_EXCLUSIVE_MAX,
  toResultCode,
} from './order-text.ts';
import { NO_OUTCOMES, type OutcomeTally, type RecentOrder } from './outcomes.ts';

type OlderRow = [lastPaidAge: number | null, lastUnpaidAge: number | null, unpaidChain: number];
/** Reports of the order at this position, if it has several reports or one with an amount. */
type ReportsRow = [place: number, ...reports: (number | string)[]];

/** The row of a tally. It is 0 for an empty tally. Zeros at the end are left out. */
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

/** This is added to the number of a result if the amount equals that of the order before it in the text. */
const SAME_AMOUNT = RESULT_CODE_EXCLUSIVE_MAX;
/** This is added to the number of a result if the order was turned away. */
const TURNED_AWAY = 2 * RESULT_CODE_EXCLUSIVE_MAX;

/** Encodes a tally for a state of `lastAt` (epoch ms). `decodeOutcomeTally` gives the same tally back. */
export function encodeOutcomeTally(tally: OutcomeTally, lastAt: number): OutcomesRow {
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
    encodeReportsRows(orders),
    older === NO_OUTCOMES.older
      ? 0
      : [
          convertBetweenTimeAndAge(older.lastPaidAt, lastAt),
          convertBetweenTimeAndAge(older.lastUnpaidAt, lastAt),
          older.unpaidChain,
        ],
  ];
  while (row.length > 3 && row.at(-1) === 0) row.pop();
  return row;
}

/** Decodes a tally that `encodeOutcomeTally` wrote for a state of `lastAt`. */
export function decodeOutcomeTally(row: OutcomesRow, lastAt: number): OutcomeTally {
  if (row === 0) return NO_OUTCOMES;
  const [paidCount, unpaidCount, neitherCount, newestAge = 0, orders, amounts, reports, older] = row;
  const recent = unpackOrders(orders || '', lastAt - newestAge, (amounts || '').split(','));
  for (const [place, ...cells] of reports || []) {
    const order = recent[place];
    if (order !== undefined)
      recent[place] = { ...order, reports: decodeReportCells(cells, order.occurredAt) };
  }
  return {
    paidCount,
    unpaidCount,
    neitherCount,
    recent: recent.reverse(),
    older: older
      ? {
          lastPaidAt: convertBetweenTimeAndAge(older[0], lastAt),
          lastUnpaidAt: convertBetweenTimeAndAge(older[1], lastAt),
          unpaidChain: older[2],
        }
      : NO_OUTCOMES.older,
  };
}

/**
 * Packs orders, the newest first: the number of digits of a distance, then for each order its token, its result with
 * SAME_AMOUNT and TURNED_AWAY, and its distance in ms to the order before. The text is compact because there may be
 * 64 orders.
 */
function packOrders(orders: readonly RecentOrder[]): string {
  const distances = orders.map(
    ({ occurredAt }, place) => (orders[place - 1]?.occurredAt ?? occurredAt) - occurredAt,
  );
  const width = formatBase64Number(Math.max(0, ...distances), 0).length;
  const packed = orders.map((order, place) => {
    const same = order.amount === orders[place - 1]?.amount ? SAME_AMOUNT : 0;
    const turnedAway = order.turnedAway ? TURNED_AWAY : 0;
    return (
      order.token +
      BASE64_DIGITS.charAt(toResultCode(order) + same + turnedAway) +
      formatBase64Number(distances[place] ?? 0, width)
    );
  });
  return packed.length === 0 ? '' : width + packed.join('');
}

/** Packs the amounts of orders, the newest first. An amount or a currency that equals the one before is left out. */
function packAmounts(orders: readonly RecentOrder[]): string {
  let currency = '';
  const cells: string[] = [];
  for (const [place, { amount }] of orders.entries()) {
    if (amount === orders[place - 1]?.amount) continue;
    const money = parseMoney(amount ?? '');
    cells.push(money !== null && money.currency === currency ? money.amount : (amount ?? ''));
    currency = money?.currency ?? currency;
  }
  return cells.join(',');
}

function unpackOrders(packed: string, newestAt: number, cells: readonly string[]): RecentOrder[] {
  const orders: RecentOrder[] = [];
  const amounts = parseAmounts(cells).values();
  const width = Number(packed.charAt(0));
  const length = TOKEN_CHARACTERS + 1 + width;
  let occurredAt = newestAt;
  let amount: string | null = null;
  for (let start = 1; start < packed.length; start += length) {
    const token = packed.slice(start, start + TOKEN_CHARACTERS);
    const code = parseBase64Number(packed.charAt(start + TOKEN_CHARACTERS));
    if ((code & SAME_AMOUNT) === 0) amount = amounts.next().value ?? null;
    occurredAt -= parseBase64Number(packed.slice(start + TOKEN_CHARACTERS + 1, start + length));
    const exposed = (code & TURNED_AWAY) === 0 ? {} : { turnedAway: true as const };
    const known: KnownOrder = {
      ...decodeResultCode(code % RESULT_CODE_EXCLUSIVE_MAX),
      occurredAt,
      ...exposed,
    };
    orders.push(amount === null ? { ...known, token } : { ...known, amount, token });
  }
  return orders;
}

function parseAmounts(cells: readonly string[]): readonly (string | null)[] {
  let currency = '';
  return cells.map((cell) => {
    if (cell === '') return null;
    const amount = cell.includes(' ') ? cell : `${cell} ${currency}`;
    currency = parseMoney(amount)?.currency ?? currency;
    return amount;
  });
}

function encodeReportsRows(orders: readonly RecentOrder[]): ReportsRow[] | 0 {
  const rows: ReportsRow[] = [];
  for (const [place, { reports, occurredAt }] of orders.entries())
    if (reports !== undefined) rows.push([place, ...encodeReportCells(reports, occurredAt)]);
  return rows.length === 0 ? 0 : rows;
}
