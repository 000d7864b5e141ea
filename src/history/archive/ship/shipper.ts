import {
  type ArchiveCommit,
  type ArchiveState,
  CommitConflict,
  type Segment,
} from '#history/archive/archive-log.ts';
import type { QueryEngine } from '#history/archive/query-engine.ts';
import { RowBuffer } from '#history/archive/row-buffer.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import { type ArchiveRow, toErasureRow, toUnerasedPageRows } from '#history/archive/tables.ts';
import { readUnshippedPage } from '#history/archive/unshipped.ts';
import type { ClockJumps } from '#state/clock-jumps.ts';
import { type ErasureEntry, isPlaceRead, type PlacedEntry } from '#state/journal.ts';
import type { JournalPage, KeptAfterShippingLimits, Store } from '#state/store.ts';
import type { ArchivedRuleSets } from './archived-rule-sets.ts';
import { releaseLeaseWithReason, type ShippingNode, tryAcquiringLease } from './lease.ts';
import { SegmentRewriter } from './segment-rewriter.ts';

interface ShippingLimits {
  /**
   * The number of entries that one commit ships. Shipping them takes a second, so little must be repeated if the
   * commit fails.
   */
  readonly commitEntriesMax: number;
  /** The number of entries that are in memory at once. */
  readonly pageEntriesMax: number;
}

const SHIPPING_LIMITS: ShippingLimits = { commitEntriesMax: 10_000, pageEntriesMax: 1_000 };

/** The interval, in ms, between searches for files that no commit names. */
const SWEEP_EVERY_MS = 3_600_000;

export interface ShipperParts extends ShippingNode {
  readonly store: Store;
  readonly duck: QueryEngine;
  readonly ruleSets: ArchivedRuleSets;
  /** How long rows are kept, in ms. */
  readonly keepMs: number;
  /** What is known of jumps of the clock. Missing if the clock makes no jumps. */
  readonly clockJumps?: Pick<ClockJumps, 'isSettled'>;
  readonly kept: KeptAfterShippingLimits;
  readonly limits?: ShippingLimits;
}

/** The purpose of a step. `ship` tidies up only if nothing is new, and `tidy` leaves new entries to a later step. */
export type ShipOrTidy = 'ship' | 'tidy';

/** The result of a step. If `more` is true, the journal holds more entries, so the next step need not wait. */
export type ShippingStepResult =
  | { readonly did: 'nothing'; readonly because: 'another node ships' | 'nothing to do' }
  | { readonly did: 'shipped'; readonly entries: number; readonly more: boolean }
  | { readonly did: 'tidied' };

/** The cursor after the buffered rows, and whether the journal holds more entries. */
interface Drafted {
  readonly cursor: string | null;
  readonly entries: number;
  readonly more: boolean;
}

/**
 * Moves journal entries into the archive. A step reads some pages of the journal, writes them as segments, and
 * commits the segments together with the cursor after the pages. It can be killed at any point and repeated. The
 * journal removes the shipped entries only after the commit.
 */
export class Shipper {
  readonly #parts: ShipperParts;
  readonly #writer: SegmentWriter;
  readonly #rewriter: SegmentRewriter;
  readonly #limits: ShippingLimits;
  #leads = false;
  /** The time of the last search for files that no commit names, in epoch ms. */
  #sweptAt = 0;
  /**
   * Where the archive's cursor stood when a step that removes erased clients failed. The next step from this cursor
   * only notes these clients. Undefined if no such step failed.
   */
  #failedAfter: string | null | undefined;

  constructor(parts: ShipperParts) {
    this.#parts = parts;
    this.#writer = new SegmentWriter(parts.archive, parts.duck);
    this.#rewriter = new SegmentRewriter(parts.archive, parts.duck, this.#writer);
    this.#limits = parts.limits ?? SHIPPING_LIMITS;
  }

  async step(turn: ShipOrTidy = 'ship'): Promise<ShippingStepResult> {
    try {
      if (!(await tryAcquiringLease(this.#parts))) {
        this.#leads = false;
        return { did: 'nothing', because: 'another node ships' };
      }
      return await this.#parts.lease.whileHeld(() => this.#stepAsLeader(turn));
    } catch (error) {
      this.#leads = false;
      if (error instanceof CommitConflict) return { did: 'nothing', because: 'another node ships' };
      await releaseLeaseWithReason(this.#parts, error);
      throw error;
    }
  }

  async #stepAsLeader(turn: ShipOrTidy): Promise<ShippingStepResult> {
    const { store, archive } = this.#parts;
    if (!this.#leads) await archive.takeOver(this.#createCommit({}));
    this.#leads = true;
    const state = archive.read();
    const page = turn === 'tidy' ? null : await readUnshippedPage(store, state, this.#limits.pageEntriesMax);
    if (page !== null && (page.entries.length > 0 || page.gap !== null || page.unreadable !== undefined))
      return this.#ship(state, page);
    return (await this.#tidyUp(state)) ? { did: 'tidied' } : { did: 'nothing', because: 'nothing to do' };
  }

  async #ship(state: ArchiveState, first: JournalPage): Promise<ShippingStepResult> {
    const { store, archive, kept } = this.#parts;
    const told = first.entries.filter((entry) => entry.kind === 'erasure');
    const erasures = first.gap === null ? told : [...told, ...(await this.#readErasuresAfter(state))];
    const hasFailed = this.#failedAfter === state.cursor;
    if (erasures.length > 0) this.#failedAfter = state.cursor;
    const rewritten = await this.#removeErased(state, erasures, hasFailed);
    const drafts = new RowBuffer(archive);
    try {
      const { cursor, entries, more } = await this.#bufferRows(drafts, first);
      drafts.add(this.#createTombstones(erasures, cursor, rewritten.rowsRemoved));
      const add = [...rewritten.add, ...(await this.#writer.write(drafts))];
      const { gap } = first;
      const shipped = { cursor, add, remove: rewritten.remove, ...(gap === null ? {} : { gap }) };
      // The quarantine is cleaned first, because the commit names the quarantined files that are left.
      await archive.eraseFromQuarantine(new Set(erasures.map(({ clientNumber }) => clientNumber)));
      await archive.commit(state, this.#createCommit(shipped));
      this.#failedAfter = undefined;
      if (erasures.length > 0) archive.endReading();
      if (cursor !== null) await store.trimJournal(cursor, kept);
      return { did: 'shipped', entries, more };
    } finally {
      drafts.remove();
    }
  }

  /** Returns all unshipped erasures, also those whose entries the journal lost before they were shipped. */
  async #readErasuresAfter({ cursor }: ArchiveState): Promise<readonly PlacedEntry<ErasureEntry>[]> {
    const { store, kept } = this.#parts;
    // A writer that was killed after its commit did not tell the store which entries it had shipped.
    if (cursor !== null) await store.trimJournal(cursor, kept);
    return store.unshippedErasures();
  }

  /**
   * Buffers the rows of a page and of the pages after it. It stops if one commit has enough rows, or if a page needs
   * a commit of its own.
   */
  async #bufferRows(drafts: RowBuffer, first: JournalPage): Promise<Drafted> {
    const { commitEntriesMax, pageEntriesMax } = this.#limits;
    let entries = 0;
    for (let page = first; ; ) {
      await this.#keepRuleSets(page);
      await this.#parts.archive.quarantine(page.unreadable ?? []);
      drafts.add(toUnerasedPageRows(page.entries, this.#parts.store.clientKeys));
      entries += page.entries.length;
      const { cursor } = page;
      const mayFollow = page.entries.length === pageEntriesMax;
      if (!mayFollow || entries >= commitEntriesMax) return { cursor, entries, more: mayFollow };
      page = await this.#parts.store.readJournal(cursor, pageEntriesMax);
      if (page.entries.length === 0) return { cursor, entries, more: false };
      if (page.gap !== null || page.entries.some(({ kind }) => kind === 'erasure'))
        return { cursor, entries, more: true };
    }
  }

  /**
   * Keeps the rule sets that decided, each once a page. A rule set whose folder has changed since takes some 30 ms
   * each time.
   */
  async #keepRuleSets({ entries }: JournalPage): Promise<void> {
    const decisions = entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry.decision] : []));
    const versions = new Map(decisions.map(({ digest, ruleVersion }) => [digest, ruleVersion]));
    for (const [digest, version] of versions)
      await this.#parts.archive.keepFiles(this.#parts.ruleSets.keep(version, digest));
  }

  /** Returns a row for each erasure up to the cursor. Later erasures are shipped with their own page. */
  #createTombstones(
    erasures: readonly PlacedEntry<ErasureEntry>[],
    cursor: string | null,
    rowsRemoved: ReadonlyMap<string, number>,
  ): readonly ArchiveRow[] {
    const shipped = this.#parts.store.cursors.parse(cursor);
    const byPlace = new Map(erasures.map((erasure) => [JSON.stringify(erasure.place), erasure]));
    return [...byPlace.values()]
      .filter(({ place }) => isPlaceRead(shipped, place))
      .map((erasure) => toErasureRow(erasure, rowsRemoved));
  }

  /**
   * Returns the changes that take erased clients out of the archive, and the number of removed rows of each client.
   * If the change takes long or has failed once, the segments only note that readers must leave out these clients,
   * and shipping goes on.
   */
  async #removeErased(
    state: ArchiveState,
    erasures: readonly PlacedEntry<ErasureEntry>[],
    onlyNoted: boolean,
  ) {
    const add: Segment[] = [];
    const remove: string[] = [];
    const rowsRemoved = new Map<string, number>();
    for (const [platform, some] of Map.groupBy(erasures, (erasure) => erasure.platform)) {
      const clients = new Set(some.map(({ clientNumber }) => clientNumber));
      const rewritten = await this.#rewriter.withoutClients(state, platform, [...clients], onlyNoted);
      add.push(...rewritten.add);
      remove.push(...rewritten.remove);
      for (const [client, rows] of rewritten.rowsRemoved) rowsRemoved.set(client, rows);
    }
    return { add, remove, rowsRemoved };
  }

  /** Removes segments that are past their retention, or rewrites some. Returns false if there is nothing to do. */
  async #tidyUp(state: ArchiveState): Promise<boolean> {
    const { store, archive, clock, clockJumps, keepMs } = this.#parts;
    // The store's clock decides which segments are old, and it is known only after the store was asked. A node's own
    // clock may be years ahead.
    if ((await store.check()).some(({ failure }) => failure !== null)) return false;
    const now = clock();
    const old = [...state.segments.values()].filter(({ to }) => to < now - keepMs).map(({ name }) => name);
    if (old.length > 0 && clockJumps?.isSettled() !== false) {
      await archive.commit(state, this.#createCommit({ remove: old }));
      return true;
    }
    if (now - this.#sweptAt > SWEEP_EVERY_MS) {
      this.#sweptAt = now;
      if (await archive.sweep(this.#createCommit({}))) return true;
    }
    const rewriting = await this.#rewriter.next(state, now);
    if (rewriting === null) return false;
    try {
      await archive.commit(state, this.#createCommit(rewriting));
    } catch (error) {
      this.#rewriter.postpone(rewriting.remove, now);
      throw error;
    }
    return true;
  }

  #createCommit(parts: Partial<ArchiveCommit>): ArchiveCommit {
    return { by: this.#parts.name, at: this.#parts.clock(), add: [], remove: [], ...parts };
  }
}
