import {
  type QueryEngine,
  type ResultRow,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { NO_ORDERS } from '#history/evidence/presentation.ts';
import { aggregateByOutcomeSql } from '#history/evidence/source/order-sums.ts';
import { NO_VALUE_SUMS, type ValueSums } from '#history/statistics/confidence-sequence.ts';
import { addSums } from '#history/statistics/sums.ts';
import type { ArmOrdersAtLadderLevel, CountedArm } from './experiment-report.ts';
import { isMetric, type Metric } from './recommendation.ts';

/** Figures that are counted besides the metrics by which arms are compared. */
type Counted = 'clients' | 'unknown' | 'granted' | 'unknownGranted' | 'capped' | 'asked' | 'waitsEnded';

const NO_OTHERS = { requisites: 0, waits: 0, lostAfterWait: 0 };

/** Creates the empty tables to which each batch of clients adds its figures. */
export async function createSumsTables(duck: QueryEngine): Promise<void> {
  await duck.run(
    'CREATE OR REPLACE TEMP TABLE sums (arm VARCHAR, look INT, metric VARCHAR, sum DOUBLE, size DOUBLE, squares DOUBLE, seen DOUBLE)',
  );
  await duck.run(`CREATE OR REPLACE TEMP TABLE levels (arm VARCHAR, level INT, status VARCHAR, orders DOUBLE,
    requisites DOUBLE, waits DOUBLE, lost DOUBLE)`);
}

/**
 * Adds figures of clients to the table `sums`. `figures` is a query with the columns `arm`, `look` (the number of a
 * moment at which the trial is evaluated), `metric` and `x`.
 */
export function insertSums(duck: QueryEngine, figures: string): Promise<void> {
  return duck.run(`INSERT INTO sums SELECT arm, look, metric, sum(x), sum(abs(x)), sum(x ** 2), count(*) FILTER (x <> 0)
    FROM (${figures}) GROUP BY ALL`);
}

/**
 * Reads the sums of all batches. Each row holds what was added to an arm between two looks (the moments at which the
 * trial is evaluated).
 */
export class SumsByArm {
  readonly #versions: readonly string[];
  readonly #grown: ReadonlyMap<string, readonly ResultRow[]>;
  readonly #looks: number;

  private constructor(rows: readonly ResultRow[], looks: number) {
    this.#versions = [...new Set(rows.map(({ arm }) => toTextOrNull(arm) ?? ''))];
    this.#grown = Map.groupBy(rows, ({ arm, metric }) => `${toTextOrNull(arm)}/${toTextOrNull(metric)}`);
    this.#looks = looks;
  }

  static async of(duck: QueryEngine, looks: number): Promise<SumsByArm> {
    return new SumsByArm(await duck.rows('FROM sums ORDER BY look'), looks);
  }

  /** Returns the sum of one figure in an arm up to a look. Looks are numbered from 1. */
  getSum(version: string, what: Counted, look = this.#looks): number {
    return this.#at(version, what, look).sum;
  }

  /** Returns the totals of an arm as they were known at a look. */
  getArm(version: string, share: number, look: number): CountedArm {
    const clients = this.getSum(version, 'clients', look);
    const metrics = this.#grown
      .keys()
      .filter((name) => name.startsWith(`${version}/`))
      .map((name) => name.slice(version.length + 1))
      .filter(isMetric);
    const totals = metrics.map((metric): [Metric, ValueSums] => [
      metric,
      { ...this.#at(version, metric, look), clients },
    ]);
    return {
      version,
      share,
      clients,
      unknown: this.getSum(version, 'unknown', look),
      capped: this.getSum(version, 'capped', look),
      asked: this.getSum(version, 'asked', look),
      waitsEnded: this.getSum(version, 'waitsEnded', look),
      unreported: look === this.#looks ? this.#unreportedOf(version) : null,
      totals: new Map(totals),
    };
  }

  /**
   * Computes by how much the arm's orders without a report exceed what the common share of all arms would give. The
   * mean is above 0 if the arm has more such orders than the others.
   */
  #unreportedOf(version: string): ValueSums {
    const ofAll = (what: Counted) => this.#versions.reduce((sum, one) => sum + this.getSum(one, what), 0);
    const share = ofAll('granted') === 0 ? 0 : ofAll('unknown') / ofAll('granted');
    const own = (what: Counted) => this.#at(version, what, this.#looks);
    const [unknown, granted] = [own('unknown'), own('granted')];
    const both = this.getSum(version, 'unknownGranted');
    const squares = unknown.squares - 2 * share * both + share ** 2 * granted.squares;
    return {
      clients: this.getSum(version, 'clients'),
      seen: unknown.seen,
      sum: unknown.sum - share * granted.sum,
      // `size` is set so that `computeEffectiveClients` returns `seen`.
      size: Math.sqrt(squares * unknown.seen),
      squares,
    };
  }

  #at(version: string, what: Metric | Counted, look: number): ValueSums {
    const grown = this.#grown.get(`${version}/${what}`) ?? [];
    return grown
      .filter((row) => (toNumberOrNull(row['look']) ?? 0) <= look)
      .map((row) => toNumbersByColumn(row, NO_VALUE_SUMS))
      .reduce(addSums, NO_VALUE_SUMS);
  }
}

/** Reads the orders of arms by the level of the ladder on which they were first asked for. */
export async function readOrdersByLadderLevel(
  duck: QueryEngine,
  versions: readonly string[],
): Promise<readonly ArmOrdersAtLadderLevel[]> {
  const rows =
    await duck.rows(`SELECT arm, level, ${aggregateByOutcomeSql('sum(orders)')}, sum(requisites) AS requisites, sum(waits) AS waits,
    sum(lost) AS "lostAfterWait" FROM levels GROUP BY ALL`);
  const levels = rows.map((row) => ({
    version: toTextOrNull(row['arm']) ?? '',
    ...toNumbersByColumn(row, { level: 0, ...NO_OTHERS }),
    orders: toNumbersByColumn(row, NO_ORDERS),
  }));
  return levels
    .filter(({ version }) => versions.includes(version))
    .toSorted((a, b) => versions.indexOf(a.version) - versions.indexOf(b.version) || a.level - b.level);
}
