import { VERDICTS } from '#decision/decision-words.ts';
import { DeviceSightingsInMemory } from '#decision/device-sightings.ts';
import { listCountedAttributeValues } from '#decision/facts/attribute.ts';
import {
  type DeviceKind,
  type DeviceSharingCounts,
  mergeQuestions,
  NO_SIGHTINGS,
  type SharingQuestions,
  type Sightings,
} from '#decision/facts/fact.ts';
import type { Attributes } from '#decision/payer/attributes.ts';
import { reapplyOutcome } from '#decision/payer/changes.ts';
import {
  type ClientState,
  OVERRIDE_GROUPS,
  type Override,
  UNKNOWN_CLIENT_STATE,
} from '#decision/payer/client-state.ts';
import { addScoreHints, getKnownHints, type Hints } from '#decision/payer/hints.ts';
import { type DatedReport, type OrderStage, OUTCOME_CAUSES, OUTCOMES } from '#decision/payer/order.ts';
import { getSightingMarks, SIGHTING_MARKS, toPaymentNote } from '#decision/payer/sighting-marks.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import {
  type BatchCell,
  type DuckAppender,
  type QueryEngine,
  type ResultBatch,
  toNumberOrNull,
} from '#history/archive/query-engine.ts';
import type { ArchiveColumn } from '#history/archive/record-columns.ts';
import { JOURNAL_ORDER_SQL, TABLES } from '#history/archive/tables.ts';
import { getRecordedOrderStage } from '#state/journal.ts';
import {
  type ArchiveEvidenceAsk,
  type Evidence,
  enumSql,
  listSpanConditions,
  readColumnNames,
  rowsAsOfSql,
} from './evidence.ts';
import {
  attributesSql,
  listValueCountColumns,
  listValueCountsOfSightings,
  parseValueCountColumns,
  type ValueCountColumn,
} from './value-count-columns.ts';

/** Merges what the rules of these rule sets ask about shared devices. */
export function collectSharingQuestions(ruleSets: readonly RuleSet[]): SharingQuestions {
  return mergeQuestions(ruleSets.map(({ sharing }) => sharing));
}

/**
 * A column with the number of clients on a device, like `on_ip_86400000`, or of other clients with a mark, like
 * `paying_on_ip_86400000`. The number in the name is the window in ms.
 */
export interface SharingCountColumn {
  readonly name: string;
  readonly on: DeviceKind;
  readonly windowMs: number;
  readonly counts: keyof DeviceSharingCounts;
}

const KINDS = ['fingerprint', 'ip'] as const satisfies readonly DeviceKind[];
const COLUMN = /^(?:(paying|unpaid|blocked|unpaidOrders|verdicts)_)?on_(fingerprint|ip)_(\d+)$/;

function listSharingColumns(questions: SharingQuestions): readonly SharingCountColumn[] {
  return KINDS.flatMap((on) => {
    const { windowsMs, marks, verdictWindowsMs } = questions[on];
    return windowsMs.flatMap((windowMs) => {
      const verdicts = verdictWindowsMs.includes(windowMs) ? (['verdicts'] as const) : [];
      return (['clients', ...verdicts, ...marks] as const).map((counts): SharingCountColumn => {
        const name = `${counts === 'clients' ? '' : `${counts}_`}on_${on}_${windowMs}`;
        return { name, on, windowMs, counts };
      });
    });
  });
}

/** Returns what each column counts, as its name says. Names of other columns are left out. */
export function parseSharingColumnNames(names: readonly string[]): readonly SharingCountColumn[] {
  return names.flatMap((name) => {
    const [, mark, onThere, windowMs] = COLUMN.exec(name) ?? [];
    const on = KINDS.find((known) => known === onThere);
    const counts = [...SIGHTING_MARKS, 'verdicts' as const].find((known) => known === mark) ?? 'clients';
    return on === undefined ? [] : [{ name, on, windowMs: Number(windowMs), counts }];
  });
}

/** The parts of a client's state from which its marks are derived. */
type MarkedState = Pick<ClientState, 'outcomes' | 'lastVerdictBlocked' | 'override'>;

type ReportedInput = DatedReport & { readonly orderRef: string };

/** Tracks which devices the clients of each platform show. Events must come in the sequence in which they happened. */
export class DeviceTracker {
  readonly #questions: SharingQuestions;
  readonly #hints = new Map<bigint, Hints>();
  readonly #books = new Map<string, DeviceSightingsInMemory<bigint>>();
  readonly #lives = new Map<bigint, ClientState>();

  constructor(questions: SharingQuestions) {
    this.#questions = questions;
  }

  addScore(client: bigint, fingerprint: string | null, ip: string | null, at: number): void {
    const shown = { ...SHOWS_NOTHING, fingerprint, ip };
    this.#hints.set(client, addScoreHints(this.#hints.get(client) ?? null, shown, at));
  }

  /**
   * Returns who was seen on the devices of a client who asks for a verdict. The client itself is counted. Its own
   * marks are left out, because a replay may give it other marks than were recorded. The marks of others are as
   * recorded.
   */
  addVerdict(
    platform: string,
    client: bigint,
    at: number,
    { wasBlocked, attributes }: { readonly wasBlocked: boolean; readonly attributes: Attributes | undefined },
  ): Sightings {
    const life = this.#lives.get(client) ?? UNKNOWN_CLIENT_STATE;
    if (life.lastVerdictBlocked !== wasBlocked) this.#live(client, { lastVerdictBlocked: wasBlocked });
    const scored = this.#hints.get(client);
    const byValue = this.#bookOf(platform).recordAndCountValues(
      client,
      listCountedAttributeValues(this.#questions, attributes === undefined ? {} : { attributes }),
      at,
    );
    if (scored === undefined)
      return byValue === null ? NO_SIGHTINGS : { ...NO_SIGHTINGS, attributes: byValue };
    const hints = getKnownHints(scored, at);
    const book = this.#bookOf(platform);
    book.recordDevices(client, hints, at, getSightingMarks(life, at), this.#questions);
    const seen = book.countClientsOnDevices(client, hints, this.#questions, at);
    return byValue === null ? seen : { ...seen, attributes: byValue };
  }

  addOutcome(
    platform: string,
    client: bigint,
    report: ReportedInput,
    orderStage: OrderStage,
    at: number,
  ): void {
    const life = this.#lives.get(client) ?? UNKNOWN_CLIENT_STATE;
    const change = reapplyOutcome(life, null, report, at, orderStage);
    this.#live(client, { outcomes: change.state.outcomes });
    const payment = toPaymentNote(change, at);
    if (payment !== null) this.#bookOf(platform).notePayment(client, payment.since, payment.isUnpaid);
  }

  setOverride(client: bigint, override: Override | null): void {
    this.#live(client, { override });
  }

  #live(client: bigint, change: Partial<MarkedState>): void {
    this.#lives.set(client, { ...(this.#lives.get(client) ?? UNKNOWN_CLIENT_STATE), ...change });
  }

  #bookOf(platform: string): DeviceSightingsInMemory<bigint> {
    return this.#books.getOrInsertComputed(platform, () => new DeviceSightingsInMemory());
  }
}

const SHOWS_NOTHING = {
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
} as const;

/**
 * Creates the table `shared_devices`. It has a row for each decision whose client shares a device with another
 * client. A row has `client_hash`, `seq` and `at`, and for each window how many clients were seen (this client
 * included), and how many others had a mark. The answers of a replay do not change who was seen on a device. So the
 * events are read once, sorted by time, and the counts serve all replays. Marks of others are as recorded. The
 * function reads the views `decisions` and `scores`, and for marks also `outcomes` and `overrides`. Memory grows with
 * clients and devices, by some hundred bytes each. If the table already exists with these counts, it is kept. Returns
 * the names of the columns.
 */
export async function createSharedDevicesTable(
  duck: QueryEngine,
  questions: SharingQuestions,
): Promise<readonly string[]> {
  const columns = listSharingColumns(questions);
  const ofValues = listValueCountColumns(questions);
  const names = [...columns, ...ofValues].map(({ name }) => name);
  const [there] = await duck.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'shared_devices'");
  const known = there === undefined ? null : await readColumnNames(duck, 'shared_devices');
  if (known !== null && names.every((name) => known.includes(name)))
    return [...parseSharingColumnNames(known), ...parseValueCountColumns(known)].map(({ name }) => name);
  const counts = names.map((name) => `, ${name} INTEGER`).join('');
  await duck.run(
    `CREATE OR REPLACE TABLE shared_devices (client_hash UBIGINT, seq DOUBLE, "at" DOUBLE${counts})`,
  );
  if (names.length === 0) return [];
  const asksForMarks = columns.some(({ counts }) => counts !== 'clients' && counts !== 'verdicts');
  await duck.run(
    `CREATE OR REPLACE VIEW device_events AS ${deviceEvents(ofValues.length === 0 ? 'NULL::VARCHAR' : await attributesSql(duck))}${asksForMarks ? MARK_EVENTS : ''}`,
  );
  const devices = new DeviceTracker(questions);
  const appender = await duck.openAppender('shared_devices');
  const counted = { columns, ofValues };
  for (const span of await listTimeSpans(duck, 'device_events', ORDERED_AT_ONCE_MAX)) {
    const sql = `SELECT * FROM device_events WHERE ${span} ORDER BY "at", ${JOURNAL_ORDER_SQL}, client_hash`;
    for await (const batch of duck.batches(sql)) addShared(new EventBatch(batch), devices, counted, appender);
  }
  appender.close();
  return names;
}

/** The most events that are sorted at once. More would take more memory than the engine may have. */
const ORDERED_AT_ONCE_MAX = 2_000_000;

/**
 * Shortens a device to twelve characters, which are read several times faster. The first six characters are
 * unchanged.
 */
function shortNameSql(device: string): string {
  return `left(${device}, 6) || left(hex(hash(${device})), 6) AS ${device}`;
}

/** SQL for the outcome that a report stated, which may differ from the order's result after the report. */
const REPORT_COLUMNS_SQL = `coalesce(report_outcome, outcome) AS outcome, CASE WHEN report_outcome IS NULL THEN cause ELSE report_cause END AS cause,
      epoch_ms(coalesce(report_occurred_at, occurred_at))::DOUBLE AS occurred_at,
      if(report_outcome IS NULL, undated, report_undated) AS undated, report_amount`;

/** Renders the SQL for scores and verdicts. `attributes` is the SQL for the attributes of the verdict's request. */
const deviceEvents = (attributes: string) => `
  SELECT 'score' AS kind, epoch_ms(scored_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform, client_hash,
    NULL::DOUBLE AS seq, ${shortNameSql('fingerprint')}, ${shortNameSql('ip')}
  FROM scores WHERE fingerprint IS NOT NULL OR ip IS NOT NULL
  UNION ALL BY NAME SELECT 'verdict' AS kind, epoch_ms(decided_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform,
    client_hash, seq::DOUBLE AS seq, verdict, ${attributes} AS attributes FROM decisions`;

/** SQL for the events that give clients marks. */
const MARK_EVENTS = `
  UNION ALL BY NAME SELECT 'outcome' AS kind, epoch_ms(reported_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform,
    client_hash, hex(hash(order_ref)) AS order_ref, ${REPORT_COLUMNS_SQL}, turned_away FROM outcomes
  UNION ALL BY NAME SELECT 'override' AS kind, epoch_ms(changed_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform,
    client_hash, override_group, epoch_ms(expires_at)::DOUBLE AS expires_at FROM overrides`;

/** A batch of `device_events` that is read cell by cell. */
class EventBatch {
  readonly rowCount: number;
  readonly #batch: ResultBatch;
  readonly #columns = new Map<string, readonly BatchCell[]>();

  constructor(batch: ResultBatch) {
    this.#batch = batch;
    this.rowCount = batch.rowCount;
  }

  at(column: string, row: number): BatchCell {
    if (!this.#batch.columns.includes(column)) return null;
    return this.#columns.getOrInsertComputed(column, () => this.#batch.cells(column))[row] ?? null;
  }

  text(column: string, row: number): string | null {
    const cell = this.at(column, row);
    return typeof cell === 'string' ? cell : null;
  }

  number(column: string, row: number): number | null {
    const cell = this.at(column, row);
    return typeof cell === 'number' ? cell : null;
  }
}

interface CountedColumns {
  readonly columns: readonly SharingCountColumn[];
  readonly ofValues: readonly ValueCountColumn[];
}

/** Appends a row to `shared_devices` for each verdict at which other clients were seen on a device or with a value. */
function addShared(
  events: EventBatch,
  devices: DeviceTracker,
  { columns, ofValues }: CountedColumns,
  appender: DuckAppender,
): void {
  let before = '';
  for (let row = 0; row < events.rowCount; row++) {
    const client = events.at('client_hash', row);
    const atMs = events.number('at', row) ?? 0;
    if (typeof client !== 'bigint') continue;
    const platform = events.text('platform', row) ?? '';
    switch (events.text('kind', row)) {
      case 'score':
        devices.addScore(client, events.text('fingerprint', row), events.text('ip', row), atMs);
        break;
      case 'outcome': {
        const orderStage = getRecordedOrderStage(events.at('turned_away', row) === true);
        devices.addOutcome(platform, client, readReport(events, row), orderStage, atMs);
        break;
      }
      case 'override':
        devices.setOverride(client, readOverride(events, row, atMs));
        break;
      default: {
        const seen = devices.addVerdict(platform, client, atMs, {
          wasBlocked: events.text('verdict', row) === 'BLOCK',
          attributes: readAttributes(events, row),
        });
        const counts = listCounts(seen, columns);
        const withValues = listValueCountsOfSightings(seen, ofValues);
        const isShared =
          columns.some(({ counts: what }, place) => what === 'clients' && (counts[place] ?? 0) > 1) ||
          withValues.some((clients) => clients > 1);
        const cells = [client, events.number('seq', row) ?? 0, atMs, ...counts, ...withValues];
        // A row that equals the row before it is left out, because a journal may contain the same decision twice.
        if (!isShared || cells.join() === before) break;
        appender.add(...cells);
        before = cells.join();
      }
    }
  }
}

function readAttributes(events: EventBatch, row: number): Attributes | undefined {
  const said = events.text('attributes', row);
  return said === null ? undefined : JSON.parse(said);
}

function readReport(events: EventBatch, row: number): ReportedInput {
  const amount = events.text('report_amount', row);
  return {
    orderRef: events.text('order_ref', row) ?? '',
    outcome: OUTCOMES.find((known) => known === events.text('outcome', row)) ?? 'UNPAID',
    cause: OUTCOME_CAUSES.find((known) => known === events.text('cause', row)) ?? null,
    occurredAt: events.number('occurred_at', row) ?? 0,
    ...(events.at('undated', row) === true ? { undated: true } : {}),
    ...(amount === null ? {} : { amount }),
  };
}

function readOverride(events: EventBatch, row: number, at: number): Override | null {
  const group = OVERRIDE_GROUPS.find((known) => known === events.text('override_group', row));
  return group === undefined
    ? null
    : { group, reason: '', by: '', at, expiresAt: events.number('expires_at', row) };
}

function listCounts(sightings: Sightings, columns: readonly SharingCountColumn[]): readonly number[] {
  return columns.map(({ on, windowMs, counts }) => sightings[on].get(windowMs)?.[counts] ?? 0);
}

/** Tables of the archive that replays read. Most other questions do not read them. */
const TABLES_OF_INPUTS = ['scores', 'bindings', 'overrides', 'waits_ended'] as const;

type InputTable = (typeof TABLES_OF_INPUTS)[number];

/**
 * Creates the view `inputs`. It has a row for each input from outside, sorted by client and then by time. Inputs of
 * the same millisecond have the sequence of the journal. `kind` is one of INPUT_KINDS, and columns that a kind does
 * not have are null. A row of a verdict also has counts for each window that facts of the rule sets ask about. They
 * say how many clients were seen on the device, and how many other clients had each mark. These numbers are null if
 * no other client was seen.
 */
export async function createInputView({ ask, duck }: Evidence, ruleSets: readonly RuleSet[]): Promise<void> {
  for (const table of TABLES_OF_INPUTS) await createViewOfArchivedTable(duck, table, ask);
  for (const [column, tables] of Object.entries(NAMES))
    await duck.run(`CREATE TYPE IF NOT EXISTS input_${column} AS ENUM (${distinctNamesSql(column, tables)})`);
  const counts = await createSharedDevicesTable(duck, collectSharingQuestions(ruleSets));
  const inputs = `(
    SELECT 'binding' AS kind, ${at('changed_at')}, ${CLIENT}, requisite_ref, method,
      epoch_ms(expires_at)::DOUBLE AS expires_at FROM bindings
    UNION ALL BY NAME SELECT 'override' AS kind, ${at('changed_at')}, ${CLIENT}, override_group,
      reason, decided_by, epoch_ms(expires_at)::DOUBLE AS expires_at FROM overrides
    UNION ALL BY NAME SELECT 'waitEnded' AS kind, ${at('ended_at')}, ${CLIENT} FROM waits_ended
    UNION ALL BY NAME SELECT 'score' AS kind, ${at('scored_at')}, ${CLIENT}, sell_point_key, method,
      amount, currency, fingerprint, ip, js_ok, honeypot_triggered, user_agent_present, user_agent_is_automated,
      user_agent_is_app, attributes
      FROM scores
    UNION ALL BY NAME SELECT 'verdict' AS kind, ${at('decided_at')}, decisions.platform,
      decisions.client_hash, client_id_key, ${JOURNAL_ORDER_SQL}, order_ref,
      hash(decisions.client_hash, order_ref) AS order_key, sell_point_key, fact_method AS method, fact_amount AS asked_amount,
      fact_currency AS currency, rule_version, digest, verdict, ${await attributesSql(duck)} AS attributes${counts.map((name) => `, ${name}`).join('')}
      FROM decisions LEFT JOIN (SELECT "at" AS shared_at, * EXCLUDE ("at") FROM shared_devices) shared
        ON shared.client_hash = decisions.client_hash AND shared.seq = decisions.seq
        AND shared_at = epoch_ms(decided_at)
    UNION ALL BY NAME SELECT 'outcome' AS kind, ${at('reported_at')}, ${CLIENT}, order_ref,
      ${REPORT_COLUMNS_SQL}, turned_away
      FROM outcomes
      WHERE ${listSpanConditions('reported_at', ask.from, ask.to).join(' AND ')}
    )`;
  const named = Object.keys(NAMES).map((column) => `${column}::input_${column} AS ${column}`);
  await duck.run(`CREATE OR REPLACE VIEW inputs AS
    SELECT * REPLACE (${named.join(', ')}, kind::${enumSql(INPUT_KINDS)} AS kind, verdict::${enumSql(VERDICTS)} AS verdict)
    FROM ${inputs} ORDER BY client_hash, "at", ${JOURNAL_ORDER_SQL}`);
}

/** Columns with few distinct texts. They are converted to an ENUM, because its numbers are sorted and read faster. */
const NAMES = {
  platform: ['decisions', 'outcomes', ...TABLES_OF_INPUTS],
  method: ['decisions', 'scores', 'bindings'],
  sell_point_key: ['decisions', 'scores'],
  rule_version: ['decisions'],
  digest: ['decisions'],
} as const;

const INPUT_KINDS = ['binding', 'override', 'waitEnded', 'score', 'verdict', 'outcome'] as const;

function distinctNamesSql(column: string, tables: readonly string[]): string {
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

/**
 * Creates the view of one archived table of inputs, named like the table, with the rows as they were known at the
 * time that is asked for.
 */
export async function createViewOfArchivedTable(
  duck: QueryEngine,
  table: InputTable,
  ask: ArchiveEvidenceAsk,
): Promise<void> {
  const columns: readonly ArchiveColumn[] = TABLES[table].columns;
  const names = columns.map(({ name }) => name).join(', ');
  const rows = rowsAsOfSql(ask.place, table, ask);
  await duck.run(`CREATE OR REPLACE VIEW ${table} AS SELECT ${names} FROM ${rows}`);
}

/** Lists conditions that split a view's rows by `at` into spans of about `rowsMax` rows, sorted by time. */
async function listTimeSpans(duck: QueryEngine, view: string, rowsMax: number): Promise<readonly string[]> {
  const [{ n } = { n: 0 }] = await duck.rows(`SELECT count(*) AS n FROM ${view}`);
  const spans = Math.ceil((toNumberOrNull(n) ?? 0) / rowsMax);
  if (spans <= 1) return ['true'];
  const shares = Array.from({ length: spans - 1 }, (_, span) => (span + 1) / spans);
  const rows = await duck.rows(
    `SELECT DISTINCT unnest(quantile_disc("at", [${shares.join(', ')}])) AS border FROM ${view} ORDER BY border`,
  );
  const borders = rows.map(({ border }) => toNumberOrNull(border) ?? 0);
  return [Number.NEGATIVE_INFINITY, ...borders].map((from, span) => {
    const to = borders[span];
    const since = Number.isFinite(from) ? `"at" >= ${from}` : 'true';
    return `${since}${to === undefined ? '' : ` AND "at" < ${to}`}`;
  });
}

/** How many bits of a client's hash choose its batch. Hashes are spread evenly over 64 bits. */
const BATCH_BITS = 16;

/**
 * Lists conditions that split the clients evenly, so that no batch has many more decisions than `decisionsMax` and
 * the orders of a batch fit into memory. All rows of a client are in the same batch.
 */
export function listClientBatchConditions(decisions: number, decisionsMax: number): readonly string[] {
  const batches = Math.max(1, Math.ceil(decisions / decisionsMax));
  if (batches === 1) return ['true'];
  const border = (batch: number) =>
    BigInt(Math.floor((batch * 2 ** BATCH_BITS) / batches)) << BigInt(64 - BATCH_BITS);
  // The condition is a range, because DuckDB skips row groups outside a range.
  return Array.from(
    { length: batches },
    (_, batch) => `client_hash BETWEEN ${border(batch)} AND ${border(batch + 1) - 1n}`,
  );
}
