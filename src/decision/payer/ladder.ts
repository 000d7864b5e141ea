import { count, epochMs, named, nullable, type Shape, shape, yesNo } from '#base/shapes.ts';

/**
 * The cooldown ladder of one client (interface, section 3.2).
 *
 * An attempt is a verdict that let a requisite be shown. While an attempt stays unpaid, asking again
 * starts a wait; asking before a wait is over starts a longer one.
 */
export const LadderSchema = named(
  'Ladder',
  shape('Where a client stands on the cooldown ladder', {
    level: count('0 before any wait; otherwise the level last imposed'),
    attemptOpen: yesNo('A requisite was granted and is not paid yet'),
    waitUntil: nullable(epochMs('When the imposed wait is over; null when none is due since the last grant')),
  }),
);

export type Ladder = Shape<typeof LadderSchema>;

export interface LadderSettings {
  /** Waits of levels 1, 2, ..., each longer than the one before; the last one repeats. */
  readonly levelsMs: readonly number[];
  /** The waits of named ladders, each like `levelsMs`. */
  readonly ladders: Readonly<Record<string, readonly number[]>>;
  /** A client who asks for no verdict for this long starts from the beginning. */
  readonly resetAfterMs: number;
  /** The same for clients who waited on a named ladder that says so itself. */
  readonly resetsAfterMs: Readonly<Record<string, number>>;
}

/** Where a client stands, and since when. */
interface StandingClient {
  readonly ladder: Ladder;
  readonly lastVerdictAt: number | null;
  readonly lastWaitLadder: string | null;
}

/** The waits of a named ladder; null: of the one without a name. */
export function getLevels({ levelsMs, ladders }: LadderSettings, name: string | null): readonly number[] {
  return name === null ? levelsMs : (ladders[name] ?? levelsMs);
}

export const NO_ATTEMPTS: Ladder = { level: 0, attemptOpen: false, waitUntil: null };

/** After what absence a client whose newest wait was on this ladder starts afresh; null: on the one without a name. */
export function getResetAfterMs(
  { resetAfterMs, resetsAfterMs }: LadderSettings,
  name: string | null,
): number {
  return name === null ? resetAfterMs : (resetsAfterMs[name] ?? resetAfterMs);
}

/** Every absence after which some client starts afresh. */
export function listResetAfterMs({ resetAfterMs, resetsAfterMs }: LadderSettings): readonly number[] {
  return [resetAfterMs, ...Object.values(resetsAfterMs)];
}

/** The ladder at `now`: forgotten after a long absence, otherwise unchanged. */
export function settleLadder(client: StandingClient, settings: LadderSettings, now: number): Ladder {
  const { ladder, lastVerdictAt, lastWaitLadder } = client;
  if (lastVerdictAt === null) return ladder;
  return now - lastVerdictAt >= getResetAfterMs(settings, lastWaitLadder) ? NO_ATTEMPTS : ladder;
}

/** A requisite is granted: the wait is served, the level is kept until a payment arrives. */
export function grantAttempt(ladder: Ladder): Ladder {
  return { level: ladder.level, attemptOpen: true, waitUntil: null };
}

/**
 * A wait one level higher, counted from `now`; the top level repeats. While a client climbs, no wait is shorter
 * than the one before (`lastWaitMs`), nor ends before the one that it replaces, even when another ladder or
 * another rule set has shorter levels.
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
 * The attempt is over and was not the payer's fault: the level stays, and an imposed wait ends. Above level 0 the wait
 * counts as served, so that the level is still known.
 */
export function excuseAttempt({ level }: Ladder, now: number): Ladder {
  return { level, attemptOpen: false, waitUntil: level === 0 ? null : now };
}

/** The remaining wait at `now`, ms; 0 when none is due. */
export function getRemainingWaitMs(ladder: Ladder, now: number): number {
  return ladder.waitUntil === null ? 0 : Math.max(0, ladder.waitUntil - now);
}
