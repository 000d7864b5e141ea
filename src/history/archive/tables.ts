import { count, shape } from '#base/shapes.ts';
import { type Decision, RecordedDecisionSchema } from '#decision/decision.ts';
import { type ClientKeys, formatDecisionId, toClientNumberText } from '#decision/payer/client-key.ts';
import {
  type AnyJournalEntry,
  BindingEntrySchema,
  EntryPlaceSchema,
  type ErasureEntry,
  ErasureEntrySchema,
  type JournalEntry,
  type JournalPlaces,
  OutcomeEntrySchema,
  OverrideEntrySchema,
  type PlacedEntry,
  ScoreEntrySchema,
  toVerdictEntry,
  WaitEndedEntrySchema,
} from '#state/journal.ts';
import {
  type FactColumnType,
  type FactColumnTypes,
  type FactKey,
  getKeyOfRecordedFact,
  getTypeOfFactKey,
  toColumnOfFactKey,
} from './fact-columns.ts';
import { quoteName, type ResultRow } from './query-engine.ts';
import {
  type ArchiveColumn,
  type ColumnFromJson,
  FACTS_NOT_KNOWN_ARCHIVE_COLUMN,
  type JsonRowCells,
  SchemaColumns,
} from './record-columns.ts';

interface Table {
  readonly description: string;
  /** The column with the time of a row. The row lies in the folder of the UTC day of that time. */
  readonly time: string;
  /**
   * The columns by which a segment is sorted. Similar rows compress well side by side, and the rows of one client are
   * found without reading the others.
   */
  readonly order: readonly string[];
  readonly columns: readonly ArchiveColumn[];
}

export const CLIENT_HASH_ARCHIVE_COLUMN: ArchiveColumn = {
  name: 'client_hash',
  type: 'UBIGINT',
  description:
    'The first 64 bits of a sha256 of platform and client_id_key under the salt of the installation',
};

export const PLACE_COLUMNS = new SchemaColumns(
  EntryPlaceSchema,
  { partition: 'journal_partition', ms: 'journal_ms', seq: 'journal_seq' },
  'place',
);

/** SQL: the columns that sort a client's entries within a millisecond. */
export const JOURNAL_ORDER_SQL = 'journal_ms, journal_seq';

/**
 * SQL: the time at which the journal took a row's entry, by the journal's clock. SQLite has no such time, so there it
 * is the number of the entry.
 */
export const JOURNAL_TICK_SQL = 'if(journal_ms = 0, journal_seq, journal_ms)';

/** Returns SQL: whether a row's entry comes after the given positions in the journal. */
export function isAfterSql(places: JournalPlaces): string {
  const listed = (member: 'ms' | 'seq') =>
    `coalesce(list_extract([${places.map((place) => place?.[member] ?? -1).join(', ')}]::BIGINT[], journal_partition + 1), -1)`;
  return `(journal_ms, journal_seq) > (${listed('ms')}, ${listed('seq')})`;
}

/** The records that are kept as rows, with the columns that are not named after their members. */
export const RECORD_COLUMNS_BY_TABLE = {
  decisions: new SchemaColumns(RecordedDecisionSchema, { at: 'decided_at' }),
  outcomes: new SchemaColumns(OutcomeEntrySchema, { at: 'reported_at', order: '' }),
  scores: new SchemaColumns(ScoreEntrySchema, {
    at: 'scored_at',
    request: '',
    'request.networks': null,
    'request.former': null,
    answer: '',
  }),
  bindings: new SchemaColumns(BindingEntrySchema, { at: 'changed_at', binding: '' }),
  overrides: new SchemaColumns(OverrideEntrySchema, {
    at: 'changed_at',
    override: '',
    'override.group': 'override_group',
    'override.by': 'decided_by',
    'override.at': 'decided_at',
    who: 'changed_by',
  }),
  waits_ended: new SchemaColumns(WaitEndedEntrySchema, { at: 'ended_at', who: 'ended_by' }),
  erasures: new SchemaColumns(
    shape('A client was erased', {
      ...ErasureEntrySchema.properties,
      rowsRemoved: count(
        'Rows of all tables that were taken out of the archive at once; none of files that were large or could not be read, which are rewritten later',
      ),
    }),
    { at: 'erased_at' },
  ),
} as const;

/**
 * Describes a table of rows about clients. A row has the client's hash, the position of its entry in the journal, and
 * the record.
 */
function describeClientTable<const Time extends string>(
  description: string,
  records: { readonly columns: readonly ArchiveColumn[] },
  time: Time,
  within: string = time,
) {
  const columns = [CLIENT_HASH_ARCHIVE_COLUMN, ...PLACE_COLUMNS.columns, ...records.columns];
  return { description, time, order: [CLIENT_HASH_ARCHIVE_COLUMN.name, within], columns };
}

/**
 * The tables of the archive. Times are UTC, and names say the units. The facts that the rules saw are further columns
 * of `decisions`, one for each fact: `fact_paidCount`, `fact_verdicts_10m`.
 */
export const TABLES = {
  decisions: describeClientTable(
    'One answered verdict with all that explains it',
    { columns: [...RECORD_COLUMNS_BY_TABLE.decisions.columns, FACTS_NOT_KNOWN_ARCHIVE_COLUMN] },
    'decided_at',
    'seq',
  ),
  outcomes: describeClientTable(
    'What became of an order, as it was reported',
    RECORD_COLUMNS_BY_TABLE.outcomes,
    'reported_at',
  ),
  scores: describeClientTable('One answered score request', RECORD_COLUMNS_BY_TABLE.scores, 'scored_at'),
  bindings: describeClientTable(
    'A client was bound to a requisite, or unbound: then requisite_ref is null',
    RECORD_COLUMNS_BY_TABLE.bindings,
    'changed_at',
  ),
  overrides: describeClientTable(
    'A person set or lifted an override; override_group is null if it was lifted',
    RECORD_COLUMNS_BY_TABLE.overrides,
    'changed_at',
  ),
  waits_ended: describeClientTable(
    'A person ended a wait of a client before its time',
    RECORD_COLUMNS_BY_TABLE.waits_ended,
    'ended_at',
  ),
  erasures: {
    description:
      'A client was erased: for 30 days its number, by which whoever keeps rows elsewhere removes them, then nothing of it',
    time: 'erased_at',
    order: ['erased_at'],
    columns: [...PLACE_COLUMNS.columns, ...RECORD_COLUMNS_BY_TABLE.erasures.columns],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

export const TABLE_NAMES = Object.freeze(
  Object.keys(TABLES).filter((name): name is TableName => name in TABLES),
);

export function hasClientRows(table: TableName): boolean {
  const columns: readonly ArchiveColumn[] = TABLES[table].columns;
  return columns.some(({ name }) => name === 'client_hash');
}

/** The facts by which decisions are searched and counted. Their columns exist even if no rule set recorded them. */
export const SEARCHED_FACT_TYPES: FactColumnTypes = new Map([
  ['amount', 'DOUBLE'],
  ['currency', 'VARCHAR'],
  ['method', 'VARCHAR'],
  ['paidCount', 'BIGINT'],
  ['finalCount', 'BIGINT'],
]);

export function emptyTableSql(table: TableName): string {
  const columns: readonly ArchiveColumn[] = TABLES[table].columns;
  const nulls = columns.map(({ name, type }) => `NULL::${type} AS ${quoteName(name)}`).join(', ');
  return `(SELECT ${nulls} WHERE false)`;
}

/**
 * Returns how the engine reads the rows of a table from lines of JSON: the members of a line with their types, and
 * the columns that are made of them.
 */
export function getJsonCellsAndColumns(table: TableName, facts: FactColumnTypes) {
  const sources = [PLACE_COLUMNS, RECORD_COLUMNS_BY_TABLE[table]].map((records) => records.source(facts));
  const made = new Map(sources.flatMap(({ columns }) => columns).map(({ name, sql }) => [name, sql]));
  const own = TABLES[table].columns.map(({ name }) => name);
  const columns = [...own, ...[...facts.keys()].map(toColumnOfFactKey)].map(
    (name): ColumnFromJson => ({ name, sql: made.get(name) ?? name }),
  );
  const cells = sources.map(({ cell, type }) => ({ cell, type }));
  const alone =
    table === 'decisions'
      ? [CLIENT_HASH_ARCHIVE_COLUMN, FACTS_NOT_KNOWN_ARCHIVE_COLUMN]
      : [CLIENT_HASH_ARCHIVE_COLUMN];
  return { cells: [...alone.map(({ name, type }) => ({ cell: name, type })), ...cells], columns };
}

/** Adds the types of the facts of further rows. Widens a type if a value needs it. */
export function widenFactTypes(types: Map<FactKey, FactColumnType>, rows: readonly ArchiveRow[]): void {
  for (const { facts = {} } of rows)
    for (const label in facts) {
      const value = facts[label] ?? null;
      const key = getKeyOfRecordedFact(label, value);
      const before = types.get(key);
      const type =
        value === null || key !== label ? (before ?? getTypeOfFactKey(key)) : pickWiderType(before, value);
      if (type !== before) types.set(key, type);
    }
}

/** Returns the type that can hold the former values and this one. It is BIGINT as long as all numbers are whole. */
function pickWiderType(before: FactColumnType | undefined, value: unknown): FactColumnType {
  switch (typeof value) {
    case 'boolean':
      return 'BOOLEAN';
    case 'number':
      return before === 'DOUBLE' || !Number.isSafeInteger(value) ? 'DOUBLE' : 'BIGINT';
    default:
      return 'VARCHAR';
  }
}

export interface ArchiveRow {
  readonly table: TableName;
  readonly platform: string;
  /** Epoch ms. */
  readonly at: number;
  readonly cells: JsonRowCells;
  readonly facts?: Decision['facts'];
}

/**
 * Returns the rows of numbered entries, without a client's entries from before its erasure. `erasedAt` maps the
 * number of a client to the number of the erasure's entry. `hashOf` returns the hash of an entry's client.
 */
export function toUnerasedRows<Entry extends PlacedEntry<JournalEntry>>(
  numbered: readonly (readonly [number, Entry | PlacedEntry<ErasureEntry>])[],
  erasedAt: ReadonlyMap<string, number>,
  hashOf: (entry: Entry) => string,
): readonly ArchiveRow[] {
  return numbered.flatMap(([number, entry]) => {
    if (entry.kind === 'erasure') return [];
    const row = toRow(entry, hashOf(entry));
    return number > (erasedAt.get(row.cells.client_hash ?? '') ?? -1) ? [row] : [];
  });
}

/** Returns the rows of a page of the journal, without a client's entries from before its erasure. */
export function toUnerasedPageRows(
  entries: readonly PlacedEntry<AnyJournalEntry>[],
  clientKeys: ClientKeys,
): readonly ArchiveRow[] {
  const numbered = [...entries.entries()];
  const erasures = numbered.flatMap(([number, entry]) =>
    entry.kind === 'erasure' ? [[entry.clientNumber, number] as const] : [],
  );
  const hashOf = ({ platform, clientIdKey }: JournalEntry) => clientKeys.of(platform, clientIdKey).hash;
  return toUnerasedRows(numbered, new Map(erasures), hashOf);
}

const TABLE_OF = {
  verdict: 'decisions',
  score: 'scores',
  outcome: 'outcomes',
  binding: 'bindings',
  override: 'overrides',
  waitEnded: 'waits_ended',
} as const satisfies Record<JournalEntry['kind'], TableName>;

export function toRow(entry: PlacedEntry<JournalEntry>, clientHash: string): ArchiveRow {
  const { kind, platform, at, place } = entry;
  const base = { table: TABLE_OF[kind], platform, at };
  const client_hash = toClientNumberText(clientHash);
  if (kind !== 'verdict') return { ...base, cells: { client_hash, place, record: entry } };
  const { facts } = entry.decision;
  const facts_not_known = Object.keys(facts).filter((label) => facts[label] === null);
  return { ...base, cells: { client_hash, place, record: entry.decision, facts_not_known }, facts };
}

/**
 * Returns the row that records the erasure of a client, with the number of removed rows. `rowsRemoved` has the
 * numbers of removed rows, by the number of the client.
 */
export function toErasureRow(
  erasure: PlacedEntry<ErasureEntry>,
  rowsRemoved: ReadonlyMap<string, number>,
): ArchiveRow {
  const { platform, at, place, clientNumber } = erasure;
  const record = { ...erasure, rowsRemoved: rowsRemoved.get(clientNumber) ?? 0 };
  return { table: 'erasures', platform, at, cells: { place, record } };
}

/** Reads the journal entry about a client from a row. Returns null for the row of an erasure. Throws RowDamaged. */
export function toJournalEntry(
  table: TableName,
  row: ResultRow,
  clientKeys: ClientKeys,
): PlacedEntry<JournalEntry> | null {
  const entry = toJournalRecord(table, row, clientKeys);
  return entry.kind === 'erasure' ? null : entry;
}

/** Reads the journal entry from a row. Throws RowDamaged. */
export function toJournalRecord(
  table: TableName,
  row: ResultRow,
  clientKeys: ClientKeys,
): PlacedEntry<AnyJournalEntry> {
  return { ...readUnplacedRecord(table, row, clientKeys), place: PLACE_COLUMNS.read(row) };
}

function readUnplacedRecord(table: TableName, row: ResultRow, clientKeys: ClientKeys): AnyJournalEntry {
  switch (table) {
    case 'decisions':
      return toVerdictEntry(toDecision(row, clientKeys));
    case 'scores':
    case 'outcomes':
    case 'bindings':
    case 'overrides':
    case 'waits_ended':
      return RECORD_COLUMNS_BY_TABLE[table].read(row);
    case 'erasures': {
      const { kind, at, platform, clientNumber } = RECORD_COLUMNS_BY_TABLE.erasures.read(row);
      return { kind, at, platform, clientNumber };
    }
    default:
      return table satisfies never;
  }
}

export function toDecision(row: ResultRow, clientKeys: ClientKeys): Decision {
  const recorded = RECORD_COLUMNS_BY_TABLE.decisions.read(row);
  const { hash } = clientKeys.of(recorded.platform, recorded.clientIdKey);
  return { decisionId: formatDecisionId(hash, recorded.seq, recorded.at), ...recorded };
}
