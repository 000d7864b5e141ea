import { type Decision, recordedDecision } from '../decision/decision.ts';
import type { JournalEntry, JournalRecord } from './store.ts';

/** What a journal entry is stored as; of a verdict its decision record, which is kept anyway. */
export function journalText(entry: JournalRecord): string {
  return JSON.stringify(entry.kind === 'verdict' ? entry.decision : entry);
}

/** The entry that was written as `text`. */
export function readJournalText(text: string): JournalRecord {
  const written: JournalRecord | Decision = JSON.parse(text);
  if ('kind' in written) return written;
  const { at, platform, clientIdKey } = written;
  return { kind: 'verdict', at, platform, clientIdKey, decision: recordedDecision(written) };
}

/** The entries about a client, of what was kept under its name: an erasure is kept under none. */
export function aboutClient(texts: readonly string[]): readonly JournalEntry[] {
  return texts.map(readJournalText).filter((entry) => entry.kind !== 'erasure');
}
