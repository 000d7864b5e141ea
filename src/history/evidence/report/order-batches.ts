import {
  IS_ATTEMPT_SQL,
  isReversedSql,
  ORDER_KEY_SQL,
  orderStatusSql,
  REPORTED_RESULT_SQL,
  SETTLED_AMOUNT_SQL,
  SETTLED_CURRENCY_SQL,
} from '#history/archive/order-status.ts';
import {
  type QueryEngine,
  type ResultRow,
  toNumberList,
  toNumbersByColumn,
} from '#history/archive/query-engine.ts';
import type { CurrencyAmounts, OrderCounts } from '#history/evidence/presentation.ts';
import { createDevicesTempTable } from '#history/evidence/source/device-clusters.ts';
import type { Evidence } from '#history/evidence/source/evidence.ts';
import { clusterSql, ORDER_SUMS_SQL, readOrderSums } from '#history/evidence/source/order-sums.ts';
import {
  createViewOfArchivedTable,
  listClientBatchConditions,
} from '#history/evidence/source/shared-devices.ts';
import { type Estimate, estimateShareByCluster } from '#history/statistics/intervals.ts';
import type { RuleEffectsOnDecision } from './fact-cells.ts';
import { createWaitsTable, insertLastWaits, WAIT_LEVEL_SQL } from './wait-levels.ts';

/** Creates the table `judged` with the judgement of each cell. Cells that cannot be judged are left out. */
export async function createJudgementsTable(
  duck: QueryEngine,
  judged: ReadonlyMap<string, RuleEffectsOnDecision>,
): Promise<void> {
  // An additional last bit is set for every cell, so that this bit selects all cells that can be judged.
  const bitsOf = (flags: readonly boolean[]) => `'${[...flags, true].map(Number).join('')}'`;
  const rows = [...judged].map(([cell, { matched, decided, decisive }]) =>
    [cell, ...[matched, decided, decisive].map(bitsOf)].join(', '),
  );
  await duck.run(
    'CREATE OR REPLACE TEMP TABLE judged (cell UBIGINT, matched BIT, decided BIT, decisive BIT)',
  );
  if (rows.length > 0)
    await duck.run(`INSERT INTO judged VALUES ${rows.map((row) => `(${row})`).join(', ')}`);
}

interface BatchParts {
  /** SQL for the cell of a row of `decisions`. */
  readonly cell: string;
  /** Whether any rule is about shared devices. */
  readonly byDevice: boolean;
  /**
   * SQL for the number of a row's currency and slice (the part of the report to which the row belongs, such as a
   * day), and the join that this SQL needs.
   */
  readonly place: { readonly sql: string; readonly join: string };
  /** Reports how many decisions have been counted. */
  readonly onProgress: (decisions: number) => void;
}

/** The most decisions of one batch, so that they fit into the engine's memory. */
const BATCH_DECISIONS_MAX = 2_500_000;

/**
 * Reads the evidence client by client, in as many batches as memory requires. All orders and waits of a client are in
 * the same batch. Creates the tables `counted` (decisions), `summed` and `known` (orders by the rules of the table
 * `judged` that matched them) and `waits`.
 */
export async function createOrderTables(
  evidence: Evidence,
  parts: BatchParts,
  decisionsMax = BATCH_DECISIONS_MAX,
): Promise<void> {
  const { duck, span, ask } = evidence;
  await createWaitsTable(duck);
  await createViewOfArchivedTable(duck, 'waits_ended', ask);
  if (parts.byDevice) await createDevicesTempTable(evidence);
  const batches = listClientBatchConditions(span.decisions, decisionsMax);
  for (const [batch, clients] of batches.entries()) {
    await readBatch(duck, clients, parts, batch === 0);
    await insertLastWaits(duck, span.to ?? 0);
    parts.onProgress(Math.round((span.decisions * (batch + 1)) / batches.length));
  }
}

async function readBatch(
  duck: QueryEngine,
  clients: string,
  { cell, place, byDevice }: BatchParts,
  isFirst: boolean,
): Promise<void> {
  const device = byDevice ? clusterSql('coalesce(device, client_hash)') : 'NULL';
  await duck.run(`CREATE OR REPLACE TEMP TABLE seen AS
    SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, seq, decided_at, fact_amount AS amount, fact_currency AS currency, ${place.sql} AS place, ${cell} AS cell,
      ${IS_ATTEMPT_SQL} AS granted, ${WAIT_LEVEL_SQL} AS wait_level, ${clusterSql('client_hash')} AS cluster, ${device} AS device_cluster
    FROM decisions ${place.join} ${byDevice ? 'LEFT JOIN devices USING (client_hash)' : ''} WHERE ${clients}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE told AS
    SELECT ${ORDER_KEY_SQL} AS order_key, ${REPORTED_RESULT_SQL} AS report, ${SETTLED_AMOUNT_SQL} AS settled_amount, ${SETTLED_CURRENCY_SQL} AS settled_currency,
      min(occurred_at) FILTER (outcome = 'PAID') AS paid_at FROM outcomes WHERE ${clients} GROUP BY order_key`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE asked AS
    SELECT matched, place, cluster, device_cluster, if(settled_currency = currency, settled_amount, amount) AS amount, status, ${isReversedSql('report')} AS reversed
    FROM (
      SELECT order_key, arg_max(place, seq) AS place, arg_max(amount, seq) AS amount, arg_max(currency, seq) AS currency, bool_or(granted) AS granted,
        any_value(cluster) AS cluster, any_value(device_cluster) AS device_cluster, bit_or(matched) AS matched
      FROM seen JOIN judged USING (cell) GROUP BY order_key
    ) LEFT JOIN (SELECT order_key, report, settled_amount, settled_currency FROM told) USING (order_key),
      LATERAL (SELECT ${orderStatusSql('report', 'granted')} AS status)`);
  const known = (cluster: string, isByDevice: boolean) => `
    SELECT matched, place, ${isByDevice} AS by_device, ${cluster} AS cluster, count(*) FILTER (status = 'UNPAID') AS unpaid, count(*) AS orders
    FROM asked WHERE status IN ('PAID', 'UNPAID') GROUP BY ALL`;
  for (const [table, rows] of [
    ['counted', 'SELECT cell, place, count(*) AS decisions FROM seen GROUP BY ALL'],
    [
      'summed',
      'SELECT matched, place, status, reversed, count(*) AS orders, sum(amount) AS amount FROM asked GROUP BY ALL',
    ],
    ['known', `${known('cluster', false)} ${byDevice ? `UNION ALL ${known('device_cluster', true)}` : ''}`],
  ] as const)
    await duck.run(
      `${isFirst ? `CREATE OR REPLACE TEMP TABLE ${table} AS` : `INSERT INTO ${table}`} ${rows}`,
    );
}

/** The figures of one rule. */
export interface RuleTally extends Readonly<Record<'matched' | 'decided' | 'decisive', number>> {
  /** Orders without technical failures. */
  readonly orders: OrderCounts;
  readonly amount: CurrencyAmounts;
  /** The unpaid share of the orders with a known outcome, by client or by device. */
  readonly unpaidShare: Estimate | null;
}

/**
 * Returns the figures of a rule, by the rule's index in `isByDevice` and a slice. A slice of null means all slices.
 * The index after the last rule means all decisions.
 */
type Tallies = (rule: number, slice: string | null) => RuleTally;

/** Sums up the tables that `createOrderTables` creates. Returns a function that gives the figures of a rule. */
export async function sumOrderTablesByRule(
  duck: QueryEngine,
  isByDevice: readonly boolean[],
): Promise<Tallies> {
  const rules = [...isByDevice, false].map((byDevice, rule) => `(${rule}, ${byDevice})`);
  const matching = `JOIN (VALUES ${rules.join(', ')}) rules(rule, of_device) ON get_bit(matched, rule) = 1`;
  const rowsOf = async (sql: string) => Map.groupBy(await duck.rows(sql), formatTallyKey);
  const isOf = (bits: string) => `sum(decisions) FILTER (get_bit(${bits}, rule) = 1)::DOUBLE AS ${bits}`;
  const decisions =
    await rowsOf(`SELECT rule, shown, ${['matched', 'decided', 'decisive'].map(isOf).join(', ')}
    FROM counted JOIN judged USING (cell) JOIN places USING (place) ${matching} GROUP BY GROUPING SETS ((rule), (rule, shown))`);
  const orders = await rowsOf(`SELECT rule, shown, currency, ${ORDER_SUMS_SQL}
    FROM summed JOIN places USING (place) ${matching} WHERE status <> 'TECHNICAL'
    GROUP BY GROUPING SETS ((rule, currency), (rule, shown, currency))`);
  const clusters =
    await rowsOf(`SELECT rule, shown, list(unpaid ORDER BY cluster) AS unpaid, list(orders ORDER BY cluster) AS orders FROM (
      SELECT rule, shown, cluster, sum(unpaid)::DOUBLE AS unpaid, sum(orders)::DOUBLE AS orders
      FROM known JOIN places USING (place) ${matching} AND of_device = by_device GROUP BY GROUPING SETS ((rule, cluster), (rule, shown, cluster))
    ) GROUP BY rule, shown`);
  return (rule, shown) => {
    const name = formatTallyKey({ rule, shown });
    const [counts = {}, { unpaid, orders: known } = {}] = [decisions, clusters].map(
      (rows) => rows.get(name)?.[0],
    );
    const whole = toNumberList(known);
    return {
      ...toNumbersByColumn(counts, { matched: 0, decided: 0, decisive: 0 }),
      ...readOrderSums(orders.get(name) ?? []),
      unpaidShare: estimateShareByCluster(
        toNumberList(unpaid).map((part, at) => ({ part, whole: whole[at] ?? 0 })),
      ),
    };
  };
}

function formatTallyKey({ rule, shown }: ResultRow): string {
  return JSON.stringify([rule, shown]);
}
