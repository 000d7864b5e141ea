import type { Estimate } from './intervals.ts';

/**
 * Sums of one value per client. They are enough for the mean, its standard error, and the number of clients behind
 * it. `seen` counts the clients whose value is not 0. `size` is the sum of the absolute values.
 */
export type ValueSums = Readonly<Record<'clients' | 'seen' | 'sum' | 'size' | 'squares', number>>;

/** The sums over no clients. */
export const NO_VALUE_SUMS: ValueSums = { clients: 0, seen: 0, sum: 0, size: 0, squares: 0 };

export function computeMean({ clients, sum }: ValueSums): number {
  return clients === 0 ? 0 : sum / clients;
}

/**
 * The fewest clients with a value other than 0 in an arm. With fewer clients there is no interval, because the
 * sequence is asymptotic.
 */
const SEEN_MIN = 50;

/**
 * Computes Kish's effective sample size (Survey sampling, 1965). If most of the sum comes from a few clients, the
 * result is close to the number of these clients.
 */
function computeEffectiveClients({ size, squares }: ValueSums): number {
  return squares === 0 ? 0 : size ** 2 / squares;
}

function hasEnoughClients(moments: ValueSums): boolean {
  return moments.seen >= SEEN_MIN && computeEffectiveClients(moments) >= SEEN_MIN;
}

/** The number of clients, in two arms of equal size, at which the sequence is narrowest. */
const NARROWEST_CLIENTS = 5000;

/**
 * Estimates how far the mean of `other` lies above the mean of `base`. The interval is valid at all times together,
 * however often somebody looks and whenever they stop: the chance that it ever misses the truth is at most `alpha`.
 * Returns null while an arm has too few clients with a value. Each client must be counted once, with a value that
 * does not change any more.
 *
 * This is an asymptotic confidence sequence by the normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
 * Time-uniform central limit theory and asymptotic confidence sequences, 2024, theorem 2.2; the boundary is by
 * Robbins, 1970).
 */
export function estimateDifference(base: ValueSums, other: ValueSums, alpha: number): Estimate | null {
  if (!hasEnoughClients(base) || !hasEnoughClients(other)) return null;
  const error = computeStandardError(base, other);
  if (error === 0) return null;
  const value = computeMean(other) - computeMean(base);
  const half = error * computeHalfWidth(computeEqualArms(base, other), alpha);
  return { value, low: value - half, high: value + half };
}

/**
 * Estimates how many more clients both arms need together, at the same ratio, until four of five trials would show a
 * true difference of this size. Returns null if no difference can be estimated yet.
 */
export function estimateClientsToGo(
  base: ValueSums,
  other: ValueSums,
  alpha: number,
  difference: number,
): number | null {
  if (estimateDifference(base, other, alpha) === null || difference <= 0) return null;
  const [now, error] = [computeEqualArms(base, other), computeStandardError(base, other)];
  const shows = (times: number) =>
    (error / Math.sqrt(times)) * (computeHalfWidth(now * times, alpha) + NORMAL_80) <= difference;
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

/** The search ends at this multiple of the present number of clients. */
const TIMES_MAX = 2 ** 30;

/** The 80 % point of the normal distribution. */
const NORMAL_80 = 0.8416212335729143;

/**
 * Computes the standard error of the difference. A small arm with rare large values often has a low mean and a low
 * variance together, which would look like certainty. Therefore each arm's variance is at least the pooled variance.
 */
function computeStandardError(base: ValueSums, other: ValueSums): number {
  const [one, two] = [computeVariance(base), computeVariance(other)];
  const pooled = (base.clients * one + other.clients * two) / (base.clients + other.clients);
  return Math.sqrt(Math.max(one, pooled) / base.clients + Math.max(two, pooled) / other.clients);
}

function computeVariance(moments: ValueSums): number {
  const { clients, squares } = moments;
  return Math.max(0, (squares - clients * computeMean(moments) ** 2) / Math.max(1, clients - 1));
}

/**
 * Converts two arms to two arms of equal size that carry as much information. Returns the number of clients of both
 * together.
 */
function computeEqualArms(base: ValueSums, other: ValueSums): number {
  return (4 * base.clients * other.clients) / (base.clients + other.clients);
}

/** Computes half the width of the interval, in standard errors. */
function computeHalfWidth(clients: number, alpha: number): number {
  const wide = -2 * Math.log(alpha);
  const mixed = (clients * (wide + Math.log(wide + 1))) / NARROWEST_CLIENTS;
  return Math.sqrt(2 * (1 + 1 / mixed) * Math.log(Math.sqrt(mixed + 1) / alpha));
}
