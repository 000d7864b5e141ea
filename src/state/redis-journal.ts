import type { PlatformName } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import type { Guard } from './documents.ts';
import { comparePlaces, type JournalPlace, parsePlace, readCursor, writeCursor } from './journal-cursor.ts';
import { journalKey, PARTITIONS } from './keys.ts';
import type { RedisCommands } from './redis-connection.ts';
import type { JournalEntry, JournalPage } from './store.ts';

/** Entries that are looked at for the newest decisions of a platform; a quiet one may get fewer. */
const LATEST_LOOKED_AT = 50_000;
const LARGEST_BATCH = 500;

interface Row {
  readonly id: string;
  readonly place: JournalPlace;
  readonly fields: Readonly<Record<string, string>>;
}

/** One partition while the journal is read forwards. */
interface Feed {
  readonly partition: string;
  /** The last entry that was fetched, and the last that was given out. */
  fetched: JournalPlace | null;
  given: JournalPlace | null;
  readonly rows: Row[];
  ended: boolean;
}

/** One partition while decisions are looked for backwards. */
interface Search {
  readonly partition: string;
  /** The oldest entry that was looked at. */
  reached: Row | null;
  readonly found: Row[];
  ended: boolean;
}

/** What a journal entry is stored as; of a verdict its decision record, which is kept anyway. */
export function journalText(entry: JournalEntry): string {
  return JSON.stringify(entry.kind === 'verdict' ? entry.decision : entry);
}

/**
 * The journal over its partitions. An entry that is added later comes later in its partition, so a cursor
 * that holds a place in each partition skips nothing and doubles nothing; between partitions the order is
 * that of the servers' clocks.
 */
export class RedisJournal {
  readonly #commands: RedisCommands;
  readonly #guardOf: (key: string) => Guard;

  constructor(commands: RedisCommands, guardOf: (key: string) => Guard) {
    this.#commands = commands;
    this.#guardOf = guardOf;
  }

  async read(after: string | null, limit: number): Promise<JournalPage> {
    const places = readCursor(after);
    const feeds = PARTITIONS.map((partition, index): Feed => {
      const place = places[index] ?? null;
      return { partition, fetched: place, given: place, rows: [], ended: false };
    });
    const entries: JournalEntry[] = [];
    let batch = batchFor(limit);
    while (entries.length < limit) {
      await this.#fill(feeds, batch);
      const before = entries.length;
      while (entries.length < limit) {
        const row = takeOldest(feeds);
        if (row === null) break;
        entries.push(entryOf(row));
      }
      if (entries.length === before) break;
      batch = Math.min(2 * batch, LARGEST_BATCH);
    }
    const cursor = entries.length === 0 ? after : writeCursor(feeds.map(({ given }) => given));
    return { entries, cursor };
  }

  /** A platform's newest decisions, newest first. */
  async latest(platform: PlatformName, limit: number): Promise<readonly Decision[]> {
    const searches = PARTITIONS.map(
      (partition): Search => ({ partition, reached: null, found: [], ended: false }),
    );
    let batch = batchFor(limit);
    for (let lookedAt = 0; lookedAt < LATEST_LOOKED_AT; ) {
      const open = unfinished(searches, limit);
      if (open.length === 0) break;
      await Promise.all(open.map((search) => this.#searchOn(search, platform, batch)));
      lookedAt += open.length * batch;
      batch = Math.min(2 * batch, LARGEST_BATCH);
    }
    return newest(searches, limit)
      .map(decisionOf)
      .sort((a, b) => b.at - a.at)
      .slice(0, limit);
  }

  /** Every partition that has more to give gets something to give. */
  async #fill(feeds: readonly Feed[], batch: number): Promise<void> {
    const hungry = feeds.filter(({ rows, ended }) => rows.length === 0 && !ended);
    await Promise.all(
      hungry.map(async (feed) => {
        const key = journalKey(feed.partition);
        const from = feed.fetched === null ? '-' : `(${feed.fetched.ms}-${feed.fetched.seq}`;
        const reply = await this.#guardOf(key)(() => this.#commands.xRange(key, from, '+', { COUNT: batch }));
        feed.rows.push(...(reply ?? []).map(rowOf));
        feed.fetched = feed.rows.at(-1)?.place ?? feed.fetched;
        feed.ended = feed.rows.length < batch;
      }),
    );
  }

  async #searchOn(search: Search, platform: PlatformName, batch: number): Promise<void> {
    const key = journalKey(search.partition);
    const from = search.reached === null ? '+' : `(${search.reached.id}`;
    const reply = await this.#guardOf(key)(() => this.#commands.xRevRange(key, from, '-', { COUNT: batch }));
    const rows = (reply ?? []).map(rowOf);
    search.found.push(
      ...rows.filter(({ fields }) => fields['kind'] === 'verdict' && fields['platform'] === platform),
    );
    search.reached = rows.at(-1) ?? search.reached;
    search.ended = rows.length < batch;
  }
}

/** Clients spread evenly: a partition's share of what is wanted, and some to spare. */
function batchFor(limit: number): number {
  return Math.min(LARGEST_BATCH, 4 + Math.ceil((2 * limit) / PARTITIONS.length));
}

/** The oldest row of all; null when that cannot be told before an empty feed is filled again. */
function takeOldest(feeds: readonly Feed[]): Row | null {
  let oldest: Feed | null = null;
  let oldestPlace: JournalPlace | null = null;
  for (const feed of feeds) {
    const place = feed.rows[0]?.place;
    if (place === undefined) {
      if (!feed.ended) return null;
    } else if (oldestPlace === null || comparePlaces(place, oldestPlace) < 0) {
      oldest = feed;
      oldestPlace = place;
    }
  }
  if (oldest === null) return null;
  oldest.given = oldestPlace;
  return oldest.rows.shift() ?? null;
}

/** Partitions that may still hold one of the newest `limit` decisions. */
function unfinished(searches: readonly Search[], limit: number): readonly Search[] {
  const since = newestSince(searches, limit);
  return searches.filter(({ ended, reached }) => !ended && (reached === null || reached.place.ms >= since));
}

/** The newest `limit`, and those of the same ms as the last of them: partitions do not order them. */
function newest(searches: readonly Search[], limit: number): readonly Row[] {
  const since = newestSince(searches, limit);
  return searches.flatMap(({ found }) => found.filter(({ place }) => place.ms >= since));
}

/** When the `limit`-th newest of what was found was added. */
function newestSince(searches: readonly Search[], limit: number): number {
  const times = searches.flatMap(({ found }) => found.map(({ place }) => place.ms)).sort((a, b) => b - a);
  return times[limit - 1] ?? 0;
}

function rowOf({ id, message }: { readonly id: string; readonly message: Record<string, string> }): Row {
  return { id, place: parsePlace(id), fields: message };
}

function decisionOf({ fields }: Row): Decision {
  return JSON.parse(fields['entry'] ?? 'null');
}

function entryOf(row: Row): JournalEntry {
  if (row.fields['kind'] !== 'verdict') return JSON.parse(row.fields['entry'] ?? 'null');
  const decision = decisionOf(row);
  const { at, platform, clientIdKey } = decision;
  return { kind: 'verdict', at, platform, clientIdKey, decision };
}
