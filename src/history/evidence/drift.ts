import { VERDICTS } from '#decision/decision-words.ts';
import { mapVerdicts } from '#decision/rules/rule-set.ts';
import { getTypeOfFactColumn, parseLabelOfFactColumn } from '#history/archive/fact-columns.ts';
import {
  type QueryEngine,
  quoteName,
  quoteSql,
  type ResultRow,
  toNumberList,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { isFactNotKnownSql } from '#history/archive/record-columns.ts';
import { computeStabilityIndexWithChance } from '#history/statistics/distributions.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';
import type { DriftPeriodFigures, DriftReport, FactDrift } from './drift-report.ts';
import { computeScoreFigures, countOrders, estimatePaidShare, readScoreCounts } from './score-figures.ts';
import { type Evidence, readColumnNames, rowsAsOfSql } from './source/evidence.ts';
import { clusterSql } from './source/order-sums.ts';

/**
 * Compares the time before and after `split` (epoch ms): facts, verdicts, paid share and calibration of the score. If
 * `split` is null, the span is split in the middle. A difference only hints at a cause, because it also contains
 * every other change between the two parts.
 */
export async function measureDriftBetweenPeriods(
  evidence: Evidence,
  split: number | null,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<DriftReport> {
  const { duck, span } = evidence;
  const splitAt = split ?? Math.round(((span.from ?? 0) + (span.to ?? 0)) / 2);
  const columns = await listComparedColumns(duck);
  const [earlier, later] = [
    await measureMix(evidence, splitAt, false),
    await measureMix(evidence, splitAt, true),
  ];
  const sizes = [earlier.size, later.size] as const;
  const facts: FactDrift[] = [];
  for (const column of columns) {
    onProgress(facts.length, columns.length + 1);
    facts.push(await measureFactDrift(duck, column, splitAt, sizes));
  }
  const scored = await readScoreCounts(evidence, splitAt);
  const groups = scored.filter(({ paid, unpaid }) => paid + unpaid > 0);
  const unknownIn = (isLater: boolean) =>
    scored.reduce((sum, { later, unknown }) => sum + (later === isLater ? unknown : 0), 0);
  const part = ({ mix }: typeof earlier, isLater: boolean): DriftPeriodFigures => {
    const some = groups.filter((group) => group.later === isLater);
    const [granted, others] = [some.filter((group) => group.granted), some.filter((group) => !group.granted)];
    const orders = {
      known: countOrders(some),
      unknown: unknownIn(isLater),
      neverGranted: countOrders(others),
    };
    return { ...mix, orders, paidShare: estimatePaidShare(some), score: computeScoreFigures(granted) };
  };
  return {
    kind: 'drift',
    version: evidence.ask.decidedBy ?? null,
    ...span,
    splitAt,
    beganAt: await findFirstDecisionTime(evidence, splitAt),
    earlier: part(earlier, false),
    later: part(later, true),
    unknown: unknownIn(false) + unknownIn(true),
    facts: facts.toSorted((a, b) => rankDrift(b) - rankDrift(a)),
  };
}

/**
 * Lists the columns of facts. An attribute has a column for each type of its values. Of several columns of one
 * attribute, those without any value are left out. If all of them are empty, one stays.
 */
async function listComparedColumns(duck: QueryEngine): Promise<readonly string[]> {
  const facts = (await readColumnNames(duck, 'decisions')).filter(
    (name) => parseLabelOfFactColumn(name) !== null,
  );
  const byLabel = Map.groupBy(facts, parseLabelOfFactColumn);
  const twins = facts.filter((name) => (byLabel.get(parseLabelOfFactColumn(name))?.length ?? 0) > 1);
  if (twins.length === 0) return facts;
  const counts = twins.map((name) => `count(${quoteName(name)}) AS ${quoteName(name)}`);
  const [row = {}] = await duck.rows(`SELECT ${counts.join(', ')} FROM decisions`);
  const isEmpty = (name: string) => twins.includes(name) && toNumberOrNull(row[name]) === 0;
  return facts.filter((name) => {
    const others = byLabel.get(parseLabelOfFactColumn(name)) ?? [];
    return !isEmpty(name) || (others[0] === name && others.every(isEmpty));
  });
}

/**
 * Finds the time of the first of all recorded decisions, in epoch ms. Returns null if that time is not in the
 * earlier part.
 */
async function findFirstDecisionTime({ duck, ask, span }: Evidence, splitAt: number): Promise<number | null> {
  const rows = rowsAsOfSql(ask.place, 'decisions', { ...ask, from: null, to: null });
  const [row = {}] = await duck.rows(`SELECT min(decided_at) AS first FROM ${rows}`);
  const first = toNumberOrNull(row['first']);
  return first !== null && first >= (ask.from ?? span.from ?? first) && first < splitAt ? first : null;
}

/**
 * Ranks a fact by its index, divided by the index that chance allows. A fact with a single value has not moved, so
 * its rank is 0.
 */
function rankDrift({ index, byChance }: FactDrift): number {
  return byChance === 0 ? 0 : index / byChance;
}

/**
 * Counts the decisions and clients of a part, and estimates the share of each verdict. `size` is the effective number
 * of clients (Kish, Survey sampling, 1965), because a client with most of the decisions moves every share.
 */
async function measureMix({ duck }: Evidence, splitAt: number, isLater: boolean) {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS "${verdict}"`);
  const sums = VERDICTS.map((verdict) => `sum("${verdict}") AS "${verdict}"`);
  const rows = await duck.rows(
    `SELECT ${clusterSql('client_hash')} AS cluster, sum(decisions) AS decisions, sum(decisions ** 2) AS squares, count(*) AS clients,
       ${sums.join(', ')}
     FROM (SELECT client_hash, count(*)::DOUBLE AS decisions, ${counts.join(', ')} FROM decisions
       WHERE (decided_at >= make_timestamp_ms(${splitAt})) = ${isLater} GROUP BY client_hash) GROUP BY cluster ORDER BY cluster`,
  );
  const count = (row: ResultRow, column: string) => toNumberOrNull(row[column]) ?? 0;
  const total = (column: string) => rows.reduce((sum, row) => sum + count(row, column), 0);
  const verdicts = mapVerdicts((verdict) =>
    estimateShareByCluster(
      rows.map((row) => ({ part: count(row, verdict), whole: count(row, 'decisions') })),
    ),
  );
  const [decisions, squares] = [total('decisions'), total('squares')];
  return {
    mix: { decisions, clients: total('clients'), verdicts },
    size: squares === 0 ? 0 : decisions ** 2 / squares,
  };
}

/** How many values of a text fact get a bin of their own. All other values share one bin. */
const VALUES_MAX = 20;

/**
 * Compares a column of facts before and after the split. `sizes` are the effective numbers of clients of the two
 * parts.
 */
async function measureFactDrift(
  duck: QueryEngine,
  column: string,
  splitAt: number,
  sizes: readonly [number, number],
): Promise<FactDrift> {
  const later = `decided_at >= make_timestamp_ms(${splitAt})`;
  const bins = await createBins(duck, column, `NOT (${later})`);
  const rows = await duck.rows(
    `SELECT ${bins.sql} AS bin, ${clusterSql('client_hash')} AS cluster,
       count(*) FILTER (NOT (${later})) AS earlier, count(*) FILTER (${later}) AS later
     FROM decisions GROUP BY ALL ORDER BY ALL`,
  );
  const cells = rows.map((row) => toNumbersByColumn(row, { bin: -1, cluster: 0, earlier: 0, later: 0 }));
  const counts = [...Map.groupBy(cells, ({ bin }) => bin)].map(([bin, some]) => ({
    bin,
    earlier: sumPart(some, 'earlier'),
    later: sumPart(some, 'later'),
  }));
  const stability = computeStabilityIndexWithChance(
    counts.map(({ earlier }) => earlier),
    counts.map((bin) => bin.later),
    sizes,
  );
  return {
    fact: parseLabelOfFactColumn(column) ?? column,
    ...stability,
    moved: findLargestMove(counts, cells, bins),
  };
}

type Part = 'earlier' | 'later';

type PartCounts = Readonly<Record<Part, number>>;

function findLargestMove(
  counts: readonly (PartCounts & { readonly bin: number })[],
  cells: readonly (PartCounts & { readonly bin: number; readonly cluster: number })[],
  bins: Bins,
): FactDrift['moved'] {
  const [ofEarlier, ofLater] = [
    Math.max(1, sumPart(counts, 'earlier')),
    Math.max(1, sumPart(counts, 'later')),
  ];
  const [most] = counts
    .map(({ bin, earlier, later }) => ({ bin, earlier: earlier / ofEarlier, later: later / ofLater }))
    .toSorted((a, b) => Math.abs(b.later - b.earlier) - Math.abs(a.later - a.earlier));
  if (most === undefined)
    return { values: '', earlier: 0, later: 0, intervals: { earlier: null, later: null } };
  const clusters = [...Map.groupBy(cells, ({ cluster }) => cluster).values()];
  const interval = (part: Part) =>
    estimateShareByCluster(
      clusters.map((some) => ({
        part: sumPart(
          some.filter(({ bin }) => bin === most.bin),
          part,
        ),
        whole: sumPart(some, part),
      })),
    );
  const { bin, earlier, later } = most;
  const intervals = { earlier: interval('earlier'), later: interval('later') };
  return { values: bins.name(bin), earlier, later, intervals };
}

function sumPart(some: readonly PartCounts[], part: Part): number {
  return some.reduce((sum, counts) => sum + counts[part], 0);
}

interface Bins {
  /** A SQL expression for the number of a row's bin. It is negative for a row without a value. */
  readonly sql: string;
  readonly name: (bin: number) => string;
}

/** The names of the bins for decisions without a value. */
const NO_VALUE: Readonly<Record<number, string>> = { [-1]: 'not recorded', [-2]: 'not known' };

/** Renders the SQL for the bin of a row without a value: -2 if the fact was not known, -1 if no rule asked for it. */
function noValueSql(column: string): string {
  return `CASE WHEN ${isFactNotKnownSql(parseLabelOfFactColumn(column) ?? '')} THEN -2 ELSE -1 END`;
}

function createBins(duck: QueryEngine, column: string, where: string): Promise<Bins> {
  const type = getTypeOfFactColumn(column);
  return type === 'BIGINT' || type === 'DOUBLE'
    ? createTenths(duck, column, where)
    : createValueBins(duck, column);
}

async function createTenths(duck: QueryEngine, column: string, where: string): Promise<Bins> {
  const name = quoteName(column);
  const [row = {}] = await duck.rows(
    `SELECT list_transform(list_distinct(quantile_disc(${name}, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])), x -> x::DOUBLE) AS edges
     FROM decisions WHERE ${where}`,
  );
  const edges = toNumberList(row['edges']).toSorted((a, b) => a - b);
  const steps = edges.map((edge) => `(${name} > ${edge}::DOUBLE)::INT`);
  return {
    sql: `CASE WHEN ${name} IS NULL THEN ${noValueSql(column)} ELSE ${['0', ...steps].join(' + ')} END`,
    name: (bin) => rangeText(edges, bin),
  };
}

function rangeText(edges: readonly number[], bin: number): string {
  const [above, upTo] = [edges[bin - 1], edges[bin]];
  const none = NO_VALUE[bin];
  if (none !== undefined) return none;
  if (above === undefined) return upTo === undefined ? 'all' : `up to ${upTo}`;
  return upTo === undefined ? `above ${above}` : `above ${above}, up to ${upTo}`;
}

async function createValueBins(duck: QueryEngine, column: string): Promise<Bins> {
  const name = `${quoteName(column)}::VARCHAR`;
  const rows = await duck.rows(
    `SELECT ${name} AS value, count(*) AS n FROM decisions WHERE ${name} IS NOT NULL GROUP BY value ORDER BY n DESC, value LIMIT ${VALUES_MAX}`,
  );
  const known = rows.map((row) => toTextOrNull(row['value']) ?? '');
  const list = known.map(quoteSql).join(', ');
  return {
    sql: `coalesce(list_position([${list}]::VARCHAR[], ${name}), CASE WHEN ${name} IS NULL THEN ${noValueSql(column)} ELSE 0 END)`,
    name: (bin) => NO_VALUE[bin] ?? known[bin - 1] ?? 'others',
  };
}
