import { isDeepStrictEqual } from 'node:util';
import { NamedError } from '#base/named-error.ts';
import { formatMoney, normalizeAmount, readMoney } from '#decision/payer/amount.ts';
import type { ReportOfOrder } from '#decision/payer/changes.ts';
import { type ClientState, findOrderAmount, toToken } from '#decision/payer/client-state.ts';
import { findMinorUnitDigits } from '#decision/payer/currency.ts';
import {
  type DatedReport,
  getSettledAmount,
  type KnownOrder,
  type ReportedOutcome,
} from '#decision/payer/order.ts';
import type { OutcomeEntry } from '#state/journal.ts';

/** The platform's report about an order of a client. */
export type OrderReport = Omit<ReportedOutcome, 'amount'> & {
  readonly clientIdKey: string;
  readonly orderRef: string;
  /** What was captured or taken back so far; absent: the report does not say. */
  readonly money?: ReportedMoney;
};

export interface ReportedMoney {
  /** A decimal text. */
  readonly amount: string;
  /** Null when the report does not name it. */
  readonly currency: string | null;
}

/** A report has an amount with more digits after the point than its currency. */
export class AmountTooPrecise extends NamedError {}

function requireMinorUnits(amount: string, currency: string): void {
  const digits = findMinorUnitDigits(currency);
  const [, fraction = ''] = normalizeAmount(amount).split('.');
  if (digits === null || fraction.length <= digits) return;
  const allowed = digits === 0 ? 'none' : `at most ${digits}`;
  throw new AmountTooPrecise(`has ${fraction.length} digits after the point; ${currency} has ${allowed}`);
}

/**
 * The report with its money in a currency: the one that the report names, else that of the order, else the
 * platform's. Throws AmountTooPrecise.
 */
export function setReportCurrency(
  { money, outcome, cause, occurredAt, orderRef }: OrderReport,
  { events }: Pick<ClientState, 'events'>,
  known: KnownOrder | null,
  platformCurrency: string,
): ReportOfOrder {
  const report = { outcome, cause, occurredAt, orderRef };
  if (money === undefined) return report;
  const settled = known === null ? undefined : getSettledAmount(known);
  const ofOrder = readMoney(settled ?? findOrderAmount(events, toToken(orderRef)) ?? '');
  const currency = money.currency ?? ofOrder?.currency ?? platformCurrency;
  requireMinorUnits(money.amount, currency);
  return { ...report, amount: formatMoney(money.amount, currency) };
}

/** What the journal says of an order: what holds, the report where it says something else, and the money. */
export function toJournaledOutcome(
  known: KnownOrder,
  report: DatedReport,
): Pick<OutcomeEntry, 'order' | 'report' | 'amount' | 'settledAmount' | 'turnedAway'> {
  const { amount, turnedAway, outcome, cause, occurredAt, undated, awaitsPayment } = known;
  const order = {
    outcome,
    cause,
    occurredAt,
    ...(undated === undefined ? {} : { undated }),
    ...(awaitsPayment === undefined ? {} : { awaitsPayment }),
  };
  const settled = getSettledAmount(known);
  return {
    order,
    ...(isDeepStrictEqual(order, report) ? {} : { report }),
    ...(amount === undefined ? {} : { amount }),
    ...(settled === undefined || settled === amount ? {} : { settledAmount: settled }),
    ...(turnedAway === undefined ? {} : { turnedAway }),
  };
}
