import type { PlatformName } from '../../../client/client-key.ts';
import type { Decision } from '../../../decision/decision.ts';
import { type DecisionFilter, fitsFilter } from '../../../decision/decision-filter.ts';
import type { FoundDecisions } from '../../decision-search.ts';
import { journalKey } from '../../keys.ts';
import { STEP_ITEMS_MAX, searchSteps } from '../../paced-steps.ts';
import { batchFor, type JournalParts, type JournalRow, rowOf } from './journal.ts';

/**
 * Entries that are looked at for decisions that fit a filter. Fewer than one partition keeps, so that what
 * reaches the end of every partition has met none that was trimmed.
 */
const LOOKED_AT_ENTRIES_MAX = 15_000;

/** One partition while decisions are looked for backwards. */
interface Search {
  readonly partition: string;
  /** The oldest entry that was looked at. */
  reached: JournalRow | null;
  readonly found: { readonly ms: number; readonly decision: Decision }[];
  /** The platform's decisions that were looked at: when they were added, and when they were made. */
  readonly seen: { readonly ms: number; readonly at: number }[];
  ended: boolean;
}

/** `findDecisions` over the partitions of the journal: all of them backwards, some in each step. */
export class RedisDecisionSearch {
  readonly #parts: JournalParts;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** A platform's newest decisions that fit, newest first, and how far was looked. */
  async find(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    const searches = this.#parts
      .partitions()
      .map((partition): Search => ({ partition, reached: null, found: [], seen: [], ended: false }));
    let batch = Math.min(batchFor(limit), STEP_ITEMS_MAX);
    for (let lookedAt = 0; lookedAt < LOOKED_AT_ENTRIES_MAX; ) {
      const open = unfinished(searches, limit);
      if (open.length === 0) break;
      const count = Math.min(batch, Math.ceil((LOOKED_AT_ENTRIES_MAX - lookedAt) / open.length));
      const together = Math.max(1, Math.floor(STEP_ITEMS_MAX / count));
      for (let start = 0; start < open.length; start += together) {
        const some = open.slice(start, start + together);
        await searchSteps.run(() =>
          Promise.all(some.map((search) => this.#searchOn(search, platform, count, filter))),
        );
      }
      lookedAt += open.length * count;
      batch = Math.min(2 * batch, STEP_ITEMS_MAX);
    }
    return foundIn(searches, limit);
  }

  async #searchOn(
    search: Search,
    platform: PlatformName,
    batch: number,
    filter: DecisionFilter,
  ): Promise<void> {
    const key = journalKey(search.partition);
    const from = search.reached === null ? '+' : `(${search.reached.id}`;
    const reply = await this.#parts.runOn(key)(() =>
      this.#parts.commands.xRevRange(key, from, '-', { COUNT: batch }),
    );
    const rows = (reply ?? []).map(rowOf);
    const verdicts = rows.filter(
      ({ fields }) => fields['kind'] === 'verdict' && fields['platform'] === platform,
    );
    const entries = await this.#parts.entries.of(verdicts);
    for (const [index, { place }] of verdicts.entries()) {
      const entry = entries[index];
      if (entry?.kind !== 'verdict') continue;
      const { decision } = entry;
      search.seen.push({ ms: place.ms, at: decision.at });
      if (fitsFilter(decision, filter)) search.found.push({ ms: place.ms, decision });
    }
    search.reached = rows.at(-1) ?? search.reached;
    search.ended = rows.length < batch;
  }
}

/** Partitions that may still hold one of the newest `limit` decisions. */
function unfinished(searches: readonly Search[], limit: number): readonly Search[] {
  const since = newestSince(searches, limit);
  return searches.filter(({ ended, reached }) => !ended && (reached === null || reached.place.ms >= since));
}

/** Only what is certain: in no partition a decision was left out between those that are given. */
function foundIn(searches: readonly Search[], limit: number): FoundDecisions {
  const reached = searches.map((search) => (search.ended ? 0 : (search.reached?.place.ms ?? 0)));
  const foundCount = searches.reduce((sum, { found }) => sum + found.length, 0);
  const complete = searches.every(({ ended }) => ended) && foundCount <= limit;
  const since = complete ? 0 : Math.max(newestSince(searches, limit), ...reached);
  const decisions = searches
    .flatMap(({ found }) => found.filter(({ ms }) => ms >= since))
    .map(({ decision }) => decision)
    .sort((a, b) => b.at - a.at)
    .slice(0, limit);
  const oldest = complete || decisions.length < limit ? 0 : (decisions.at(-1)?.at ?? 0);
  const times = searches.flatMap(({ seen }) =>
    seen.filter(({ ms, at }) => ms >= since && at >= oldest).map(({ at }) => at),
  );
  const backTo = times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b));
  return { decisions, lookedAt: { decisions: times.length, backTo, complete } };
}

/** When the `limit`-th newest of what was found was added. */
function newestSince(searches: readonly Search[], limit: number): number {
  const times = searches.flatMap(({ found }) => found.map(({ ms }) => ms)).sort((a, b) => b - a);
  return times[limit - 1] ?? 0;
}
