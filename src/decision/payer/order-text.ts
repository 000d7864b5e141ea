import {
  type DatedReport,
  type KnownOrder,
  type OrderOutcome,
  RESULTS_WEAKEST_FIRST,
  rankResult,
} from './order.ts';

/** A result is stored as a number: the rank of the result, or one of these two numbers. */
const UNDATED_PAYMENT = RESULTS_WEAKEST_FIRST.length;
const AWAITS_PAYMENT = UNDATED_PAYMENT + 1;

/** The number of every result is below this one. */
export const RESULT_CODE_EXCLUSIVE_MAX = 16;

/** Encodes a result as its stored number. */
export function toResultCode(result: Omit<OrderOutcome, 'occurredAt'>): number {
  if (result.awaitsPayment) return AWAITS_PAYMENT;
  return result.undated ? UNDATED_PAYMENT : rankResult(result);
}

/** Decodes the number of a result. Throws for any other number. */
export function decodeResultCode(code: number | undefined): Omit<OrderOutcome, 'occurredAt'> {
  if (code === UNDATED_PAYMENT) return { outcome: 'PAID', cause: null, undated: true };
  if (code === AWAITS_PAYMENT) return { outcome: 'UNPAID', cause: 'REVERSED', awaitsPayment: true };
  const result = RESULTS_WEAKEST_FIRST[code ?? -1];
  if (result === undefined) throw new Error(`an order has the unknown result ${code}`);
  if (result === 'PAID') return { outcome: 'PAID', cause: null };
  return { outcome: 'UNPAID', cause: result === 'UNPAID' ? null : result };
}

/**
 * Encodes each report as the number of its result, its distance in ms to `occurredAt`, and its amount if it has one.
 */
export function encodeReportCells(
  reports: readonly DatedReport[],
  occurredAt: number,
): readonly (number | string)[] {
  return reports.flatMap((report) => {
    const cells = [toResultCode(report), report.occurredAt - occurredAt];
    return report.amount === undefined ? cells : [...cells, report.amount];
  });
}

/** Decodes the cells that `encodeReportCells` made for the same `occurredAt`. */
export function decodeReportCells(
  cells: readonly (number | string)[],
  occurredAt: number,
): readonly DatedReport[] {
  const reports: DatedReport[] = [];
  let place = 0;
  while (place < cells.length) {
    const [code, distance, amount] = cells.slice(place, place + 3);
    const { awaitsPayment: _, ...result } = decodeResultCode(Number(code));
    const report = { ...result, occurredAt: occurredAt + Number(distance) };
    const hasAmount = typeof amount === 'string';
    reports.push(hasAmount ? { ...report, amount } : report);
    place += hasAmount ? 3 : 2;
  }
  return reports;
}

/** This is added to the number of an order's result if the order was turned away. */
const TURNED_AWAY = RESULT_CODE_EXCLUSIVE_MAX;

/**
 * Matches the beginning of a stored order: the number of its result, and the time since which the result holds. The
 * amount that was asked for follows after a comma, and then the reports in the form of `encodeReportCells`, also with
 * commas. Numbers are in base 36. A part with a blank is an amount.
 */
const ORDER = /^([0-9a-z])(-?[0-9a-z]+)(?:,|$)/;

/** Encodes an order as the text to store. `decodeOrder` gives the same order back. */
export function encodeOrder({ amount, turnedAway, reports = [], ...result }: KnownOrder): string {
  const { occurredAt } = result;
  const code = toResultCode(result) + (turnedAway ? TURNED_AWAY : 0);
  const cells = [
    `${code.toString(36)}${occurredAt.toString(36)}`,
    amount ?? '',
    ...encodeReportCells(reports, occurredAt).map((cell) => cell.toString(36)),
  ];
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1).join(',');
}

/** Decodes a stored order. Throws if the text is no stored order. */
export function decodeOrder(text: string): KnownOrder {
  const [, result = '', at = ''] = ORDER.exec(text) ?? [];
  const [code, occurredAt] = [Number.parseInt(result, 36), Number.parseInt(at, 36)];
  const [, amount = '', ...cells] = text.split(',');
  const reports = decodeReportCells(
    cells.map((cell) => (cell.includes(' ') ? cell : Number.parseInt(cell, 36))),
    occurredAt,
  );
  return {
    ...decodeResultCode(code < TURNED_AWAY ? code : code - TURNED_AWAY),
    occurredAt,
    ...(code < TURNED_AWAY ? {} : { turnedAway: true }),
    ...(amount === '' ? {} : { amount }),
    ...(reports.length === 0 ? {} : { reports }),
  };
}
