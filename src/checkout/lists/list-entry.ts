import { hash } from 'node:crypto';
import { Type } from '#base/json-schema.ts';
import { epochMs, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { ListedEntrySchema, type ListOwner } from '#decision/shared-lists.ts';
import { PositionalCodec } from '#state/positional-codec.ts';
import type { WritePreventingChange } from '#state/store.ts';

export const ListEntrySchema = shape('One entry of a shared list with all that is kept of it', {
  ...ListedEntrySchema.properties,
  reason: plainText('Why it is there', 'shared by a ring'),
  /** Written by `Actor.text` or `formatOsUserActor`. */
  who: plainText('Who put it there', 'key 3f9a0c51d2e7 of risk-team'),
  addedAt: epochMs('When'),
});

export type ListEntry = ValueOf<typeof ListEntrySchema>;

/** An entry, and the number of the change that wrote it. */
export interface StoredEntry extends ListEntry {
  readonly id: string;
  readonly version: number;
}

const { keys, ...MEMBERS } = ListEntrySchema.properties;

/**
 * The members of an entry are stored by position, without their names, because there may be a hundred thousand
 * entries. Keys that can be computed from the value are left out.
 */
const ROW = new PositionalCodec(shape('As it is stored', { ...MEMBERS, keys: Type.Optional(keys) }));

/** Derives the id of an entry, which does not reveal the value. */
export function hashEntryId({
  owner,
  list,
  kind,
  value,
}: Pick<ListEntry, 'owner' | 'list' | 'kind' | 'value'>): string {
  return `${owner}/${list}/${hash('sha256', `${kind} ${value}`, 'base64url').slice(0, 22)}`;
}

export function encodeEntry(entry: ListEntry): string {
  const { keys, ...members } = entry;
  return ROW.write(keys.length === 1 && keys[0] === toPlainKey(entry.value) ? members : entry);
}

export function decodeEntry(id: string, version: number, text: string): StoredEntry {
  const entry = ROW.read(text);
  return { ...entry, keys: entry.keys ?? [toPlainKey(entry.value)], id, version };
}

/**
 * Formats the id of the entry for a list itself. That entry says of which kind the list's entries are, and has no
 * value.
 */
export function formatListHeaderEntryId(owner: ListOwner, list: string): string {
  return `${owner}/${list}/`;
}

/**
 * Describes the condition under which a write must fail: the list was made anew with another kind or attribute after
 * change `since`.
 */
export function createRecreatedListFilter(
  { owner, list, kind, attribute }: Pick<ListEntry, 'owner' | 'list' | 'kind' | 'attribute'>,
  since: number,
): WritePreventingChange {
  const textsBegin = `${JSON.stringify([owner, list, kind, attribute]).slice(0, -1)},`;
  return { since, idsBegin: formatListHeaderEntryId(owner, list), textsBegin };
}

function toPlainKey(value: string): string {
  return value.startsWith('hmac:') ? value.slice(5) : value;
}
