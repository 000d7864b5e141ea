import type { PlatformName } from '../../client/client-key.ts';
import { Type } from '../../json-schema.ts';
import { epochMs, list, nullable, type Shape, shape, word } from '../../shapes.ts';
import { keysOf, type ListKind, type ListSubject, listKind } from './list-kind.ts';

/** Whose list it is; `*` is the whole installation's and holds for every platform. */
export type ListOwner = PlatformName | '*';

export const ListedEntrySchema = shape('One entry of a shared list as far as decisions need it', {
  owner: Type.Unsafe<ListOwner>({ type: 'string', description: 'Whose list it is' }),
  list: word('Its name'),
  kind: listKind,
  value: word(
    'A client, a method, a point of sale, or a range of addresses; "hmac:" and the HMAC of a fingerprint or of a single address, which are not kept themselves',
  ),
  /** `readListValue` makes them. */
  keys: list(word('As requests have it'), 'What requests are looked up by'),
  expiresAt: nullable(epochMs('When it ends; null: when it is removed')),
});

export type ListedEntry = Shape<typeof ListedEntrySchema>;

/** What decisions ask of the shared lists. */
export interface SharedLists {
  /** The entry that puts a request on the list at a moment (epoch ms); null when none does. */
  find(list: string, subject: ListSubject, now: number): ListedEntry | null;
}

export const NO_LISTS: SharedLists = { find: () => null };

type Entries = Map<string, ListedEntry[]>;
type Kinds = Map<ListKind, Entries>;

/**
 * Entries of shared lists in memory, found by a few lookups in hash maps however many there are. A range of
 * addresses is as many keys as networks of the next longer kept prefix lie in it, so that it needs no search.
 */
export class ListMembership implements SharedLists {
  readonly #lists = new Map<string, Map<ListOwner, Kinds>>();

  find(list: string, subject: ListSubject, now: number): ListedEntry | null {
    const owners = this.#lists.get(list);
    if (owners === undefined) return null;
    return findAmong(owners.get(subject.platform), subject, now) ?? findAmong(owners.get('*'), subject, now);
  }

  add(entry: ListedEntry): void {
    const { owner, list, kind, keys } = entry;
    const owners = made(this.#lists, list, () => new Map<ListOwner, Kinds>());
    const kinds = made(owners, owner, (): Kinds => new Map());
    const entries = made(kinds, kind, () => new Map<string, ListedEntry[]>());
    for (const key of keys) made(entries, key, () => []).push(entry);
  }

  remove(entry: ListedEntry): void {
    const { owner, list, kind, keys } = entry;
    const owners = this.#lists.get(list);
    const entries = owners?.get(owner)?.get(kind);
    if (entries === undefined) return;
    for (const key of keys) {
      const left = (entries.get(key) ?? []).filter((other) => other !== entry);
      if (left.length === 0) entries.delete(key);
      else entries.set(key, left);
    }
  }
}

function findAmong(kinds: Kinds | undefined, subject: ListSubject, now: number): ListedEntry | null {
  if (kinds === undefined) return null;
  for (const [kind, entries] of kinds) {
    for (const keys of keysOf(kind, subject)) {
      const found = entries.size === 0 ? null : findUnder(entries, keys, now);
      if (found !== null) return found;
    }
  }
  return null;
}

function findUnder(entries: Entries, keys: readonly string[], now: number): ListedEntry | null {
  for (const key of keys) {
    const found = entries.get(key)?.find(({ expiresAt }) => expiresAt === null || expiresAt > now);
    if (found !== undefined) return found;
  }
  return null;
}

function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const value = make();
  map.set(key, value);
  return value;
}
