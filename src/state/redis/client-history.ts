import type { ClientKey } from '../../client/client-key.ts';
import { parsePlace } from '../journal/cursor.ts';
import type { EntryPlace, JournalEntry, Placed } from '../journal/entry.ts';
import { journalKey, partitionNumber, partitionOf } from '../keys.ts';
import { searchSteps } from '../paced-steps.ts';
import type { ClientJournal } from '../store.ts';
import { itemsOf } from './connection/reply.ts';
import type { JournalParts, StoredEntry } from './journal.ts';
import { RedisScript } from './script.ts';

const historyScript = new RedisScript('client-history-1.lua');

/** Entries that one command looks at: about half a millisecond, in which Redis serves no other request. */
const BATCH_ENTRIES_MAX = 100;

/** Entries that are looked at in all; a partition's share of the journal is less. */
const LOOKED_AT_ENTRIES_MAX = 20_000;

/** What the journal holds about single clients. It has no index by client: that would cost every verdict. */
export class RedisClientHistory {
  readonly #parts: JournalParts;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  /** The client's newest entries, looked for backwards in the journal of its partition. */
  async of(
    { hash }: Pick<ClientKey, 'hash'>,
    limit: number,
    before: EntryPlace | null,
  ): Promise<ClientJournal> {
    const { commands, runOn, entries: whole } = this.#parts;
    const journal = journalKey(partitionOf(hash));
    const found: Placed<JournalEntry>[] = [];
    let from = before === null ? '+' : `(${before.ms}-${before.seq}`;
    let isWhole = true;
    for (let lookedAt = 0; lookedAt < LOOKED_AT_ENTRIES_MAX; lookedAt += BATCH_ENTRIES_MAX) {
      // One more than is wanted tells whether that was all.
      const args = [hash, from, String(BATCH_ENTRIES_MAX), String(limit + 1 - found.length)];
      const { next, entries, allRead } = await searchSteps.run(async () => {
        const stretch = await runOn(journal)(async () =>
          readStretch(hash, await historyScript.run(commands, [journal], args)),
        );
        return { next: stretch.next, ...(await whole.ofClient(stretch.entries)) };
      });
      found.push(...entries);
      isWhole &&= allRead;
      if (found.length > limit) break;
      if (next === '') return { entries: found, complete: isWhole };
      from = next;
    }
    return { entries: found.slice(0, limit), complete: false };
  }
}

interface Stretch {
  readonly next: string;
  readonly entries: readonly StoredEntry[];
}

function readStretch(clientHash: string, reply: unknown): Stretch {
  const [next = '', ...told] = itemsOf('client-history-1.lua', reply).map(String);
  const partition = partitionNumber(partitionOf(clientHash));
  const entries = Array.from({ length: told.length / 2 }, (_, index) => {
    const [id = '', text = ''] = told.slice(2 * index, 2 * index + 2);
    return { clientHash, text, place: { partition, ...parsePlace(id) } };
  });
  return { next, entries };
}
