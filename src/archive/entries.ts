import { type ClientKeys, decisionId } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import { type JournalEntry, type JournalRecord, type Placed, verdictEntry } from '../state/journal.ts';
import type { DuckRow } from './duck.ts';
import { PLACE, RECORDS, type TableName } from './tables.ts';

/** The journal entry about a client that a row keeps; null for a row of an erasure. Throws RowDamaged. */
export function entryOf(table: TableName, row: DuckRow, clientKeys: ClientKeys): Placed<JournalEntry> | null {
  const entry = recordOf(table, row, clientKeys);
  return entry.kind === 'erasure' ? null : entry;
}

/** The journal entry that a row keeps. Throws RowDamaged. */
export function recordOf(table: TableName, row: DuckRow, clientKeys: ClientKeys): Placed<JournalRecord> {
  return { ...unplacedOf(table, row, clientKeys), place: PLACE.read(row) };
}

function unplacedOf(table: TableName, row: DuckRow, clientKeys: ClientKeys): JournalRecord {
  switch (table) {
    case 'decisions':
      return verdictEntry(decisionOf(row, clientKeys));
    case 'scores':
    case 'outcomes':
    case 'bindings':
    case 'overrides':
      return RECORDS[table].read(row);
    case 'erasures': {
      const { kind, at, platform, clientNumber } = RECORDS.erasures.read(row);
      return { kind, at, platform, clientNumber };
    }
    default:
      return table satisfies never;
  }
}

/** The decision that a row of `decisions` keeps. */
export function decisionOf(row: DuckRow, clientKeys: ClientKeys): Decision {
  const recorded = RECORDS.decisions.read(row);
  const { hash } = clientKeys.of(recorded.platform, recorded.clientIdKey);
  return { decisionId: decisionId(hash, recorded.seq, recorded.at), ...recorded };
}
