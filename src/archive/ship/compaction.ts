import type { Segment } from '../archive-log.ts';

/** So many segments of about the same size become one: each row is written anew once a tier, about five times. */
const TIER_SEGMENTS = 10;

/** A merged segment stays below this, so that a merge holds up shipping for seconds and no longer. */
const SEGMENT_ROWS_MAX = 2_000_000;

/**
 * Small segments that should become one; null when there are none. They have table, platform and day in common.
 * A day that is over becomes one segment; today's become fewer whenever many of a size have come together.
 */
export function nextMerge(segments: readonly Segment[], today: string): readonly Segment[] | null {
  const days = Map.groupBy(segments, ({ table, platform, day }) => `${table}/${platform}/${day}`);
  for (const day of days.values()) {
    const parts = day[0]?.day === today ? fullTier(day) : withinRowsMax(day);
    if (parts !== null) return parts;
  }
  return null;
}

function fullTier(segments: readonly Segment[]): readonly Segment[] | null {
  const tiers = Map.groupBy(segments, ({ rows }) => Math.floor(Math.log10(rows)));
  for (const tier of tiers.values()) {
    if (tier.length >= TIER_SEGMENTS) return withinRowsMax(tier);
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
