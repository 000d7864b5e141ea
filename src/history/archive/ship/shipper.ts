import {
  type ArchiveState,
  type Commit,
  CommitConflict,
  type Segment,
} from '#history/archive/archive-log.ts';
import type { QueryEngine } from '#history/archive/query-engine.ts';
import { RowBuffer } from '#history/archive/row-buffer.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import { type ArchiveRow, toPageRows, toTombstone } from '#history/archive/tables.ts';
import { readUnshippedPage } from '#history/archive/unshipped.ts';
import type { ClockJumps } from '#state/clock-jumps.ts';
import { type ErasureEntry, isRead, type Placed } from '#state/journal.ts';
import type { JournalPage, KeptAfterShipping, Store } from '#state/store.ts';
import type { ArchivedRuleSets } from './archived-rule-sets.ts';
import { acquireLease, releaseLease, type ShippingNode } from './lease.ts';
import { SegmentRewriter } from './segment-rewriter.ts';

interface ShippingLimits {
  /** How much one commit ships: a second's work, and little to repeat when it fails. */
  readonly commitEntriesMax: number;
  /** How much of it is in memory at once. */
  readonly pageEntriesMax: number;
}

const SHIPPING_LIMITS: ShippingLimits = { commitEntriesMax: 10_000, pageEntriesMax: 1_000 };

/** How often it looks for files that no commit names, where the folder does not show them. */
const SWEEP_EVERY_MS = 3_600_000;

export interface ShipperParts extends ShippingNode {
  readonly store: Store;
  readonly duck: QueryEngine;
  readonly ruleSets: ArchivedRuleSets;
  /** How long rows are kept, ms. */
  readonly keepMs: number;
  /** What is known of jumps of the clock; absent where it makes none. */
  readonly clockJumps?: Pick<ClockJumps, 'isSettled'>;
  readonly kept: KeptAfterShipping;
  readonly limits?: ShippingLimits;
}

/** What a step is for: `ship` tidies up only where nothing is new, `tidy` leaves what is new to a later step. */
export type ShippingTurn = 'ship' | 'tidy';

/** The result of a step. `more`: the journal holds more, so the next step need not wait. */
export type ShippingStep =
  | { readonly did: 'nothing'; readonly because: 'another node ships' | 'nothing to do' }
  | { readonly did: 'shipped'; readonly entries: number; readonly more: boolean }
  | { readonly did: 'tidied' };

/** How far drafts go, and whether the journal holds more. */
interface Drafted {
  readonly cursor: string | null;
  readonly entries: number;
  readonly more: boolean;
}

/**
 * Moves journal entries into the archive. A step reads some pages of the journal, writes them as segments, and commits
 * them together with the cursor behind the page; it can be killed anywhere and repeated. Only then does the
 * journal forget what was shipped.
 */
export class Shipper {
  readonly #parts: ShipperParts;
  readonly #writer: SegmentWriter;
  readonly #rewriter: SegmentRewriter;
  readonly #limits: ShippingLimits;
  #leads = false;
  /** When it was last looked for files that no commit names, epoch ms. */
  #sweptAt = 0;
  /** Where a step ended, behind this cursor, that had to rewrite what holds erased clients and failed. */
  #failedAfter: string | null | undefined;

  constructor(parts: ShipperParts) {
    this.#parts = parts;
    this.#writer = new SegmentWriter(parts.archive, parts.duck);
    this.#rewriter = new SegmentRewriter(parts.archive, parts.duck, this.#writer);
    this.#limits = parts.limits ?? SHIPPING_LIMITS;
  }

  async step(turn: ShippingTurn = 'ship'): Promise<ShippingStep> {
    try {
      if (!(await acquireLease(this.#parts))) {
        this.#leads = false;
        return { did: 'nothing', because: 'another node ships' };
      }
      return await this.#parts.lease.whileHeld(() => this.#lead(turn));
    } catch (error) {
      this.#leads = false;
      if (error instanceof CommitConflict) return { did: 'nothing', because: 'another node ships' };
      await releaseLease(this.#parts, error);
      throw error;
    }
  }

  async #lead(turn: ShippingTurn): Promise<ShippingStep> {
    const { store, archive } = this.#parts;
    if (!this.#leads) await archive.takeOver(this.#commit({}));
    this.#leads = true;
    const state = archive.read();
    const page = turn === 'tidy' ? null : await readUnshippedPage(store, state, this.#limits.pageEntriesMax);
    if (page !== null && (page.entries.length > 0 || page.gap !== null || page.unreadable !== undefined))
      return this.#ship(state, page);
    return (await this.#tidyUp(state)) ? { did: 'tidied' } : { did: 'nothing', because: 'nothing to do' };
  }

  async #ship(state: ArchiveState, first: JournalPage): Promise<ShippingStep> {
    const { store, archive, kept } = this.#parts;
    const told = first.entries.filter((entry) => entry.kind === 'erasure');
    const erasures = first.gap === null ? told : [...told, ...(await this.#erasuresAfter(state))];
    const hasFailed = this.#failedAfter === state.cursor;
    if (erasures.length > 0) this.#failedAfter = state.cursor;
    const rewritten = await this.#withoutErased(state, erasures, hasFailed);
    const drafts = new RowBuffer(archive);
    try {
      const { cursor, entries, more } = await this.#draft(drafts, first);
      drafts.add(this.#tombstones(erasures, cursor, rewritten.rowsRemoved));
      const add = [...rewritten.add, ...(await this.#writer.write(drafts))];
      const { gap } = first;
      const shipped = { cursor, add, remove: rewritten.remove, ...(gap === null ? {} : { gap }) };
      // Before the commit, which names what is left beside the segments.
      await archive.forgetSetAside(new Set(erasures.map(({ clientNumber }) => clientNumber)));
      await archive.commit(state, this.#commit(shipped));
      this.#failedAfter = undefined;
      if (erasures.length > 0) archive.endReading();
      if (cursor !== null) await store.trimJournal(cursor, kept);
      return { did: 'shipped', entries, more };
    } finally {
      drafts.remove();
    }
  }

  /** Also those whose entries the journal lost before anybody shipped them. */
  async #erasuresAfter({ cursor }: ArchiveState): Promise<readonly Placed<ErasureEntry>[]> {
    const { store, kept } = this.#parts;
    // A writer that was killed after its commit did not say what it had shipped.
    if (cursor !== null) await store.trimJournal(cursor, kept);
    return store.unshippedErasures();
  }

  /** Drafts the rows of a page, and of those after it until one commit has enough or a page needs a commit of its own. */
  async #draft(drafts: RowBuffer, first: JournalPage): Promise<Drafted> {
    const { commitEntriesMax, pageEntriesMax } = this.#limits;
    let entries = 0;
    for (let page = first; ; ) {
      await this.#keepRuleSets(page);
      await this.#parts.archive.setAside(page.unreadable ?? []);
      drafts.add(toPageRows(page.entries, this.#parts.store.clientKeys));
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

  /** Each once a page: one whose folder has changed since costs some 30 ms to find that out. */
  async #keepRuleSets({ entries }: JournalPage): Promise<void> {
    const decisions = entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry.decision] : []));
    const versions = new Map(decisions.map(({ digest, ruleVersion }) => [digest, ruleVersion]));
    for (const [digest, version] of versions)
      await this.#parts.archive.keepFiles(this.#parts.ruleSets.keep(version, digest));
  }

  /** A row of each erasure up to a cursor: what comes behind it is shipped with its own page. */
  #tombstones(
    erasures: readonly Placed<ErasureEntry>[],
    cursor: string | null,
    rowsRemoved: ReadonlyMap<string, number>,
  ): readonly ArchiveRow[] {
    const shipped = this.#parts.store.cursors.read(cursor);
    const byPlace = new Map(erasures.map((erasure) => [JSON.stringify(erasure.place), erasure]));
    return [...byPlace.values()]
      .filter(({ place }) => isRead(shipped, place))
      .map((erasure) => toTombstone(erasure, rowsRemoved));
  }

  /**
   * What a commit changes so that nothing of erased clients is left, and how many rows of each are gone. What takes long,
   * or has failed once, is noted alone: then nothing of them is read any more, and shipping goes on.
   */
  async #withoutErased(state: ArchiveState, erasures: readonly Placed<ErasureEntry>[], onlyNoted: boolean) {
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

  /** Takes out what is past its retention, or rewrites some segments; false when there is nothing to do. */
  async #tidyUp(state: ArchiveState): Promise<boolean> {
    const { store, archive, clock, clockJumps, keepMs } = this.#parts;
    // The store's clock says what is old, and it is known once the store was asked: a node's own may be years ahead.
    if ((await store.check()).some(({ failure }) => failure !== null)) return false;
    const now = clock();
    const old = [...state.segments.values()].filter(({ to }) => to < now - keepMs).map(({ name }) => name);
    if (old.length > 0 && clockJumps?.isSettled() !== false) {
      await archive.commit(state, this.#commit({ remove: old }));
      return true;
    }
    if (now - this.#sweptAt > SWEEP_EVERY_MS) {
      this.#sweptAt = now;
      if (await archive.sweep(this.#commit({}))) return true;
    }
    const rewriting = await this.#rewriter.next(state, now);
    if (rewriting === null) return false;
    try {
      await archive.commit(state, this.#commit(rewriting));
    } catch (error) {
      this.#rewriter.postpone(rewriting.remove, now);
      throw error;
    }
    return true;
  }

  #commit(parts: Partial<Commit>): Commit {
    return { by: this.#parts.name, at: this.#parts.clock(), add: [], remove: [], ...parts };
  }
}
