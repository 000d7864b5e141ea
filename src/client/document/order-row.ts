import { type KnownOrder, type OrderOutcome, RESULTS_WEAKEST_FIRST, type Result, rank } from '../order.ts';

/**
 * The stored form of an order: positional, because there is one for every order. A result is its place in
 * RESULTS_WEAKEST_FIRST; the amount is 0 when none is known. Where the reports are more than the one that counts, they
 * follow, each as its result and its distance in ms to `occurredAt`. TURNED_AWAY is added to the result of an order.
 */
type OrderRow = [result: number, occurredAt: number, amount: string | 0, ...reports: number[]];

const TURNED_AWAY = 8;

/** The text to store; `decodeOrder` gives the same order back. */
export function encodeOrder({ occurredAt, amount, turnedAway, reports = [], ...result }: KnownOrder): string {
  const row: OrderRow = [rank(result) + (turnedAway ? TURNED_AWAY : 0), occurredAt, amount ?? 0];
  row.push(...encodeReports(reports, occurredAt));
  return JSON.stringify(row);
}

/** Each report as its result and its distance in ms to `occurredAt`. */
export function encodeReports(reports: readonly OrderOutcome[], occurredAt: number): readonly number[] {
  return reports.flatMap((report) => [rank(report), report.occurredAt - occurredAt]);
}

/** Throws when the text is of no order. */
export function decodeOrder(text: string): KnownOrder {
  const row: OrderRow = JSON.parse(text);
  const [code, occurredAt, amount, ...told] = row;
  const reports = decodeReports(told, occurredAt);
  return {
    ...resultOf(code < TURNED_AWAY ? code : code - TURNED_AWAY),
    occurredAt,
    ...(code < TURNED_AWAY ? {} : { turnedAway: true }),
    ...(amount === 0 ? {} : { amount }),
    ...(reports.length === 0 ? {} : { reports }),
  };
}

export function decodeReports(told: readonly number[], occurredAt: number): readonly OrderOutcome[] {
  const reports: OrderOutcome[] = [];
  for (let place = 0; place < told.length; place += 2)
    reports.push({ ...resultOf(told[place]), occurredAt: occurredAt + (told[place + 1] ?? 0) });
  return reports;
}

/** The result at this place of RESULTS_WEAKEST_FIRST; throws for what is none. */
export function resultOf(code: number | undefined): Result {
  const result = RESULTS_WEAKEST_FIRST[code ?? -1];
  if (result === undefined) throw new Error(`an order has the unknown result ${code}`);
  if (result === 'PAID') return { outcome: 'PAID', cause: null };
  return { outcome: 'UNPAID', cause: result === 'UNPAID' ? null : result };
}
