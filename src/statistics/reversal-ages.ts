/** Payments by age in whole days: how many were taken back at that age, and how many left observation, those among them. */
export type AgedPayments = readonly {
  readonly day: number;
  readonly events: number;
  readonly left: number;
}[];

/** Fewer reversals tell nothing about how long they take. */
const EVENTS_MIN = 10;

/** So much of what is ever reversed has come when a payment is called mature. */
const MATURE_SHARE = 0.95;

/** Reversals may still be coming unless payments were watched for this many times as long as they took. */
const WATCHED_RATIO = 1.2;

/** The oldest payments are few, and one of them would speak for all later ages. */
const AT_RISK_MIN = 10;

interface Survival {
  readonly day: number;
  /** Share of the payments that still hold after the day. */
  readonly holding: number;
}

/**
 * The share of payments that hold after each age at which one was reversed, by the product-limit estimate, which takes
 * payments that are still young for as long as they were seen (Kaplan and Meier, Nonparametric estimation from
 * incomplete observations, 1958).
 */
function survival(payments: AgedPayments): readonly Survival[] {
  const days = [...Map.groupBy(payments, ({ day }) => day)].toSorted(([a], [b]) => a - b);
  let atRisk = payments.reduce((sum, { left }) => sum + left, 0);
  let holding = 1;
  return days.flatMap(([day, some]) => {
    const events = some.reduce((sum, one) => sum + one.events, 0);
    holding *= atRisk === 0 ? 1 : 1 - events / atRisk;
    atRisk -= some.reduce((sum, { left }) => sum + left, 0);
    return events === 0 ? [] : [{ day, holding }];
  });
}

/** The age in days by which 95 % of the reversals have come; null for too few, or while they may still be coming. */
export function maturityOf(payments: AgedPayments): number | null {
  const events = payments.reduce((sum, one) => sum + one.events, 0);
  if (events < EVENTS_MIN) return null;
  const curve = survival(payments);
  const reversed = 1 - (curve.at(-1)?.holding ?? 1);
  const reached = curve.find(({ holding }) => 1 - holding >= MATURE_SHARE * reversed);
  if (reached === undefined) return null;
  const days = reached.day + 1;
  const watched = payments.reduce((sum, { day, left }) => sum + (day >= WATCHED_RATIO * days ? left : 0), 0);
  return watched < AT_RISK_MIN ? null : days;
}

/** How many of some payments that hold at their ages are to be expected reversed later; null without any payment to tell. */
export function expectedEvents(
  payments: AgedPayments,
  young: readonly { readonly day: number; readonly payments: number }[],
): number | null {
  if (payments.length === 0) return null;
  const curve = survival(payments);
  const end = curve.at(-1)?.holding ?? 1;
  const holdingAt = (day: number) => curve.findLast((one) => one.day < day)?.holding ?? 1;
  return young.reduce((sum, { day, payments: some }) => {
    const now = holdingAt(day);
    return sum + (now === 0 ? 0 : some * (1 - end / now));
  }, 0);
}
