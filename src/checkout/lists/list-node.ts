import type { Pseudonymize } from '#decision/addresses.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import {
  InMemorySharedLists,
  type ListKind,
  type ListLookupEntry,
  type ListOwner,
  type RequestLookupParts,
  type SharedLists,
} from '#decision/shared-lists.ts';
import { LIST_CHANGES_MAX, type ListLog, type ListLogRecord } from '#state/store.ts';
import { decodeEntry, formatListHeaderEntryId, hashEntryId, type StoredEntry } from './list-entry.ts';

/** A copy of all shared lists, as of the newest change that the node has read. */
export class SharedListsCopy {
  readonly #membership: InMemorySharedLists;
  readonly #byId = new Map<string, StoredEntry>();
  /**
   * The entries for the lists themselves, by id. They say of which kind each list's entries are, and who made the
   * list and when.
   */
  readonly #made = new Map<string, StoredEntry>();
  /** Entries by `owner/list` and then by id, in the sequence of their last changes. */
  readonly #lists = new Map<string, Map<string, StoredEntry>>();
  /** The number of keys of a list's entries, by `owner/list`. */
  readonly #keys = new Map<string, number>();
  readonly #entriesOf = new Map<ListOwner, number>();
  /** The number of the newest change in this copy. */
  version = 0;

  constructor(pseudonym: Pseudonymize, formerPseudonym: Pseudonymize | null = null) {
    this.#membership = new InMemorySharedLists(pseudonym, formerPseudonym);
  }

  get membership(): SharedLists {
    return this.#membership;
  }

  get size(): number {
    return this.#byId.size;
  }

  applyRecord({ id, version, text }: ListLogRecord): void {
    this.version = Math.max(this.version, version);
    const before = this.#byId.get(id);
    if (before !== undefined) this.#forget(before);
    if (text === null) return;
    const entry = decodeEntry(id, version, text);
    if (id === formatListHeaderEntryId(entry.owner, entry.list)) this.#made.set(id, entry);
    else this.#remember(entry);
  }

  findListRecord(owner: ListOwner, name: string): StoredEntry | null {
    return this.#made.get(formatListHeaderEntryId(owner, name)) ?? null;
  }

  listListRecords(owner: ListOwner): readonly StoredEntry[] {
    return [...this.#made.values()].filter((one) => one.owner === owner);
  }

  findEntry(id: string): StoredEntry | null {
    return this.#byId.get(id) ?? null;
  }

  /** Finds the entries of a list, the oldest change first. Returns null if it has none. */
  findEntriesOfList(owner: ListOwner, name: string): ReadonlyMap<string, StoredEntry> | null {
    return this.#lists.get(`${owner}/${name}`) ?? null;
  }

  /** The number of keys by which the entries of a list are looked up. */
  countKeys(owner: ListOwner, name: string): number {
    return this.#keys.get(`${owner}/${name}`) ?? 0;
  }

  countEntries(owner: ListOwner): number {
    return this.#entriesOf.get(owner) ?? 0;
  }

  listAllLists(): readonly ReadonlyMap<string, StoredEntry>[] {
    return [...this.#lists.values()];
  }

  /**
   * Lists the names of the lists that hold exactly this value at `now` (epoch ms), among the lists of the platform
   * and of the installation.
   */
  listNamesWithValue(platform: PlatformName, kind: ListKind, value: string, now: number): readonly string[] {
    const firsts = this.listAllLists().flatMap((entries) => [...entries.values()].slice(0, 1));
    return firsts
      .filter((first) => first.kind === kind && (first.owner === platform || first.owner === '*'))
      .flatMap(({ owner, list }) => this.#byId.get(hashEntryId({ owner, list, kind, value })) ?? [])
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .map(({ list }) => list);
  }

  #remember(entry: StoredEntry): void {
    const name = `${entry.owner}/${entry.list}`;
    const entries = this.#lists.get(name) ?? new Map<string, StoredEntry>();
    entries.set(entry.id, entry);
    this.#lists.set(name, entries);
    this.#byId.set(entry.id, entry);
    this.#keys.set(name, (this.#keys.get(name) ?? 0) + entry.keys.length);
    this.#entriesOf.set(entry.owner, this.countEntries(entry.owner) + 1);
    this.#membership.add(entry);
  }

  #forget(entry: StoredEntry): void {
    const name = `${entry.owner}/${entry.list}`;
    const entries = this.#lists.get(name);
    entries?.delete(entry.id);
    if (entries?.size === 0) this.#lists.delete(name);
    this.#byId.delete(entry.id);
    this.#keys.set(name, (this.#keys.get(name) ?? 0) - entry.keys.length);
    this.#entriesOf.set(entry.owner, this.countEntries(entry.owner) - 1);
    this.#membership.remove(entry);
  }
}

/**
 * How often the node asks for changes. A change reaches the node within this time and the time of a read, together
 * well below the promised 2 s.
 */
const FOLLOW_INTERVAL_MS = 500;

/** A copy is stale if it could not be compared with the store for this long. */
const LISTS_STALE_MS = 10_000;

/** Entries that ended this long ago are removed. */
const ENDED_KEPT_MS = 3600_000;
const SWEEP_INTERVAL_MS = 60_000;

export interface ListsReport {
  readonly lists: number;
  readonly entries: number;
  /** The time since the copy was last compared with the store. Null before the first comparison. */
  readonly ageMs: number | null;
  readonly isStale: boolean;
}

interface ListNodeParts {
  readonly listLog: ListLog;
  readonly pseudonym: Pseudonymize;
  /** Pseudonyms under the previous secret, while the secret is being changed. */
  readonly formerPseudonym?: Pseudonymize | null;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly onTrouble?: (message: string, error: unknown) => void;
}

/**
 * A node's copy of the shared lists, which decisions read. The node keeps asking the store for changes. While the
 * store is away, the copy stays unchanged, and catches up afterwards.
 */
export class ListNode implements SharedLists {
  readonly #parts: ListNodeParts;
  #copy: SharedListsCopy;
  #epoch: string | null = null;
  #syncedAtMs: number | null = null;
  #sweptAtMs = performance.now();
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isTroubled = false;

  constructor(parts: ListNodeParts) {
    this.#parts = parts;
    this.#copy = new SharedListsCopy(parts.pseudonym, parts.formerPseudonym);
  }

  /** Reads all lists, then keeps following changes in the background until `stop`. */
  async start(): Promise<void> {
    await this.sync();
    this.#followLater();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  get copy(): SharedListsCopy {
    return this.#copy;
  }

  find(list: string, subject: RequestLookupParts, now: number): ListLookupEntry | null {
    return this.#copy.membership.find(list, subject, now);
  }

  report(): ListsReport {
    const ageMs = this.#syncedAtMs === null ? null : performance.now() - this.#syncedAtMs;
    const { size } = this.#copy;
    const isStale = ageMs === null || ageMs > LISTS_STALE_MS;
    return { lists: this.#copy.listAllLists().length, entries: size, ageMs, isStale };
  }

  /** Reads all changes that were written before this call. Throws StoreUnavailable if the store is away. */
  async sync(): Promise<void> {
    // A read that is under way may have begun before the change that the caller made.
    await this.#running?.catch(() => {});
    this.#running ??= this.#read().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #read(): Promise<void> {
    const asked = performance.now();
    for (let copy = this.#copy, isNew = copy.version === 0; ; ) {
      const page = await this.#parts.listLog.read(copy.version, LIST_CHANGES_MAX);
      const isOther = page.epoch !== this.#epoch || page.latest < copy.version;
      const hasMissed = !isNew && copy.version < page.horizon;
      this.#epoch = page.epoch;
      if ((isOther && copy.version > 0) || hasMissed) {
        copy = new SharedListsCopy(this.#parts.pseudonym, this.#parts.formerPseudonym);
        isNew = true;
        continue;
      }
      for (const record of page.records) copy.applyRecord(record);
      if (page.records.length < LIST_CHANGES_MAX) {
        copy.version = Math.max(copy.version, page.latest);
        this.#copy = copy;
        this.#syncedAtMs = asked;
        return;
      }
    }
  }

  #followLater(): void {
    this.#timer = setTimeout(() => this.#follow(), FOLLOW_INTERVAL_MS).unref();
  }

  async #follow(): Promise<void> {
    try {
      await this.sync();
      await this.#sweep();
      this.#isTroubled = false;
    } catch (error) {
      if (!this.#isTroubled)
        this.#parts.onTrouble?.('the shared lists could not be updated from the store', error);
      this.#isTroubled = true;
    }
    if (this.#timer !== null) this.#followLater();
  }

  /** Removes entries that ended long ago, unless somebody renewed them since. */
  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAtMs < SWEEP_INTERVAL_MS) return;
    this.#sweptAtMs = performance.now();
    const endedBefore = this.#parts.clock() - ENDED_KEPT_MS;
    const ended = this.#copy
      .listAllLists()
      .flatMap((entries) => [...entries.values()])
      .filter(({ expiresAt }) => expiresAt !== null && expiresAt < endedBefore)
      .slice(0, LIST_CHANGES_MAX);
    if (ended.length === 0) return;
    await this.#parts.listLog.write(ended.map(({ id, version }) => ({ id, text: null, expected: version })));
  }
}
