import { type DuckRow, numberOf } from '../../archive/duck.ts';
import { factLabel } from '../../archive/record-columns.ts';
import { VERDICTS } from '../../rules/rule-set.ts';
import { clusteredInterval } from '../../statistics/clustered-share.ts';
import { verdictMix } from '../backtest/verdict-mix.ts';
import { paidShareOf, scoreFigures } from '../calibrate/score-figures.ts';
import { scoredOrders } from '../calibrate/scored-orders.ts';
import { clusterOf } from '../source/client-clusters.ts';
import type { Evidence } from '../source/evidence.ts';
import { columnsOf } from '../source/views.ts';
import type { Drift, DriftPart, FactDrift } from './drift-report.ts';
import { factDrift } from './fact-drift.ts';

/**
 * Compares what payers did, what was answered, what was paid and how well the score told it, before and from a time
 * on; null splits in the middle. A hint where to look, no proof: whatever else changed between the parts is in it.
 */
export async function drift(
  evidence: Evidence,
  split: number | null,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<Drift> {
  const { duck, span } = evidence;
  const splitAt = split ?? Math.round(((span.from ?? 0) + (span.to ?? 0)) / 2);
  const columns = (await columnsOf(duck, 'decisions')).filter((name) => factLabel(name) !== null);
  const [earlier, later] = [await mixOf(evidence, splitAt, false), await mixOf(evidence, splitAt, true)];
  const sizes = [await sizeOf(evidence, splitAt, false), await sizeOf(evidence, splitAt, true)] as const;
  const facts: FactDrift[] = [];
  for (const column of columns) {
    onProgress(facts.length, columns.length + 1);
    facts.push(await factDrift(duck, column, splitAt, sizes));
  }
  const { groups, unknown } = await scoredOrders(evidence, splitAt);
  const part = (mix: typeof earlier, isLater: boolean): DriftPart => {
    const some = groups.filter((group) => group.later === isLater);
    const score = scoreFigures(some, ({ recordedScore }) => recordedScore);
    const known = some.reduce((sum, { paid, unpaid }) => sum + paid + unpaid, 0);
    const orders = { known, unknown: unknown[isLater ? 'later' : 'earlier'] };
    return { ...mix, orders, paidShare: paidShareOf(some), score };
  };
  return {
    kind: 'drift',
    version: evidence.ask.decidedBy ?? null,
    ...span,
    splitAt,
    earlier: part(earlier, false),
    later: part(later, true),
    unknown: unknown.earlier + unknown.later,
    facts: facts.toSorted((a, b) => beyondChance(b) - beyondChance(a)),
  };
}

/** A fact with one value only has moved by nothing, and nothing is what chance allows. */
function beyondChance({ index, byChance }: FactDrift): number {
  return byChance === 0 ? 0 : index / byChance;
}

async function mixOf({ duck }: Evidence, splitAt: number, isLater: boolean) {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS "${verdict}"`);
  const rows = await duck.rows(
    `SELECT ${clusterOf('client_hash')} AS cluster, count(*) AS decisions, count(DISTINCT client_hash) AS clients,
       ${counts.join(', ')}
     FROM decisions WHERE (decided_at >= make_timestamp_ms(${splitAt})) = ${isLater} GROUP BY cluster ORDER BY cluster`,
  );
  const count = (row: DuckRow, column: string) => numberOf(row[column]) ?? 0;
  const total = (column: string) => rows.reduce((sum, row) => sum + count(row, column), 0);
  const verdicts = verdictMix((verdict) =>
    clusteredInterval(rows.map((row) => ({ part: count(row, verdict), whole: count(row, 'decisions') }))),
  );
  return { decisions: total('decisions'), clients: total('clients'), verdicts };
}

/**
 * How many clients with as many decisions each would tell as much as those of a part (Kish, Survey sampling, 1965): one
 * with most of the decisions moves every share by himself.
 */
async function sizeOf({ duck }: Evidence, splitAt: number, isLater: boolean): Promise<number> {
  const [row = {}] = await duck.rows(
    `SELECT sum(n) ** 2 / sum(n ** 2) AS size FROM (SELECT count(*)::DOUBLE AS n FROM decisions
     WHERE (decided_at >= make_timestamp_ms(${splitAt})) = ${isLater} GROUP BY client_hash)`,
  );
  return numberOf(row['size']) ?? 0;
}
