import type { Decision } from '#decision/decision.ts';
import { compareNewestFirst, type DecisionFilter } from '#decision/decision-filter.ts';
import { type ClientKey, type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import { isArchivedElsewhere } from '#history/archive/archive-home.ts';
import type { UnreadSegment } from '#history/archive/archive-log.ts';
import type { OrderStatus } from '#history/archive/order-status.ts';
import { hasClientRows, TABLE_NAMES } from '#history/archive/tables.ts';
import type { UnreadDecisions } from '#history/archive/unread-decisions.ts';
import type { DatedJournalPlace, JournalEntry, PlacedEntry } from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { toUnreadDecisions } from './decision-sql.ts';
import { addUnreadParts, type FoundDecisions } from './found-decisions.ts';
import { type FoundNames, findNames, type NameSearch } from './name-search.ts';

/**
 * A decision, and the parts of the archive that could not be read. The decision is null if it is in no part that
 * could be read.
 */
export interface LookedUpDecision {
  readonly decision: Decision | null;
  /** Empty if the decision was found, or if everything could be read. */
  readonly unread: readonly UnreadDecisions[];
}

/** The decisions that could be read, the newest first, and the parts of the archive that may hold more. */
export interface LookedUpDecisions {
  readonly decisions: readonly Decision[];
  /** Empty if everything could be read, or if nothing more had to be read. */
  readonly unread: readonly UnreadDecisions[];
}

/**
 * The results of a search for a part of a name, and the parts of archive and journal that the search could not read.
 */
export interface FoundByPartOfName extends Omit<FoundNames, 'gaps' | 'unreadable'> {
  /** Empty if everything that the search needed could be read. */
  readonly unread: readonly UnreadDecisions[];
}

/** A page of a client's history. */
export interface HistoryPage {
  /** The newest entry comes first. */
  readonly entries: readonly PlacedEntry<JournalEntry>[];
  /** Whether nothing older is known about the client. */
  readonly complete: boolean;
  /** The position before which the next page begins. Null if this is the last page. */
  readonly next: DatedJournalPlace | null;
}

/**
 * Finds decisions wherever they are. If it looks for an id, an order or a client, it asks the store first and then
 * the archive. Searches and histories read archive and journal as one source. If only other nodes have an archive,
 * this node cannot find all decisions.
 */
export class DecisionLookup {
  readonly #store: Store;
  readonly #archive: ArchiveReader;

  constructor(store: Store, archive: ArchiveReader) {
    this.#store = store;
    this.#archive = archive;
  }

  /** Finds a decision by its id. A platform of null means any platform. */
  async decision(decisionId: string, platform: PlatformName | null): Promise<LookedUpDecision> {
    if (parseDecisionId(decisionId) === null) return { decision: null, unread: [] };
    const hot = await this.#store.decision(decisionId);
    if (hot !== null) return { decision: hot, unread: [] };
    const { decision, unreadable } = await this.#archive.decision(decisionId, platform);
    return { decision, unread: decision === null ? await this.#listUnread(unreadable) : [] };
  }

  /** Returns the decisions of an order, at most RETENTION.decisionsPerOrder. */
  async ofOrder(platform: PlatformName, orderRef: string): Promise<LookedUpDecisions> {
    const limit = RETENTION.decisionsPerOrder;
    const hot = await this.#store.decisionsOfOrder(platform, orderRef);
    if (hot.length >= limit) return { decisions: hot, unread: [] };
    const { decisions, unreadable } = await this.#archive.decisionsOfOrder(platform, orderRef, limit);
    return {
      decisions: joinDecisions(hot, decisions).slice(0, limit),
      unread: await this.#listUnread(unreadable),
    };
  }

  /** Returns a client's decisions with a seq below `beforeSeq`. */
  async ofClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<LookedUpDecisions> {
    const hot = await this.#store.decisionsOfClient(client, limit, beforeSeq);
    const oldest = hot.at(-1)?.seq ?? beforeSeq;
    if (hot.length >= limit || oldest === 1) return { decisions: hot, unread: [] };
    const { decisions, unreadable } = await this.#archive.decisionsOfClient(
      client,
      limit - hot.length,
      oldest,
    );
    return { decisions: joinDecisions(hot, decisions), unread: await this.#listUnread(unreadable) };
  }

  /**
   * Finds the newest decisions of a platform that match the filter. If a status is given, their order must have that
   * status.
   */
  async find(
    platform: PlatformName,
    filter: DecisionFilter,
    limit: number,
    status: OrderStatus | null = null,
  ): Promise<FoundDecisions> {
    const found = await this.#archive.findDecisions(platform, filter, limit, status);
    const { decisions, isCut } = found;
    const missingFrom = [
      ...(found.upTo === null ? [] : [found.upTo]),
      ...found.unreadReports.map(({ from }) => from),
    ];
    const lookedAt = {
      decisions: found.compared,
      backTo: found.backTo,
      complete: !isCut && missingFrom.length === 0,
      ...(missingFrom.length === 0 ? {} : { upTo: Math.min(...missingFrom) }),
    };
    const next = isCut ? (decisions.at(-1)?.decisionId ?? null) : null;
    return addUnreadParts({ decisions, next, lookedAt }, await this.#listUnreadAndGaps(found));
  }

  /** Finds payers, orders, requests and devices by a part of their names, as `findNames` does. */
  async findByPartOfName(ask: Omit<NameSearch, 'keys'>): Promise<FoundByPartOfName> {
    const { gaps, unreadable, ...found } = await findNames(this.#archive, {
      ...ask,
      keys: this.#store.clientKeys,
    });
    return { ...found, unread: await this.#listUnreadAndGaps({ gaps, unreadable }) };
  }

  /** Finds the client with this hash. Returns null if nothing is known of such a client. */
  findClient(hash: string): Promise<ClientKey | null> {
    return this.#archive.findClient(hash);
  }

  /**
   * Returns a page of the entries about a client, the newest first. Only entries before the position `before` are
   * returned. If it is null, they start with the newest entry.
   */
  async history(
    client: ClientKey,
    limit: number,
    before: DatedJournalPlace | null = null,
  ): Promise<HistoryPage> {
    const { entries, isWhole } = await this.#archive.readHistory(client, before, limit + 1);
    const isCut = entries.length > limit;
    const page = entries.slice(0, limit);
    return {
      entries: page,
      complete: !isCut && isWhole,
      next: isCut ? (page.at(-1) ?? null) : null,
    };
  }

  /** Yields all kept decisions of a client in pages, the newest first. Returns whether everything could be read. */
  async *readDecisionsOfClient(client: ClientKey): AsyncGenerator<readonly Decision[], boolean> {
    let isWhole = true;
    for (let beforeSeq = Number.MAX_SAFE_INTEGER; beforeSeq > 1; ) {
      const { decisions, unread } = await this.ofClient(client, PAGE_MAX, beforeSeq);
      yield decisions;
      isWhole &&= unread.length === 0;
      beforeSeq = decisions.length < PAGE_MAX ? 0 : (decisions.at(-1)?.seq ?? 0);
    }
    return isWhole;
  }

  /** Yields all other entries about a client, as `readDecisionsOfClient` yields its decisions. */
  async *readOtherEntries(client: ClientKey): AsyncGenerator<readonly OtherEntry[], boolean> {
    const tables = TABLE_NAMES.filter((table) => hasClientRows(table) && table !== 'decisions');
    let oldest: DatedJournalPlace | null = null;
    for (let isWhole = true; ; ) {
      const read = await this.#archive.readHistory(client, oldest, PAGE_MAX, tables);
      yield excludeDecisions(read.entries);
      oldest = read.entries.at(-1) ?? oldest;
      isWhole &&= read.isWhole;
      if (read.entries.length < PAGE_MAX) return isWhole;
    }
  }

  async #listUnreadAndGaps({ gaps, unreadable }: Pick<FoundNames, 'gaps' | 'unreadable'>) {
    const tooMany = gaps.map(
      ({ from, to, entries }): UnreadDecisions => ({ from, to, decisions: entries, why: 'tooMany' }),
    );
    return [...tooMany, ...(await this.#listUnread(unreadable))];
  }

  /** Lists the parts that this node cannot read: some files, or the whole archive if only other nodes have it. */
  async #listUnread(segments: readonly UnreadSegment[]): Promise<readonly UnreadDecisions[]> {
    const unread = segments.map(toUnreadDecisions);
    if (!(await isArchivedElsewhere(this.#store.registers, this.#archive.folder))) return unread;
    return [...unread, { from: 0, to: Date.now(), decisions: 0 }];
  }
}

type OtherEntry = Exclude<JournalEntry, { readonly kind: 'verdict' }>;

/** The most entries of a client that are in memory at once. */
const PAGE_MAX = 100;

function excludeDecisions(entries: readonly PlacedEntry<JournalEntry>[]): readonly OtherEntry[] {
  return entries.filter((entry) => entry.kind !== 'verdict').map(({ place: _place, ...entry }) => entry);
}

function joinDecisions(hot: readonly Decision[], archived: readonly Decision[]): readonly Decision[] {
  const known = new Set(hot.map(({ decisionId }) => decisionId));
  return [...hot, ...archived.filter(({ decisionId }) => !known.has(decisionId))].toSorted(
    compareNewestFirst,
  );
}
