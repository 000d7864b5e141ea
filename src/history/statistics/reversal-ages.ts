/**
 * Payments by age in whole days. `events` payments were reversed at that age. The observation of `left` payments
 * ended at that age, because they were reversed or because no later time is known.
 */
type AgedPayments = readonly {
  readonly day: number;
  readonly events: number;
  readonly left: number;
}[];

/** The fewest reversals from which the time of reversals is estimated. */
const EVENTS_MIN = 10;

/** A payment is mature at the age by which this share of all reversals has come. */
const MATURE_SHARE = 0.95;

/**
 * When the value of clients is compared, a payment counts as lasting at the age by which this share of the reversals
 * has come.
 */
const LASTING_SHARE = 0.9;

/**
 * Payments must be watched for this many times the age of maturity. Otherwise further reversals may still be coming.
 */
const WATCHED_RATIO = 1.2;

/**
 * The fewest payments that must be watched that long. If there are fewer, single old payments would decide for all
 * later ages.
 */
const AT_RISK_MIN = 10;

interface Survival {
  readonly day: number;
  /** The share of payments that are not reversed by the end of that day. */
  readonly holding: number;
  /** The cumulative hazard: how many reversals are expected of a payment that was watched through that day. */
  readonly passed: number;
}

/**
 * Computes the share of payments that are not reversed by each age at which a payment was reversed. This is the
 * product-limit estimate, which uses young payments for as long as they were observed (Kaplan and Meier,
 * Nonparametric estimation from incomplete observations, 1958).
 */
function computeSurvival(payments: AgedPayments): readonly Survival[] {
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
 * Finds the age in days by which 95 % of the reversals have come. Returns null if there are too few reversals, or if
 * more may be coming.
 */
export function findMaturityDays(payments: AgedPayments): number | null {
  const days = findAge(payments, MATURE_SHARE, EVENTS_MIN);
  if (days === null) return null;
  const watched = payments.reduce((sum, { day, left }) => sum + (day >= WATCHED_RATIO * days ? left : 0), 0);
  return watched < AT_RISK_MIN ? null : days;
}

/**
 * Finds the age in days by which 90 % of the observed reversals had come, however few there are. Returns 0 if there
 * are no reversals.
 */
export function findLastingAgeDays(payments: AgedPayments): number {
  return findAge(payments, LASTING_SHARE, 1) ?? 0;
}

function findAge(payments: AgedPayments, share: number, eventsMin: number): number | null {
  const events = payments.reduce((sum, one) => sum + one.events, 0);
  if (events < eventsMin) return null;
  const curve = computeSurvival(payments);
  const reversed = 1 - (curve.at(-1)?.holding ?? 1);
  const reached = curve.find(({ holding }) => 1 - holding >= share * reversed);
  return reached === undefined ? null : reached.day + 1;
}

/** The risk of reversal of payments at one age. */
export interface ReversalRisk {
  /** The age in whole days. */
  readonly day: number;
  /** How many reversals are expected of a payment that was watched up to this age. */
  readonly passed: number;
  /** The chance that a payment which is not reversed at this age will be reversed later. */
  readonly ahead: number;
}

/** Estimates the risk of reversal at each age from the observed payments. Returns null if there are no payments. */
export function estimateReversalRisks(
  payments: AgedPayments,
  ages: Iterable<number>,
): readonly ReversalRisk[] | null {
  if (payments.length === 0) return null;
  const curve = computeSurvival(payments);
  const end = curve.at(-1)?.holding ?? 1;
  return [...new Set(ages)].map((day) => {
    const holding = curve.findLast((one) => one.day < day)?.holding ?? 1;
    const passed = curve.findLast((one) => one.day <= day)?.passed ?? 0;
    return { day, passed, ahead: holding === 0 ? 0 : 1 - end / holding };
  });
}

/** Estimates how many of the young payments will be reversed. Returns null if there are no earlier payments. */
export function estimateExpectedReversals(
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

/** Sums over payers that compare how many of their payments were reversed with how many were expected to be. */
export interface ReversalErrorSums {
  /** The sum of squares of reversals minus expected reversals. */
  readonly errors: number;
  readonly expected: number;
  /** The sum of squares of expected reversals. */
  readonly squares: number;
}

/**
 * Estimates how much payers differ in how often they reverse payments. Each payer's rate is the common rate times a
 * factor with mean 1. The result is the variance of that factor, by the method of moments (a shared frailty; Clayton,
 * A model for association in bivariate life tables, 1978). It is 0 if payers do not differ beyond chance.
 */
export function estimateFrailty({ errors, expected, squares }: ReversalErrorSums): number {
  return squares === 0 ? 0 : Math.max(0, (errors - expected) / squares);
}
