import { count, epochMs, named, nullable, shape, type ValueOf, yesNo } from '#base/shapes.ts';

/**
 * The cooldown ladder of one client (interface, section 3.2).
 *
 * An attempt is a verdict that let a requisite be shown. While an attempt stays unpaid, asking again starts a wait.
 * Asking before a wait is over starts a longer one.
 */
export const LadderSchema = named(
  'Ladder',
  shape('Where a client stands on the cooldown ladder', {
    level: count('0 before any wait; otherwise the level last imposed'),
    attemptOpen: yesNo('A requisite was granted and is not paid yet'),
    waitUntil: nullable(epochMs('When the imposed wait is over; null when none is due since the last grant')),
  }),
);

export type Ladder = ValueOf<typeof LadderSchema>;

export interface LadderSettings {
  /**
   * The waits of the levels 1, 2, ... Each is longer than the one before. A client at the top level gets the last
   * wait again.
   */
  readonly levelsMs: readonly number[];
  /** The waits of named ladders, each like `levelsMs`. */
  readonly ladders: Readonly<Record<string, readonly number[]>>;
  /** A client who asks for no verdict for this long starts at level 0 again. */
  readonly resetAfterMs: number;
  /** The same limit for clients who waited on a named ladder that has a limit of its own. */
  readonly resetsAfterMs: Readonly<Record<string, number>>;
}

/** A client's position on the ladder, and the time of its last verdict. */
interface ClientOnLadder {
  readonly ladder: Ladder;
  readonly lastVerdictAt: number | null;
  readonly lastWaitLadder: string | null;
}

/** Returns the waits of a named ladder. `name` is null for the ladder without a name. */
export function getLevelWaitsMs(
  { levelsMs, ladders }: LadderSettings,
  name: string | null,
): readonly number[] {
  return name === null ? levelsMs : (ladders[name] ?? levelsMs);
}

export const EMPTY_LADDER: Ladder = { level: 0, attemptOpen: false, waitUntil: null };

/**
 * Returns the absence in ms after which a client starts afresh when its newest wait was on this ladder. `name` is
 * null for the ladder without a name.
 */
export function getResetAfterMs(
  { resetAfterMs, resetsAfterMs }: LadderSettings,
  name: string | null,
): number {
  return name === null ? resetAfterMs : (resetsAfterMs[name] ?? resetAfterMs);
}

/** Lists every absence in ms after which a client may start afresh, whatever its ladder. */
export function listResetAfterMs({ resetAfterMs, resetsAfterMs }: LadderSettings): readonly number[] {
  return [resetAfterMs, ...Object.values(resetsAfterMs)];
}

/** Returns the ladder at `now`: reset after a long absence, otherwise unchanged. */
export function resetLadderAfterAbsence(
  client: ClientOnLadder,
  settings: LadderSettings,
  now: number,
): Ladder {
  const { ladder, lastVerdictAt, lastWaitLadder } = client;
  if (lastVerdictAt === null) return ladder;
  return now - lastVerdictAt >= getResetAfterMs(settings, lastWaitLadder) ? EMPTY_LADDER : ladder;
}

/** Starts an attempt: no wait is due any more, and the level stays until a payment arrives. */
export function startAttempt(ladder: Ladder): Ladder {
  return { level: ladder.level, attemptOpen: true, waitUntil: null };
}

/**
 * Imposes a wait one level higher, counted from `now`. At the top level, the level stays. While a client climbs, no
 * wait is shorter than the previous wait (`lastWaitMs`), and no wait ends before the wait that it replaces. This also
 * holds when another ladder or another rule set has shorter levels.
 */
export function climbLadder(
  ladder: Ladder,
  levelsMs: readonly number[],
  now: number,
  lastWaitMs: number,
): Ladder {
  const level = Math.min(ladder.level + 1, levelsMs.length);
  const waitMs = Math.max(levelsMs[level - 1] ?? 0, lastWaitMs);
  return { level, attemptOpen: false, waitUntil: Math.max(now + waitMs, ladder.waitUntil ?? 0) };
}

/**
 * Excuses an attempt that failed without the payer's fault: the level stays, and an imposed wait ends. Above level 0
 * the wait ends at `now` as if the payer had waited, so that the level is still known.
 */
export function excuseAttempt({ level }: Ladder, now: number): Ladder {
  return { level, attemptOpen: false, waitUntil: level === 0 ? null : now };
}

/** Returns the remaining wait at `now` in ms. Returns 0 if no wait is due. */
export function getRemainingWaitMs(ladder: Ladder, now: number): number {
  return ladder.waitUntil === null ? 0 : Math.max(0, ladder.waitUntil - now);
}
