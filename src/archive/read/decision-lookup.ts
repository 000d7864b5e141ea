import { type ClientKey, type PlatformName, parseDecisionId } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import { type DecisionFilter, newestFirst } from '../../decision/decision-filter.ts';
import { type FoundDecisions, type UnreadDecisions, withUnread } from '../../state/decision-search.ts';
import type { JournalEntry, Placed } from '../../state/journal.ts';
import { RETENTION } from '../../state/retention.ts';
import type { ClientJournal, Store } from '../../state/store.ts';
import { isArchivedElsewhere } from '../archive-home.ts';
import type { LeftOut } from '../archive-log.ts';
import type { OrderFate } from '../order-fate.ts';
import { isAboutClients, TABLE_NAMES } from '../tables.ts';
import type { ArchiveReach, ArchiveReader } from './archive-reader.ts';

/** One decision, null when there is none in what could be read, and where else it may lie. */
export interface LookedUpDecision {
  readonly decision: Decision | null;
  /** Empty when it was found, and when everything could be read. */
  readonly unread: readonly UnreadDecisions[];
}

/** Decisions that could be read, newest first, and where more of them may lie. */
export interface LookedUpDecisions {
  readonly decisions: readonly Decision[];
  /** Empty when everything could be read, or need not be. */
  readonly unread: readonly UnreadDecisions[];
}

/**
 * Decisions wherever they are: the hot store first, then the archive. Without an archive (null) the hot store
 * answers alone, and is not all where other nodes have one. A decision that is in both is given once.
 */
export class DecisionLookup {
  readonly #store: Store;
  readonly #archive: ArchiveReader | null;

  constructor(store: Store, archive: ArchiveReader | null) {
    this.#store = store;
    this.#archive = archive;
  }

  /** The decision of this id, of any platform where that is null. */
  async decision(decisionId: string, platform: PlatformName | null): Promise<LookedUpDecision> {
    if (parseDecisionId(decisionId) === null) return { decision: null, unread: [] };
    const hot = await this.#store.decision(decisionId);
    if (hot !== null) return { decision: hot, unread: [] };
    const { decision, unreadable } =
      (await this.#archive?.decision(decisionId, platform)) ?? NOTHING_ARCHIVED;
    return { decision, unread: decision === null ? await this.#unread(unreadable) : [] };
  }

  /** At most RETENTION.decisionsPerOrder. */
  async ofOrder(platform: PlatformName, orderRef: string): Promise<LookedUpDecisions> {
    const limit = RETENTION.decisionsPerOrder;
    const hot = await this.#store.decisionsOfOrder(platform, orderRef);
    if (hot.length >= limit) return { decisions: hot, unread: [] };
    const archived = await this.#archive?.decisionsOfOrder(platform, orderRef, limit);
    const { decisions, unreadable } = archived ?? NOTHING_ARCHIVED;
    return { decisions: together(hot, decisions).slice(0, limit), unread: await this.#unread(unreadable) };
  }

  /** A client's decisions with a seq below `beforeSeq`. */
  async ofClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<LookedUpDecisions> {
    const hot = await this.#store.decisionsOfClient(client, limit, beforeSeq);
    const oldest = hot.at(-1)?.seq ?? beforeSeq;
    if (hot.length >= limit || oldest === 1) return { decisions: hot, unread: [] };
    const archived = await this.#archive?.decisionsOfClient(client, limit - hot.length, oldest);
    const { decisions, unreadable } = archived ?? NOTHING_ARCHIVED;
    return { decisions: together(hot, decisions), unread: await this.#unread(unreadable) };
  }

  /** The platform's newest decisions that fit, and how far back the search went. */
  async find(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    const hot = await this.#store.findDecisions(platform, filter, limit);
    if (hot.decisions.length >= limit) return hot;
    if (this.#archive === null) return withUnread(hot, await this.#unread([]));
    const before = hot.lookedAt.backTo ?? Number.MAX_SAFE_INTEGER;
    const { decisions, from, unreadable } = await this.#archive.findDecisions(
      platform,
      filter,
      // The same millisecond again: what is in both is given once.
      Math.min(before + 1, TIME_MAX_MS),
      // One more than wanted shows whether that was all.
      limit + 1,
    );
    const looked = {
      decisions: hot.lookedAt.decisions + decisions.length,
      from: from ?? hot.lookedAt.backTo,
    };
    const found = cut(together(hot.decisions, decisions), limit, { ...looked, unreadable });
    const elsewhere = await this.#unread([]);
    return withUnread(found, [...(found.lookedAt.unread ?? []), ...elsewhere]);
  }

  /**
   * The platform's newest decisions that fit and whose order came to this, from the archive alone: nothing else knows
   * the outcomes of many orders. Null without an archive.
   */
  async findByFate(
    platform: PlatformName,
    filter: DecisionFilter,
    fate: OrderFate,
    limit: number,
  ): Promise<FoundDecisions | null> {
    if (this.#archive === null) return null;
    // First: what is shipped meanwhile may be missing from what is found.
    const upTo = await this.#archive.knowsUpTo(platform);
    const found = await this.#archive.findDecisions(platform, filter, TIME_MAX_MS, limit + 1, fate);
    const known = cut(found.decisions, limit, {
      ...found,
      decisions: Math.min(found.decisions.length, limit),
    });
    const missingFrom = [...(upTo === null ? [] : [upTo]), ...found.unreadReports.map(({ from }) => from)];
    if (missingFrom.length === 0) return known;
    return { ...known, lookedAt: { ...known.lookedAt, complete: false, upTo: Math.min(...missingFrom) } };
  }

  /** What happened to a client, newest first, and whether there is nothing older. */
  async history(client: ClientKey, limit: number): Promise<ClientJournal> {
    const hot = await this.#store.historyOfClient(client, limit);
    if (hot.entries.length >= limit) return hot;
    const oldest = hot.entries.at(-1) ?? null;
    const archived = await this.#archive?.history(client, oldest, limit + 1 - hot.entries.length);
    if (archived === undefined)
      return { ...hot, complete: hot.complete && (await this.#unread([])).length === 0 };
    const unreadable = await this.#unread(archived.unreadable);
    const all = [...hot.entries, ...archived.entries];
    return { entries: all.slice(0, limit), complete: all.length <= limit && unreadable.length === 0 };
  }

  /** All of a client's decisions that are kept, newest first, by pages; in the end whether none is missing. */
  async *allOfClient(client: ClientKey): AsyncGenerator<readonly Decision[], boolean> {
    let isWhole = true;
    for (let beforeSeq = Number.MAX_SAFE_INTEGER; beforeSeq > 1; ) {
      const { decisions, unread } = await this.ofClient(client, PAGE_MAX, beforeSeq);
      yield decisions;
      isWhole &&= unread.length === 0;
      beforeSeq = decisions.length < PAGE_MAX ? 0 : (decisions.at(-1)?.seq ?? 0);
    }
    return isWhole;
  }

  /** All that happened to a client besides its decisions, as `allOfClient`. */
  async *allHistory(client: ClientKey): AsyncGenerator<readonly OtherEntry[], boolean> {
    let oldest: Placed<JournalEntry> | null = null;
    let isWhole = true;
    for (let isAll = false; !isAll; ) {
      const hot: ClientJournal = await this.#store.historyOfClient(client, PAGE_MAX, oldest?.place);
      yield othersOf(hot.entries);
      oldest = hot.entries.at(-1) ?? oldest;
      isAll = hot.complete || hot.entries.length === 0;
      // Fewer than there are: some cannot be read.
      isWhole &&= hot.complete || hot.entries.length === PAGE_MAX;
    }
    const tables = TABLE_NAMES.filter((table) => isAboutClients(table) && table !== 'decisions');
    for (let isAll = this.#archive === null; !isAll; ) {
      const archived = await this.#archive?.history(client, oldest, PAGE_MAX, tables);
      const { entries = [], unreadable = [] } = archived ?? {};
      yield othersOf(entries);
      oldest = entries.at(-1) ?? oldest;
      isAll = entries.length < PAGE_MAX;
      isWhole &&= unreadable.length === 0;
    }
    return isWhole && (await this.#unread([])).length === 0;
  }

  /** What this node cannot look into: some files, or all of an archive that only others have. */
  async #unread(segments: readonly LeftOut[]): Promise<readonly UnreadDecisions[]> {
    const isElsewhere = await isArchivedElsewhere(this.#store.registers, this.#archive?.folder ?? null);
    const elsewhere = isElsewhere ? [{ from: 0, to: Date.now(), decisions: 0 }] : [];
    return [...segments.map(unreadOf), ...elsewhere];
  }
}

type OtherEntry = Exclude<JournalEntry, { readonly kind: 'verdict' }>;

/** How much of a client's data is in memory at once. */
const PAGE_MAX = 100;

/** Of a node without an archive. */
const NOTHING_ARCHIVED = { decision: null, decisions: [], unreadable: [] };

/** The year 9999: what the archive's time stamps can hold. */
const TIME_MAX_MS = 253_402_300_799_000;

/** Cuts the found entries to `limit`, of one more that was asked for; `from` is the oldest that is kept. */
function cut(
  found: readonly Decision[],
  limit: number,
  looked: { readonly decisions: number } & ArchiveReach,
): FoundDecisions {
  const decisions = found.slice(0, limit);
  const last = decisions.at(-1);
  const isCut = found.length > limit;
  const complete = !isCut && looked.unreadable.length === 0;
  const backTo = isCut ? (last?.at ?? null) : looked.from;
  const next = isCut ? (last?.decisionId ?? null) : null;
  const lookedAt = { decisions: looked.decisions, backTo, complete, next };
  return withUnread({ decisions, lookedAt }, looked.unreadable.map(unreadOf));
}

function othersOf(entries: readonly Placed<JournalEntry>[]): readonly OtherEntry[] {
  return entries.filter((entry) => entry.kind !== 'verdict').map(({ place: _place, ...entry }) => entry);
}

function unreadOf({ from, to, rows: decisions, why }: LeftOut): UnreadDecisions {
  return { from, to, decisions, ...(why === undefined ? {} : { why }) };
}

function together(hot: readonly Decision[], archived: readonly Decision[]): readonly Decision[] {
  const known = new Set(hot.map(({ decisionId }) => decisionId));
  return [...hot, ...archived.filter(({ decisionId }) => !known.has(decisionId))].toSorted(newestFirst);
}
