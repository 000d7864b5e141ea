import { setImmediate as pause } from 'node:timers/promises';
import { Type } from '#base/json-schema.ts';
import {
  count,
  epochMs,
  list,
  nextPageCursorSchema,
  nullable,
  shape,
  type ValueOf,
  yesNo,
} from '#base/shapes.ts';
import { type Decision, DecisionSchema } from '#decision/decision.ts';
import {
  compareNewestFirst,
  type DecisionFilter,
  isAfterPosition,
  matchesFilter,
} from '#decision/decision-filter.ts';
import { type UnreadDecisions, UnreadDecisionsListSchema } from '#history/archive/unread-decisions.ts';

/** The decisions that a limited search back in time found, and how far the search went. */
export const FoundDecisionsSchema = shape('Decisions, newest first', {
  decisions: list(DecisionSchema, 'At most `limit`'),
  next: nextPageCursorSchema,
  lookedAt: shape('How far was looked for them', {
    decisions: count('Decisions that were compared with what is asked for'),
    backTo: nullable(epochMs('The oldest of them; null when there was none')),
    complete: yesNo(
      'All that is kept was looked at; otherwise there may be more before `backTo`, since `upTo`, or in what is `unread`',
    ),
    upTo: Type.Optional(
      epochMs(
        'Of what was decided or reported from then on some was not looked at: it was not read yet or, beside `outcome`, reports lie in a file of the archive that cannot be read',
      ),
    ),
    unread: Type.Optional(UnreadDecisionsListSchema),
  }),
});

export type FoundDecisions = ValueOf<typeof FoundDecisionsSchema>;

/**
 * The most decisions that a search compares with its filter. Ten thousand take a tenth of a second, and are more than
 * a person reads.
 */
export const LOOKED_AT_DECISIONS_MAX = 10_000;

/**
 * The number of decisions that are read at once. The store reads a page in steps that do not hold up other requests
 * (`searchThrottle`).
 */
export const PAGE_DECISIONS_MAX = 200;

/**
 * Searches pages of at most PAGE_DECISIONS_MAX decisions, from the newest back in time. The search ends when `limit`
 * decisions match, no page is left, or LOOKED_AT_DECISIONS_MAX decisions were compared. It never ends between two
 * decisions of the same millisecond, because pages have these in any sequence. A page that is not full is the last
 * one, and so is a page that reaches past `from`.
 */
export async function findDecisionsInPages(
  nextPage: () => Promise<readonly Decision[]>,
  filter: DecisionFilter,
  limit: number,
): Promise<FoundDecisions> {
  const { from = Number.NEGATIVE_INFINITY } = filter;
  const found: Decision[] = [];
  let decisions = 0;
  let oldest: Decision | null = null;
  for (;;) {
    const page = await nextPage();
    const within = page.filter(({ at }) => at >= from);
    for (const decision of within) {
      const isEnough = found.length >= limit || decisions >= LOOKED_AT_DECISIONS_MAX;
      if (isEnough && decision.at !== oldest?.at)
        return cutToLimit(found, { filter, limit, decisions, oldest, isAll: false });
      decisions++;
      oldest = pickOlder(oldest, decision);
      if (matchesFilter(decision, filter)) found.push(decision);
    }
    if (within.length < PAGE_DECISIONS_MAX)
      return cutToLimit(found, { filter, limit, decisions, oldest, isAll: true });
    await pause();
  }
}

/** How far a search for decisions went. */
interface SearchProgress {
  readonly filter: DecisionFilter;
  readonly limit: number;
  /** The number of decisions that were compared with the filter, and the oldest of them. */
  readonly decisions: number;
  readonly oldest: Decision | null;
  /** Whether no older decision was left. */
  readonly isAll: boolean;
}

/** Cuts the decisions that were found to the limit. */
function cutToLimit(found: readonly Decision[], look: SearchProgress): FoundDecisions {
  const { filter, limit } = look;
  const decisions = found.toSorted(compareNewestFirst).slice(0, limit);
  const complete = look.isAll && found.length <= limit;
  const last = found.length > limit ? (decisions.at(-1) ?? null) : look.oldest;
  // A search that continues after `filter.after` may have ended before it came to that position.
  const leadsOn = last !== null && (filter.after === undefined || isAfterPosition(last, filter.after));
  const next = !complete && leadsOn ? last.decisionId : null;
  return { decisions, next, lookedAt: { decisions: look.decisions, backTo: last?.at ?? null, complete } };
}

/** Adds the parts that could not be read. If there are any, the list is marked as incomplete. */
export function addUnreadParts(found: FoundDecisions, unread: readonly UnreadDecisions[]): FoundDecisions {
  if (unread.length === 0) return found;
  return { ...found, lookedAt: { ...found.lookedAt, complete: false, unread } };
}

/** Returns the one of two decisions that is listed later. */
function pickOlder(a: Decision | null, b: Decision): Decision {
  return a === null || compareNewestFirst(a, b) < 0 ? b : a;
}
