import type { PlatformName } from '../client/client-key.ts';
import { type ListKind, ListMembership, type ListOwner, type SharedLists } from '../decision/shared-lists.ts';
import type { ListRecord } from '../state/list-log.ts';
import { decodeEntry, entryId, type StoredEntry } from './list-entry.ts';

/** The newest state of all shared lists that a node has heard of, for decisions and for people. */
export class ListCopy {
  readonly #membership = new ListMembership();
  readonly #byId = new Map<string, StoredEntry>();
  /** By `owner/list`, then by id, in the order in which they were last changed. */
  readonly #lists = new Map<string, Map<string, StoredEntry>>();
  /** How many keys the entries of a list have, by `owner/list`. */
  readonly #keys = new Map<string, number>();
  readonly #entriesOf = new Map<ListOwner, number>();
  /** The number of the newest change that it holds. */
  version = 0;

  get membership(): SharedLists {
    return this.#membership;
  }

  get size(): number {
    return this.#byId.size;
  }

  take({ id, version, text }: ListRecord): void {
    this.version = Math.max(this.version, version);
    const before = this.#byId.get(id);
    if (before !== undefined) this.#forget(before);
    if (text !== null) this.#remember(decodeEntry(id, version, text));
  }

  entry(id: string): StoredEntry | null {
    return this.#byId.get(id) ?? null;
  }

  /** The entries of a list, the longest unchanged first; null when it has none. */
  list(owner: ListOwner, name: string): ReadonlyMap<string, StoredEntry> | null {
    return this.#lists.get(`${owner}/${name}`) ?? null;
  }

  /** How many keys the entries of a list are looked up by. */
  keysOn(owner: ListOwner, name: string): number {
    return this.#keys.get(`${owner}/${name}`) ?? 0;
  }

  /** On all lists of an owner. */
  entriesOf(owner: ListOwner): number {
    return this.#entriesOf.get(owner) ?? 0;
  }

  /** How many lists of an owner have entries. */
  listsOf(owner: ListOwner): number {
    return this.lists().filter((list) => list.values().next().value?.owner === owner).length;
  }

  lists(): readonly ReadonlyMap<string, StoredEntry>[] {
    return [...this.#lists.values()];
  }

  /** The lists of a platform and of the installation on which this very value stands now, epoch ms. */
  namesHolding(platform: PlatformName, kind: ListKind, value: string, now: number): readonly string[] {
    const firsts = this.lists().flatMap((entries) => [...entries.values()].slice(0, 1));
    return firsts
      .filter((first) => first.kind === kind && (first.owner === platform || first.owner === '*'))
      .flatMap(({ owner, list }) => this.#byId.get(entryId({ owner, list, kind, value })) ?? [])
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
    this.#entriesOf.set(entry.owner, this.entriesOf(entry.owner) + 1);
    this.#membership.add(entry);
  }

  #forget(entry: StoredEntry): void {
    const name = `${entry.owner}/${entry.list}`;
    const entries = this.#lists.get(name);
    entries?.delete(entry.id);
    if (entries?.size === 0) this.#lists.delete(name);
    this.#byId.delete(entry.id);
    this.#keys.set(name, (this.#keys.get(name) ?? 0) - entry.keys.length);
    this.#entriesOf.set(entry.owner, this.entriesOf(entry.owner) - 1);
    this.#membership.remove(entry);
  }
}
