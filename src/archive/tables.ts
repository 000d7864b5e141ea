import { RecordedDecisionSchema } from '../decision/decision.ts';
import { count, shape } from '../shapes.ts';
import {
  BindingEntrySchema,
  EntryPlaceSchema,
  ErasureEntrySchema,
  OutcomeEntrySchema,
  OverrideEntrySchema,
  ScoreEntrySchema,
} from '../state/journal.ts';
import { quoteName } from './duck.ts';
import { type Column, RecordColumns } from './record-columns.ts';

export interface Table {
  readonly description: string;
  /** The column that tells when; rows lie in the folder of its UTC day. */
  readonly time: string;
  /** How rows lie in a segment: neighbours compress well, and one client is found without reading the rest. */
  readonly order: readonly string[];
  readonly columns: readonly Column[];
}

export const CLIENT_HASH: Column = {
  name: 'client_hash',
  type: 'UBIGINT',
  description:
    'The first 64 bits of a sha256 of platform and client_id_key under the salt of the installation',
};

/** The place of a row's entry in the journal. */
export const PLACE = new RecordColumns(
  EntryPlaceSchema,
  { partition: 'journal_partition', ms: 'journal_ms', seq: 'journal_seq' },
  'place',
);

/** SQL: in which order a client did what it did within a millisecond. */
export const JOURNAL_ORDER_SQL = 'journal_ms, journal_seq';

/** SQL: when the journal took a row's entry, by its own clock; without one (SQLite) the number of the entry. */
export const JOURNAL_TICK_SQL = 'if(journal_ms = 0, journal_seq, journal_ms)';

/** The records of which rows are made, and those of their columns that are not called as their members. */
export const RECORDS = {
  decisions: new RecordColumns(RecordedDecisionSchema, { at: 'decided_at' }),
  outcomes: new RecordColumns(OutcomeEntrySchema, { at: 'reported_at', order: '' }),
  scores: new RecordColumns(ScoreEntrySchema, {
    at: 'scored_at',
    request: '',
    'request.networks': null,
    'request.former': null,
    answer: '',
  }),
  bindings: new RecordColumns(BindingEntrySchema, { at: 'changed_at', binding: '' }),
  overrides: new RecordColumns(OverrideEntrySchema, {
    at: 'changed_at',
    override: '',
    'override.group': 'override_group',
    'override.by': 'decided_by',
    'override.at': 'decided_at',
    who: 'changed_by',
  }),
  erasures: new RecordColumns(
    shape('A client was erased', {
      ...ErasureEntrySchema.properties,
      rowsRemoved: count(
        'Rows of all tables that were taken out of the archive; none of files that could not be read then',
      ),
    }),
    { at: 'erased_at' },
  ),
} as const;

/**
 * What the archive keeps. Times are UTC, units are in the names. The values that the rules saw are further
 * columns of `decisions`, one a fact: `fact_paidCount`, `fact_verdicts_10m`.
 */
export const TABLES = {
  decisions: {
    description: 'One answered verdict with all that explains it',
    time: 'decided_at',
    order: ['client_hash', 'seq'],
    columns: [CLIENT_HASH, ...PLACE.columns, ...RECORDS.decisions.columns],
  },
  outcomes: {
    description: 'What became of an order, as it was reported',
    time: 'reported_at',
    order: ['client_hash', 'reported_at'],
    columns: [CLIENT_HASH, ...PLACE.columns, ...RECORDS.outcomes.columns],
  },
  scores: {
    description: 'One answered score request',
    time: 'scored_at',
    order: ['client_hash', 'scored_at'],
    columns: [CLIENT_HASH, ...PLACE.columns, ...RECORDS.scores.columns],
  },
  bindings: {
    description: 'A client was bound to a requisite, or unbound: then requisite_ref is null',
    time: 'changed_at',
    order: ['client_hash', 'changed_at'],
    columns: [CLIENT_HASH, ...PLACE.columns, ...RECORDS.bindings.columns],
  },
  overrides: {
    description: 'A person decided about a client, or lifted that: then override_group is null',
    time: 'changed_at',
    order: ['client_hash', 'changed_at'],
    columns: [CLIENT_HASH, ...PLACE.columns, ...RECORDS.overrides.columns],
  },
  erasures: {
    description:
      'A client was erased: for 30 days its number, by which whoever keeps rows elsewhere removes them, then nothing of it',
    time: 'erased_at',
    order: ['erased_at'],
    columns: [...PLACE.columns, ...RECORDS.erasures.columns],
  },
} as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

export const TABLE_NAMES = Object.freeze(
  Object.keys(TABLES).filter((name): name is TableName => name in TABLES),
);

/** Tables whose rows are about one client. */
export function isAboutClients(table: TableName): boolean {
  const columns: readonly Column[] = TABLES[table].columns;
  return columns.some(({ name }) => name === 'client_hash');
}

/** SQL: a table of the archive without rows. */
export function emptyTable(table: TableName): string {
  const columns: readonly Column[] = TABLES[table].columns;
  const nulls = columns.map(({ name, type }) => `NULL::${type} AS ${quoteName(name)}`).join(', ');
  return `(SELECT ${nulls} WHERE false)`;
}
