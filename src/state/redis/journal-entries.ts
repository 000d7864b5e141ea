import type { JournalEntry, JournalRecord } from '../journal/entry.ts';
import { type LostVerdict, parseJournalText, verdictEntry } from '../journal/text.ts';
import type { DecisionPlace, RedisDecisions } from './decisions.ts';
import type { JournalRow } from './journal.ts';

/** Makes whole entries of what the journal keeps: of a verdict it keeps which decision it was. */
export class JournalEntries {
  readonly #decisions: RedisDecisions;

  constructor(decisions: RedisDecisions) {
    this.#decisions = decisions;
  }

  /** One for each row of a partition, in their order. */
  of(rows: readonly JournalRow[]): Promise<readonly (JournalRecord | LostVerdict)[]> {
    return this.#whole(
      rows.map(({ fields }) => ({ clientHash: fields['client'] ?? '', text: fields['entry'] ?? 'null' })),
    );
  }

  /** Of texts that were kept under a client's name, those that are still there. */
  async ofClient(clientHash: string, texts: readonly string[]): Promise<readonly JournalEntry[]> {
    const entries = await this.#whole(texts.map((text) => ({ clientHash, text })));
    return entries.filter((entry) => entry.kind !== 'erasure' && entry.kind !== 'lost');
  }

  async #whole(
    written: readonly { readonly clientHash: string; readonly text: string }[],
  ): Promise<readonly (JournalRecord | LostVerdict)[]> {
    const parsed = written.map(({ clientHash, text }) => ({ clientHash, entry: parseJournalText(text) }));
    const places: DecisionPlace[] = [];
    for (const { clientHash, entry } of parsed)
      if ('seq' in entry) places.push({ clientHash, seq: entry.seq });
    const decisions = (await this.#decisions.at(places)).values();
    return parsed.map(({ entry }) => {
      if (!('seq' in entry)) return entry;
      const decision = decisions.next().value ?? null;
      return decision === null ? { kind: 'lost', at: entry.at } : verdictEntry(decision);
    });
  }
}
