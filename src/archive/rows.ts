import { clientNumber } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import type { ErasureEntry, JournalEntry, Placed } from '../state/journal.ts';
import type { Cells } from './record-columns.ts';
import { PLACE, RECORDS, type TableName } from './tables.ts';

/** One row on its way into a segment. */
export interface ArchiveRow {
  readonly table: TableName;
  readonly platform: string;
  /** Epoch ms. */
  readonly at: number;
  readonly cells: Readonly<Cells>;
  /** Of a decision. */
  readonly facts?: Decision['facts'];
}

/**
 * The rows of numbered entries, without what a client did before it was erased: `erasedAt` has the number of the
 * erasure, by that of the client. `hashOf` gives the hash of an entry's client.
 */
export function rowsOf<Entry extends Placed<JournalEntry>>(
  numbered: readonly (readonly [number, Entry | Placed<ErasureEntry>])[],
  erasedAt: ReadonlyMap<string, number>,
  hashOf: (entry: Entry) => string,
): readonly ArchiveRow[] {
  return numbered.flatMap(([number, entry]) => {
    if (entry.kind === 'erasure') return [];
    const row = rowOf(entry, hashOf(entry));
    return number > (erasedAt.get(String(row.cells['client_hash'])) ?? -1) ? [row] : [];
  });
}

/** The row that keeps an entry. */
export function rowOf(entry: Placed<JournalEntry>, clientHash: string): ArchiveRow {
  const { platform, at, place } = entry;
  const cells: Cells = { client_hash: clientNumber(clientHash) };
  PLACE.write(place, cells);
  const facts = entry.kind === 'verdict' ? { facts: entry.decision.facts } : {};
  return { table: writeCells(entry, cells), platform, at, cells, ...facts };
}

/** The row that keeps that a client was erased, of whom so many rows were removed, by the client's number. */
export function tombstoneOf(
  erasure: Placed<ErasureEntry>,
  rowsRemoved: ReadonlyMap<string, number>,
): ArchiveRow {
  const { platform, at, place, clientNumber } = erasure;
  const cells: Cells = {};
  PLACE.write(place, cells);
  RECORDS.erasures.write({ ...erasure, rowsRemoved: rowsRemoved.get(clientNumber) ?? 0 }, cells);
  return { table: 'erasures', platform, at, cells };
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
