import { formatCount } from '#base/count-text.ts';
import { DAY_MS } from '#base/duration.ts';
import { choice, count, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { OUTCOME_CAUSES } from '#decision/payer/order.ts';
import {
  CAUSE_SQL,
  ORDER_KEY_SQL,
  REPORTED_RESULT_SQL,
  reportedStatusSql,
  SAYS_PAID_SQL,
} from '#history/archive/order-status.ts';
import { toNumberOrNull, toNumbersByColumn, toTextOrNull } from '#history/archive/query-engine.ts';
import {
  createColumns,
  createNullableIntervalSchema,
  createNumberSchema,
  type EvidenceTable,
  formatNumber,
  formatShare,
} from '#history/evidence/presentation.ts';
import { estimateShareByCluster, predictCountInterval } from '#history/statistics/intervals.ts';
import {
  estimateExpectedReversals,
  estimateFrailty,
  estimateReversalRisks,
  findLastingAgeDays,
  findMaturityDays,
} from '#history/statistics/reversal-ages.ts';
import { type Evidence, rowsAsOfSql } from './evidence.ts';
import { clusterSql, roundAmountSum } from './order-sums.ts';

const UNSTATED = 'UNSTATED';
const CAUSES = [...OUTCOME_CAUSES, UNSTATED] as const;

const MONEY = {
  currency: plainText('Of the amounts; - where none is known'),
  orders: count('How many'),
  amount: createNumberSchema('Their money'),
} as const;

export const ReversalFiguresSchema = shape(
  'Why granted orders were not paid, and what may yet be taken back',
  {
    causes: list(
      shape('Granted orders of one cause', {
        cause: choice(CAUSES, 'Of the report that holds'),
        ...MONEY,
      }),
      'By cause and currency; TECHNICAL ones are in no other figure',
    ),
    seen: count('Payments of all times that were reported reversed'),
    maturityDays: nullable(
      count(
        'So old a payment is when 95 % of the reversals have come; null: they are too few, or still coming',
      ),
    ),
    immature: list(
      shape('Paid orders that are younger, or all of them where nobody knows how old is enough', MONEY),
      'By currency; they are among the paid ones',
    ),
    expected: createNullableIntervalSchema(
      'How many of these are to be expected reversed, by the ages at which older payments were reversed; its ends are where the number will lie in 95 of 100 cases. In no other figure. Null without maturityDays',
    ),
  },
);

type Reversals = ValueOf<typeof ReversalFiguresSchema>;

/** Reads what all reports say about reversals, also reports from before the span. */
export async function readReversals(evidence: Evidence): Promise<Reversals> {
  const { duck } = evidence;
  await makePayments(evidence);
  const payments = await readAgedPayments(duck);
  const maturityDays = findMaturityDays(payments.all);
  const immature = `result = 'PAID' AND ${maturityDays === null ? 'true' : `day < ${maturityDays}`}`;
  return {
    causes: (await readMoney(duck, `result <> 'PAID' AND granted`)).map(({ result, ...money }) => ({
      cause: CAUSES.find((cause) => cause === result) ?? UNSTATED,
      ...money,
    })),
    seen: payments.seen,
    maturityDays,
    immature: (await readMoney(duck, immature)).map(({ result: _, ...money }) => money),
    expected: maturityDays === null ? null : await predictReversals(duck, payments, immature),
  };
}

/**
 * Finds after how many days a payment is taken as lasting. It uses the data that was known at `asOf` (epoch ms), or
 * all data if `asOf` is null.
 */
export async function readLastingAgeDays(evidence: Evidence, asOf: number | null): Promise<number> {
  await makePayments(evidence, asOf);
  const { all } = await readAgedPayments(evidence.duck);
  return findLastingAgeDays(all);
}

async function makePayments({ duck, ask }: Evidence, asOf = ask.asOf ?? null): Promise<void> {
  const reported = rowsAsOfSql(ask.place, 'outcomes', { ...ask, from: null, to: null, asOf });
  await duck.run(`CREATE OR REPLACE TEMP TABLE payments AS
    WITH told AS (
      SELECT ${ORDER_KEY_SQL} AS order_key, any_value(client_hash) AS client_hash, ${REPORTED_RESULT_SQL} AS report,
        ${CAUSE_SQL} AS result,
        min(reported_at) FILTER (${SAYS_PAID_SQL}) AS paid_at,
        min(reported_at) FILTER (cause = 'REVERSED') AS reversed_at, max(reported_at) AS told_at
      FROM ${reported} GROUP BY order_key
    ), known AS (
      SELECT ${asOf === null ? KNOWN_SQL : `make_timestamp_ms(${asOf})`} AS known_at
    )
    SELECT order_key, client_hash AS payer, ${clusterSql('client_hash')} AS cluster, paid_at IS NOT NULL AS was_paid,
      result, ${daysToSql(`if(${reportedStatusSql('report')} = 'PAID', known_at, coalesce(reversed_at, told_at))`)} AS day, ${daysToSql('known_at')} AS age
    FROM told, known`);
}

const KNOWN_SQL = 'greatest((SELECT max(told_at) FROM told), (SELECT max(decided_at) FROM decisions))';

/**
 * Renders the SQL for the whole days from a payment to a time. For the column `age`, that time is the one up to which
 * data is known. For the column `day`, it is the same time if the order is reported as paid. Otherwise it is the time
 * of the reversal, or of the last report if there was no reversal. The result is at least 0, because a reversal may
 * be reported before its payment.
 */
function daysToSql(end: string): string {
  return `greatest(0, floor((epoch_ms(${end}) - epoch_ms(paid_at)) / ${DAY_MS}))::INT`;
}

type Duck = Evidence['duck'];

type Payments = Awaited<ReturnType<typeof readAgedPayments>>;

/** Counts payments and reversals by age, for all clients and for each cluster of clients. */
async function readAgedPayments(duck: Duck) {
  const rows = await duck.rows(`SELECT cluster, day, count(*) FILTER (result = 'REVERSED')::DOUBLE AS events,
      count(*)::DOUBLE AS "left"
    FROM payments WHERE was_paid AND result IN ('PAID', 'REVERSED') GROUP BY ALL ORDER BY ALL`);
  const aged = rows.map((row) => toNumbersByColumn(row, { cluster: 0, day: 0, events: 0, left: 0 }));
  return {
    all: aged,
    clusters: [...Map.groupBy(aged, ({ cluster }) => cluster).values()],
    seen: aged.reduce((sum, { events }) => sum + events, 0),
  };
}

async function predictReversals(
  duck: Duck,
  { all, clusters }: Payments,
  immature: string,
): Promise<Reversals['expected']> {
  const rows = await duck.rows(
    `SELECT day, count(*)::DOUBLE AS payments FROM payments JOIN orders USING (order_key) WHERE ${immature} GROUP BY day ORDER BY day`,
  );
  const young = rows.map((row) => toNumbersByColumn(row, { day: 0, payments: 0 }));
  const most = young.reduce((sum, { payments }) => sum + payments, 0);
  const beyondChance = await estimateBeyondChance(duck, all, immature);
  return predictCountInterval(
    clusters.length,
    (times) =>
      estimateExpectedReversals(
        clusters.flatMap((cluster, place) => {
          const weight = times[place] ?? 0;
          return weight === 0
            ? []
            : cluster.map(({ day, events, left }) => ({ day, events: weight * events, left: weight * left }));
        }),
        young,
      ),
    { beyondChance, most },
  );
}

/**
 * Estimates how much the number of future reversals varies beyond chance, because payers differ. The payments of one
 * payer depend on each other, so few payers with many payments make the number less certain.
 */
async function estimateBeyondChance(
  duck: Duck,
  payments: Payments['all'],
  immature: string,
): Promise<number> {
  const ages = await duck.rows('SELECT DISTINCT day FROM payments WHERE day IS NOT NULL');
  const risks = estimateReversalRisks(
    payments,
    ages.map(({ day }) => toNumberOrNull(day) ?? 0),
  );
  await duck.run('CREATE OR REPLACE TEMP TABLE risks (day INTEGER, passed DOUBLE, ahead DOUBLE)');
  if (risks === null || risks.length === 0) return 0;
  await duck.run(
    `INSERT INTO risks VALUES ${risks.map(({ day, passed, ahead }) => `(${day}, ${passed}, ${ahead})`).join(', ')}`,
  );
  const [history = {}] = await duck.rows(`
    SELECT coalesce(sum((events - expected) ** 2), 0)::DOUBLE AS errors, coalesce(sum(expected), 0)::DOUBLE AS expected,
      coalesce(sum(expected ** 2), 0)::DOUBLE AS squares
    FROM (SELECT count(*) FILTER (result = 'REVERSED') AS events, sum(passed) AS expected FROM payments JOIN risks USING (day)
      WHERE was_paid AND result IN ('PAID', 'REVERSED') GROUP BY payer)`);
  const [{ share } = {}] = await duck.rows(`
    SELECT sum(expected ** 2) / nullif(sum(expected) ** 2, 0) AS share
    FROM (SELECT sum(ahead) AS expected FROM payments JOIN risks USING (day) JOIN orders USING (order_key)
      WHERE ${immature} GROUP BY payer)`);
  return (
    estimateFrailty(toNumbersByColumn(history, { errors: 0, expected: 0, squares: 0 })) *
    (toNumberOrNull(share) ?? 0)
  );
}

/** Sums the orders of the span by the result that was reported last and by currency. */
async function readMoney(duck: Duck, where: string) {
  const rows =
    await duck.rows(`SELECT result, coalesce(currency, '-') AS currency, count(*) AS n, sum(amount)::DOUBLE AS amount
    FROM payments JOIN orders USING (order_key) WHERE ${where} GROUP BY ALL ORDER BY ALL`);
  return rows.map((row) => ({
    result: toTextOrNull(row['result']),
    currency: toTextOrNull(row['currency']) ?? '-',
    orders: toNumberOrNull(row['n']) ?? 0,
    amount: roundAmountSum(toNumberOrNull(row['amount']) ?? 0),
  }));
}

/** Says what a reader must know about reversals before trusting the paid figures. */
export function listReversalNotes({
  causes,
  seen,
  maturityDays,
  immature,
  expected,
}: Reversals): readonly string[] {
  if (seen === 0)
    return [
      'No reversal was ever reported, so it is not known whether payments last, and none counts as mature.',
    ];
  const young = immature.reduce((sum, { orders }) => sum + orders, 0);
  const reversed = causes.filter(({ cause }) => cause === 'REVERSED');
  const ofThese = formatNumber(reversed.reduce((sum, { orders }) => sum + orders, 0));
  return [
    `Reversed: ${ofThese} of the unpaid orders were paid and taken back.`,
    maturityDays === null
      ? `Reversals reported so far: ${formatNumber(seen)}, too few or too recent to tell when a payment is safe. ${formatCount(young, 'paid order')} may still be reversed, so do not judge by these yet.`
      : `Immature: ${formatCount(young, 'paid order is', 'paid orders are')} younger than ${formatCount(maturityDays, 'day')}, by which 95 % of the reversals come. ${expected === null ? 'It is not known how many of them will be reversed' : `Expect ${expected.value.toFixed(1)} of these to be reversed, in 95 of 100 cases ${formatNumber(expected.low)} to ${formatNumber(expected.high)}`}, which no figure here counts.`,
  ];
}

/** Creates the table of causes for which granted orders were not paid. */
export function createUnpaidCausesTable({ causes }: Reversals): EvidenceTable {
  return {
    name: 'causes',
    title: 'Granted and not paid, by cause',
    columns: createColumns(['text', 'cause', 'currency'], ['count', 'orders'], ['money', 'amount']),
    rows: causes.map(({ cause, currency, orders, amount }) => [
      cause.toLowerCase(),
      currency,
      orders,
      amount,
    ]),
  };
}

/**
 * Recorded payments that a candidate would have prevented, because it would have shown no requisite. They are counted
 * by what became of them.
 */
export const PreventedPaymentsSchema = shape(
  'Payments as recorded that would not have been, by what became of them',
  {
    reversed: count('Mature ones that were reversed'),
    held: count('Mature ones that were not'),
    immature: count('Those younger than maturityDays, reversed already or not: they count neither way'),
    reversedShare: createNullableIntervalSchema('Of the mature ones, by client; null without one'),
  },
);

type ClosedPayments = ValueOf<typeof PreventedPaymentsSchema>;

/**
 * Counts the recorded payments that a candidate closes: with the candidate they would not have happened. `which` is
 * the SQL condition for their orders. The tables of `readReversals` and `joinOutcomes` must exist.
 */
export async function countPreventedPayments(
  duck: Duck,
  { maturityDays }: Pick<Reversals, 'maturityDays'>,
  which: string,
): Promise<ClosedPayments> {
  const mature = maturityDays === null ? 'false' : `age >= ${maturityDays}`;
  const rows =
    await duck.rows(`SELECT cluster, count(*) FILTER (mature AND result = 'REVERSED')::DOUBLE AS part,
      count(*) FILTER (mature)::DOUBLE AS whole, count(*)::DOUBLE AS "all"
    FROM (SELECT *, ${mature} AS mature FROM payments) JOIN answered_orders USING (order_key)
    WHERE was_paid AND result IN ('PAID', 'REVERSED') AND ${which} GROUP BY cluster ORDER BY cluster`);
  const clusters = rows.map((row) => toNumbersByColumn(row, { part: 0, whole: 0, all: 0 }));
  const sum = (of: 'part' | 'whole' | 'all') => clusters.reduce((total, one) => total + one[of], 0);
  const [reversed, all] = [sum('part'), sum('whole')];
  return {
    reversed,
    held: all - reversed,
    immature: sum('all') - all,
    reversedShare: estimateShareByCluster(clusters),
  };
}

/** Says what became of the recorded payments that a candidate closes. The list is empty if none of them is mature. */
export function listPreventedPaymentsNotes(name: string, payments: ClosedPayments): readonly string[] {
  const { reversed, held, immature, reversedShare } = payments;
  if (reversed + held === 0) return [];
  return [
    `Of the payments that ${name} closes ${formatNumber(reversed)} of ${formatNumber(reversed + held)} mature ones were reversed later (${formatShare(reversedShare)}), ${formatNumber(immature)} are immature.`,
  ];
}
