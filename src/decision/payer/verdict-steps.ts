/** The lengths of the steps in which verdicts on a device are counted. The finer steps are kept for a shorter time. */
export const VERDICT_STEPS = [
  { stepMs: 600_000, kept: 13 },
  { stepMs: 3_600_000, kept: 25 },
] as const;

/** The longest window in ms over which the verdicts on a device are counted. */
export const VERDICT_WINDOW_MS_MAX = 24 * 3_600_000;

/** Windows up to this length are counted in steps of ten minutes, longer windows in steps of an hour. */
const FINE_WINDOW_MS_MAX = 2 * 3_600_000;

/** The highest count of verdicts on a device in one step, as many as two bytes hold. */
export const VERDICTS_OF_STEP_MAX = 65_535;
/** The highest count of verdicts on a device in a whole window. */
export const VERDICTS_IN_WINDOW_MAX = 10_000;

/** The index of a window's steps in `VERDICT_STEPS`, and the first step that the window reaches. */
export interface WindowFirstStep {
  readonly ring: number;
  readonly first: number;
}

/**
 * Finds the steps that a window reaches at a moment. The steps contain all verdicts within the window, and those of
 * up to one step before it. A longer window reaches everything that a shorter one reaches.
 */
export function getWindowFirstStep(windowMs: number, at: number): WindowFirstStep {
  const ring = windowMs <= FINE_WINDOW_MS_MAX ? 0 : 1;
  return { ring, first: getStepNumber(ring, at - windowMs) };
}

/**
 * Returns the first step that can exist only because a clock was ahead. This step and later ones are not counted.
 * `ring` is the index of the step's length in VERDICT_STEPS.
 */
export function getFirstImpossibleStep(ring: number, at: number): number {
  return getStepNumber(ring, at) + (VERDICT_STEPS[ring]?.kept ?? 0);
}

/** Returns the number of the step in which a moment lies. `ring` is the index of the step's length in VERDICT_STEPS. */
export function getStepNumber(ring: number, at: number): number {
  return Math.floor(at / (VERDICT_STEPS[ring]?.stepMs ?? 1));
}

/** Returns why a window cannot be counted in steps. Returns null if it can. */
export function findVerdictWindowFault(windowMs: number): string | null {
  const stepMs = VERDICT_STEPS[windowMs <= FINE_WINDOW_MS_MAX ? 0 : 1].stepMs;
  if (windowMs % stepMs === 0) return null;
  return 'is counted in steps: a window is of tens of minutes up to 2h, or of whole hours up to 24h';
}
