import type { Segment } from '#history/archive/archive-log.ts';
import { getMonth } from '#history/archive/period.ts';

/**
 * The number of segments of about the same size that are merged into one. Each row is rewritten once for each size,
 * which is about five times.
 */
const TIER_SEGMENTS = 10;

/** The most rows of a merged segment, so that a merge holds up shipping for seconds only. */
const SEGMENT_ROWS_MAX = 2_000_000;

/**
 * A day with fewer rows than this is quiet. With more rows the fixed cost of a file (about 12 KB) is small beside its
 * rows.
 */
const QUIET_DAY_ROWS_MAX = 50_000;

/**
 * Finds small segments that should become one. Returns null if there are none. The segments have the same table and
 * platform, and the same day or month. The segments of a past day become one, and so do the quiet days of a past
 * month. Today's segments are merged whenever TIER_SEGMENTS of about the same size exist.
 */
export function findNextMerge(segments: readonly Segment[], today: string): readonly Segment[] | null {
  for (const day of groupByPeriod(segments, (segment) => segment.day)) {
    const parts = day[0]?.day === today ? findFullTier(day) : pickWithinRowsMax(day);
    if (parts !== null) return parts;
  }
  const quiet = segments.filter(
    ({ table, nameless, day, rows }) =>
      rows <= QUIET_DAY_ROWS_MAX &&
      getMonth(day) < getMonth(today) &&
      // Erasures that still name clients are not merged. Otherwise the numbers of a whole month would stay as long as
      // the newest of them.
      (table !== 'erasures' || nameless === true),
  );
  for (const month of groupByPeriod(quiet, ({ day }) => getMonth(day))) {
    const parts = pickWithinRowsMax(month);
    if (parts !== null) return parts;
  }
  return null;
}

function groupByPeriod(
  segments: readonly Segment[],
  period: (segment: Segment) => string,
): Iterable<readonly Segment[]> {
  return Map.groupBy(
    segments,
    (segment) => `${segment.table}/${segment.platform}/${segment.nameless ?? false}/${period(segment)}`,
  ).values();
}

function findFullTier(segments: readonly Segment[]): readonly Segment[] | null {
  const tiers = Map.groupBy(segments, ({ rows }) => Math.floor(Math.log10(rows)));
  for (const tier of tiers.values()) {
    // Ten of the largest segments stay as they are, and must not prevent the merge of smaller ones.
    const parts = tier.length < TIER_SEGMENTS ? null : pickWithinRowsMax(tier);
    if (parts !== null) return parts;
  }
  return null;
}

/** Returns the smallest segments that together stay below the limit. Returns null if these are fewer than two. */
function pickWithinRowsMax(segments: readonly Segment[]): readonly Segment[] | null {
  let rows = 0;
  const parts = segments
    .toSorted((a, b) => a.rows - b.rows)
    .filter((segment) => {
      rows += segment.rows;
      return rows <= SEGMENT_ROWS_MAX;
    });
  return parts.length > 1 ? parts : null;
}
