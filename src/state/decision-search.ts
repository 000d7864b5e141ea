import { setImmediate as pause } from 'node:timers/promises';
import type { Decision } from '../decision/decision.ts';
import { type DecisionFilter, fitsFilter } from '../decision/decision-filter.ts';
import { isAfter, newestFirst } from '../decision/newest-first.ts';

/** Decisions in a file of the archive that could not be read. */
export interface UnreadDecisions {
  /** When the oldest and the newest of them were made, epoch ms. */
  readonly from: number;
  readonly to: number;
  readonly decisions: number;
}

/** For people. */
export function unreadText({ from, to, decisions }: UnreadDecisions): string {
  const [first, last] = [from, to].map((at) => new Date(at).toISOString());
  return `${decisions} decisions from ${first} to ${last} lie in a file of the archive that cannot be read`;
}

/** What a bounded look back found, newest first, and how far it went. */
export interface FoundDecisions {
  readonly decisions: readonly Decision[];
  readonly lookedAt: {
    /** How many decisions were compared with the filter. */
    readonly decisions: number;
    /** When the oldest of them was made, epoch ms; null when there was none. */
    readonly backTo: number | null;
    /** All that is kept was looked at; otherwise there may be more before `backTo`, or since `upTo`. */
    readonly complete: boolean;
    /** The decisionId after which another look goes on, with none left out and none twice; null when none can. */
    readonly next: string | null;
    /** Of what was decided or reported from this time on not all was looked at, epoch ms; absent: all was. */
    readonly upTo?: number;
    /** What could not be read and may hold more; absent: all could. */
    readonly unread?: readonly UnreadDecisions[];
  };
}

/** Some thousands take a tenth of a second, and are more than a person reads. */
export const LOOKED_AT_DECISIONS_MAX = 10_000;

/** How many are asked for at once. The store reads a page in steps that hold up no other request (`searchSteps`). */
export const PAGE_DECISIONS_MAX = 200;

/**
 * Looks through pages of at most PAGE_DECISIONS_MAX decisions, by time from the newest on, until `limit` of them fit,
 * nothing is left, or LOOKED_AT_DECISIONS_MAX were looked at. It ends between two milliseconds and not within one: the
 * pages have the decisions of one in any order. A page that is not full is the last one, and so is one that reaches
 * past `from`.
 */
export async function findInPages(
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
        return foundOf(found, { filter, limit, decisions, oldest, isAll: false });
      decisions++;
      oldest = oldestOf(oldest, decision);
      if (fitsFilter(decision, filter)) found.push(decision);
    }
    if (within.length < PAGE_DECISIONS_MAX)
      return foundOf(found, { filter, limit, decisions, oldest, isAll: true });
    await pause();
  }
}

/** How a look for decisions went. */
interface Look {
  readonly filter: DecisionFilter;
  readonly limit: number;
  /** How many were looked at, and the last of them. */
  readonly decisions: number;
  readonly oldest: Decision | null;
  /** Nothing older was left to look at. */
  readonly isAll: boolean;
}

/** Cuts what was found to the limit. */
export function foundOf(found: readonly Decision[], look: Look): FoundDecisions {
  const { filter, limit } = look;
  const decisions = found.toSorted(newestFirst).slice(0, limit);
  const complete = look.isAll && found.length <= limit;
  const last = found.length > limit ? (decisions.at(-1) ?? null) : look.oldest;
  // A bounded look may have ended before it came to where it was to go on.
  const leadsOn = last !== null && (filter.after === undefined || isAfter(last, filter.after));
  const next = !complete && leadsOn ? last.decisionId : null;
  return { decisions, lookedAt: { decisions: look.decisions, backTo: last?.at ?? null, complete, next } };
}

/** The same where something could not be read: then it is not all. */
export function withUnread(found: FoundDecisions, unread: readonly UnreadDecisions[]): FoundDecisions {
  if (unread.length === 0) return found;
  return { ...found, lookedAt: { ...found.lookedAt, complete: false, unread } };
}

/** Whichever of the two is listed last. */
function oldestOf(a: Decision | null, b: Decision): Decision {
  return a === null || newestFirst(a, b) < 0 ? b : a;
}
