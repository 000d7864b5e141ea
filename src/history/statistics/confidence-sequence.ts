import type { Estimate } from './intervals.ts';

/** What is kept of one value per client: enough for the mean, its error, and how many clients it rests on. */
export type Moments = Readonly<Record<'clients' | 'seen' | 'sum' | 'size' | 'squares', number>>;

/** `seen` are clients with another value than 0, `size` is the sum without signs. */
export const NO_MOMENTS: Moments = { clients: 0, seen: 0, sum: 0, size: 0, squares: 0 };

export function computeMean({ clients, sum }: Moments): number {
  return clients === 0 ? 0 : sum / clients;
}

/** With fewer clients who have any of it a metric says nothing of an arm: the sequence is asymptotic. */
const SEEN_MIN = 50;

/**
 * The number of clients that the values effectively rest on (Kish, Survey sampling, 1965): where few have most of it,
 * it is theirs.
 */
function effectiveNumber({ size, squares }: Moments): number {
  return squares === 0 ? 0 : size ** 2 / squares;
}

function speaks(moments: Moments): boolean {
  return moments.seen >= SEEN_MIN && effectiveNumber(moments) >= SEEN_MIN;
}

/** The sequence is narrowest at about this many clients in two arms of equal size. */
const NARROWEST_CLIENTS = 5000;

/**
 * By how much the mean of `other` is above that of `base`, with an interval that is valid at all times together,
 * however often somebody looks and whenever they stop: it ever misses the truth with a chance of at most `alpha`.
 * Null while an arm has too few clients with a value. Each client must be counted once, with a value that does not
 * change any more.
 *
 * An asymptotic confidence sequence by the normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
 * Time-uniform central limit theory and asymptotic confidence sequences, 2024, theorem 2.2; the boundary is Robbins',
 * 1970).
 */
export function estimateDifference(base: Moments, other: Moments, alpha: number): Estimate | null {
  if (!speaks(base) || !speaks(other)) return null;
  const error = errorOf(base, other);
  if (error === 0) return null;
  const value = computeMean(other) - computeMean(base);
  const half = error * width(equalArms(base, other), alpha);
  return { value, low: value - half, high: value + half };
}

/**
 * How many more clients both arms need together, drawn as so far, until four of five trials show a true difference of
 * this size. Null while nothing is known.
 */
export function estimateClientsToGo(
  base: Moments,
  other: Moments,
  alpha: number,
  difference: number,
): number | null {
  if (estimateDifference(base, other, alpha) === null || difference <= 0) return null;
  const [now, error] = [equalArms(base, other), errorOf(base, other)];
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

/**
 * The standard error of the difference. A small arm of rare large values has a low mean and a low variance together,
 * which would look like certainty: no arm counts as steadier than both are together.
 */
function errorOf(base: Moments, other: Moments): number {
  const [one, two] = [varianceOf(base), varianceOf(other)];
  const pooled = (base.clients * one + other.clients * two) / (base.clients + other.clients);
  return Math.sqrt(Math.max(one, pooled) / base.clients + Math.max(two, pooled) / other.clients);
}

function varianceOf(moments: Moments): number {
  const { clients, squares } = moments;
  return Math.max(0, (squares - clients * computeMean(moments) ** 2) / Math.max(1, clients - 1));
}

/** The number of clients in two arms of equal size that would say as much. */
function equalArms(base: Moments, other: Moments): number {
  return (4 * base.clients * other.clients) / (base.clients + other.clients);
}

/** Half of the interval, in standard errors. */
function width(clients: number, alpha: number): number {
  const wide = -2 * Math.log(alpha);
  const mixed = (clients * (wide + Math.log(wide + 1))) / NARROWEST_CLIENTS;
  return Math.sqrt(2 * (1 + 1 / mixed) * Math.log(Math.sqrt(mixed + 1) / alpha));
}
