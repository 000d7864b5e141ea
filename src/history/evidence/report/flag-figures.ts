import { count, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import {
  type QueryEngine,
  quoteSql,
  type ResultRow,
  toNumberList,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import {
  createColumns,
  createNullableIntervalSchema,
  createNumberSchema,
  type EvidenceTable,
  listOrderCountCells,
  NO_ORDERS,
  ORDER_STATUS_COLUMNS,
  orderCountsSchema,
} from '#history/evidence/presentation.ts';
import { collectDeviceRuleNames, createDevicesTempTable } from '#history/evidence/source/device-clusters.ts';
import type { Evidence } from '#history/evidence/source/evidence.ts';
import { aggregateByOutcomeSql, clusterSql } from '#history/evidence/source/order-sums.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';

const MARKED = {
  orders: orderCountsSchema,
  declined: count('Of the unpaid ones, those whose payment was declined'),
  reversed: count('Of the unpaid ones, those that were paid and taken back'),
} as const;

const FlagSchema = shape('What came of the orders that a flag marked', {
  flag: plainText('Its name'),
  decisions: count('Decisions beside which it was recorded, whichever version made them'),
  ...MARKED,
  unpaidShare: createNullableIntervalSchema(
    'Of its orders with a known outcome, by client, or by device where its rules ask about shared ones; null without one',
  ),
  lift: nullable(
    createNumberSchema('Its unpaid share over that of the orders without a flag; null when either has none'),
  ),
});

export const FlagFiguresSchema = list(
  FlagSchema,
  'Of each flag that was recorded or that the rule set has, most orders first',
);

const UnflaggedSchema = shape('Orders that no flag marked; null where no flag was recorded', {
  ...MARKED,
  unpaidShare: createNullableIntervalSchema('Of those with a known outcome, by client; null without one'),
});

export const UnflaggedFiguresSchema = nullable(UnflaggedSchema);

interface FlagReport {
  readonly flags: readonly ValueOf<typeof FlagSchema>[];
  readonly unflagged: ValueOf<typeof UnflaggedSchema> | null;
}

/**
 * Reports the outcomes of orders by the flags that marked them, and of orders without a flag. A flag marks an order
 * if any decision about the order has the flag. Flags count as they were recorded, because a flag changes no verdict,
 * and only the records say which orders it marked.
 */
export async function reportFlags(evidence: Evidence, rules: RuleSet): Promise<FlagReport> {
  const { duck } = evidence;
  const recorded = await duck.rows(
    'SELECT flag, count(*)::DOUBLE AS decisions FROM (SELECT unnest(flags) AS flag FROM decisions) GROUP BY flag',
  );
  const decisions = new Map(
    recorded.map((row) => [
      toTextOrNull(row['flag']) ?? '',
      toNumbersByColumn(row, { decisions: 0 }).decisions,
    ]),
  );
  const names = new Set([...decisions.keys(), ...rules.flags.rules.map(({ params }) => params.flag)]);
  const figures =
    decisions.size === 0
      ? new Map<string, ResultRow>()
      : await readMarkedOrders(evidence, findDeviceFlags(rules));
  const unflagged = decisions.size === 0 ? null : toMarkedFigures(figures, NO_FLAG);
  const base = unflagged?.unpaidShare?.value ?? 0;
  const flags = [...names].map((flag) => {
    const marked = toMarkedFigures(figures, flag);
    const share = marked.unpaidShare?.value ?? null;
    const lift = share === null || base === 0 ? null : share / base;
    return { flag, decisions: decisions.get(flag) ?? 0, ...marked, lift };
  });
  const ordersOf = ({ orders }: (typeof flags)[number]) =>
    Object.values(orders).reduce((sum, one) => sum + one, 0);
  return {
    flags: flags.toSorted((a, b) => ordersOf(b) - ordersOf(a) || (a.flag < b.flag ? -1 : 1)),
    unflagged,
  };
}

/**
 * Lists the flags with a rule that asks how many payers share a device or an address, either itself or by the bot
 * flag.
 */
function findDeviceFlags(rules: RuleSet): ReadonlySet<string> {
  const about = collectDeviceRuleNames(rules);
  return new Set(
    rules.flags.rules.flatMap(({ name, params }) => (about.has(`flags/${name}`) ? [params.flag] : [])),
  );
}

/** The name under which orders without a flag are counted. The name of a flag is never empty. */
const NO_FLAG = '';

/**
 * Counts orders by the flags that marked them, and the unmarked ones under NO_FLAG. An order counts once for each of
 * its flags.
 */
async function readMarkedOrders(
  evidence: Evidence,
  byDevice: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ResultRow>> {
  const { duck } = evidence;
  if (byDevice.size > 0) await createDevicesTempTable(evidence);
  await makeMarks(duck, byDevice);
  const rows = await duck.rows(`
    WITH counted AS (
      SELECT flag, status, count(*) AS n, count(*) FILTER (status = 'UNPAID' AND cause = 'DECLINED') AS declined, count(*) FILTER (reversed) AS reversed
      FROM marks GROUP BY ALL
    ), by_cluster AS (
      SELECT flag, cluster, count(*) FILTER (status = 'UNPAID')::DOUBLE AS unpaid, count(*)::DOUBLE AS known
      FROM marks WHERE status IN ('PAID', 'UNPAID') GROUP BY ALL
    ), shares AS (
      SELECT flag, list(unpaid ORDER BY cluster) AS unpaid_of, list(known ORDER BY cluster) AS known_of FROM by_cluster GROUP BY flag
    )
    SELECT flag, any_value(unpaid_of) AS unpaid_of, any_value(known_of) AS known_of, sum(declined)::DOUBLE AS declined, sum(reversed)::DOUBLE AS reversed,
      ${aggregateByOutcomeSql('sum(n)')}
    FROM counted LEFT JOIN shares USING (flag) GROUP BY flag`);
  return new Map(rows.map((row) => [toTextOrNull(row['flag']) ?? '', row]));
}

/**
 * Creates the table `marks`, with a row for each order and each flag that marked it. An order without a flag has a
 * row with NO_FLAG.
 */
async function makeMarks(duck: QueryEngine, byDevice: ReadonlySet<string>): Promise<void> {
  const ofClient = clusterSql('client_hash');
  const isByDevice = `list_contains([${[...byDevice].map(quoteSql).join(', ')}]::VARCHAR[], flag)`;
  const cluster =
    byDevice.size === 0
      ? ofClient
      : `if(${isByDevice}, ${clusterSql('coalesce(device, client_hash)')}, ${ofClient})`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE marks AS
    WITH flagged AS (SELECT DISTINCT ${ORDER_KEY_SQL} AS order_key, unnest(flags) AS flag FROM decisions)
    SELECT coalesce(flag, '${NO_FLAG}') AS flag, status, cause, reversed, ${cluster} AS cluster
    FROM orders LEFT JOIN flagged USING (order_key) ${byDevice.size === 0 ? '' : 'LEFT JOIN devices USING (client_hash)'}
    WHERE status <> 'TECHNICAL'`);
}

function toMarkedFigures(figures: ReadonlyMap<string, ResultRow>, flag: string) {
  const row = figures.get(flag) ?? {};
  const known = toNumberList(row['known_of']);
  return {
    orders: toNumbersByColumn(row, NO_ORDERS),
    ...toNumbersByColumn(row, { declined: 0, reversed: 0 }),
    unpaidShare: estimateShareByCluster(
      toNumberList(row['unpaid_of']).map((part, place) => ({ part, whole: known[place] ?? 0 })),
    ),
  };
}

/** Creates the table of flags, and of orders without one. The table has no rows if no flag was recorded. */
export function toFlagsTable({ flags, unflagged }: FlagReport): EvidenceTable {
  const cells = ({ orders, declined, reversed, unpaidShare }: ValueOf<typeof UnflaggedSchema>) => [
    ...listOrderCountCells(orders),
    declined,
    reversed,
    unpaidShare,
  ];
  return {
    name: 'flags',
    title: 'flags.yaml',
    columns: createColumns(
      ['text', 'flag'],
      ['count', 'decisions'],
      ORDER_STATUS_COLUMNS,
      ['count', 'declined', 'reversed'],
      ['share', 'unpaid share, 95 %'],
      ['ratio', 'lift'],
    ),
    rows:
      unflagged === null
        ? []
        : [
            ...flags.map((one) => [one.flag, one.decisions, ...cells(one), one.lift]),
            ['(no flag)', null, ...cells(unflagged), null],
          ],
  };
}
