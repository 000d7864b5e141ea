import type { Estimate } from './intervals.ts';

/** What is kept of one value per client: enough for the mean and its error. */
export type Moments = Readonly<Record<'clients' | 'sum' | 'squares', number>>;

export const NO_MOMENTS: Moments = { clients: 0, sum: 0, squares: 0 };

export function meanOf({ clients, sum }: Moments): number {
  return clients === 0 ? 0 : sum / clients;
}

/** With fewer clients in an arm nothing is said: the sequence is asymptotic. */
export const ARM_CLIENTS_MIN = 200;

/** The sequence is narrowest at about this many clients in two arms of equal size. */
const NARROWEST_CLIENTS = 5000;

/**
 * By how much the mean of `other` is above that of `base`, with an interval that is valid at all times together,
 * however often somebody looks and whenever they stop: it ever misses the truth with a chance of at most `alpha`.
 * Null while there are too few clients, or all values are equal.
 *
 * An asymptotic confidence sequence by the normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
 * Time-uniform central limit theory and asymptotic confidence sequences, 2024, theorem 2.2; the boundary is Robbins',
 * 1970). A client's total grows with time. The interval still holds: the draws do not change, and totals at two times
 * are more alike than sums of independent values.
 */
export function differenceOf(base: Moments, other: Moments, alpha: number): Estimate | null {
  if (Math.min(base.clients, other.clients) < ARM_CLIENTS_MIN) return null;
  const error = errorOf(base, other);
  if (error === 0) return null;
  const value = meanOf(other) - meanOf(base);
  const half = error * width(effectiveClients(base, other), alpha);
  return { value, low: value - half, high: value + half };
}

/**
 * How many more clients both arms need together, drawn as so far, until four of five trials show a true difference of
 * this size. Null while nothing is known.
 */
export function clientsToGo(base: Moments, other: Moments, alpha: number, difference: number): number | null {
  if (differenceOf(base, other, alpha) === null || difference <= 0) return null;
  const [now, error] = [effectiveClients(base, other), errorOf(base, other)];
  const shows = (times: number) =>
    (error / Math.sqrt(times)) * (width(now * times, alpha) + NORMAL_80) <= difference;
  if (shows(1)) return 0;
  let [low, high] = [1, 2];
  while (!shows(high) && high < TIMES_MAX) [low, high] = [high, high * 2];
  for (let step = 0; step < 20; step++) {
    const middle = (low + high) / 2;
    if (shows(middle)) high = middle;
    else low = middle;
  }
  return Math.ceil((high - 1) * (base.clients + other.clients));
}

/** The search ends at this multiple of the clients so far. */
const TIMES_MAX = 2 ** 30;

/** The 80 % point of the normal distribution. */
const NORMAL_80 = 0.8416212335729143;

/** The standard error of the difference. */
function errorOf(base: Moments, other: Moments): number {
  return Math.sqrt(varianceOf(base) / base.clients + varianceOf(other) / other.clients);
}

function varianceOf(moments: Moments): number {
  const { clients, squares } = moments;
  return Math.max(0, (squares - clients * meanOf(moments) ** 2) / Math.max(1, clients - 1));
}

/** The number of clients in two arms of equal size that would say as much. */
function effectiveClients(base: Moments, other: Moments): number {
  return (4 * base.clients * other.clients) / (base.clients + other.clients);
}

/** Half of the interval, in standard errors. */
function width(clients: number, alpha: number): number {
  const wide = -2 * Math.log(alpha);
  const mixed = (clients * (wide + Math.log(wide + 1))) / NARROWEST_CLIENTS;
  return Math.sqrt(2 * (1 + 1 / mixed) * Math.log(Math.sqrt(mixed + 1) / alpha));
}
