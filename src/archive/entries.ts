import { clientKey, decisionId } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import type { JournalEntry, Placed } from '../state/journal/entry.ts';
import { verdictEntry } from '../state/journal/text.ts';
import type { DuckRow } from './duck.ts';
import { PLACE, RECORDS, type TableName } from './tables.ts';

/** The journal entry that a row keeps; null for a row that is none (of an erasure). Throws RowDamaged. */
export function entryOf(table: TableName, row: DuckRow): Placed<JournalEntry> | null {
  const entry = unplacedEntryOf(table, row);
  return entry === null ? null : { ...entry, place: PLACE.read(row) };
}

function unplacedEntryOf(table: TableName, row: DuckRow): JournalEntry | null {
  switch (table) {
    case 'decisions':
      return verdictEntry(decisionOf(row));
    case 'scores':
    case 'outcomes':
    case 'bindings':
    case 'overrides':
      return RECORDS[table].read(row);
    case 'erasures':
      return null;
    default:
      return table satisfies never;
  }
}

/** The decision that a row of `decisions` keeps. */
export function decisionOf(row: DuckRow): Decision {
  const recorded = RECORDS.decisions.read(row);
  const { hash } = clientKey(recorded.platform, recorded.clientIdKey);
  return { decisionId: decisionId(hash, recorded.seq, recorded.at), ...recorded };
}
