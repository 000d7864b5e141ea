import { searchThrottle } from '#base/work/step-throttle.ts';
import type { StoredEntry } from '#checkout/lists/list-entry.ts';
import type { SharedListsCopy } from '#checkout/lists/list-node.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ListKind } from '#decision/shared-lists.ts';
import { findCoveringRange } from './covering-range.ts';
import type { ListEditor } from './list-editor.ts';

interface EntrySearchParts {
  readonly copy: SharedListsCopy;
  readonly editor: ListEditor;
  readonly pseudonym: Pseudonymize;
}

/** The text to look for on the lists of a platform. */
interface EntrySearch {
  readonly platform: PlatformName;
  readonly text: string;
  /** Epoch ms. */
  readonly now: number;
  /** The most entries to return. */
  readonly limit: number;
}

/** Kinds of entries whose values are kept in clear. All others are kept as HMACs, of which no part can be compared. */
const READABLE_KINDS: ReadonlySet<ListKind> = new Set(['client', 'method', 'sellPoint', 'ip']);

/** The number of entries that one step reads. A step takes about a millisecond. */
const STEP_ENTRIES = 5_000;

/**
 * Finds the entries for a value on the lists of a platform, and the ranges that cover it if it is an address. After
 * them come the entries whose value contains the text, in upper or lower case. Values that begin with the text come
 * first, and on each list the newest come first. If there are more than the limit, one more than the limit is
 * returned.
 */
export async function findListEntries(
  parts: EntrySearchParts,
  search: EntrySearch,
): Promise<readonly StoredEntry[]> {
  const { copy } = parts;
  const { platform, limit } = search;
  const lists = copy.listListRecords(platform).map(({ list }) => list);
  const found = new Map<string, StoredEntry>();
  const add = (entry: StoredEntry) => found.set(entry.id, entry);
  for (const list of lists) for (const entry of findExactly(parts, search, list)) add(entry);
  const readable = await Promise.all(lists.map((list) => findReadable(copy, search, list)));
  for (const { begins } of readable) for (const entry of begins) add(entry);
  for (const { contains } of readable) for (const entry of contains) add(entry);
  return [...found.values()].slice(0, limit + 1);
}

/** Finds the entry for the text on a list, or, if the text is an address, the range on the list that covers it. */
function findExactly(
  { copy, editor, pseudonym }: EntrySearchParts,
  { platform, text, now }: EntrySearch,
  list: string,
): readonly StoredEntry[] {
  const entry =
    editor.find(platform, list, text) ??
    findCoveringRange(copy, pseudonym, { owner: platform, list, now }, text);
  return entry === null ? [] : [entry];
}

interface ReadableEntries {
  readonly begins: readonly StoredEntry[];
  readonly contains: readonly StoredEntry[];
}

/** Finds the entries of a list whose value begins with the text or contains it, the newest first. */
async function findReadable(
  copy: SharedListsCopy,
  { platform, text, limit }: EntrySearch,
  list: string,
): Promise<ReadableEntries> {
  const begins: StoredEntry[] = [];
  const contains: StoredEntry[] = [];
  if (!READABLE_KINDS.has(copy.findListRecord(platform, list)?.kind ?? 'attribute'))
    return { begins, contains };
  const part = text.toLowerCase();
  const addIfFound = (entry: StoredEntry) => {
    const place = isReadable(entry) ? entry.value.toLowerCase().indexOf(part) : -1;
    const found = place === 0 ? begins : contains;
    if (place >= 0 && found.length <= limit) found.push(entry);
  };
  const newestFirst = [...(copy.findEntriesOfList(platform, list)?.values() ?? [])].reverse();
  for (let start = 0; start < newestFirst.length && begins.length <= limit; start += STEP_ENTRIES)
    await searchThrottle.run(async () => {
      for (const entry of newestFirst.slice(start, start + STEP_ENTRIES)) addIfFound(entry);
    });
  return { begins, contains };
}

/** Whether the value is kept in clear. On a list of ranges, a single address is kept as an HMAC. */
function isReadable({ kind, value }: StoredEntry): boolean {
  return kind !== 'ip' || !value.startsWith('hmac:');
}
