import type { DecisionFilter } from '#decision/decision-filter.ts';
import { formatAttributeFactLabel } from '#decision/facts/attribute.ts';
import { RECORD_FILTER_MEMBERS, SPLIT_MEMBERS } from '#decision/filter-members.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { NOT_KNOWN_TEXT } from '#decision/rules/condition.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import type { ArchiveGap } from '#history/archive/archive-log.ts';
import { listColumnsOfAttribute } from '#history/archive/fact-columns.ts';
import {
  IS_ATTEMPT_SQL,
  ORDER_KEY_SQL,
  REPORTED_RESULT_SQL,
  reportedStatusSql,
} from '#history/archive/order-status.ts';
import {
  type BindAsPlaceholder,
  quoteName,
  quoteSql,
  type ResultRow,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { isFactNotKnownSql } from '#history/archive/record-columns.ts';
import type { GetTableSql, Snapshot } from '#history/archive/snapshot.ts';
import type { UnreadDecisions } from '#history/archive/unread-decisions.ts';
import {
  type ChangeContribution,
  type CountsOfTwoTimes,
  type DimensionValueCounts,
  rankContributionsToChange,
} from '#history/statistics/distributions.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { type ErasedSinceMoment, readErasedSinceMoment } from './as-of.ts';
import { filterConditionSql, getComparedColumn, toUnreadDecisions } from './decision-sql.ts';

/** The properties by which decisions can be split, as SQL. An attribute has columns of its own instead. */
const SPLITS = {
  verdict: valueSql('verdict'),
  rule: valueSql('rule'),
  signal: valueSql('signal'),
  flag: valueSql('flag'),
  group: valueSql('group'),
  platform: 'platform',
  pointOfSale: valueSql('pointOfSale'),
  method: valueSql('method'),
  version: valueSql('version'),
  arm: valueSql('arm'),
  bot: "if(is_bot, 'bot', 'no bot')",
  waitLevel: "if(verdict = 'WAIT', ladder_after_level::VARCHAR, NULL)",
  attribute: '',
} as const;

/**
 * Returns SQL for the values by which a split divides decisions. They come from the column that the filter of this
 * split compares. A list gives a row for each value.
 */
function valueSql(split: keyof typeof SPLIT_MEMBERS): string {
  const { compared, comparison } = RECORD_FILTER_MEMBERS[SPLIT_MEMBERS[split]];
  const column = getComparedColumn(compared);
  return comparison === 'includes' ? `unnest(${column})` : column;
}

export type SplitName = keyof typeof SPLITS;

export const SPLIT_NAMES = Object.freeze(
  Object.keys(SPLITS).filter((name): name is SplitName => name in SPLITS),
);

/** The splits that may explain a change. If several explain it equally well, the first in this list is named. */
export const EXPLAINING_SPLIT_NAMES = [
  ...(['verdict', 'rule', 'signal', 'group', 'platform', 'pointOfSale', 'method', 'version', 'arm'] as const),
] as const satisfies readonly SplitName[];

const CAUSE_ORDER: readonly string[] = EXPLAINING_SPLIT_NAMES;

/** The splits whose shares people set by a rollout: each version gets its share of the traffic. */
const DIVIDED: ReadonlySet<string> = new Set<SplitName>(['version', 'arm']);

/** A span of time in epoch ms. `from` is included and `to` is not. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export interface ExplorationAsk extends TimeSpan {
  /** Null for all platforms. */
  readonly platform: PlatformName | null;
  readonly by: SplitName;
  /** The attribute by which decisions are split. Present only with `by: attribute`. */
  readonly attribute?: string | null;
  /** The verdict that is counted. Null for all verdicts. */
  readonly verdict: Verdict | null;
  readonly filter: Omit<DecisionFilter, 'from' | 'to' | 'after' | 'verdict'>;
  /** The span with which this one is compared. Null if there is no comparison. */
  readonly against: TimeSpan | null;
  /** Whether amounts, attempts and payments are summed up, too. To do so, every order must be read. */
  readonly money: boolean;
  /** A moment in epoch ms. Everything that came later is left out. Null if nothing is left out. */
  readonly asOf: number | null;
}

interface ExploredValue {
  /** The value of the split. Null stands for all rarer values together. */
  readonly value: string | null;
  /** The count of each slot. */
  readonly decisions: readonly number[];
  /**
   * The requested amounts, by currency and slot. An order counts in the slot of its first request. Empty without
   * `money`.
   */
  readonly money: Readonly<Record<string, readonly number[]>>;
  /** Per slot, the orders for which a requisite was shown, and how many of them are paid. Null without `money`. */
  readonly orders: { readonly granted: readonly number[]; readonly paid: readonly number[] } | null;
}

export interface Exploration {
  readonly stepMs: number;
  /** The beginnings of the slots in epoch ms, the oldest first. */
  readonly slots: readonly number[];
  /** The decisions of each slot that match the filter, whatever their verdict. */
  readonly all: readonly number[];
  /** The most frequent value comes first. */
  readonly values: readonly ExploredValue[];
  /** The changes since the span of the comparison. Null if there is no comparison. */
  readonly change: (CountsOfTwoTimes & { readonly contributions: readonly ChangeContribution[] }) | null;
  readonly gaps: readonly ArchiveGap[];
  /** The decisions in files of the archive that cannot be read. No figure counts them. */
  readonly unreadable: readonly UnreadDecisions[];
  /** The time, in epoch ms, before which everything is counted. Null if everything is counted. */
  readonly upTo: number | null;
  /** Missing unless figures of the past were asked for. */
  readonly asOf?: ErasedSinceMoment;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const STEPS_MS = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1440, 10_080].map((minutes) => minutes * MINUTE_MS);
const SLOTS_MAX = 100;
const VALUES_MAX = 11;
const CONTRIBUTING_VALUES_MAX = 500;

const SPANS_MS = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
  quarter: 90 * 24 * HOUR_MS,
} as const;

type SpanName = keyof typeof SPANS_MS;

/** The lengths of a span that an exploration can ask for by name instead of by `from`. */
export const EXPLORED_SPAN_NAMES = [
  'hour',
  'day',
  'week',
  'month',
  'quarter',
] as const satisfies readonly SpanName[];

/** The longest span of an exploration, in ms. */
export const EXPLORED_SPAN_MS_MAX = 400 * 24 * HOUR_MS;

const NO_CURRENCY = '–';

/** Counts the decisions of a span by the value of a property. It reads archive and journal as one source. */
export function exploreDecisions(archive: ArchiveReader, asked: ExplorationAsk): Promise<Exploration> {
  const ask = limitToKnown(asked);
  const { asOf, against, platform } = ask;
  return archive.withOpenSnapshot(async (past) => {
    const slotted = await countSlots(past, ask);
    const change = against === null ? null : await computeChange(past, ask, against);
    const known = asOf === null ? {} : { asOf: await readErasedSinceMoment(past, asOf, platform) };
    const spans = [toTimeSpan(ask), ...(against === null ? [] : [against])];
    const isAsked = (one: TimeSpan) => spans.some(({ from, to }) => one.to >= from && one.from < to);
    return {
      ...slotted,
      change,
      gaps: past.gaps.filter(isAsked),
      unreadable: past.unreadable.filter(isAsked).map(toUnreadDecisions),
      upTo: past.upTo,
      ...known,
    };
  });
}

/** Ends the spans at the moment `asOf`, because later decisions had not been made then. */
function limitToKnown(ask: ExplorationAsk): ExplorationAsk {
  const { asOf, against } = ask;
  if (asOf === null) return ask;
  const known = (span: TimeSpan) => ({ from: span.from, to: Math.min(span.to, asOf + 1) });
  return { ...ask, ...known(ask), against: against && known(against) };
}

function chooseStep(lengthMs: number): number {
  return STEPS_MS.find((step) => lengthMs / step <= SLOTS_MAX) ?? 7 * 24 * HOUR_MS;
}

/** Returns a span that ends at `to` and begins at the beginning of a slot. The last slot may not be over yet. */
export function computeSpanFromSlotStart(to: number, span: SpanName): TimeSpan {
  const lengthMs = SPANS_MS[span];
  const stepMs = chooseStep(lengthMs);
  return { from: Math.ceil((to - lengthMs) / stepMs) * stepMs, to };
}

async function countSlots(
  past: Snapshot,
  ask: ExplorationAsk,
): Promise<Pick<Exploration, 'stepMs' | 'slots' | 'all' | 'values'>> {
  const { from, to } = ask;
  const stepMs = chooseStep(to - from);
  const first = Math.floor(from / stepMs) * stepMs;
  const slots = Array.from(
    { length: Math.ceil((to - first) / stepMs) },
    (_, place) => first + place * stepMs,
  );
  const table = new SlotTable(slots.length, ask.money);
  for (const row of await past.rows((source, bind) => slotSql([source, bind], ask, { first, stepMs })))
    table.addRow(row);
  return { stepMs, slots, all: table.all, values: table.values() };
}

function toTimeSpan({ from, to }: TimeSpan): TimeSpan {
  return { from, to };
}

/**
 * The two functions that a query is built with: `source` gives the SQL of its tables, and `bind` adds a value as a
 * parameter.
 */
type Place = readonly [source: GetTableSql, bind: BindAsPlaceholder];

/** Returns SQL for the decisions of a span that match the filter. */
function decisionsSql([source, bind]: Place, { filter, platform }: ExplorationAsk, span: TimeSpan): string {
  return `(SELECT * FROM ${source('decisions', { ...toTimeSpan(span), platform })}
    WHERE ${filterConditionSql({ ...filter, ...toTimeSpan(span) }, bind)})`;
}

/** Returns SQL for the value that decisions are split by. */
function splitSql({ by, attribute }: ExplorationAsk): string {
  if (by !== 'attribute') return SPLITS[by];
  const name = attribute ?? '';
  const values = listColumnsOfAttribute(name).map(([column]) => `${quoteName(column)}::VARCHAR`);
  const unknown = `if(${isFactNotKnownSql(formatAttributeFactLabel(name))}, ${quoteSql(NOT_KNOWN_TEXT)}, NULL)`;
  return `coalesce(${[...values, unknown].join(', ')})`;
}

/** Returns SQL that adds the columns of an attribute. Without it the query fails if no decision has the attribute. */
function missingColumnsSql({ by, attribute }: ExplorationAsk): string {
  if (by !== 'attribute') return '';
  const columns = listColumnsOfAttribute(attribute ?? '');
  const nulls = columns.map(([column, type]) => `NULL::${type} AS ${quoteName(column)}`);
  return ` UNION ALL BY NAME SELECT ${nulls.join(', ')} WHERE false`;
}

function slotSql(
  place: Place,
  ask: ExplorationAsk,
  { first, stepMs }: { readonly first: number; readonly stepMs: number },
): string {
  const { verdict, money } = ask;
  const slot = `((epoch_ms(decided_at) - ${first}) // ${stepMs})::INT AS slot`;
  const valued = `SELECT ${slot}, ${splitSql(ask)} AS value, * FROM looked ${verdict === null ? '' : `WHERE verdict = '${verdict}'`}`;
  return `WITH looked AS NOT MATERIALIZED (FROM ${decisionsSql(place, ask, ask)}${missingColumnsSql(ask)}), valued AS NOT MATERIALIZED (SELECT * FROM (${valued}) WHERE value IS NOT NULL)
    ${money ? `, ${ASKED_SQL}, ${paidSql(place, ask)}` : ''}
    SELECT ${slot}, NULL AS value, NULL AS currency, count(*) AS decisions, NULL AS amount, NULL AS granted, NULL AS paid
      FROM looked GROUP BY slot
    UNION ALL SELECT slot, value, NULL, count(*), NULL, NULL, NULL FROM valued GROUP BY slot, value
    ${money ? `UNION ALL ${FIRST_ASKED_SQL}` : ''}`;
}

/**
 * SQL for the decisions about orders, each with its value. `repeated` has the orders with several such decisions, and
 * the time of the first of these.
 */
const ASKED_SQL = `asked AS NOT MATERIALIZED (
    SELECT slot, value, coalesce(fact_currency, '${NO_CURRENCY}') AS currency, coalesce(fact_amount, 0)::DOUBLE AS amount,
      hash(client_hash, order_ref, value) AS asked_order, epoch_ms(decided_at) * 1048576 + seq AS asked_at, ${ORDER_KEY_SQL} AS order_key FROM valued
  ),
  repeated AS MATERIALIZED (
    SELECT asked_order, min(asked_at) AS first_at FROM asked GROUP BY asked_order HAVING count(*) > 1
  )`;

/**
 * Returns SQL for the orders for which a requisite was shown, and whether they are paid. Orders that failed
 * technically are left out, because they say nothing about the payer.
 */
function paidSql([source, bind]: Place, { platform, asOf, ...span }: ExplorationAsk): string {
  const known = asOf === null ? '' : `AND reported_at <= make_timestamp_ms(${asOf})`;
  return `reports AS MATERIALIZED (
    SELECT ${ORDER_KEY_SQL} AS order_key, ${reportedStatusSql(REPORTED_RESULT_SQL)} AS status
    FROM ${source('outcomes', { from: span.from, platform })}
    WHERE reported_at >= make_timestamp_ms(${span.from}) ${known} GROUP BY ALL
  ),
  granted AS MATERIALIZED (
    SELECT DISTINCT order_key, coalesce(status = 'PAID', false) AS is_paid FROM (
      SELECT ${ORDER_KEY_SQL} AS order_key FROM ${source('decisions', { ...toTimeSpan(span), platform })}
      WHERE ${IS_ATTEMPT_SQL} AND ${filterConditionSql(toTimeSpan(span), bind)}
    ) LEFT JOIN reports USING (order_key) WHERE status IS DISTINCT FROM 'TECHNICAL'
  )`;
}

/**
 * SQL that counts each order once, at the first decision about it. Amounts are added as decimals, because their sum
 * does not depend on the sequence. Amounts from 1e21 on do not fit and are added as doubles.
 */
const FIRST_ASKED_SQL = `SELECT slot, value, currency, 0,
    coalesce(sum(try_cast(amount AS DECIMAL(30, 9)))::DOUBLE, 0) + coalesce(sum(amount) FILTER (amount >= 1e21), 0),
    count(is_paid), count(*) FILTER (is_paid)
  FROM asked LEFT JOIN repeated USING (asked_order) LEFT JOIN granted USING (order_key) WHERE first_at IS NULL OR first_at = asked_at GROUP BY slot, value, currency`;

interface ValueSums {
  readonly decisions: number[];
  readonly money: Record<string, number[]>;
  readonly orders: { readonly granted: number[]; readonly paid: number[] } | null;
}

/** Collects counts by value and slot. */
class SlotTable {
  readonly all: number[];
  readonly #counts = new Map<string, number[]>();
  readonly #money: {
    readonly value: string;
    readonly currency: string;
    readonly slot: number;
    readonly amount: number;
    readonly granted: number;
    readonly paid: number;
  }[] = [];
  readonly #hasOrders: boolean;

  constructor(slots: number, hasOrders: boolean) {
    this.all = Array(slots).fill(0);
    this.#hasOrders = hasOrders;
  }

  addRow(row: ResultRow): void {
    const { slot, decisions, ...order } = toNumbersByColumn(row, {
      slot: 0,
      decisions: 0,
      amount: 0,
      granted: 0,
      paid: 0,
    });
    const [value, currency] = [toTextOrNull(row['value']), toTextOrNull(row['currency'])];
    if (value === null) addAt(this.all, slot, decisions);
    else if (currency !== null) this.#money.push({ value, currency, slot, ...order });
    else
      addAt(
        this.#counts.getOrInsertComputed(value, () => this.#createZeros()),
        slot,
        decisions,
      );
  }

  /** Returns the counts of the most frequent values. All other values count together, under null. */
  values(): readonly ExploredValue[] {
    const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
    const ranked = [...this.#counts].toSorted(
      ([a, one], [b, two]) => total(two) - total(one) || (a < b ? -1 : 1),
    );
    const shown = new Set(ranked.slice(0, VALUES_MAX).map(([value]) => value));
    const sums = new Map<string | null, ValueSums>();
    const of = (value: string) =>
      sums.getOrInsertComputed(shown.has(value) ? value : null, () => ({
        decisions: this.#createZeros(),
        money: {},
        orders: this.#hasOrders ? { granted: this.#createZeros(), paid: this.#createZeros() } : null,
      }));
    for (const [value, counts] of ranked)
      for (const [slot, count] of counts.entries()) addAt(of(value).decisions, slot, count);
    // The amounts are added in a fixed sequence, so that sums are the same to the last digit.
    for (const { value, currency, slot, amount, granted, paid } of this.#money.toSorted((a, b) =>
      a.value < b.value ? -1 : 1,
    )) {
      const { money, orders } = of(value);
      money[currency] ??= this.#createZeros();
      addAt(money[currency], slot, amount);
      addAt(orders?.granted ?? [], slot, granted);
      addAt(orders?.paid ?? [], slot, paid);
    }
    return [...sums].map(([value, sum]) => ({ value, ...sum }));
  }

  #createZeros(): number[] {
    return this.all.map(() => 0);
  }
}

function addAt(sums: number[], place: number, more: number): void {
  sums[place] = (sums[place] ?? 0) + more;
}

/** Returns how much the counts of a verdict changed since an earlier span, and why. */
async function computeChange(
  past: Snapshot,
  ask: ExplorationAsk,
  against: TimeSpan,
): Promise<Exploration['change']> {
  const counts = new ChangeCounts();
  for (const [time, span] of [
    ['before', against],
    ['after', toTimeSpan(ask)],
  ] as const)
    for (const row of await past.rows((source, bind) =>
      changeSql(decisionsSql([source, bind], ask, span), ask),
    )) {
      const { part, whole } = toNumbersByColumn(row, { part: 0, whole: 0 });
      counts.add(time, toTextOrNull(row['dimension']), toTextOrNull(row['value']) ?? '', part, whole);
    }
  const { all } = counts;
  // If only one verdict is counted, the verdict explains nothing.
  const counted = counts
    .values()
    .toSorted((a, b) => CAUSE_ORDER.indexOf(a.dimension) - CAUSE_ORDER.indexOf(b.dimension))
    .filter(({ dimension }) => ask.verdict === null || dimension !== 'verdict');
  return { ...all, contributions: rankContributionsToChange(counted, { all, divided: DIVIDED }) };
}

function changeSql(looked: string, { verdict }: ExplorationAsk): string {
  const isPart = verdict === null ? 'true' : `verdict = '${verdict}'`;
  const counts = 'count(*) FILTER (is_part) AS part, count(*) AS whole';
  const of = (dimension: SplitName) => `SELECT * FROM (
    SELECT '${dimension}' AS dimension, value, ${counts} FROM (SELECT ${SPLITS[dimension]} AS value, ${isPart} AS is_part FROM looked)
    WHERE value IS NOT NULL GROUP BY value ORDER BY part DESC, value LIMIT ${CONTRIBUTING_VALUES_MAX})`;
  return `WITH looked AS (FROM ${looked})
    SELECT NULL AS dimension, NULL AS value, ${counts} FROM (SELECT ${isPart} AS is_part FROM looked)
    UNION ALL ${EXPLAINING_SPLIT_NAMES.map(of).join(' UNION ALL ')}`;
}

/** Counts of two spans by dimension and value. */
class ChangeCounts {
  readonly all = createZeroCounts();
  readonly #values = new Map<
    string,
    { dimension: string; value: string } & ReturnType<typeof createZeroCounts>
  >();

  add(
    time: keyof CountsOfTwoTimes,
    dimension: string | null,
    value: string,
    part: number,
    whole: number,
  ): void {
    const counts = dimension === null ? this.all : this.#getCounts(dimension, value);
    counts[time].part += part;
    counts[time].whole += whole;
  }

  values(): readonly DimensionValueCounts[] {
    return [...this.#values.values()];
  }

  #getCounts(dimension: string, value: string) {
    const name = `${dimension} ${value}`;
    const known = this.#values.get(name) ?? { dimension, value, ...createZeroCounts() };
    this.#values.set(name, known);
    return known;
  }
}

function createZeroCounts() {
  return { before: { part: 0, whole: 0 }, after: { part: 0, whole: 0 } };
}
