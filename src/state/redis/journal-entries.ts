import type { EntryPlace, JournalEntry, JournalRecord, Placed } from '../journal/entry.ts';
import { type LostVerdict, parseJournalText, verdictEntry } from '../journal/text.ts';
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
  of(
    partition: string,
    rows: readonly JournalRow[],
  ): Promise<readonly (Placed<JournalRecord> | LostVerdict)[]> {
    const number = partitionNumber(partition);
    return this.#whole(
      rows.map(({ fields, place }) => ({
        clientHash: fields['client'] ?? '',
        text: fields['entry'] ?? 'null',
        place: { partition: number, ...place },
      })),
    );
  }

  /** Of entries that were kept under a client's name, those that are still there. */
  async ofClient(stored: readonly StoredEntry[]): Promise<readonly Placed<JournalEntry>[]> {
    const entries = await this.#whole(stored);
    return entries.filter((entry) => entry.kind !== 'erasure' && entry.kind !== 'lost');
  }

  async #whole(stored: readonly StoredEntry[]): Promise<readonly (Placed<JournalRecord> | LostVerdict)[]> {
    const parsed = stored.map(({ text, ...where }) => ({ ...where, entry: parseJournalText(text) }));
    const places: DecisionPlace[] = [];
    for (const { clientHash, entry } of parsed)
      if ('seq' in entry) places.push({ clientHash, seq: entry.seq });
    const decisions = (await this.#decisions.at(places)).values();
    return parsed.map(({ entry, place }) => {
      if (!('seq' in entry)) return { ...entry, place };
      const decision = decisions.next().value ?? null;
      return decision === null ? { kind: 'lost', at: entry.at } : { ...verdictEntry(decision), place };
    });
  }
}
