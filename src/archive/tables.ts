import { RecordedDecisionSchema } from '../decision/decision.ts';
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

const text = (name: string, description: string): Column => ({ name, type: 'VARCHAR', description });
const texts = (name: string, description: string): Column => ({ name, type: 'VARCHAR[]', description });
const flag = (name: string, description: string): Column => ({ name, type: 'BOOLEAN', description });
const integer = (name: string, description: string): Column => ({ name, type: 'BIGINT', description });
const time = (name: string, description: string): Column => ({ name, type: 'TIMESTAMP_MS', description });

const PLATFORM = text('platform', 'The tenant');
const CLIENT_HASH: Column = {
  name: 'client_hash',
  type: 'UBIGINT',
  description: 'The first 64 bits of the sha256 of platform, "/" and client_id_key',
};
const CLIENT: readonly Column[] = [
  CLIENT_HASH,
  text('client_id_key', "The caller's identifier of the payer"),
];

export const DECISION = new RecordColumns(RecordedDecisionSchema, { at: 'decided_at' });

/**
 * What the archive keeps. Times are UTC, units are in the names. The values that the rules saw are further
 * columns of `decisions`, one a fact: `fact_paidCount`, `fact_verdicts_10m`.
 */
export const TABLES = {
  decisions: {
    description: 'One answered verdict with all that explains it',
    time: 'decided_at',
    order: ['client_hash', 'seq'],
    columns: [CLIENT_HASH, ...DECISION.columns],
  },
  outcomes: {
    description: 'What became of an order, as it was reported',
    time: 'reported_at',
    order: ['client_hash', 'reported_at'],
    columns: [
      PLATFORM,
      time('reported_at', 'When it was accepted'),
      ...CLIENT,
      text('order_ref', 'The order'),
      text('outcome', 'PAID or UNPAID'),
      text('cause', 'DECLINED, EXPIRED, CANCELLED, TECHNICAL, REVERSED or null'),
      time('occurred_at', 'When it happened'),
    ],
  },
  scores: {
    description: 'One answered score request',
    time: 'scored_at',
    order: ['client_hash', 'scored_at'],
    columns: [
      PLATFORM,
      time('scored_at', 'When it was answered'),
      ...CLIENT,
      text('sell_point_key', 'The point of sale'),
      text('method', 'The payment method that was selected'),
      text('amount', 'A decimal number'),
      text('currency', "Null for the platform's own"),
      text('fingerprint', 'HMAC of the fingerprint; null when none was sent'),
      text('ip', "HMAC of the payer's address; null when none was sent"),
      flag('js_ok', 'The page ran JavaScript; null when nobody said'),
      flag('honeypot_triggered', 'A trap field was filled in'),
      flag('user_agent_present', 'A User-Agent was sent'),
      flag('user_agent_is_automated', 'The User-Agent is that of a program'),
      text('rule_version', 'The rule set that answered'),
      text('client_group', 'Of the answer'),
      text('payment_score', 'Of the answer, four decimals'),
      flag('is_bot', 'Of the answer'),
      texts('preferred_acceptor_key', 'Of the answer; null unless STICKY'),
      texts('pay_limit_value', 'Of the answer; null unless the platform enables limits'),
    ],
  },
  bindings: {
    description: 'A client was bound to a requisite, or unbound: then requisite_ref is null',
    time: 'changed_at',
    order: ['client_hash', 'changed_at'],
    columns: [
      PLATFORM,
      time('changed_at', 'When it was accepted'),
      ...CLIENT,
      text('requisite_ref', 'The requisite; null when the client was unbound'),
      texts('acceptor_keys', 'What score answers as preferredAcceptorKey'),
      text('method', 'The binding is for this method only; null for all'),
      time('expires_at', 'Null when it does not'),
    ],
  },
  overrides: {
    description: 'A person decided about a client, or lifted that: then override_group is null',
    time: 'changed_at',
    order: ['client_hash', 'changed_at'],
    columns: [
      PLATFORM,
      time('changed_at', 'When it was accepted'),
      ...CLIENT,
      text('override_group', 'BLOCKED or TRUSTED; null when it was lifted'),
      text('reason', 'Why'),
      text('decided_by', 'Who'),
      time('expires_at', 'Null when it does not'),
    ],
  },
  erasures: {
    description: 'A client was erased: what is left of that, without anything about the client',
    time: 'erased_at',
    order: ['erased_at'],
    columns: [
      PLATFORM,
      time('erased_at', 'When the platform asked for it'),
      integer(
        'rows_removed',
        'Rows of all tables that were taken out of the archive; none of files that could not be read then',
      ),
    ],
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
