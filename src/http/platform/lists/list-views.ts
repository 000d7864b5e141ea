import { isInstallation } from '../../../access/access-keys.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import { LIST_KINDS, listKind } from '../../../decision/shared-lists.ts';
import { Type } from '../../../json-schema.ts';
import type { ListEditor } from '../../../lists/list-editor.ts';
import { ListEntrySchema, type StoredEntry } from '../../../lists/list-entry.ts';
import type { ListNode } from '../../../lists/list-node.ts';
import {
  choice,
  count,
  epochMs,
  list,
  named,
  nullable,
  type Shape,
  shape,
  word,
  yesNo,
} from '../../../shapes.ts';

const { value, reason, who, addedAt, expiresAt } = ListEntrySchema.properties;

export const ListEntryViewSchema = named(
  'ListEntry',
  shape('One entry of a shared list', {
    ...{ value, reason, who, addedAt, expiresAt },
    hasEnded: yesNo('It is past its end, and does not count any more'),
    change: count('The number of the change that wrote it; `before` takes it'),
  }),
);

export const ListEntriesSchema = named(
  'ListEntries',
  shape('Entries of a shared list', {
    list: word('Its name'),
    kind: nullable(listKind),
    total: count('How many entries it has'),
    entries: list(ListEntryViewSchema, 'What was changed last comes first'),
    complete: yesNo('There are no earlier ones'),
  }),
);

export const SharedListsSchema = named(
  'SharedLists',
  shape('The shared lists as this node holds them', {
    lists: list(
      shape('A shared list; it is there as long as it has an entry', {
        list: word('Its name'),
        kind: listKind,
        entries: count('How many it has'),
        ended: count('How many of them are past their end'),
        changedAt: epochMs('When an entry was last added or changed'),
        ofInstallation: yesNo('It belongs to the whole installation and holds for every platform'),
      }),
      'Of the own platform, and those of the whole installation; by name',
    ),
    ageMs: nullable(count('Since the node compared its copy with the store, ms; null: it never could')),
    isStale: yesNo('That is too long ago: changes of the last seconds may be missing'),
  }),
);

export const ENTRY_EXAMPLE = {
  value: 'hmac:p2Yk4r0bQ8nV5sXc1eWtLA',
  reason: 'shared by a ring',
  who: 'key 3f9a0c51d2e7 of risk-team',
  addedAt: 1_795_255_200_000,
  expiresAt: null,
  hasEnded: false,
  change: 17,
} as const;

export function viewOfEntry(
  entry: StoredEntry,
  { now, editor }: Pick<EntriesAsk, 'now' | 'editor'>,
): Shape<typeof ListEntryViewSchema> {
  const { value, reason, who, addedAt, expiresAt, version } = editor.shown(entry);
  return { value, reason, who, addedAt, expiresAt, hasEnded: hasEnded(entry, now), change: version };
}

interface EntriesAsk {
  readonly before: number;
  readonly limit: number;
  readonly now: number;
  readonly editor: ListEditor;
}

/** The newest entries of a list below a change, at most `limit`. */
export function viewOfEntries(
  name: string,
  entries: ReadonlyMap<string, StoredEntry> | null,
  { before, limit, now, editor }: EntriesAsk,
): Shape<typeof ListEntriesSchema> {
  const all = [...(entries?.values() ?? [])];
  const fitting = all.filter(({ version }) => version < before);
  const page = fitting.slice(-limit).reverse();
  return {
    list: name,
    kind: all[0]?.kind ?? null,
    total: all.length,
    entries: page.map((entry) => viewOfEntry(entry, { now, editor })),
    complete: page.length === fitting.length,
  };
}

/** The lists that keys of a platform may see. */
export function viewOfLists(
  node: ListNode,
  platform: PlatformName,
  now: number,
): Shape<typeof SharedListsSchema> {
  const { ageMs, isStale } = node.report();
  const lists = node.copy
    .lists()
    .map((entries) => [...entries.values()])
    .filter(([first]) => first?.owner === platform || first?.owner === '*')
    .flatMap((entries) => {
      const [first, last] = [entries[0], entries.at(-1)];
      if (first === undefined || last === undefined) return [];
      return [
        {
          list: first.list,
          kind: first.kind,
          entries: entries.length,
          ended: entries.filter((entry) => hasEnded(entry, now)).length,
          changedAt: last.addedAt,
          ofInstallation: isInstallation(first.owner),
        },
      ];
    })
    .toSorted((a, b) => a.list.localeCompare(b.list, 'en'));
  return { lists, ageMs: ageMs === null ? null : Math.round(ageMs), isStale };
}

function hasEnded({ expiresAt }: StoredEntry, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

export const KIND_OR_NONE = Type.Optional(
  choice(LIST_KINDS, 'What the list holds; needed with the first entry alone'),
);
