import type { PlatformName } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import { type DecisionFilter, fitsFilter, newestFirst } from '../../decision/decision-filter.ts';
import { type FoundDecisions, foundOf } from '../decision-search.ts';
import { type JournalEntry, type Placed, parsePlace } from '../journal.ts';
import { journalKey, PARTITIONS, partitionNumber, partitionOf } from '../keys.ts';
import { STEP_ITEMS_MAX, searchSteps } from '../paced-steps.ts';
import type { Store } from '../store.ts';
import { itemsOf } from './connection/reply.ts';
import { batchFor, type JournalParts, type JournalRow, rowOf, type StoredEntry } from './journal.ts';
import { RedisScript } from './script.ts';

const historyScript = new RedisScript('client-history-1.lua');

/** Entries that one command looks at: about half a millisecond, in which Redis serves no other request. */
const BATCH_ENTRIES_MAX = 100;

/** The most entries that are searched; a partition's share of the journal is less. */
const LOOKED_AT_ENTRIES_MAX = 20_000;

/**
 * A client's newest entries, looked for backwards in the journal of its partition. That has no index by client, which
 * would cost every verdict.
 */
export function redisClientHistory(parts: JournalParts): Store['historyOfClient'] {
  return async ({ hash }, limit, before = null) => {
    const journal = journalKey(partitionOf(hash));
    const found: Placed<JournalEntry>[] = [];
    let from = before === null ? '+' : `(${before.ms}-${before.seq}`;
    let isWhole = true;
    for (let lookedAt = 0; lookedAt < LOOKED_AT_ENTRIES_MAX; lookedAt += BATCH_ENTRIES_MAX) {
      // One more than wanted shows whether that was all.
      const args = [hash, from, String(BATCH_ENTRIES_MAX), String(limit + 1 - found.length)];
      const { next, entries, allRead } = await searchSteps.run(async () => {
        const stretch = await historyScript.on(parts, [journal], args, (what, reply) =>
          readStretch(hash, itemsOf(what, reply)),
        );
        return { next: stretch.next, ...(await parts.entries.ofClient(stretch.entries)) };
      });
      found.push(...entries);
      isWhole &&= allRead;
      if (found.length > limit) break;
      if (next === '') return { entries: found, complete: isWhole };
      from = next;
    }
    return { entries: found.slice(0, limit), complete: false };
  };
}

interface Stretch {
  readonly next: string;
  readonly entries: readonly StoredEntry[];
}

function readStretch(clientHash: string, items: readonly unknown[]): Stretch {
  const [next = '', ...told] = items.map(String);
  const partition = partitionNumber(partitionOf(clientHash));
  const entries = Array.from({ length: told.length / 2 }, (_, index) => {
    const [id = '', text = ''] = told.slice(2 * index, 2 * index + 2);
    return { clientHash, text, place: { partition, ...parsePlace(id) } };
  });
  return { next, entries };
}

/**
 * The most entries that a filtered search reads. Fewer than one partition keeps, so that a search that reaches the
 * end of every partition has missed no trimmed entry.
 */
const SEARCHED_ENTRIES_MAX = 15_000;

/**
 * Entries stand in the order in which they were added, and decisions are listed in that in which they were made: two
 * nodes can swap as much as this, the time that a call of the store may take and some more.
 */
const SWAPPED_WITHIN_MS = 250;

interface Seen {
  readonly ms: number;
  readonly decision: Decision;
  readonly fits: boolean;
}

/** One partition while decisions are looked for backwards. */
interface Search {
  readonly partition: string;
  /** The oldest entry that was looked at. */
  reached: JournalRow | null;
  /** The platform's decisions that were looked at, with the time when they were added. */
  readonly seen: Seen[];
  ended: boolean;
}

/** `findDecisions` over the partitions of the journal: all of them backwards, some in each step. */
export function redisDecisionSearch(parts: JournalParts): Store['findDecisions'] {
  return async (platform, filter, limit) => {
    const searches = PARTITIONS.map(
      (partition): Search => ({ partition, reached: null, seen: [], ended: false }),
    );
    let batch = Math.min(batchFor(limit), STEP_ITEMS_MAX);
    for (let lookedAt = 0; lookedAt < SEARCHED_ENTRIES_MAX; ) {
      const open = unfinished(searches, limit);
      if (open.length === 0) break;
      const count = Math.min(batch, Math.ceil((SEARCHED_ENTRIES_MAX - lookedAt) / open.length));
      const together = Math.max(1, Math.floor(STEP_ITEMS_MAX / count));
      for (let start = 0; start < open.length; start += together) {
        const some = open.slice(start, start + together);
        await searchSteps.run(() =>
          Promise.all(some.map((search) => searchOn(parts, search, platform, count, filter))),
        );
      }
      lookedAt += open.length * count;
      batch = Math.min(2 * batch, STEP_ITEMS_MAX);
    }
    return foundIn(searches, filter, limit);
  };
}

async function searchOn(
  { commands, runOn, entries: whole }: JournalParts,
  search: Search,
  platform: PlatformName,
  batch: number,
  filter: DecisionFilter,
): Promise<void> {
  const key = journalKey(search.partition);
  const from = search.reached === null ? '+' : `(${search.reached.id}`;
  const reply = await runOn(key)(() => commands.xRevRange(key, from, '-', { COUNT: batch }));
  const rows = (reply ?? []).map(rowOf);
  const verdicts = rows.filter(
    ({ fields }) => fields['kind'] === 'verdict' && fields['platform'] === platform,
  );
  const entries = await whole.of(search.partition, verdicts);
  for (const [index, { place }] of verdicts.entries()) {
    const entry = entries[index];
    if (entry?.kind !== 'verdict') continue;
    const { decision } = entry;
    search.seen.push({ ms: place.ms, decision, fits: fitsFilter(decision, filter) });
  }
  search.reached = rows.at(-1) ?? search.reached;
  search.ended = rows.length < batch;
}

/** Partitions that may still hold one of the newest `limit` decisions. */
function unfinished(searches: readonly Search[], limit: number): readonly Search[] {
  const found = newest(searches.flatMap(({ seen }) => seen.filter(({ fits }) => fits)));
  const since = found[limit - 1]?.ms ?? Number.NEGATIVE_INFINITY;
  return searches.filter((search) => lookedAtSince(search) + SWAPPED_WITHIN_MS >= since);
}

/** All that was added to a partition since this time was looked at, epoch ms. */
function lookedAtSince({ ended, reached }: Search): number {
  if (ended) return Number.NEGATIVE_INFINITY;
  return reached === null ? Number.POSITIVE_INFINITY : reached.place.ms;
}

/** Only what is certain: no decision is missing between those that are returned. */
function foundIn(searches: readonly Search[], filter: DecisionFilter, limit: number): FoundDecisions {
  const since = Math.max(...searches.map(lookedAtSince));
  const seen = newest(searches.flatMap((search) => search.seen));
  const sure = seen.slice(0, firstBefore(seen, since + SWAPPED_WITHIN_MS));
  // When very many came within a moment, returning those that were seen is better than returning none.
  const certain = sure.length > 0 ? sure : seen.slice(0, firstBefore(seen, since));
  const isAll = since === Number.NEGATIVE_INFINITY && certain.length === seen.length;
  const found = certain.filter(({ fits }) => fits);
  const isCut = found.length > limit || (!isAll && found.length === limit);
  const last = isCut ? found[limit - 1] : certain.at(-1);
  const decisions = last === undefined ? 0 : certain.indexOf(last) + 1;
  const look = { filter, limit, decisions, oldest: last?.decision ?? null, isAll };
  return foundOf(
    found.map(({ decision }) => decision),
    look,
  );
}

/** Where in a list the first stands that was added before a time. */
function firstBefore(seen: readonly Seen[], time: number): number {
  const index = seen.findIndex(({ ms }) => ms < time);
  return index < 0 ? seen.length : index;
}

function newest(seen: readonly Seen[]): readonly Seen[] {
  return seen.toSorted((a, b) => newestFirst(a.decision, b.decision));
}
