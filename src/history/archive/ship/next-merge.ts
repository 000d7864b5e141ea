import type { Segment } from '#history/archive/archive-log.ts';
import { getMonth } from '#history/archive/period.ts';

/** How many segments of about the same size become one: each row is rewritten once a tier, about five times. */
const TIER_SEGMENTS = 10;

/** A merged segment stays below this, so that a merge holds up shipping for seconds and no longer. */
const SEGMENT_ROWS_MAX = 2_000_000;

/** Above this the fixed cost of a file (about 12 KB) is small beside its rows. */
const QUIET_DAY_ROWS_MAX = 50_000;

/**
 * Small segments that should become one; null when there are none. They have table and platform in common, and day or
 * month. A day that is over becomes one segment, and so do the quiet days of a month that is over; today's become fewer
 * whenever many of a size have come together.
 */
export function findNextMerge(segments: readonly Segment[], today: string): readonly Segment[] | null {
  for (const day of groupsBy(segments, (segment) => segment.day)) {
    const parts = day[0]?.day === today ? fullTier(day) : withinRowsMax(day);
    if (parts !== null) return parts;
  }
  const quiet = segments.filter(
    ({ table, nameless, day, rows }) =>
      rows <= QUIET_DAY_ROWS_MAX &&
      getMonth(day) < getMonth(today) &&
      // A whole month of numbers would stay for as long as its last.
      (table !== 'erasures' || nameless === true),
  );
  for (const month of groupsBy(quiet, ({ day }) => getMonth(day))) {
    const parts = withinRowsMax(month);
    if (parts !== null) return parts;
  }
  return null;
}

function groupsBy(
  segments: readonly Segment[],
  period: (segment: Segment) => string,
): Iterable<readonly Segment[]> {
  return Map.groupBy(
    segments,
    (segment) => `${segment.table}/${segment.platform}/${segment.nameless ?? false}/${period(segment)}`,
  ).values();
}

function fullTier(segments: readonly Segment[]): readonly Segment[] | null {
  const tiers = Map.groupBy(segments, ({ rows }) => Math.floor(Math.log10(rows)));
  for (const tier of tiers.values()) {
    // Ten of the largest stay as they are, and must not keep smaller ones from being merged.
    const parts = tier.length < TIER_SEGMENTS ? null : withinRowsMax(tier);
    if (parts !== null) return parts;
  }
  return null;
}

/** The smallest segments that together stay below the limit; null when there are not two of them. */
function withinRowsMax(segments: readonly Segment[]): readonly Segment[] | null {
  let rows = 0;
  const parts = segments
    .toSorted((a, b) => a.rows - b.rows)
    .filter((segment) => {
      rows += segment.rows;
      return rows <= SEGMENT_ROWS_MAX;
    });
  return parts.length > 1 ? parts : null;
}
