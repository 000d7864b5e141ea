import { clientKey, clientNumber } from '../client/client-key.ts';
import type { JournalEntry } from '../state/journal/entry.ts';
import type { Cells, RowCell } from './record-columns.ts';
import { RECORDS, type TableName } from './tables.ts';

/** One row on its way into a segment. */
export interface ArchiveRow {
  readonly table: TableName;
  readonly platform: string;
  /** Epoch ms. */
  readonly at: number;
  readonly cells: Readonly<Record<string, RowCell>>;
}

/** The row that keeps an entry. */
export function rowOf(entry: JournalEntry): ArchiveRow {
  const { platform, clientIdKey, at } = entry;
  const cells: Cells = { client_hash: clientNumber(clientKey(platform, clientIdKey).hash) };
  return { table: writeCells(entry, cells), platform, at, cells };
}

/** Gives the table that the cells belong to. */
function writeCells(entry: JournalEntry, cells: Cells): TableName {
  switch (entry.kind) {
    case 'verdict':
      RECORDS.decisions.write(entry.decision, cells);
      return 'decisions';
    case 'score':
      RECORDS.scores.write(entry, cells);
      return 'scores';
    case 'outcome':
      RECORDS.outcomes.write(entry, cells);
      return 'outcomes';
    case 'binding':
      RECORDS.bindings.write(entry, cells);
      return 'bindings';
    case 'override':
      RECORDS.overrides.write(entry, cells);
      return 'overrides';
    default:
      return entry satisfies never;
  }
}
