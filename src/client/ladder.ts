/**
 * The cooldown ladder of one client (contract, section 3.2).
 *
 * An attempt is a verdict that let a requisite be shown. While an attempt stays unpaid, asking again
 * starts a wait; asking before a wait is over starts a longer one.
 */
export interface Ladder {
  /** 0 before any wait; otherwise the level of the wait that was last imposed, from 1. */
  readonly level: number;
  /** A requisite was granted and no payment has followed yet. */
  readonly attemptOpen: boolean;
  /** Epoch ms at which the imposed wait is over; null when no wait was imposed since the last grant. */
  readonly waitUntil: number | null;
}

export interface LadderSettings {
  /** Wait of level 1, 2, ...; strictly lengthening; the last one repeats. */
  readonly levelsMs: readonly number[];
  /** A client who asks for no verdict this long starts afresh. */
  readonly resetAfterMs: number;
}

export const NO_ATTEMPTS: Ladder = { level: 0, attemptOpen: false, waitUntil: null };

/** The ladder as it stands at `now`: forgotten after a long absence, otherwise unchanged. */
export function settle(
  ladder: Ladder,
  lastVerdictAt: number | null,
  settings: LadderSettings,
  now: number,
): Ladder {
  if (lastVerdictAt === null) return ladder;
  return now - lastVerdictAt >= settings.resetAfterMs ? NO_ATTEMPTS : ladder;
}

/** A requisite is granted: the wait is served, the level is kept until a payment arrives. */
export function grant(ladder: Ladder): Ladder {
  return { level: ladder.level, attemptOpen: true, waitUntil: null };
}

/**
 * A wait one level higher, counted from `now`; the top level repeats.
 * It never ends before the wait that it replaces, even when another rule set has shorter levels.
 */
export function climb(ladder: Ladder, settings: LadderSettings, now: number): Ladder {
  const level = Math.min(ladder.level + 1, settings.levelsMs.length);
  const levelMs = settings.levelsMs[level - 1] ?? 0;
  return { level, attemptOpen: false, waitUntil: Math.max(now + levelMs, ladder.waitUntil ?? 0) };
}

/** Milliseconds of the wait that are still to be served at `now`; 0 when none is due. */
export function waitRemainingMs(ladder: Ladder, now: number): number {
  return ladder.waitUntil === null ? 0 : Math.max(0, ladder.waitUntil - now);
}
