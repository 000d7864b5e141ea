import { VERDICTS } from '#decision/decision-words.ts';
import type { ExplorationAnswer } from '#workbench/console/page/questions.ts';
import { parseMoment, toMomentText } from './format.ts';

/**
 * Compares the newest hours with the same hours of the days before. The earlier days show how much a share
 * varies by chance, also through payers who ask often.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 8;
/** The service answers a query over so many days in slots of this length. The last two slots are compared. */
const SLOT_MS = 3 * HOUR_MS;
const SLOTS_COMPARED = 2;

/** The least number of verdicts, and of days, from which the usual share is computed. */
const VERDICTS_MIN = 30;
const DAYS_MIN = 4;

const POINTS_MIN = 10;
/** If few days are known, chance alone moves about one of several hundred shares further than this. */
const DEVIATIONS_MIN = 4;

/** A verdict whose share left its usual range. */
export interface UnusualVerdictShare {
  readonly verdict: string;
  /** The share in percent, now and on the days before. */
  readonly share: number;
  readonly usual: number;
  /** Epoch ms. */
  readonly from: number;
}

/** Returns the query for the newest hours and the days before, aligned so that the hours fill whole slots. */
export function toUsualHoursQuery(nowMs: number) {
  const end = Math.floor(nowMs / SLOT_MS + 1) * SLOT_MS;
  return new URLSearchParams({
    by: 'verdict',
    from: toMomentText(end - SLOTS_COMPARED * SLOT_MS - DAYS * DAY_MS),
  });
}

/**
 * Compares the share of each verdict with its usual share. Returns null if too little is known. `unusual` is
 * the share that rose most. If no share rose, it is the share that fell most. It is null if all shares are as
 * usual.
 */
export function compareWithUsualShares({ slots, stepMs, all, values }: ExplorationAnswer['exploration']): {
  readonly unusual: UnusualVerdictShare | null;
} | null {
  const perDay = DAY_MS / stepMs;
  const hoursOf = (counts: readonly number[], daysAgo: number) => {
    const end = counts.length - daysAgo * perDay;
    return end < SLOTS_COMPARED ? 0 : sum(counts.slice(end - SLOTS_COMPARED, end));
  };
  const days = Array.from({ length: DAYS }, (_, day) => day + 1).filter(
    (day) => hoursOf(all, day) >= VERDICTS_MIN,
  );
  const [verdicts, first] = [hoursOf(all, 0), slots.at(-SLOTS_COMPARED)];
  if (verdicts < VERDICTS_MIN || days.length < DAYS_MIN || first === undefined) return null;
  const moved = VERDICTS.flatMap((verdict) => {
    const counts = values.find(({ value }) => value === verdict)?.decisions ?? [];
    if (counts.length === 0) return [];
    const shares = days.map((day) => hoursOf(counts, day) / hoursOf(all, day));
    const share = hoursOf(counts, 0) / verdicts;
    const { mean, deviation } = computeSpread(shares, verdicts);
    const isBeyondChance = Math.abs(share - mean) > DEVIATIONS_MIN * deviation;
    const isLarge = Math.abs(share - mean) >= POINTS_MIN / 100;
    return isBeyondChance && isLarge
      ? [{ verdict, share: 100 * share, usual: 100 * mean, from: parseMoment(first) }]
      : [];
  });
  const byMove = moved.toSorted((a, b) => Math.abs(b.share - b.usual) - Math.abs(a.share - a.usual));
  return { unusual: byMove.find(({ share, usual }) => share > usual) ?? byMove[0] ?? null };
}

/**
 * Returns the mean share of some days, and the standard deviation that chance gives a further day with
 * `verdicts` verdicts.
 */
function computeSpread(shares: readonly number[], verdicts: number) {
  const mean = sum(shares) / shares.length;
  const between = sum(shares.map((share) => (share - mean) ** 2)) / (shares.length - 1);
  const within = (mean * (1 - mean)) / verdicts;
  return { mean, deviation: Math.sqrt(Math.max(between, within) * (1 + 1 / shares.length)) };
}

function sum(numbers: readonly number[]) {
  return numbers.reduce((total, number) => total + number, 0);
}
