/**
 * Payments by age in whole days: how many were reversed at that age (`events`), and how many left observation,
 * reversals included.
 */
type AgedPayments = readonly {
  readonly day: number;
  readonly events: number;
  readonly left: number;
}[];

/** Fewer reversals say nothing about how long they take. */
const EVENTS_MIN = 10;

/** A payment is mature when this share of all reversals has come. */
const MATURE_SHARE = 0.95;

/** After this share of the reversals a payment counts as lasting where values of clients are compared. */
const LASTING_SHARE = 0.9;

/** Reversals may still be coming unless payments were watched for this many times as long as they took. */
const WATCHED_RATIO = 1.2;

/** Otherwise one of the few oldest payments would decide for all later ages. */
const AT_RISK_MIN = 10;

interface Survival {
  readonly day: number;
  /** Share of the payments not yet reversed after that day. */
  readonly holding: number;
  /** How many reversals a payment that was watched through that day was to be expected to have: the cumulative hazard. */
  readonly passed: number;
}

/**
 * The share of payments that still hold after each age at which one was reversed: the product-limit estimate, which
 * uses young payments for as long as they were observed (Kaplan and Meier, Nonparametric estimation from incomplete
 * observations, 1958).
 */
function survival(payments: AgedPayments): readonly Survival[] {
  const days = [...Map.groupBy(payments, ({ day }) => day)].toSorted(([a], [b]) => a - b);
  let atRisk = payments.reduce((sum, { left }) => sum + left, 0);
  let [holding, passed] = [1, 0];
  return days.flatMap(([day, some]) => {
    const events = some.reduce((sum, one) => sum + one.events, 0);
    const hazard = atRisk === 0 ? 0 : events / atRisk;
    holding *= 1 - hazard;
    passed += hazard;
    atRisk -= some.reduce((sum, { left }) => sum + left, 0);
    return events === 0 ? [] : [{ day, holding, passed }];
  });
}

/**
 * The age in days by which 95 % of the reversals have come; null with too few reversals, or while more may be coming.
 */
export function findMaturityDays(payments: AgedPayments): number | null {
  const days = ageAt(payments, MATURE_SHARE, EVENTS_MIN);
  if (days === null) return null;
  const watched = payments.reduce((sum, { day, left }) => sum + (day >= WATCHED_RATIO * days ? left : 0), 0);
  return watched < AT_RISK_MIN ? null : days;
}

/** The age in days by which 90 % of the reversals that were seen had come, also of few; 0 where none came. */
export function findLastingAfterDays(payments: AgedPayments): number {
  return ageAt(payments, LASTING_SHARE, 1) ?? 0;
}

function ageAt(payments: AgedPayments, share: number, eventsMin: number): number | null {
  const events = payments.reduce((sum, one) => sum + one.events, 0);
  if (events < eventsMin) return null;
  const curve = survival(payments);
  const reversed = 1 - (curve.at(-1)?.holding ?? 1);
  const reached = curve.find(({ holding }) => 1 - holding >= share * reversed);
  return reached === undefined ? null : reached.day + 1;
}

/** What payments of an age have behind them and before them. */
export interface ReversalRisk {
  /** In whole days. */
  readonly day: number;
  /** How many reversals a payment that was watched for so long was to be expected to have. */
  readonly passed: number;
  /** The chance that a payment which still holds at that age will be reversed. */
  readonly ahead: number;
}

/** The risk at each of some ages, by the payments that were watched; null without any. */
export function estimateReversalRisks(
  payments: AgedPayments,
  ages: Iterable<number>,
): readonly ReversalRisk[] | null {
  if (payments.length === 0) return null;
  const curve = survival(payments);
  const end = curve.at(-1)?.holding ?? 1;
  return [...new Set(ages)].map((day) => {
    const holding = curve.findLast((one) => one.day < day)?.holding ?? 1;
    const passed = curve.findLast((one) => one.day <= day)?.passed ?? 0;
    return { day, passed, ahead: holding === 0 ? 0 : 1 - end / holding };
  });
}

/** How many of the given young payments will be reversed, as an expectation; null without earlier payments. */
export function estimateExpectedEvents(
  payments: AgedPayments,
  young: readonly { readonly day: number; readonly payments: number }[],
): number | null {
  const risks = estimateReversalRisks(
    payments,
    young.map(({ day }) => day),
  );
  if (risks === null) return null;
  const ahead = new Map(risks.map((risk) => [risk.day, risk.ahead]));
  return young.reduce((sum, { day, payments: some }) => sum + some * (ahead.get(day) ?? 0), 0);
}

/** Sums over payers, of how many of their payments were reversed and how many were to be expected. */
export interface PayersSpread {
  /** Of the squares of what was reversed beyond expectation. */
  readonly errors: number;
  readonly expected: number;
  /** Of the squares of what was expected of each. */
  readonly squares: number;
}

/**
 * By how much payers differ in how often they take payments back: the variance of a factor of each payer around 1, by the
 * moments of what was reversed (a shared frailty; Clayton, A model for association in bivariate life tables, 1978). 0 where
 * they do not differ beyond chance.
 */
export function estimateFrailty({ errors, expected, squares }: PayersSpread): number {
  return squares === 0 ? 0 : Math.max(0, (errors - expected) / squares);
}
