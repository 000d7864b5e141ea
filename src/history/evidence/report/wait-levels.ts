import { count, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { paidAfterWaitSql, waitEffectEndSql } from '#history/archive/order-status.ts';
import {
  type QueryEngine,
  toNumberList,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import {
  createColumns,
  createNullableIntervalSchema,
  createNumberSchema,
  type EvidenceTable,
} from '#history/evidence/presentation.ts';
import { roundAmountSum } from '#history/evidence/source/order-sums.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';

/**
 * The ways in which a wait can end. A wait is unknown, and ends in none of these ways, while the 24 hours after it
 * are not over.
 */
const ENDS = {
  early: count(
    'Whose client asked again before the wait was over; what came of them stands on the level that it led to',
  ),
  cameBack: count('Whose client asked again after the wait, for this order or another'),
  lost: count('Whose client did not ask again'),
  ended: count('Whose wait a person ended before its time; they are in no share'),
};

const WaitLevelSchema = shape(
  'What came of the waits on a level of a ladder within 24 hours after they were told, of orders in one currency',
  {
    version: plainText('The rule set that decided'),
    ladder: nullable(plainText('Its name; null for the one without')),
    level: count('Of the ladder, from 1'),
    currency: plainText('Of the orders'),
    waitSeconds: createNumberSchema('How long its waits were, by their median'),
    orders: count('Orders that were told to wait on it, each once, by its last wait there'),
    unknown: count('Of these, whose 24 hours are not over: they are in no other figure'),
    ...ENDS,
    granted: count('Of those who came back, who got a requisite at once'),
    paid: count('Of these, whose order was paid within the 24 hours, each once'),
    shares: shape('The same of those of which it is known, by client', {
      cameBack: createNullableIntervalSchema('Who came back; null without one to tell it from'),
      paid: createNullableIntervalSchema('Who paid'),
      lost: createNullableIntervalSchema('Who did not ask again'),
    }),
    backAfterSeconds: nullable(
      shape('From when they were allowed until they came back; null when nobody did', {
        median: createNumberSchema('Half of them were back by then'),
        p90: createNumberSchema('Nine of ten were'),
      }),
    ),
    amount: nullable(
      shape('Amounts of orders; null while nothing is known of any', {
        asked: createNumberSchema('Of all of which it is known'),
        paid: createNumberSchema('Of the paid ones, in the same currency'),
        lost: createNumberSchema('Of those whose client did not ask again'),
      }),
    ),
  },
);

export const WaitLevelsSchema = list(WaitLevelSchema, 'By version, ladder, level and currency');

type WaitLevel = ValueOf<typeof WaitLevelSchema>;

/** SQL for the level of the wait in a row of `decisions`. Null for other verdicts. */
export const WAIT_LEVEL_SQL = `CASE WHEN verdict = 'WAIT' THEN
  {version: rule_version, ladder: ladder, level: ladder_after_level, seconds: wait_seconds, allowed: ladder_after_wait_until} END`;

/** Creates the empty table to which the batches of clients add their waits. */
export async function createWaitsTable(duck: QueryEngine): Promise<void> {
  await duck.run(`CREATE OR REPLACE TEMP TABLE waits (version VARCHAR, ladder VARCHAR, level INT, seconds DOUBLE, cluster INT,
    place INT, amount DOUBLE, ending VARCHAR, back_after DOUBLE, granted BOOLEAN, paid BOOLEAN, paid_place INT, paid_amount DOUBLE)`);
}

/**
 * Adds each order's last wait on every level to the table `waits`, from the tables `seen` and `told` of a batch. A
 * batch contains all requests of its clients. Requests are known up to the last decision, at `knownUntil` (epoch ms).
 * If several waits led to attempts for the order that was paid, the payment is counted for the wait before the last
 * of these attempts.
 */
export async function insertLastWaits(duck: QueryEngine, knownUntil: number): Promise<void> {
  const over = waitEffectEndSql('waited.decided_at');
  await duck.run(`INSERT INTO waits
    WITH waited AS (
      SELECT wait_level.version AS version, wait_level.ladder AS ladder, wait_level.level AS level, max(seq) AS seq,
        arg_max(decided_at, seq) AS decided_at, arg_max(wait_level.seconds, seq) AS seconds, arg_max(wait_level.allowed, seq) AS allowed, arg_max(place, seq) AS place,
        arg_max(amount, seq) AS amount, any_value(client_hash) AS client_hash, any_value(cluster) AS cluster
      FROM seen WHERE wait_level IS NOT NULL GROUP BY order_key, wait_level.version, wait_level.ladder, wait_level.level
    ), asks AS (
      SELECT client_hash, seq, decided_at, order_key, granted, place, amount FROM seen
    ), ended_early AS (
      SELECT DISTINCT client_hash, split_part(decision_id, '.', 2)::BIGINT AS seq, true AS ended FROM waits_ended
    ), endings AS (
      SELECT version, ladder, level, seconds, allowed, waited.decided_at AS waited_at, cluster, waited.place, waited.amount, asks.decided_at AS back_at,
        asks.order_key AS back_for, asks.granted, asks.place AS back_place, asks.amount AS back_amount, report, paid_at,
        CASE WHEN ended THEN 'ended' WHEN ${over} > make_timestamp_ms(${knownUntil}) THEN 'unknown' WHEN asks.decided_at < allowed THEN 'early'
          WHEN asks.decided_at <= ${over} THEN 'cameBack' ELSE 'lost' END AS ending
      FROM waited
      ASOF LEFT JOIN asks ON waited.client_hash = asks.client_hash AND waited.seq < asks.seq
      LEFT JOIN ended_early ON ended_early.client_hash = waited.client_hash AND ended_early.seq = waited.seq
      LEFT JOIN told ON told.order_key = asks.order_key
    ), payments AS (
      SELECT *, coalesce(ending = 'cameBack' AND granted AND ${paidAfterWaitSql('waited_at', 'back_at')}, false) AS paying FROM endings
    )
    SELECT version, ladder, level, seconds, cluster, place, amount, ending, epoch_ms(back_at) - epoch_ms(allowed),
      granted AND ending = 'cameBack', coalesce(paying AND back_at = max(back_at) FILTER (paying) OVER (PARTITION BY back_for), false),
      back_place, back_amount
    FROM payments`);
}

/**
 * Reads what came of all waits in the table `waits`, by level and by currency. The table `places` has the currencies.
 */
export async function readWaitLevels(duck: QueryEngine): Promise<readonly WaitLevel[]> {
  const ends = Object.keys(ENDS);
  const ended = ends.map((ending) => `count(*) FILTER (ending = '${ending}')::DOUBLE AS "${ending}"`);
  const counts = ['orders', ...ends, 'granted', 'paid'].map((name) => `sum("${name}") AS "${name}"`);
  const shares = SHARES.map((name) => `list("${name}" ORDER BY cluster) AS "${name}Parts"`);
  const rows = await duck.rows(`
    WITH in_currency AS (
      SELECT waits.*, currency FROM waits JOIN places USING (place)
    ), by_cluster AS (
      SELECT version, ladder, level, currency, cluster, count(*)::DOUBLE AS orders, ${ended.join(', ')},
        count(*) FILTER (granted)::DOUBLE AS granted, count(*) FILTER (paid)::DOUBLE AS paid
      FROM in_currency GROUP BY ALL
    ), counted AS (
      SELECT version, ladder, level, currency, ${[...counts, ...shares].join(', ')}, list(early + "cameBack" + lost ORDER BY cluster) AS wholes
      FROM by_cluster GROUP BY version, ladder, level, currency
    ), worth AS (
      SELECT version, ladder, level, in_currency.currency, median(seconds) AS seconds,
        quantile_cont(back_after, 0.5) FILTER (ending = 'cameBack') / 1000 AS median,
        quantile_cont(back_after, 0.9) FILTER (ending = 'cameBack') / 1000 AS p90,
        sum(amount) FILTER (ending <> 'unknown')::DOUBLE AS asked,
        coalesce(sum(paid_amount) FILTER (paid AND other.currency = in_currency.currency), 0)::DOUBLE AS paid_amount,
        coalesce(sum(amount) FILTER (ending = 'lost'), 0)::DOUBLE AS lost_amount
      FROM in_currency LEFT JOIN places other ON other.place = paid_place GROUP BY ALL
    )
    SELECT * FROM counted JOIN worth ON worth.version = counted.version AND worth.level = counted.level AND worth.currency = counted.currency
      AND worth.ladder IS NOT DISTINCT FROM counted.ladder
    ORDER BY counted.version, counted.ladder NULLS FIRST, counted.level, counted.currency`);
  return rows.map((row) => {
    const [median, p90] = [toNumberOrNull(row['median']), toNumberOrNull(row['p90'])];
    const { orders, ...known } = toNumbersByColumn(row, NO_COUNTS);
    const wholes = toNumberList(row['wholes']);
    const share = (name: (typeof SHARES)[number]) =>
      estimateShareByCluster(
        toNumberList(row[`${name}Parts`]).map((part, at) => ({ part, whole: wholes[at] ?? 0 })),
      );
    const sum = (column: string) => roundAmountSum(toNumberOrNull(row[column]) ?? 0);
    return {
      version: toTextOrNull(row['version']) ?? '',
      ladder: toTextOrNull(row['ladder']),
      level: toNumberOrNull(row['level']) ?? 0,
      currency: toTextOrNull(row['currency']) ?? '',
      waitSeconds: toNumberOrNull(row['seconds']) ?? 0,
      orders,
      unknown: orders - known.early - known.cameBack - known.lost - known.ended,
      ...known,
      shares: { cameBack: share('cameBack'), paid: share('paid'), lost: share('lost') },
      backAfterSeconds: median === null || p90 === null ? null : { median, p90 },
      amount:
        row['asked'] === null
          ? null
          : { asked: sum('asked'), paid: sum('paid_amount'), lost: sum('lost_amount') },
    };
  });
}

const NO_COUNTS = { orders: 0, early: 0, cameBack: 0, lost: 0, ended: 0, granted: 0, paid: 0 };
const SHARES = ['cameBack', 'paid', 'lost'] as const;

/** Creates the table of what waits cost, with a row for each level and currency. */
export function createWaitLevelsEvidenceTable(found: readonly WaitLevel[]): EvidenceTable {
  const unknown = { asked: 'unknown', paid: 'unknown', lost: 'unknown' };
  return {
    name: 'waitLevels',
    title: 'What a wait cost, by level (levels have different payers)',
    columns: createColumns(
      ['text', 'version', 'ladder', 'level', 'currency'],
      ['money', 'asked', 'then paid', 'lost'],
      ['count', 'wait, s', 'orders', 'unknown', 'too early', 'came back'],
      ['share', '95 %'],
      ['count', 'after, s', '90 % within, s', 'granted', 'paid'],
      ['share', '95 %'],
      ['count', 'lost'],
      ['share', '95 %'],
      ['count', 'ended'],
    ),
    rows: found.map(({ amount, shares, backAfterSeconds: after, ...one }) => {
      const { asked, paid, lost } = amount ?? unknown;
      return [
        ...[one.version, one.ladder ?? '-', String(one.level), one.currency, asked, paid, lost],
        ...[one.waitSeconds, one.orders, one.unknown, one.early, one.cameBack, shares.cameBack],
        ...[after === null ? null : Math.round(after.median), after === null ? null : Math.round(after.p90)],
        ...[one.granted, one.paid, shares.paid, one.lost, shares.lost, one.ended],
      ];
    }),
  };
}
