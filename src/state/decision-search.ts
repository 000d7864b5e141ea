import { setImmediate as pause } from 'node:timers/promises';
import type { Decision } from '../decision/decision.ts';
import { type DecisionFilter, fitsFilter } from '../decision/decision-filter.ts';

/** What a bounded look back found, newest first, and how far it went. */
export interface FoundDecisions {
  readonly decisions: readonly Decision[];
  readonly lookedAt: {
    /** How many decisions were compared with the filter. */
    readonly decisions: number;
    /** When the oldest of them was made, epoch ms; null when there was none. */
    readonly backTo: number | null;
    /** Nothing older is kept that could fit; otherwise there may be more before `backTo`. */
    readonly complete: boolean;
  };
}

/** Some thousands take a tenth of a second, and are more than a person reads. */
export const LOOKED_AT_DECISIONS_MAX = 10_000;

/** How many are asked for at once. The store reads a page in steps that hold up no other request (`searchSteps`). */
export const PAGE_DECISIONS_MAX = 200;

/**
 * Looks through pages of at most PAGE_DECISIONS_MAX decisions, newest first, until `limit` of them fit, nothing is
 * left, or LOOKED_AT_DECISIONS_MAX were looked at. A page that is not full is the last one,
 * and so is one that reaches past `from`.
 */
export async function findInPages(
  nextPage: () => Promise<readonly Decision[]>,
  filter: DecisionFilter,
  limit: number,
): Promise<FoundDecisions> {
  const found: Decision[] = [];
  let decisions = 0;
  let backTo: number | null = null;
  for (;;) {
    const page = await nextPage();
    const start = decisions;
    const { from = Number.NEGATIVE_INFINITY } = filter;
    const within = page.filter(({ at }) => at >= from);
    for (const decision of within) {
      if (found.length === limit) break;
      decisions++;
      backTo = decision.at;
      if (fitsFilter(decision, filter)) found.push(decision);
    }
    const isLast = within.length < PAGE_DECISIONS_MAX;
    if (isLast || found.length === limit || decisions >= LOOKED_AT_DECISIONS_MAX) {
      const complete = isLast && decisions - start === within.length;
      return { decisions: found, lookedAt: { decisions, backTo, complete } };
    }
    await pause();
  }
}
