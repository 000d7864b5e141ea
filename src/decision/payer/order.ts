import { Type } from '#base/json-schema.ts';
import { describedChoice, epochMs, nullable, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import { compareAmounts, formatMoney, type Money, parseMoney, subtractAmounts } from './amount.ts';
import type { ClientKey } from './client-key.ts';

export const OUTCOMES = ['PAID', 'UNPAID'] as const;

/** PAID or UNPAID. A reversal is UNPAID with the cause REVERSED. */
export type Outcome = (typeof OUTCOMES)[number];

export const outcomeSchema = describedChoice<Outcome>(
  { PAID: 'the money arrived', UNPAID: 'it did not, or was taken back' },
  'The final result of the order',
);

export const OUTCOME_CAUSES = ['DECLINED', 'EXPIRED', 'CANCELLED', 'TECHNICAL', 'REVERSED'] as const;

export type OutcomeCause = (typeof OUTCOME_CAUSES)[number];

export const outcomeCauseSchema = describedChoice<OutcomeCause>(
  {
    DECLINED: 'the payment was refused',
    EXPIRED: 'the payer let the time run out',
    CANCELLED: 'the payer gave up',
    TECHNICAL: 'nobody knows, and it counts neither way',
    REVERSED: 'it was paid and taken back, whole or in part',
  },
  'Why it is unpaid',
);

const RESULT = {
  outcome: outcomeSchema,
  cause: nullable(outcomeCauseSchema),
  occurredAt: epochMs('When that happened, as reported'),
  undated: Type.Optional(
    yesNo(
      'The payment was reported without a moment: occurredAt is when the report arrived, and it is never later than a reversal; absent: it is not so',
    ),
  ),
};

/** The present result of an order. */
export const OrderOutcomeSchema = shape('The current outcome of an order', {
  ...RESULT,
  awaitsPayment: Type.Optional(
    yesNo(
      'Some money was reported taken back, and the payment was not reported yet: the order counts neither way; absent: it is not so',
    ),
  ),
});

export type OrderOutcome = ValueOf<typeof OrderOutcomeSchema>;

/** One report about an order, with its moment: the reported one, or else the time at which the report arrived. */
export const DatedReportSchema = shape('A report about an order', {
  ...RESULT,
  amount: Type.Optional(
    plainText(
      'All that was captured (PAID) or taken back (REVERSED) so far, like "25.5 EUR"; absent: what was asked for, or all of it',
    ),
  ),
});

export type DatedReport = ValueOf<typeof DatedReportSchema>;

/**
 * How far an order came: `granted` if a requisite was shown for it, `turnedAway` if all requests for it were refused,
 * and `notAsked` if no request for it is known.
 */
export type OrderStage = 'granted' | 'turnedAway' | 'notAsked';

/** Returns the stage of an order that was asked for. */
export function toAskedOrderStage(granted: boolean): OrderStage {
  return granted ? 'granted' : 'turnedAway';
}

export const turnedAwaySchema = yesNo(
  'The order was asked for and never granted, so UNPAID of it counts neither way; absent: it was not so',
);

/** A report as it arrives. `occurredAt` is null if the report does not say a moment. */
export interface ReportedOutcome extends ReportedResult {
  readonly occurredAt: number | null;
  /** The text of `formatMoney`. Only a report of PAID or REVERSED has one. */
  readonly amount?: string;
}

/**
 * What is known of one order: its result now, since when it has this result, and the reports behind the result. The
 * same set of dated reports gives the same result, in whatever sequence they arrive.
 */
export interface KnownOrder extends OrderOutcome {
  /** Present if the order was asked for, and no requisite was shown for it before its first report or since. */
  readonly turnedAway?: true;
  /** The reports in the sequence of `compareReports`. Missing if the only report says no more than the result. */
  readonly reports?: readonly DatedReport[];
  /** The amount that was asked for when the deciding report came, like `25.5 EUR`. Missing if it is not known. */
  readonly amount?: string;
}

/** An order and the client that it belongs to. */
export interface ClientOrder {
  readonly client: ClientKey;
  readonly orderRef: string;
}

/** What an archive contains about an order. */
export interface ArchivedOrder {
  /** Null if nothing was ever reported of the order. */
  readonly known: KnownOrder | null;
  readonly orderStage: OrderStage;
}

/** How many reports about one order are remembered. */
export const ORDER_REPORTS_MAX = 16;

/** The result in a report, without the moment and the amount. */
export interface ReportedResult {
  readonly outcome: Outcome;
  readonly cause: OutcomeCause | null;
}

/** Results by strength. Of two failures at the same moment, the one further down this list gives the result. */
export const RESULTS_WEAKEST_FIRST = [
  'UNPAID',
  'EXPIRED',
  'CANCELLED',
  'DECLINED',
  'TECHNICAL',
  'PAID',
  'REVERSED',
] as const satisfies readonly (Outcome | OutcomeCause)[];

/** Returns the index of a result in RESULTS_WEAKEST_FIRST. */
export function rankResult({ outcome, cause }: ReportedResult): number {
  return RESULTS_WEAKEST_FIRST.indexOf(outcome === 'PAID' ? outcome : (cause ?? outcome));
}

export function isSameResult(a: ReportedResult, b: ReportedResult): boolean {
  return rankResult(a) === rankResult(b);
}

export function isReversal({ cause }: Pick<ReportedResult, 'cause'>): boolean {
  return cause === 'REVERSED';
}

function isPayment({ outcome }: Pick<ReportedResult, 'outcome'>): boolean {
  return outcome === 'PAID';
}

/**
 * Whether a report says that the order was not paid this time. Such a report says nothing about a payment of the
 * order before or after it.
 */
export function isFailure(result: ReportedResult): boolean {
  return !isPayment(result) && !isReversal(result);
}

/**
 * Removes the failures of an order that was turned away and is granted now: nobody could pay it before, so its
 * failures say nothing. Returns null if no report remains. Returns other orders unchanged.
 */
export function forgetFailuresBeforeAttempt(
  known: KnownOrder | null,
  orderStage: OrderStage,
): KnownOrder | null {
  if (known?.turnedAway !== true || orderStage !== 'granted') return known;
  const { amount } = known;
  const reports = listReports(known).filter((report) => !isFailure(report));
  return reports.length === 0 ? null : buildOrder(reports, { amount, turnedAway: false });
}

/**
 * Adds a report to an order. `asked` is the amount that was asked for, in the form of `formatMoney`. Returns `known`
 * itself if the report is a repeat.
 */
export function addReport(
  known: KnownOrder | null,
  report: DatedReport,
  orderStage: OrderStage,
  asked: string | undefined,
): KnownOrder {
  const before = listReports(known);
  if (known !== null && before.some((other) => isSameReport(other, report))) return known;
  const reports = removeSpareReport([...before, report].toSorted(compareReports), asked);
  // The first report determines whether the order was turned away.
  const turnedAway = known === null ? orderStage === 'turnedAway' : known.turnedAway === true;
  return buildOrder(reports, { amount: asked, turnedAway });
}

/** Changes the amount that was asked for an order. */
export function setAskedAmount(known: KnownOrder, asked: string | undefined): KnownOrder {
  if (known.amount === asked) return known;
  return buildOrder(listReports(known), { amount: asked, turnedAway: known.turnedAway === true });
}

function buildOrder(
  reports: readonly DatedReport[],
  { amount, turnedAway }: { readonly amount: string | undefined; readonly turnedAway: boolean },
): KnownOrder {
  const [only] = reports;
  const isPlain = reports.length === 1 && only?.amount === undefined;
  return {
    ...getPresentResult(reports, amount),
    ...(isPlain ? {} : { reports }),
    ...(turnedAway ? { turnedAway } : {}),
    ...(amount === undefined ? {} : { amount }),
  };
}

/**
 * Dates a report with its own moment, or with `nowMs` if it has no moment or a later one. In the latter case, the
 * report is a repeat if a known report has the same result and amount. Then the known report is returned.
 */
export function dateReport(
  known: KnownOrder | null,
  { outcome, cause, occurredAt, amount }: ReportedOutcome,
  nowMs: number,
): DatedReport {
  const statedResult = { outcome, cause, ...(amount === undefined ? {} : { amount }) };
  if (occurredAt !== null && occurredAt <= nowMs) return { ...statedResult, occurredAt };
  const repeated = listReports(known).findLast(
    (other) => isSameResult(other, statedResult) && other.amount === statedResult.amount,
  );
  if (repeated !== undefined) return repeated;
  return { ...statedResult, occurredAt: nowMs, ...(isPayment(statedResult) ? { undated: true } : {}) };
}

/** Lists the remembered reports of an order in the sequence of `compareReports`. */
export function listReports(known: KnownOrder | null): readonly DatedReport[] {
  if (known === null) return [];
  const { outcome, cause, occurredAt, undated, reports } = known;
  return reports ?? [{ outcome, cause, occurredAt, ...(undated ? { undated } : {}) }];
}

/**
 * Compares two reports by moment and then by strength. If both are equal, an undated report comes before a dated one,
 * and the amount decides last.
 */
export function compareReports(a: DatedReport, b: DatedReport): number {
  return (
    a.occurredAt - b.occurredAt ||
    rankResult(a) - rankResult(b) ||
    Number(b.undated ?? false) - Number(a.undated ?? false) ||
    compareTexts(a.amount ?? '', b.amount ?? '')
  );
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Whether two reports are equal, also in `undated`, because only a dated payment undoes an earlier reversal. */
function isSameReport(a: DatedReport, b: DatedReport): boolean {
  return compareReports(a, b) === 0;
}

/** Returns the amount that was paid and kept, or taken back, or asked for. Returns undefined if it is not known. */
export function findSettledAmount(known: KnownOrder): string | undefined {
  const { reports, amount } = known;
  if (reports === undefined || isFailure(known) || known.awaitsPayment) return amount;
  const payment = readPayment(reports, amount);
  const { captured } = payment;
  if (captured === null) return undefined;
  if (!isPayment(known)) return formatMoney(captured.amount, captured.currency);
  return formatMoney(subtractAmounts(captured.amount, findTakenBack(payment)), captured.currency);
}

/**
 * Returns when the amount that is taken back of an order reached its present size (epoch ms). Returns null if nothing
 * is taken back. A reversal took nothing back if a later payment is known, or if its payment was not reported yet.
 */
export function findReversedAt(known: KnownOrder): number | null {
  if (known.awaitsPayment) return null;
  if (isReversal(known)) return known.occurredAt;
  if (!isPayment(known) || known.reports === undefined) return null;
  const payment = readPayment(known.reports, known.amount);
  const all = findTakenBack(payment);
  const first = listPartialReversals(payment).find(({ money }) => compareAmounts(money.amount, all) === 0);
  return first === undefined || compareAmounts(all, '0') === 0 ? null : first.occurredAt;
}

/** Whether a report states the amount that is taken back, while the order is still paid. */
export function isPartialReversalInForce(known: KnownOrder, report: DatedReport): boolean {
  if (!isPayment(known) || !isReversal(report)) return false;
  const payment = readPayment(listReports(known), known.amount);
  const taken = parseMoney(report.amount ?? '');
  const isComparable = taken !== null && taken.currency === payment.captured?.currency;
  return isComparable && compareAmounts(taken.amount, findTakenBack(payment)) === 0;
}

/** The payment of an order, read from the order's reports. */
interface Payment {
  readonly payments: readonly DatedReport[];
  readonly reversals: readonly DatedReport[];
  /**
   * The largest amount that was reported as captured. Before a payment is reported it is the amount that was asked
   * for. Null if it is not known.
   */
  readonly captured: Money | null;
  /** The newest reversal of the whole payment. */
  readonly lastFullReversal: DatedReport | null;
}

function readPayment(reports: readonly DatedReport[], asked: string | undefined): Payment {
  const payments = reports.filter(isPayment);
  const reversals = reports.filter(isReversal);
  const captured = findCaptured(payments, asked);
  const isPaid = payments.length > 0;
  const lastFullReversal = reversals.findLast((one) => isFullReversal(one, captured, isPaid)) ?? null;
  return { payments, reversals, captured, lastFullReversal };
}

/**
 * Finds the captured amount. A payment without an amount captures the amount that was asked for. When reports are in
 * several currencies, the newest report decides which currency is used.
 */
function findCaptured(payments: readonly DatedReport[], asked: string | undefined): Money | null {
  const amounts = payments
    .map(({ amount = asked }) => parseMoney(amount ?? ''))
    .filter((one) => one !== null);
  const newest = amounts.at(-1) ?? (payments.length === 0 ? parseMoney(asked ?? '') : null);
  return amounts.reduce((most, one) => (isLess(most, one) ? one : most), newest);
}

function isLess(one: Money | null, other: Money): boolean {
  return one?.currency === other.currency && compareAmounts(one.amount, other.amount) < 0;
}

/**
 * Whether a reversal takes back the whole payment. A reversal whose amount cannot be compared takes back all of a
 * reported payment, and nothing of a payment that was not reported yet.
 */
function isFullReversal({ amount }: DatedReport, captured: Money | null, isPaid: boolean): boolean {
  if (amount === undefined) return true;
  const taken = parseMoney(amount);
  if (captured === null || taken === null || taken.currency !== captured.currency) return isPaid;
  return compareAmounts(taken.amount, captured.amount) >= 0;
}

/** Returns how much of the payment was taken back so far, after the last reversal of the whole payment. */
function findTakenBack(payment: Payment): string {
  return listPartialReversals(payment).reduce(
    (most, { money }) => (compareAmounts(money.amount, most) > 0 ? money.amount : most),
    '0',
  );
}

/**
 * Lists the reversals of parts of the payment. Reversals up to the last one of the whole payment are left out,
 * because that one ended the payment before it.
 */
function listPartialReversals({ reversals, lastFullReversal, captured }: Payment) {
  return reversals.flatMap(({ occurredAt, amount }) => {
    const money = parseMoney(amount ?? '');
    const isOver = lastFullReversal !== null && occurredAt <= lastFullReversal.occurredAt;
    return isOver || money === null || money.currency !== captured?.currency ? [] : [{ occurredAt, money }];
  });
}

/** Returns the present result, with the time since which it has been the result. */
function getPresentResult(reports: readonly DatedReport[], asked: string | undefined): OrderOutcome {
  const payment = readPayment(reports, asked);
  const { payments, reversals, lastFullReversal } = payment;
  const standing = payments.find((report) => isLaterThanReversal(report, lastFullReversal));
  if (standing !== undefined) return toOrderOutcome(standing);
  if (lastFullReversal !== null) return toOrderOutcome(findFirstReversal(payment, lastFullReversal));
  const failure = findPresentFailure(reports.filter(isFailure));
  if (failure !== null) return toOrderOutcome(failure);
  const [waiting] = reversals;
  if (waiting === undefined) throw new Error('an order without a report has no result');
  return { ...toOrderOutcome(waiting), awaitsPayment: true };
}

function toOrderOutcome({ outcome, cause, occurredAt, undated }: DatedReport): OrderOutcome {
  return { outcome, cause, occurredAt, ...(undated ? { undated } : {}) };
}

/**
 * Whether a payment is later than a reversal, so that the order is paid. Only a payment with a reported moment can be
 * later. If both have the same moment, the reversal gives the result.
 */
function isLaterThanReversal({ occurredAt, undated }: DatedReport, reversal: DatedReport | null): boolean {
  return reversal === null || (undated !== true && occurredAt > reversal.occurredAt);
}

function findFirstReversal({ payments, reversals, captured }: Payment, last: DatedReport): DatedReport {
  const paidAt = payments.findLast(({ undated }) => undated !== true)?.occurredAt ?? Number.NEGATIVE_INFINITY;
  const isPaid = payments.length > 0;
  return reversals.find((one) => isFullReversal(one, captured, isPaid) && one.occurredAt >= paidAt) ?? last;
}

/**
 * Returns the failure that gives the result: the latest one, dated by the earliest of the last failures that all have
 * its result.
 */
function findPresentFailure(failures: readonly DatedReport[]): DatedReport | null {
  const last = failures.at(-1);
  if (last === undefined) return null;
  const lastOther = failures.findLastIndex((report) => !isSameResult(report, last));
  return failures[lastOther + 1] ?? last;
}

/**
 * Removes a report when there are more than ORDER_REPORTS_MAX: the oldest one that is neither the first nor needed
 * for the result, whatever is reported next.
 */
function removeSpareReport(
  reports: readonly DatedReport[],
  asked: string | undefined,
): readonly DatedReport[] {
  if (reports.length <= ORDER_REPORTS_MAX) return reports;
  const needed = collectNeededReports(reports, asked);
  const spare = reports.findIndex((report, place) => place > 0 && !needed.has(report));
  return reports.toSpliced(spare, 1);
}

/**
 * Collects the reports that must stay: the first, the newest and the largest of payments and of reversals, and the
 * newest failure.
 */
function collectNeededReports(
  reports: readonly DatedReport[],
  asked: string | undefined,
): ReadonlySet<DatedReport | undefined> {
  const payments = reports.filter(isPayment);
  const reversals = reports.filter(isReversal);
  return new Set([
    payments.at(0),
    payments.at(-1),
    payments.findLast(({ undated }) => undated !== true),
    findLargest(payments, asked),
    reversals.at(0),
    reversals.at(-1),
    reversals.findLast(({ amount }) => amount === undefined),
    findLargest(reversals, undefined),
    reports.findLast(isFailure),
  ]);
}

function findLargest(reports: readonly DatedReport[], asked: string | undefined): DatedReport | undefined {
  const amountOf = ({ amount = asked }: DatedReport) => parseMoney(amount ?? '')?.amount ?? '0';
  return reports.reduce<DatedReport | undefined>((most, one) => {
    return most !== undefined && compareAmounts(amountOf(most), amountOf(one)) >= 0 ? most : one;
  }, undefined);
}
