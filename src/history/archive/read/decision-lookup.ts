import type { Decision } from '#decision/decision.ts';
import { compareNewestFirst, type DecisionFilter } from '#decision/decision-filter.ts';
import { type ClientKey, type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import { isArchivedElsewhere } from '#history/archive/archive-home.ts';
import type { UnreadSegment } from '#history/archive/archive-log.ts';
import type { OrderStatus } from '#history/archive/order-status.ts';
import { isAboutClients, TABLE_NAMES } from '#history/archive/tables.ts';
import type { UnreadDecisions } from '#history/archive/unread-decisions.ts';
import type { HistoryPlace, JournalEntry, Placed } from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { toUnreadDecisions } from './decision-sql.ts';
import { addUnread, type FoundDecisions } from './found-decisions.ts';

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

/** A page of a client's history. */
export interface HistoryPage {
  /** Newest first. */
  readonly entries: readonly Placed<JournalEntry>[];
  /** Nothing older is known about the client. */
  readonly complete: boolean;
  /** Where it is read on; null: it ends here. */
  readonly next: HistoryPlace | null;
}

/**
 * Decisions wherever they are: by their keys in the hot store first, then in the archive, and by what they have in common
 * or whose they are from the one source of the past. A node without an archive does not have all where others have one.
 */
export class DecisionLookup {
  readonly #store: Store;
  readonly #archive: ArchiveReader;

  constructor(store: Store, archive: ArchiveReader) {
    this.#store = store;
    this.#archive = archive;
  }

  /** The decision of this id, of any platform where that is null. */
  async decision(decisionId: string, platform: PlatformName | null): Promise<LookedUpDecision> {
    if (parseDecisionId(decisionId) === null) return { decision: null, unread: [] };
    const hot = await this.#store.decision(decisionId);
    if (hot !== null) return { decision: hot, unread: [] };
    const { decision, unreadable } = await this.#archive.decision(decisionId, platform);
    return { decision, unread: decision === null ? await this.#unread(unreadable) : [] };
  }

  /** At most RETENTION.decisionsPerOrder. */
  async ofOrder(platform: PlatformName, orderRef: string): Promise<LookedUpDecisions> {
    const limit = RETENTION.decisionsPerOrder;
    const hot = await this.#store.decisionsOfOrder(platform, orderRef);
    if (hot.length >= limit) return { decisions: hot, unread: [] };
    const { decisions, unreadable } = await this.#archive.decisionsOfOrder(platform, orderRef, limit);
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
    const { decisions, unreadable } = await this.#archive.decisionsOfClient(
      client,
      limit - hot.length,
      oldest,
    );
    return { decisions: together(hot, decisions), unread: await this.#unread(unreadable) };
  }

  /** The platform's newest decisions that fit and whose order has the status, if one is asked for. */
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
    const tooMany = found.gaps.map(
      ({ from, to, entries }) => ({ from, to, decisions: entries, why: 'tooMany' }) as const,
    );
    const next = isCut ? (decisions.at(-1)?.decisionId ?? null) : null;
    return addUnread({ decisions, next, lookedAt }, [...tooMany, ...(await this.#unread(found.unreadable))]);
  }

  /** Whom a hash stands for; null when nothing is known of that client. */
  clientOf(hash: string): Promise<ClientKey | null> {
    return this.#archive.clientOf(hash);
  }

  /** What happened to a client before a place (null: ever), newest first, and whether there is nothing older. */
  async history(client: ClientKey, limit: number, before: HistoryPlace | null = null): Promise<HistoryPage> {
    const { entries, isWhole } = await this.#archive.history(client, before, limit + 1);
    const isCut = entries.length > limit;
    const page = entries.slice(0, limit);
    return {
      entries: page,
      complete: !isCut && isWhole,
      next: isCut ? (page.at(-1) ?? null) : null,
    };
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
    const tables = TABLE_NAMES.filter((table) => isAboutClients(table) && table !== 'decisions');
    let oldest: HistoryPlace | null = null;
    for (let isWhole = true; ; ) {
      const read = await this.#archive.history(client, oldest, PAGE_MAX, tables);
      yield othersOf(read.entries);
      oldest = read.entries.at(-1) ?? oldest;
      isWhole &&= read.isWhole;
      if (read.entries.length < PAGE_MAX) return isWhole;
    }
  }

  /** What this node cannot look into: some files, or all of an archive that only others have. */
  async #unread(segments: readonly UnreadSegment[]): Promise<readonly UnreadDecisions[]> {
    const unread = segments.map(toUnreadDecisions);
    if (!(await isArchivedElsewhere(this.#store.registers, this.#archive.folder))) return unread;
    return [...unread, { from: 0, to: Date.now(), decisions: 0 }];
  }
}

type OtherEntry = Exclude<JournalEntry, { readonly kind: 'verdict' }>;

/** How much of a client's data is in memory at once. */
const PAGE_MAX = 100;

function othersOf(entries: readonly Placed<JournalEntry>[]): readonly OtherEntry[] {
  return entries.filter((entry) => entry.kind !== 'verdict').map(({ place: _place, ...entry }) => entry);
}

function together(hot: readonly Decision[], archived: readonly Decision[]): readonly Decision[] {
  const known = new Set(hot.map(({ decisionId }) => decisionId));
  return [...hot, ...archived.filter(({ decisionId }) => !known.has(decisionId))].toSorted(
    compareNewestFirst,
  );
}
