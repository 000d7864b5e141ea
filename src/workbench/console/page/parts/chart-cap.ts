/** Fewer slots do not show what is usual. */
const SLOTS_MIN = 12;
const USUAL_SHARE = 0.9;
const SPIKE_TIMES = 3;
const ROOM_TIMES = 1.5;

/**
 * Where a chart ends upwards: above the tallest slot, but not above a few spikes that would flatten all the
 * others. `heights`: of the slots; `cut` slots are taller.
 */
export function capOf(heights: readonly number[]): { readonly top: number; readonly cut: number } {
  const sorted = heights.filter((height) => height > 0).toSorted((a, b) => a - b);
  const tallest = sorted.at(-1) ?? 0;
  const usual = sorted[Math.floor(USUAL_SHARE * (sorted.length - 1))] ?? 0;
  if (sorted.length < SLOTS_MIN || tallest <= SPIKE_TIMES * usual) return { top: tallest, cut: 0 };
  const top = ROOM_TIMES * usual;
  return { top, cut: sorted.filter((height) => height > top).length };
}
