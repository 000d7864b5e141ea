import type { EntryPlace } from '../journal/entry.ts';
import {
  isOfClient,
  parseJournalText,
  type ReadEntry,
  readOr,
  type UnreadableEntry,
  type VerdictReference,
  verdictEntry,
} from '../journal/text.ts';
import { partitionNumber } from '../keys.ts';
import type { DecisionPlace, RedisDecisions } from './decisions.ts';
import type { JournalRow } from './journal.ts';

/** A journal entry as it is stored, of whom, and where. */
export interface StoredEntry {
  readonly clientHash: string;
  readonly text: string;
  readonly place: EntryPlace;
}

/** Makes whole entries of what the journal keeps: of a verdict it keeps which decision it was. */
export class JournalEntries {
  readonly #decisions: RedisDecisions;

  constructor(decisions: RedisDecisions) {
    this.#decisions = decisions;
  }

  /** One for each row of a partition, in their order. */
  of(partition: string, rows: readonly JournalRow[]): Promise<readonly ReadEntry[]> {
    const number = partitionNumber(partition);
    return this.#whole(
      rows.map(({ fields, place }) => ({
        clientHash: fields['client'] ?? '',
        text: fields['entry'] ?? 'null',
        place: { partition: number, ...place },
      })),
    );
  }

  /** Of entries that were kept under a client's name, those that are still there, and whether all could be read. */
  async ofClient(stored: readonly StoredEntry[]) {
    const entries = await this.#whole(stored);
    return {
      entries: entries.filter(isOfClient),
      allRead: entries.every(({ kind }) => kind !== 'unreadable'),
    };
  }

  async #whole(stored: readonly StoredEntry[]): Promise<readonly ReadEntry[]> {
    const parsed = await Promise.all(stored.map((one) => readOr(one, () => parseJournalText(one.text))));
    const places: DecisionPlace[] = [];
    for (const [index, entry] of parsed.entries())
      if (isReference(entry)) places.push({ clientHash: stored[index]?.clientHash ?? '', seq: entry.seq });
    const decisions = (await this.#decisions.each(places)).values();
    return Promise.all(
      stored.map((one, index) => {
        const entry = parsed[index];
        if (entry === undefined) throw new Error('an entry is read for each that is stored');
        if (!isReference(entry)) return entry.kind === 'unreadable' ? entry : { ...entry, place: one.place };
        const read = decisions.next().value ?? null;
        return readOr(one, (): ReadEntry => {
          if (read === null) return { kind: 'lost', at: entry.at };
          return { ...verdictEntry(read()), place: one.place };
        });
      }),
    );
  }
}

function isReference(
  entry: ReturnType<typeof parseJournalText> | UnreadableEntry,
): entry is VerdictReference {
  return 'seq' in entry;
}
