import { hash } from 'node:crypto';
import type { ListKind } from '../decision/lists/list-kind.ts';
import type { ListedEntry, ListOwner } from '../decision/lists/shared-lists.ts';
import type { OtherText } from '../state/lists/list-log.ts';

/** One entry of a shared list with all that is kept of it. Times are epoch ms. */
export interface ListEntry extends ListedEntry {
  /** Why it is on the list. */
  readonly reason: string;
  /** Who put it there, as `actorOfKey` and `actorOfUser` write it. */
  readonly who: string;
  readonly addedAt: number;
}

/** An entry with the number of the change that wrote it. */
export interface StoredEntry extends ListEntry {
  readonly id: string;
  readonly version: number;
}

/** Positional: there may be a hundred thousand. The keys are left out when they follow from the value. */
type EntryRow = [
  owner: ListOwner,
  list: string,
  kind: ListKind,
  value: string,
  reason: string,
  who: string,
  addedAt: number,
  expiresAt: number | null,
  keys?: readonly string[],
];

/** Names the record of an entry; what it is about cannot be read from it. */
export function entryId({
  owner,
  list,
  kind,
  value,
}: Pick<ListEntry, 'owner' | 'list' | 'kind' | 'value'>): string {
  return `${owner}/${list}/${hash('sha256', `${kind} ${value}`, 'base64url').slice(0, 22)}`;
}

export function encodeEntry(entry: ListEntry): string {
  const { owner, list, kind, value, reason, who, addedAt, expiresAt, keys } = entry;
  const row: EntryRow = [owner, list, kind, value, reason, who, addedAt, expiresAt];
  if (keys.length !== 1 || keys[0] !== plainKey(value)) row.push(keys);
  return JSON.stringify(row);
}

export function decodeEntry(id: string, version: number, text: string): StoredEntry {
  const row: EntryRow = JSON.parse(text);
  const [owner, list, kind, value, reason, who, addedAt, expiresAt, keys = [plainKey(value)]] = row;
  return { id, version, owner, list, kind, value, keys, reason, who, addedAt, expiresAt };
}

/** Some entry of the list that was given a kind other than this since the copy with this number. */
export function ofOtherKind(
  { owner, list, kind }: Pick<ListEntry, 'owner' | 'list' | 'kind'>,
  since: number,
): OtherText {
  const textsBegin = `${JSON.stringify([owner, list, kind]).slice(0, -1)},`;
  return { since, idsBegin: `${owner}/${list}/`, textsBegin };
}

function plainKey(value: string): string {
  return value.startsWith('hmac:') ? value.slice(5) : value;
}
