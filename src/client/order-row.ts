import { type KnownOrder, type OrderOutcome, RESULTS_WEAKEST_FIRST, type Result, rank } from './order.ts';

/**
 * The stored form of an order, short because there is one for every order: its result as a place in
 * RESULTS_WEAKEST_FIRST, when it held first, and after a comma its amount. Where the reports are more than the one that
 * counts, they follow, each as its result and its distance in ms to that moment. Numbers are to the base of 36.
 */
const ORDER = /^([0-9a-e])(-?[0-9a-z]+)(?:,|$)/;

/** Added to the result of an order. */
const TURNED_AWAY = 8;

/** The text to store; `decodeOrder` gives the same order back. */
export function encodeOrder({ occurredAt, amount, turnedAway, reports = [], ...result }: KnownOrder): string {
  const [code, at, ...told] = [
    rank(result) + (turnedAway ? TURNED_AWAY : 0),
    occurredAt,
    ...encodeReports(reports, occurredAt),
  ].map((number) => number.toString(36));
  const cells = [`${code}${at}`, amount ?? '', ...told];
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1).join(',');
}

/** Each report as its result and its distance in ms to `occurredAt`. */
export function encodeReports(reports: readonly OrderOutcome[], occurredAt: number): readonly number[] {
  return reports.flatMap((report) => [rank(report), report.occurredAt - occurredAt]);
}

/** Throws when the text is of no order. */
export function decodeOrder(text: string): KnownOrder {
  const [, result = '', at = ''] = ORDER.exec(text) ?? [];
  const [code, occurredAt] = [Number.parseInt(result, 36), Number.parseInt(at, 36)];
  const [, amount = '', ...told] = text.split(',');
  const reports = decodeReports(
    told.map((cell) => Number.parseInt(cell, 36)),
    occurredAt,
  );
  return {
    ...resultOf(code < TURNED_AWAY ? code : code - TURNED_AWAY),
    occurredAt,
    ...(code < TURNED_AWAY ? {} : { turnedAway: true }),
    ...(amount === '' ? {} : { amount }),
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
