import type { Decision } from '../decision/decision.ts';
import type { JournalEntry } from './store.ts';

/** What a journal entry is stored as; of a verdict its decision record, which is kept anyway. */
export function journalText(entry: JournalEntry): string {
  return JSON.stringify(entry.kind === 'verdict' ? entry.decision : entry);
}

/** The entry that was written as `text`. */
export function readJournalText(text: string): JournalEntry {
  const written: JournalEntry | Decision = JSON.parse(text);
  if ('kind' in written) return written;
  const { at, platform, clientIdKey } = written;
  return { kind: 'verdict', at, platform, clientIdKey, decision: written };
}
