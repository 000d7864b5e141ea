import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Duck, numberOf, quote, quoteName, textsOf } from '../../archive/duck.ts';
import { factColumn } from '../../archive/record-columns.ts';
import { emptyTable } from '../../archive/tables.ts';
import { VERDICTS } from '../../rules/rule-set.ts';
import {
  JOURNAL_KINDS,
  JournalFileError,
  LINE_BYTES_MAX,
  parseEntry,
  readJournalFile,
} from '../journal-file.ts';
import type { Losses } from './archive-views.ts';
import type { InputTable } from './input-view.ts';
import { makeDecisionsView, makeOutcomesView, typeOfFact, type ViewFilter } from './views.ts';

/**
 * Makes the views of evidence over an exported journal. Its decisions and outcomes are written to Parquet in
 * `folder` first: they are then read as often and as partly as an archive is, in memory that does not grow with
 * the file. Throws JournalFileError when the file is not a journal.
 */
export async function makeJournalViews(
  duck: Duck,
  path: string,
  filter: ViewFilter,
  folder: string,
): Promise<Losses> {
  const journal = journalIn(folder);
  symlinkSync(resolve(path), journal);
  const { labels, torn } = await survey(duck, journal, path);
  const decisions = join(folder, 'decisions.parquet');
  const outcomes = join(folder, 'outcomes.parquet');
  await duck.run(`COPY (${decisionRows(journal, labels)}) TO ${quote(decisions)} (FORMAT parquet)`);
  await duck.run(`COPY (${outcomeRows(journal)}) TO ${quote(outcomes)} (FORMAT parquet)`);
  await makeDecisionsView(duck, `read_parquet(${quote(decisions)})`, filter);
  await makeOutcomesView(duck, `read_parquet(${quote(outcomes)})`, filter);
  return { gaps: await gapsBySeq(duck), torn };
}

/** The labels of all recorded facts. What is wrong with a line is worded as `parseEntry` words it. */
async function survey(
  duck: Duck,
  journal: string,
  path: string,
): Promise<{ readonly labels: readonly string[]; readonly torn: boolean }> {
  const rows = await duck.rows(`
    SELECT json_keys(decision, '$.facts') AS labels, count(*) AS lines, count(*) FILTER (${UNSOUND}) AS unsound
    FROM ${lines(journal, { decision: 'JSON', orderRef: 'VARCHAR', order: 'JSON' })} GROUP BY labels`);
  const labels = [...new Set(rows.flatMap((row) => textsOf(row['labels']) ?? []))];
  if (rows.every((row) => numberOf(row['unsound']) === 0) && rows.length > 0) return { labels, torn: false };
  const { lines: complete, torn } = readJournalFile(path, parseEntry);
  if (complete === 0) throw new JournalFileError(1, 'the file has no complete line; this is not a journal');
  return { labels, torn };
}

const UNSOUND = `kind IS NULL OR kind NOT IN (${JOURNAL_KINDS.map(quote).join(', ')})
  OR "at" IS NULL OR platform IS NULL
  OR (kind = 'verdict' AND coalesce(json_keys(decision, '$.facts') IS NULL
    OR (decision->>'verdict') NOT IN (${VERDICTS.map(quote).join(', ')}), true))
  OR (kind = 'outcome' AND (orderRef IS NULL OR "order" IS NULL))`;

/** The lines of the file as rows; a member that is not of its type is null, and so is a line that is not JSON. */
function lines(journal: string, members: Readonly<Record<string, string>>): string {
  const all = { kind: 'VARCHAR', at: 'BIGINT', platform: 'VARCHAR', clientIdKey: 'VARCHAR', ...members };
  const columns = Object.entries(all).map(([name, type]) => `${quoteName(name)}: ${quote(type)}`);
  return `read_json(${quote(journal)}, format = 'newline_delimited', ignore_errors = true,
    maximum_object_size = ${LINE_BYTES_MAX}, columns = {${columns.join(', ')}})`;
}

/** As `rowOf` makes them; a test holds the two equal. */
function decisionRows(journal: string, labels: readonly string[]): string {
  const facts = labels.map((label) => `${quoteName(label)} ${typeOfFact(factColumn(label))}`);
  const members = [
    ...DECISION_MEMBERS.map(([, member, type]) => `${quoteName(member)} ${type}`),
    ...(facts.length === 0 ? [] : [`facts STRUCT(${facts.join(', ')})`]),
  ];
  const select = [
    'platform',
    'make_timestamp_ms("at") AS decided_at',
    CLIENT_COLUMNS,
    ...DECISION_MEMBERS.flatMap(([columns, member]) =>
      typeof columns === 'string'
        ? [`decision.${quoteName(member)} AS ${columns}`]
        : Object.entries(columns).map(([column, sql]) => `${sql} AS ${column}`),
    ),
    ...labels.map((label) => `decision.facts.${quoteName(label)} AS ${quoteName(factColumn(label))}`),
  ];
  const source = lines(journal, { decision: `STRUCT(${members.join(', ')})` });
  return `SELECT ${select.join(', ')} FROM ${source} WHERE kind = 'verdict'`;
}

const CLIENT_COLUMNS = `('0x' || substr(sha256(platform || '/' || clientIdKey), 1, 16))::UBIGINT AS client_hash,
  clientIdKey AS client_id_key`;

const LADDER = 'STRUCT(level BIGINT, attemptOpen BOOLEAN, waitUntil BIGINT)';

/** The columns of a decision's row, the member that each comes from, and the member's type. */
const DECISION_MEMBERS: readonly (readonly [string | Readonly<Record<string, string>>, string, string])[] = [
  ['seq', 'seq', 'BIGINT'],
  ['sell_point_key', 'sellPointKey', 'VARCHAR'],
  ['order_ref', 'orderRef', 'VARCHAR'],
  ['request_id', 'requestId', 'VARCHAR'],
  ['rule_version', 'ruleVersion', 'VARCHAR'],
  ['digest', 'digest', 'VARCHAR'],
  ['arm', 'arm', 'VARCHAR'],
  ['verdict', 'verdict', 'VARCHAR'],
  ['wait_seconds', 'waitSeconds', 'BIGINT'],
  ['sticky_requisite_ref', 'stickyRequisiteRef', 'VARCHAR'],
  ['reason', 'reason', 'VARCHAR'],
  ['is_bot', 'isBot', 'BOOLEAN'],
  ['client_group', 'clientGroup', 'VARCHAR'],
  ['payment_score', 'paymentScore', 'VARCHAR'],
  ['rule', 'rule', 'VARCHAR'],
  ['signals', 'signals', 'VARCHAR[]'],
  ['ladder', 'ladder', 'VARCHAR'],
  ['wait_floor_ms', 'waitFloorMs', 'BIGINT'],
  [
    {
      holdout_rule: 'list_transform(decision.holdout, lambda held: held.rule)',
      holdout_share: 'list_transform(decision.holdout, lambda held: held.share)',
    },
    'holdout',
    'STRUCT(rule VARCHAR, share DOUBLE)[]',
  ],
  [ladderColumns('ladder_before', 'ladderBefore'), 'ladderBefore', LADDER],
  [ladderColumns('ladder_after', 'ladderAfter'), 'ladderAfter', LADDER],
];

function ladderColumns(column: string, member: string): Readonly<Record<string, string>> {
  return {
    [`${column}_level`]: `decision.${member}.level`,
    [`${column}_attempt_open`]: `decision.${member}.attemptOpen`,
    [`${column}_wait_until`]: `make_timestamp_ms(decision.${member}.waitUntil)`,
  };
}

function outcomeRows(journal: string): string {
  const source = lines(journal, {
    orderRef: 'VARCHAR',
    order: 'STRUCT(outcome VARCHAR, cause VARCHAR, occurredAt BIGINT)',
  });
  return `SELECT platform, make_timestamp_ms("at") AS reported_at, ${CLIENT_COLUMNS}, orderRef AS order_ref,
    "order".outcome AS outcome, "order".cause AS cause, make_timestamp_ms("order".occurredAt) AS occurred_at
    FROM ${source} WHERE kind = 'outcome'`;
}

/**
 * An export does not tell what was lost before it could be exported, but the decisions of a client are numbered
 * without gaps: a number that is missing in between is a decision that is missing.
 */
async function gapsBySeq(duck: Duck): Promise<Losses['gaps']> {
  const [row = {}] = await duck.rows(`
    SELECT min(before_at) AS gap_from, max(decided_at) AS gap_to, sum(seq - before_seq - 1) AS missing
    FROM (
      SELECT seq, decided_at, lag(seq) OVER client AS before_seq, lag(decided_at) OVER client AS before_at
      FROM decisions WINDOW client AS (PARTITION BY client_hash ORDER BY seq)
    ) WHERE seq > before_seq + 1`);
  const [from, to, entries] = [
    numberOf(row['gap_from']),
    numberOf(row['gap_to']),
    Number(row['missing'] ?? 0),
  ];
  return from === null || to === null ? [] : [{ from, to, entries }];
}

const REQUEST = `STRUCT(sellPointKey VARCHAR, method VARCHAR, amount VARCHAR, currency VARCHAR, fingerprint VARCHAR,
  ip VARCHAR, jsOk BOOLEAN, honeypotTriggered BOOLEAN, userAgentPresent BOOLEAN, userAgentIsAutomated BOOLEAN)`;

/** The columns of an archive's row and what each is made of; the answer of a score is not an input. */
const INPUT_ROWS: Readonly<
  Record<InputTable, { readonly members: Readonly<Record<string, string>>; readonly select: string }>
> = {
  scores: {
    members: { request: REQUEST, ruleVersion: 'VARCHAR' },
    select: `make_timestamp_ms("at") AS scored_at, request.sellPointKey AS sell_point_key,
      request.method AS method, request.amount AS amount, request.currency AS currency,
      request.fingerprint AS fingerprint, request.ip AS ip, request.jsOk AS js_ok,
      request.honeypotTriggered AS honeypot_triggered, request.userAgentPresent AS user_agent_present,
      request.userAgentIsAutomated AS user_agent_is_automated, ruleVersion AS rule_version`,
  },
  bindings: {
    members: { binding: 'STRUCT(requisiteRef VARCHAR, method VARCHAR, expiresAt BIGINT)' },
    select: `make_timestamp_ms("at") AS changed_at, binding.requisiteRef AS requisite_ref,
      binding.method AS method, make_timestamp_ms(binding.expiresAt) AS expires_at`,
  },
  overrides: {
    members: { override: 'STRUCT("group" VARCHAR, reason VARCHAR, "by" VARCHAR, expiresAt BIGINT)' },
    select: `make_timestamp_ms("at") AS changed_at, override."group" AS override_group,
      override.reason AS reason, override."by" AS decided_by,
      make_timestamp_ms(override.expiresAt) AS expires_at`,
  },
};

/** SQL: the rows that the archive would keep of these inputs; columns that no life asks for are null. */
export function journalInputRows(folder: string, table: InputTable): string {
  const { members, select } = INPUT_ROWS[table];
  const kind = table.slice(0, -1);
  const rows = `SELECT platform, ${CLIENT_COLUMNS}, ${select} FROM ${lines(journalIn(folder), members)}
    WHERE kind = ${quote(kind)}`;
  return `(SELECT * FROM (${rows}) UNION ALL BY NAME SELECT * FROM ${emptyTable(table)})`;
}

/** A path of our own, because the engine reads * and [ in a name as a pattern. */
function journalIn(folder: string): string {
  return join(folder, 'journal.ndjson');
}
