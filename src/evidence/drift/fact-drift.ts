import { type Duck, numberOf, quote, quoteName, textOf } from '../../archive/duck.ts';
import { factLabel } from '../../archive/record-columns.ts';
import { clusteredInterval } from '../../statistics/clustered-share.ts';
import { populationStability } from '../../statistics/population-stability.ts';
import { clusterOf } from '../source/client-clusters.ts';
import { typeOfFact } from '../source/views.ts';
import type { FactDrift } from './drift-report.ts';

/** Other values of a text are one bin. */
const VALUES_MAX = 20;

/** Compares a column of facts before and from a time on; `sizes` are the clients of both parts, as many as tell as much with as many decisions each. */
export async function factDrift(
  duck: Duck,
  column: string,
  splitAt: number,
  sizes: readonly [number, number],
): Promise<FactDrift> {
  const later = `decided_at >= make_timestamp_ms(${splitAt})`;
  const bins = await binsOf(duck, column, `NOT (${later})`);
  const rows = await duck.rows(
    `SELECT ${bins.sql} AS bin, ${clusterOf('client_hash')} AS cluster,
       count(*) FILTER (NOT (${later})) AS earlier, count(*) FILTER (${later}) AS later
     FROM decisions GROUP BY ALL ORDER BY ALL`,
  );
  const cells = rows.map((row) => ({
    bin: numberOf(row['bin']) ?? -1,
    cluster: numberOf(row['cluster']) ?? 0,
    earlier: numberOf(row['earlier']) ?? 0,
    later: numberOf(row['later']) ?? 0,
  }));
  const counts = [...Map.groupBy(cells, ({ bin }) => bin)].map(([bin, some]) => ({
    bin,
    earlier: sumOf(some, 'earlier'),
    later: sumOf(some, 'later'),
  }));
  const stability = populationStability(
    counts.map(({ earlier }) => earlier),
    counts.map((bin) => bin.later),
    sizes,
  );
  return { fact: factLabel(column) ?? column, ...stability, moved: movedMost(counts, cells, bins) };
}

type Part = 'earlier' | 'later';

/** Decisions of both parts. */
type PartCounts = Readonly<Record<Part, number>>;

function movedMost(
  counts: readonly (PartCounts & { readonly bin: number })[],
  cells: readonly (PartCounts & { readonly bin: number; readonly cluster: number })[],
  bins: Bins,
): FactDrift['moved'] {
  const [ofEarlier, ofLater] = [Math.max(1, sumOf(counts, 'earlier')), Math.max(1, sumOf(counts, 'later'))];
  const [most] = counts
    .map(({ bin, earlier, later }) => ({ bin, earlier: earlier / ofEarlier, later: later / ofLater }))
    .toSorted((a, b) => Math.abs(b.later - b.earlier) - Math.abs(a.later - a.earlier));
  if (most === undefined)
    return { values: '', earlier: 0, later: 0, intervals: { earlier: null, later: null } };
  const clusters = [...Map.groupBy(cells, ({ cluster }) => cluster).values()];
  const interval = (part: Part) =>
    clusteredInterval(
      clusters.map((some) => ({
        part: sumOf(
          some.filter(({ bin }) => bin === most.bin),
          part,
        ),
        whole: sumOf(some, part),
      })),
    );
  const { bin, earlier, later } = most;
  const intervals = { earlier: interval('earlier'), later: interval('later') };
  return { values: bins.name(bin), earlier, later, intervals };
}

function sumOf(some: readonly PartCounts[], part: Part): number {
  return some.reduce((sum, counts) => sum + counts[part], 0);
}

interface Bins {
  /** The number of the bin that a row is in; -1 where the fact was not recorded. */
  readonly sql: string;
  readonly name: (bin: number) => string;
}

function binsOf(duck: Duck, column: string, where: string): Promise<Bins> {
  const type = typeOfFact(column);
  return type === 'BIGINT' || type === 'DOUBLE' ? tenths(duck, column, where) : values(duck, column);
}

async function tenths(duck: Duck, column: string, where: string): Promise<Bins> {
  const name = quoteName(column);
  const [row = {}] = await duck.rows(
    `SELECT list_transform(list_distinct(quantile_disc(${name}, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])), x -> x::DOUBLE) AS edges
     FROM decisions WHERE ${where}`,
  );
  const found = row['edges'];
  const edges = Array.isArray(found) ? found.filter((edge) => typeof edge === 'number') : [];
  edges.sort((a, b) => a - b);
  const steps = edges.map((edge) => `(${name} > ${edge}::DOUBLE)::INT`);
  return {
    sql: `CASE WHEN ${name} IS NULL THEN -1 ELSE ${['0', ...steps].join(' + ')} END`,
    name: (bin) => rangeText(edges, bin),
  };
}

function rangeText(edges: readonly number[], bin: number): string {
  const [above, upTo] = [edges[bin - 1], edges[bin]];
  if (bin < 0) return 'not recorded';
  if (above === undefined) return upTo === undefined ? 'all' : `up to ${upTo}`;
  return upTo === undefined ? `above ${above}` : `above ${above}, up to ${upTo}`;
}

async function values(duck: Duck, column: string): Promise<Bins> {
  const name = `${quoteName(column)}::VARCHAR`;
  const rows = await duck.rows(
    `SELECT ${name} AS value, count(*) AS n FROM decisions WHERE ${name} IS NOT NULL GROUP BY value ORDER BY n DESC, value LIMIT ${VALUES_MAX}`,
  );
  const known = rows.map((row) => textOf(row['value']) ?? '');
  const list = known.map(quote).join(', ');
  return {
    sql: `coalesce(list_position([${list}]::VARCHAR[], ${name}), CASE WHEN ${name} IS NULL THEN -1 ELSE 0 END)`,
    name: (bin) => (bin < 0 ? 'not recorded' : (known[bin - 1] ?? 'others')),
  };
}
