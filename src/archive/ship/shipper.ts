import { randomUUID } from 'node:crypto';
import type { ClientKeys } from '../../client/client-key.ts';
import { NamedError } from '../../named-error.ts';
import type { Documents } from '../../state/documents.ts';
import { type ErasureEntry, isBehind, type JournalEntry, type Placed } from '../../state/journal.ts';
import type { JournalPage, KeptAfterShipping, Registers, Store } from '../../state/store.ts';
import { StoreUnavailable } from '../../state/store-errors.ts';
import type { Archive } from '../archive.ts';
import { ARCHIVE_REGISTER, type ArchiveHome } from '../archive-home.ts';
import { type ArchiveState, type Commit, CommitConflict, type Segment } from '../archive-log.ts';
import { bringSalt, keepSalt, requireSalt, SALT_FILE, saltOf } from '../client-salt.ts';
import type { Duck } from '../duck.ts';
import { type ArchiveRow, rowsOf, tombstoneOf } from '../tables.ts';
import { ADOPTED_CURSOR, unshippedPage } from '../unshipped.ts';
import type { RuleSetShelf } from './rule-set-shelf.ts';
import { RowDrafts, SegmentRewriter, SegmentWriter } from './segment-writer.ts';

interface ShippingLimits {
  /** How much one commit ships: a second's work, and little to repeat when it fails. */
  readonly commitEntriesMax: number;
  /** How much of it is in memory at once. */
  readonly pageEntriesMax: number;
}

const SHIPPING_LIMITS: ShippingLimits = { commitEntriesMax: 10_000, pageEntriesMax: 1_000 };

/** How often it looks for files that no commit names, where the folder does not show them. */
const SWEEP_EVERY_MS = 3_600_000;

export interface ShipperParts {
  readonly store: Store;
  readonly archive: Archive;
  readonly duck: Duck;
  readonly lease: Lease;
  readonly ruleSets: RuleSetShelf;
  /** For people who ask who ships: `host/pid`. */
  readonly name: string;
  /** The clock that decides, which is the store's; epoch ms. */
  readonly clock: () => number;
  /** How long rows are kept, ms. */
  readonly keepMs: number;
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

  constructor(parts: ShipperParts) {
    this.#parts = parts;
    this.#writer = new SegmentWriter(parts.archive, parts.duck);
    this.#rewriter = new SegmentRewriter(parts.archive, parts.duck, this.#writer);
    this.#limits = parts.limits ?? SHIPPING_LIMITS;
  }

  async step(turn: ShippingTurn = 'ship'): Promise<ShippingStep> {
    const { store, archive, lease, name, clock } = this.#parts;
    try {
      // First of all: a node that cannot write must not keep the lease from those that can.
      await archive.refresh();
      await claimArchive(store, archive, this.#commit({ cursor: ADOPTED_CURSOR }));
      await archive.tryWriting();
      if (!(await lease.hold())) {
        this.#leads = false;
        return { did: 'nothing', because: 'another node ships' };
      }
      if (!this.#leads) await archive.takeOver(this.#commit({}));
      this.#leads = true;
      const state = archive.read();
      const page = turn === 'tidy' ? null : await unshippedPage(store, state, this.#limits.pageEntriesMax);
      if (page !== null && (page.entries.length > 0 || page.gap !== null || page.unreadable !== undefined))
        return await this.#ship(state, page);
      return (await this.#tidyUp(state)) ? { did: 'tidied' } : { did: 'nothing', because: 'nothing to do' };
    } catch (error) {
      this.#leads = false;
      if (error instanceof CommitConflict) return { did: 'nothing', because: 'another node ships' };
      await lease.release().catch(() => {
        // The store is away: the lease runs out by itself.
      });
      const why = error instanceof Error ? error.message : String(error);
      const trouble: ShippingTrouble = { name, why, at: clock() };
      // Every node knows then why this one does not ship: it gives the lease to others.
      await store.documents.set(COLLECTION, name, trouble, TOLD_FOR_MS).catch(() => {
        // The store is away, and nobody ships.
      });
      throw error;
    }
  }

  async #ship(state: ArchiveState, first: JournalPage): Promise<ShippingStep> {
    const { store, archive, kept } = this.#parts;
    const told = first.entries.filter((entry) => entry.kind === 'erasure');
    const erasures = first.gap === null ? told : [...told, ...(await this.#erasuresAfter(state))];
    const rewritten = await this.#withoutErased(state, erasures);
    const drafts = new RowDrafts(archive);
    try {
      const { cursor, entries, more } = await this.#draft(drafts, first);
      drafts.add(this.#tombstones(erasures, cursor, rewritten.rowsRemoved));
      const add = [...rewritten.add, ...(await this.#writer.write(drafts))];
      const { gap } = first;
      const shipped = { cursor, add, remove: rewritten.remove, ...(gap === null ? {} : { gap }) };
      await archive.commit(state, this.#commit(shipped));
      await archive.forgetSetAside(new Set(erasures.map(({ clientNumber }) => clientNumber)));
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
  async #draft(drafts: RowDrafts, first: JournalPage): Promise<Drafted> {
    const { commitEntriesMax, pageEntriesMax } = this.#limits;
    let entries = 0;
    for (let page = first; ; ) {
      await this.#keepRuleSets(page);
      await this.#parts.archive.setAside(page.unreadable ?? []);
      drafts.add(rowsOfPage(page, this.#parts.store.clientKeys));
      entries += page.entries.length;
      const { cursor } = page;
      const mayFollow = page.entries.length === pageEntriesMax;
      if (!mayFollow || entries >= commitEntriesMax) return { cursor, entries, more: mayFollow };
      page = await this.#page(cursor);
      if (page.entries.length === 0) return { cursor, entries, more: false };
      if (page.gap !== null || page.entries.some(({ kind }) => kind === 'erasure'))
        return { cursor, entries, more: true };
    }
  }

  #page(after: string | null): Promise<JournalPage> {
    return this.#parts.store.readJournal(after, this.#limits.pageEntriesMax);
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
      .filter(({ place }) => isBehind(shipped, place))
      .map((erasure) => tombstoneOf(erasure, rowsRemoved));
  }

  /** What a commit changes so that nothing of erased clients is left, and how many rows of each are gone. */
  async #withoutErased(state: ArchiveState, erasures: readonly Placed<ErasureEntry>[]) {
    const add: Segment[] = [];
    const remove: string[] = [];
    const rowsRemoved = new Map<string, number>();
    for (const [platform, some] of Map.groupBy(erasures, (erasure) => erasure.platform)) {
      const clients = new Set(some.map(({ clientNumber }) => clientNumber));
      const rewritten = await this.#rewriter.withoutClients(state, platform, [...clients]);
      add.push(...rewritten.add);
      remove.push(...rewritten.remove);
      for (const [client, rows] of rewritten.rowsRemoved) rowsRemoved.set(client, rows);
    }
    return { add, remove, rowsRemoved };
  }

  /** Takes out what is past its retention, or rewrites some segments; false when there is nothing to do. */
  async #tidyUp(state: ArchiveState): Promise<boolean> {
    const { store, archive, clock, keepMs } = this.#parts;
    // The store's clock says what is old, and it is known once the store was asked: a node's own may be years ahead.
    if ((await store.check()).some(({ failure }) => failure !== null)) return false;
    const now = clock();
    const old = [...state.segments.values()].filter(({ to }) => to < now - keepMs).map(({ name }) => name);
    if (old.length > 0) {
      await archive.commit(state, this.#commit({ remove: old }));
      return true;
    }
    if (now - this.#sweptAt > SWEEP_EVERY_MS) {
      this.#sweptAt = now;
      if (await archive.sweep(this.#commit({}))) return true;
    }
    const rewriting = await this.#rewriter.next(state, now);
    if (rewriting === null) return false;
    await archive.commit(state, this.#commit(rewriting));
    return true;
  }

  #commit(parts: Partial<Commit>): Commit {
    return { by: this.#parts.name, at: this.#parts.clock(), add: [], remove: [], ...parts };
  }
}

/** Rows of the entries; what a client did before it was erased is left out. */
function rowsOfPage({ entries }: JournalPage, clientKeys: ClientKeys): readonly ArchiveRow[] {
  const numbered = [...entries.entries()];
  const erasures = numbered.flatMap(([number, entry]) =>
    entry.kind === 'erasure' ? [[entry.clientNumber, number] as const] : [],
  );
  const hashOf = ({ platform, clientIdKey }: JournalEntry) => clientKeys.of(platform, clientIdKey).hash;
  return rowsOf(numbered, new Map(erasures), hashOf);
}

/** The store's journal goes to another archive than this node's. */
export class AnotherArchive extends NamedError {}

/**
 * A store has one archive: the one that was first shipped to. An archive of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused. It keeps the salt of the store's clients.
 * `adoption` is committed where the archive was another store's until now.
 */
async function claimArchive(
  store: Pick<Store, 'name' | 'registers' | 'clientKeys'>,
  { folder, home }: Pick<Archive, 'folder' | 'home'>,
  adoption: Commit,
): Promise<void> {
  const { registers, clientKeys } = store;
  await bringSalt(home);
  if (home.isElsewhere && home.read().version > 0 && saltOf(folder) === null)
    throw new StoreUnavailable(`${home.name}: ${SALT_FILE} cannot be read; it is tried again`);
  requireSalt(store, folder);
  await claimId(registers, home, adoption);
  await keepSalt(home, folder, clientKeys.salt);
  requireSalt(store, folder);
}

/** An archive that exists already is not taken over by itself: a person has to say so. */
async function claimId(registers: Registers, home: ArchiveHome, adoption: Commit): Promise<void> {
  const own = await home.id();
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (own === null) return beginArchive(registers, home, claimed);
  if (claimed === own) return;
  if (claimed === null && home.isElsewhere)
    throw new AnotherArchive(
      `${home.name} holds an archive that this store knows nothing of; when its own store is lost, run archive adopt, otherwise set ARCHIVE_DIR to another place`,
    );
  if (claimed === null) {
    // First: a process that ends in between begins anew, and nobody continues from the other store's
    // cursor.
    if (home.read().version > 0) await home.commit(home.read(), adoption);
    if (await registers.compareAndSet(ARCHIVE_REGISTER, null, own)) return;
  }
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${home.name} is ${own}; set ARCHIVE_DIR to the ${home.isElsewhere ? 'place' : 'folder'} that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}

/** The register comes first: two nodes that begin at once both use its id. */
async function beginArchive(registers: Registers, home: ArchiveHome, claimed: string | null): Promise<void> {
  if (claimed !== null && home.read().version > 0)
    throw new AnotherArchive(`${home.name} is empty, but this store has an archive; set ARCHIVE_DIR right`);
  const id = claimed ?? randomUUID();
  if (claimed !== null || (await registers.compareAndSet(ARCHIVE_REGISTER, null, id))) return home.giveId(id);
  throw new AnotherArchive(`another node has just begun the archive in ${home.name}; it is tried again`);
}

const COLLECTION = 'shipping-troubles';

/** A trouble is reported with every try; an older one is over, or its node is gone. */
const TOLD_FOR_MS = 60_000;

/** Why a node could not ship when it tried last. */
export interface ShippingTrouble {
  /** `host/pid/..` */
  readonly name: string;
  readonly why: string;
  /** Epoch ms. */
  readonly at: number;
}

export async function shippingTroubles(documents: Documents): Promise<readonly ShippingTrouble[]> {
  const troubles = await documents.list<ShippingTrouble>(COLLECTION);
  return troubles.toSorted((a, b) => a.name.localeCompare(b.name));
}

const REGISTER = 'archive-lease';

/** The holder renews the lease far more often; one that is silent this long counts as dead. */
const SILENCE_MS = 30_000;

interface Holder {
  readonly holder: string | null;
  /** Counts up with every renewal, so that others see the holder live without comparing clocks. */
  readonly renewals: number;
}

/**
 * One node of the fleet ships. The lease spares the others the work; it is not what keeps entries from being shipped
 * twice: of two commits with the same number only one succeeds.
 */
export class Lease {
  readonly #registers: Registers;
  readonly #holder: string;
  readonly #monotonicMs: () => number;
  #seen: { readonly text: string | null; readonly sinceMs: number } | null = null;

  constructor(registers: Registers, holder: string, monotonicMs: () => number) {
    this.#registers = registers;
    this.#holder = holder;
    this.#monotonicMs = monotonicMs;
  }

  /** Takes or renews the lease; false while another holder is alive. */
  async hold(): Promise<boolean> {
    const text = await this.#registers.read(REGISTER);
    const current = parse(text);
    if (current.holder !== null && current.holder !== this.#holder && !this.#isSilent(text)) return false;
    const next: Holder = { holder: this.#holder, renewals: current.renewals + 1 };
    return this.#registers.compareAndSet(REGISTER, text, JSON.stringify(next));
  }

  async release(): Promise<void> {
    const text = await this.#registers.read(REGISTER);
    const { holder, renewals } = parse(text);
    if (holder !== this.#holder) return;
    const none: Holder = { holder: null, renewals: renewals + 1 };
    await this.#registers.compareAndSet(REGISTER, text, JSON.stringify(none));
  }

  /** Whether the holder has not renewed its lease for long enough, as seen from here. */
  #isSilent(text: string | null): boolean {
    const now = this.#monotonicMs();
    if (this.#seen?.text !== text) this.#seen = { text, sinceMs: now };
    return now - this.#seen.sinceMs >= SILENCE_MS;
  }
}

/** Who ships, for people: `host/pid/..`; null when nobody holds the lease. */
export async function leaseHolder(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return parse(await registers.read(REGISTER)).holder;
}

/** An unreadable lease holds nobody back. */
function parse(text: string | null): Holder {
  const nobody: Holder = { holder: null, renewals: 0 };
  if (text === null) return nobody;
  try {
    const { holder, renewals }: Partial<Holder> = JSON.parse(text);
    return { holder: holder ?? null, renewals: renewals ?? 0 };
  } catch {
    return nobody;
  }
}
