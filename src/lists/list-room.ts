import { INSTALLATION } from '../access/access-keys.ts';
import type { ListCopy } from './list-copy.ts';
import { entryId, type ListEntry } from './list-entry.ts';

/** What all shared lists may hold. */
export interface ListLimits {
  readonly entriesPerList: number;
  /** Of one platform, so that none takes the room of the others. */
  readonly entriesPerPlatform: number;
  /** Each node holds them in memory. */
  readonly entriesInAll: number;
  readonly listsPerOwner: number;
  /** Networks that the ranges of a list are compared by. */
  readonly keysPerList: number;
}

export const LIST_LIMITS: ListLimits = {
  entriesPerList: 100_000,
  entriesPerPlatform: 250_000,
  entriesInAll: 500_000,
  listsPerOwner: 200,
  keysPerList: 1_000_000,
};

/** What the same request takes besides, on the same list. */
export interface RoomTaken {
  readonly entries: number;
  readonly keys: number;
}

/** Why an entry has no room on its list, for the caller; null when it has. */
export function noRoom(
  copy: ListCopy,
  entry: ListEntry,
  taken: RoomTaken,
  limits: ListLimits = LIST_LIMITS,
): string | null {
  const { owner, list } = entry;
  if (copy.entry(entryId(entry)) !== null) return null;
  const entries = copy.list(owner, list);
  if ((entries?.size ?? 0) + taken.entries >= limits.entriesPerList)
    return `A list has at most ${limits.entriesPerList} entries.`;
  if (owner !== INSTALLATION && copy.entriesOf(owner) + taken.entries >= limits.entriesPerPlatform)
    return `The lists of a platform have at most ${limits.entriesPerPlatform} entries together.`;
  if (copy.size + taken.entries >= limits.entriesInAll)
    return `All lists together have at most ${limits.entriesInAll} entries.`;
  if (copy.keysOn(owner, list) + taken.keys + entry.keys.length > limits.keysPerList)
    return `The ranges of a list may be made of at most ${limits.keysPerList} networks; use prefixes like /16, /24 and /32, or /32, /48 and /64.`;
  const isNew = entries === null && taken.entries === 0;
  if (isNew && copy.listsOf(owner) >= limits.listsPerOwner)
    return `A platform has at most ${limits.listsPerOwner} lists.`;
  return null;
}
