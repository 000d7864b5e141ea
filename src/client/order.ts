import { epochMs, meaning, nullable, type Shape, shape, yesNo } from '../shapes.ts';

export const OUTCOMES = ['PAID', 'UNPAID'] as const;

export type Outcome = (typeof OUTCOMES)[number];

export const outcome = meaning<Outcome>(
  { PAID: 'the money arrived', UNPAID: 'it did not, or was taken back' },
  'The final result of the order',
);

export const OUTCOME_CAUSES = ['DECLINED', 'EXPIRED', 'CANCELLED', 'TECHNICAL', 'REVERSED'] as const;

export type OutcomeCause = (typeof OUTCOME_CAUSES)[number];

export const outcomeCause = meaning<OutcomeCause>(
  {
    DECLINED: 'the payment was refused',
    EXPIRED: 'the payer let the time run out',
    CANCELLED: 'the payer gave up',
    TECHNICAL: 'nobody knows, and it counts neither way',
    REVERSED: 'it was paid and taken back',
  },
  'Why it is unpaid',
);

export const OrderOutcomeSchema = shape('The result of an order as the platform reports it', {
  outcome,
  cause: nullable(outcomeCause),
  occurredAt: epochMs('When the order became final, as reported'),
});

export type OrderOutcome = Shape<typeof OrderOutcomeSchema>;

/**
 * How far an order came: a requisite was shown for it, it was asked for and never granted, or no request for it is
 * known.
 */
export type Exposure = 'granted' | 'turnedAway' | 'notAsked';

/** Of an order that was asked for. */
export function exposureOf(granted: boolean): Exposure {
  return granted ? 'granted' : 'turnedAway';
}

export const turnedAway = yesNo(
  'The order was asked for and never granted, so UNPAID of it counts neither way; absent: it was not so',
);

/** A report as it arrives; `occurredAt` is null when it does not say when. */
export type ReportedOutcome = Omit<OrderOutcome, 'occurredAt'> & { readonly occurredAt: number | null };

/**
 * What is known of one order: its current outcome, since when it holds, and the different reports behind it. The same
 * set of reports gives the same result, in whatever order they arrive.
 */
export interface KnownOrder extends OrderOutcome {
  /** It was asked for and not granted, neither before its first report nor since. */
  readonly turnedAway?: true;
  /** Oldest first; absent when there is only one report. */
  readonly reports?: readonly OrderOutcome[];
  /** What was asked for it when the report that counts came, like `25.5 EUR`; absent when that was not known. */
  readonly amount?: string;
}

/**
 * How many different reports about one order are remembered: the first, and the newest of the others. Keeping the
 * first means that repeats never move the time since which the outcome holds.
 */
export const ORDER_REPORTS_MAX = 16;

/**
 * Of two reports with the same time the one further down this list counts, because that is how orders usually go: a
 * failure turns out to be technical, a failed order gets paid, a payment is taken back.
 */
const RESULTS_WEAKEST_FIRST = [
  'UNPAID',
  'EXPIRED',
  'CANCELLED',
  'DECLINED',
  'TECHNICAL',
  'PAID',
  'REVERSED',
] as const satisfies readonly (Outcome | OutcomeCause)[];

/**
 * What still counts of an order. A grant reopens one that was turned away: earlier reports count for nothing, unless
 * it was paid all the same.
 */
export function stillKnown(known: KnownOrder | null, exposure: Exposure): KnownOrder | null {
  if (known?.turnedAway !== true || exposure !== 'granted') return known;
  const { turnedAway: _, ...newlyGranted } = known;
  return known.outcome === 'PAID' ? newlyGranted : null;
}

/**
 * The order with another report. The latest outcome holds, since the first of its reports that no other outcome
 * follows, so that a repeat changes nothing. The first report settles whether the order was turned away. Gives
 * `known` itself when the report is known already.
 */
export function withReport(known: KnownOrder | null, report: OrderOutcome, exposure: Exposure): KnownOrder {
  const before = reportsOf(known);
  if (known !== null && before.some((other) => inTime(other, report) === 0)) return known;
  const reports = [...before, report].toSorted(inTime);
  if (reports.length > ORDER_REPORTS_MAX) reports.splice(1, 1);
  const turnedAway = known === null ? exposure === 'turnedAway' : known.turnedAway === true;
  return {
    ...holding(reports, report),
    ...(reports.length === 1 ? {} : { reports }),
    ...(turnedAway ? { turnedAway } : {}),
  };
}

/**
 * Gives a report its time. One without a time, or with one after `latestMs`, counts as of `latestMs`, and after all
 * earlier reports of its order. When it repeats the current outcome, it keeps that outcome's time.
 */
export function dated(
  known: KnownOrder | null,
  { outcome, cause, occurredAt }: ReportedOutcome,
  latestMs: number,
): OrderOutcome {
  if (occurredAt !== null && occurredAt <= latestMs) return { outcome, cause, occurredAt };
  if (known !== null && sameOutcome({ outcome, cause }, known))
    return { outcome, cause, occurredAt: known.occurredAt };
  const newestMs = reportsOf(known).at(-1)?.occurredAt ?? Number.NEGATIVE_INFINITY;
  return { outcome, cause, occurredAt: newestMs < latestMs ? latestMs : newestMs + 1 };
}

/** What a report says, without the time. */
export type Result = Pick<OrderOutcome, 'outcome' | 'cause'>;

export function sameOutcome(a: Result, b: Result): boolean {
  return rank(a) === rank(b);
}

/**
 * Whether a report is of a new payment. Reports of PAID are about one payment unless another outcome happened between
 * them.
 */
export function isNewPayment(known: KnownOrder | null, report: OrderOutcome): boolean {
  if (report.outcome !== 'PAID') return false;
  const reports = reportsOf(known);
  const before = reports.findLastIndex((other) => inTime(other, report) <= 0);
  return [reports[before], reports[before + 1]].every((other) => other?.outcome !== 'PAID');
}

function reportsOf(known: KnownOrder | null): readonly OrderOutcome[] {
  if (known === null) return [];
  const { outcome, cause, occurredAt, reports = [{ outcome, cause, occurredAt }] } = known;
  return reports;
}

/** The first report of the last run of equal ones; `any` when there are no reports. */
function holding(reports: readonly OrderOutcome[], any: OrderOutcome): OrderOutcome {
  const last = reports.at(-1) ?? any;
  const lastOther = reports.findLastIndex((report) => !sameOutcome(report, last));
  return reports[lastOther + 1] ?? last;
}

function inTime(a: OrderOutcome, b: OrderOutcome): number {
  return a.occurredAt - b.occurredAt || rank(a) - rank(b);
}

/** The index of a result in RESULTS_WEAKEST_FIRST. */
export function rank({ outcome, cause }: Result): number {
  return RESULTS_WEAKEST_FIRST.indexOf(outcome === 'PAID' ? outcome : (cause ?? outcome));
}

/**
 * The stored form of an order, short because there is one for every order: the rank of its result, since when it
 * holds, and after a comma its amount. Several reports follow, each as its rank and its distance in ms to that time.
 * Numbers are in base 36.
 */
const ORDER = /^([0-9a-e])(-?[0-9a-z]+)(?:,|$)/;

/** Added to the rank of an order's result. */
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

/** Each report as its rank and its distance in ms to `occurredAt`. */
export function encodeReports(reports: readonly OrderOutcome[], occurredAt: number): readonly number[] {
  return reports.flatMap((report) => [rank(report), report.occurredAt - occurredAt]);
}

/** Throws when the text is no stored order. */
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

/** The result with this rank; throws for any other number. */
export function resultOf(code: number | undefined): Result {
  const result = RESULTS_WEAKEST_FIRST[code ?? -1];
  if (result === undefined) throw new Error(`an order has the unknown result ${code}`);
  if (result === 'PAID') return { outcome: 'PAID', cause: null };
  return { outcome: 'UNPAID', cause: result === 'UNPAID' ? null : result };
}
