import type { Duck } from '../../archive/duck.ts';
import type { Column } from '../../archive/record-columns.ts';
import { JOURNAL_ORDER_SQL, TABLES } from '../../archive/tables.ts';
import { type RuleSet, VERDICTS } from '../../rules/rule-set.ts';
import { type ArchiveAsk, between, type Evidence, enumOf, knownRows } from './evidence.ts';
import { countSharedDevices, sharingWindowsOf } from './shared-devices.ts';

/** Tables of the archive that only a replay asks for. */
const TABLES_OF_INPUTS = ['scores', 'bindings', 'overrides'] as const;

type InputTable = (typeof TABLES_OF_INPUTS)[number];

/**
 * Makes the view `inputs`: all that came in from outside, client by client in the order in which it happened, one row
 * each. Its `kind` is binding, override, score, verdict or outcome. Within a millisecond they come in the order of the
 * journal. Columns that a kind does not have are null. A verdict has, for each window
 * that a sharing fact of the rule sets looks back over, how many clients were on the device, where others were.
 */
export async function makeInputView({ ask, duck }: Evidence, ruleSets: readonly RuleSet[]): Promise<void> {
  for (const table of TABLES_OF_INPUTS) await makeTableView(duck, table, ask);
  for (const [column, tables] of Object.entries(NAMES))
    await duck.run(`CREATE TYPE IF NOT EXISTS input_${column} AS ENUM (${distinctIn(column, tables)})`);
  const counts = await countSharedDevices(duck, sharingWindowsOf(ruleSets));
  const inputs = `(
    SELECT 'binding' AS kind, ${at('changed_at')}, ${CLIENT}, requisite_ref, method,
      epoch_ms(expires_at)::DOUBLE AS expires_at FROM bindings
    UNION ALL BY NAME SELECT 'override' AS kind, ${at('changed_at')}, ${CLIENT}, override_group,
      reason, decided_by, epoch_ms(expires_at)::DOUBLE AS expires_at FROM overrides
    UNION ALL BY NAME SELECT 'score' AS kind, ${at('scored_at')}, ${CLIENT}, sell_point_key, method,
      amount, currency, fingerprint, ip, js_ok, honeypot_triggered, user_agent_present, user_agent_is_automated
      FROM scores
    UNION ALL BY NAME SELECT 'verdict' AS kind, ${at('decided_at')}, decisions.platform,
      decisions.client_hash, client_id_key, ${JOURNAL_ORDER_SQL}, order_ref,
      hash(decisions.client_hash, order_ref) AS order_key, sell_point_key, fact_method AS method, fact_amount AS asked_amount,
      fact_currency AS currency, rule_version, digest, verdict${counts.map((name) => `, ${name}`).join('')}
      FROM decisions LEFT JOIN (SELECT "at" AS shared_at, * EXCLUDE ("at") FROM shared_devices) shared
        ON shared.client_hash = decisions.client_hash AND shared.seq = decisions.seq
        AND shared_at = epoch_ms(decided_at)
    UNION ALL BY NAME SELECT 'outcome' AS kind, ${at('reported_at')}, ${CLIENT}, order_ref,
      coalesce(report_outcome, outcome) AS outcome, CASE WHEN report_outcome IS NULL THEN cause ELSE report_cause END AS cause,
      epoch_ms(coalesce(report_occurred_at, occurred_at))::DOUBLE AS occurred_at, turned_away
      FROM outcomes
      WHERE ${between('reported_at', null, ask.to).join(' AND ')}
    )`;
  const named = Object.keys(NAMES).map((column) => `${column}::input_${column} AS ${column}`);
  await duck.run(`CREATE OR REPLACE VIEW inputs AS
    SELECT * REPLACE (${named.join(', ')}, kind::${enumOf(INPUT_KINDS)} AS kind, verdict::${enumOf(VERDICTS)} AS verdict)
    FROM ${inputs} ORDER BY client_hash, "at", ${JOURNAL_ORDER_SQL}`);
}

/** Columns of few texts: as numbers of an ENUM they are sorted and read faster. */
const NAMES = {
  platform: ['decisions', 'outcomes', ...TABLES_OF_INPUTS],
  method: ['decisions', 'scores', 'bindings'],
  sell_point_key: ['decisions', 'scores'],
  rule_version: ['decisions'],
  digest: ['decisions'],
} as const;

const INPUT_KINDS = ['binding', 'override', 'score', 'verdict', 'outcome'] as const;

function distinctIn(column: string, tables: readonly string[]): string {
  return tables
    .map(
      (table) =>
        `SELECT ${column === 'method' && table === 'decisions' ? 'fact_method' : column} AS name FROM ${table}`,
    )
    .map((select) => `SELECT name FROM (${select}) WHERE name IS NOT NULL`)
    .join(' UNION ');
}

const CLIENT = `platform, client_hash, client_id_key, ${JOURNAL_ORDER_SQL}`;

function at(column: string): string {
  return `epoch_ms(${column})::DOUBLE AS "at"`;
}

async function makeTableView(duck: Duck, table: InputTable, ask: ArchiveAsk): Promise<void> {
  const columns: readonly Column[] = TABLES[table].columns;
  const names = columns.map(({ name }) => name).join(', ');
  const rows = knownRows(ask.place, table, ask);
  await duck.run(`CREATE OR REPLACE VIEW ${table} AS SELECT ${names} FROM ${rows}`);
}
