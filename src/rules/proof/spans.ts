/** Whole numbers from the first to the second, both included. */
export type Span = readonly [low: number, high: number];

/** A set of whole numbers: spans in order that neither overlap nor touch. */
export type Spans = readonly Span[];

/** The set of all numbers in any of the spans; a span that ends before it begins holds none. */
export function spansOf(spans: readonly Span[]): Spans {
  const merged: [number, number][] = [];
  for (const [low, high] of spans.toSorted((a, b) => a[0] - b[0])) {
    if (high < low) continue;
    const last = merged.at(-1);
    if (last !== undefined && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else merged.push([low, high]);
  }
  return merged;
}

export function intersect(a: Spans, b: Spans): Spans {
  const common: Span[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [lowA, highA] = a[i] ?? [0, -1];
    const [lowB, highB] = b[j] ?? [0, -1];
    const low = Math.max(lowA, lowB);
    const high = Math.min(highA, highB);
    if (low <= high) common.push([low, high]);
    if (highA < highB) i++;
    else j++;
  }
  return common;
}

/** The numbers of `whole` that are not in `spans`. */
export function without(whole: Spans, spans: Spans): Spans {
  const gaps: Span[] = [];
  let next = Number.NEGATIVE_INFINITY;
  for (const [low, high] of spans) {
    gaps.push([next, low - 1]);
    next = high + 1;
  }
  gaps.push([next, Number.POSITIVE_INFINITY]);
  return intersect(whole, gaps);
}

export function overlaps(a: Spans, b: Spans): boolean {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [lowA, highA] = a[i] ?? [0, -1];
    const [lowB, highB] = b[j] ?? [0, -1];
    if (Math.max(lowA, lowB) <= Math.min(highA, highB)) return true;
    if (highA < highB) i++;
    else j++;
  }
  return false;
}

/** Whether every number of `part` is in `whole`. */
export function includes(whole: Spans, part: Spans): boolean {
  let i = 0;
  for (const [low, high] of part) {
    while (i < whole.length && (whole[i]?.[1] ?? 0) < high) i++;
    const around = whole[i];
    if (around === undefined || around[0] > low) return false;
  }
  return true;
}

/** The least number; Infinity of an empty set. */
export function lowest(spans: Spans): number {
  return spans[0]?.[0] ?? Number.POSITIVE_INFINITY;
}

/** The greatest number; -Infinity of an empty set. */
export function highest(spans: Spans): number {
  return spans.at(-1)?.[1] ?? Number.NEGATIVE_INFINITY;
}
