import { isDeepStrictEqual } from 'node:util';
import { NamedError } from '#base/named-error.ts';
import { formatMoney, normalizeAmount, parseMoney } from '#decision/payer/amount.ts';
import type { ReportWithOrderRef } from '#decision/payer/changes.ts';
import { type ClientState, findOrderAmount, toShortHash } from '#decision/payer/client-state.ts';
import { findMinorUnitDigits } from '#decision/payer/currency.ts';
import {
  type DatedReport,
  findSettledAmount,
  type KnownOrder,
  type ReportedOutcome,
} from '#decision/payer/order.ts';
import type { OutcomeEntry } from '#state/journal.ts';

/** The platform's report of an outcome of a client's order. */
export type OrderReport = Omit<ReportedOutcome, 'amount'> & {
  readonly clientIdKey: string;
  readonly orderRef: string;
  /** The total captured or taken back so far. Missing if the report does not state an amount. */
  readonly money?: ReportedMoney;
};

export interface ReportedMoney {
  /** A decimal text like `25.00`. */
  readonly amount: string;
  /** Null if the report names no currency. */
  readonly currency: string | null;
}

/** The amount of a report has more digits after the point than its currency allows. */
export class AmountTooPrecise extends NamedError {}

function requireMinorUnits(amount: string, currency: string): void {
  const digits = findMinorUnitDigits(currency);
  const [, fraction = ''] = normalizeAmount(amount).split('.');
  if (digits === null || fraction.length <= digits) return;
  const allowed = digits === 0 ? 'none' : `at most ${digits}`;
  throw new AmountTooPrecise(`has ${fraction.length} digits after the point; ${currency} has ${allowed}`);
}

/**
 * Sets the currency of a report's money: the currency that the report names, else that of the order, else that of the
 * platform. Throws AmountTooPrecise.
 */
export function toReportWithCurrency(
  { money, outcome, cause, occurredAt, orderRef }: OrderReport,
  { events }: Pick<ClientState, 'events'>,
  known: KnownOrder | null,
  platformCurrency: string,
): ReportWithOrderRef {
  const report = { outcome, cause, occurredAt, orderRef };
  if (money === undefined) return report;
  const settled = known === null ? undefined : findSettledAmount(known);
  const ofOrder = parseMoney(settled ?? findOrderAmount(events, toShortHash(orderRef)) ?? '');
  const currency = money.currency ?? ofOrder?.currency ?? platformCurrency;
  requireMinorUnits(money.amount, currency);
  return { ...report, amount: formatMoney(money.amount, currency) };
}

/**
 * Builds the journal's part of an outcome: the outcome that is valid now, the report if it differs from that outcome,
 * and the amounts.
 */
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
  const settled = findSettledAmount(known);
  return {
    order,
    ...(isDeepStrictEqual(order, report) ? {} : { report }),
    ...(amount === undefined ? {} : { amount }),
    ...(settled === undefined || settled === amount ? {} : { settledAmount: settled }),
    ...(turnedAway === undefined ? {} : { turnedAway }),
  };
}
