/** The verdicts that were asked on a device are counted in steps of these lengths, the finer ones for less long. */
export const VERDICT_STEPS = [
  { stepMs: 600_000, kept: 13 },
  { stepMs: 3_600_000, kept: 25 },
] as const;

/** The longest window over which the verdicts on a device are counted. */
export const VERDICT_WINDOW_MS_MAX = 24 * 3_600_000;

/** Up to here a window has ten-minute steps, above it hours. */
const FINE_WINDOW_MS_MAX = 2 * 3_600_000;

/** How many verdicts of a device are counted, in one step (as many as two bytes hold) and in all of a window. */
export const VERDICTS_OF_STEP_MAX = 65_535;
export const VERDICTS_ON_DEVICE_MAX = 10_000;

/** The place of the steps of this length among `VERDICT_STEPS`, and the first of those that a window reaches. */
export interface StepRange {
  readonly ring: number;
  readonly first: number;
}

/**
 * The steps that a window reaches at a moment: all that happened within it, and up to one step more. A longer window
 * reaches all that a shorter one reaches.
 */
export function findStepRange(windowMs: number, at: number): StepRange {
  const ring = windowMs <= FINE_WINDOW_MS_MAX ? 0 : 1;
  return { ring, first: getStepNumber(ring, at - windowMs) };
}

/** The steps of a ring from this one on stand there only because a clock was ahead, and are not counted. */
export function findStepAhead(ring: number, at: number): number {
  return getStepNumber(ring, at) + (VERDICT_STEPS[ring]?.kept ?? 0);
}

/** The number of the step of a ring that a moment falls in. */
export function getStepNumber(ring: number, at: number): number {
  return Math.floor(at / (VERDICT_STEPS[ring]?.stepMs ?? 1));
}

/** Why a window cannot be counted in steps; null where it can. */
export function refuseVerdictWindow(windowMs: number): string | null {
  const stepMs = VERDICT_STEPS[windowMs <= FINE_WINDOW_MS_MAX ? 0 : 1].stepMs;
  if (windowMs % stepMs === 0) return null;
  return 'is counted in steps: a window is of tens of minutes up to 2h, or of whole hours up to 24h';
}
