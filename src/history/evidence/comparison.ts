import { choice, count, list, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import { mapVerdicts, type Verdict } from '#decision/rules/rule-set.ts';
import {
  type QueryEngine,
  type ResultRow,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';
import { addSums } from '#history/statistics/sums.ts';
import {
  createColumns,
  createNullableIntervalSchema,
  type EvidenceTable,
  listOrderCountCells,
  NO_ORDERS,
  ORDER_STATUS_COLUMNS,
  orderCountsSchema,
} from './presentation.ts';
import { aggregateByOutcomeSql, clusterSql } from './source/order-sums.ts';

/** The schemas of a comparison of two versions: how both answered the same requests, and the outcomes of the orders. */

const verdict = choice(VERDICTS, 'A verdict');
const decisionCount = shape('Decisions, and how many of them are about orders of each outcome', {
  decisions: count('All of them'),
  ...orderCountsSchema.properties,
});

/** The schemas of the members that every comparison of two sides has. */
export const COMPARISON_MEMBER_SCHEMAS = {
  compared: count('Decisions that both sides made'),
  changed: count('Of these, whose verdict is another'),
  changedShare: createNullableIntervalSchema('The same as a share, by client'),
  transitions: shape(
    'Decisions by verdict of the base',
    mapVerdicts(() =>
      shape(
        'By verdict of the candidate',
        mapVerdicts(() => decisionCount),
      ),
    ),
  ),
  changes: list(
    shape('Decisions that went from one verdict to another, for one pair of rules', {
      from: verdict,
      to: verdict,
      fromRule: plainText('The rule of the base, or otherwise'),
      toRule: plainText('The rule of the candidate, or otherwise'),
      count: count('Decisions'),
      ...orderCountsSchema.properties,
      samples: list(plainText('An orderRef'), 'The first that it happened to, at most three'),
    }),
    'Most frequent first',
  ),
} as const;

const ComparisonSchema = shape('Where two sides agree and where they do not', COMPARISON_MEMBER_SCHEMAS);

type Comparison = ValueOf<typeof ComparisonSchema>;

interface RuleAnswer {
  readonly verdict: Verdict;
  /** The rule's name, or `otherwise`. */
  readonly rule: string;
}

/** Encodes answers as numbers. The two lowest bits are the verdict, and the others number the rule. */
export class AnswerCodec {
  readonly #rules: string[] = [];
  readonly #places = new Map<string, number>();

  codeOf({ verdict, rule }: RuleAnswer): number {
    const place = this.#places.getOrInsertComputed(rule, () => this.#rules.push(rule) - 1);
    return VERDICTS.indexOf(verdict) | (place << 2);
  }

  answerOf(code: number): RuleAnswer {
    return { verdict: VERDICTS[code & 3] ?? 'GET_NEW', rule: this.#rules[code >> 2] ?? '' };
  }
}

/** Renders the SQL condition that a column of codes has one of these verdicts. */
export function isCodeOfVerdictsSql(column: string, ...verdicts: readonly Verdict[]): string {
  return `(${column} & 3) IN (${verdicts.map((one) => VERDICTS.indexOf(one)).join(', ')})`;
}

const SAMPLES_MAX = 3;

/**
 * Compares the codes in the columns `base` and `candidate` of a table or query. The table or query has a row for each
 * decision, and also the columns client_hash, order_key and `at`.
 */
export async function compareAnswers(
  duck: QueryEngine,
  answers: string,
  codes: AnswerCodec,
): Promise<Comparison> {
  const pairs = await duck.rows(`
    SELECT base, candidate, sum(n)::DOUBLE AS decisions, ${aggregateByOutcomeSql('sum(n)')},
      arg_min(order_ref, {first: first_at, ref: order_ref}, ${SAMPLES_MAX}) AS samples
    FROM (SELECT base, candidate, order_key, count(*) AS n, min("at") AS first_at FROM ${answers} GROUP BY ALL)
    JOIN (SELECT order_key, order_ref, status FROM orders) USING (order_key) GROUP BY base, candidate`);
  const found = pairs.map((row) => readPair(row, codes));
  const clusters = await duck.rows(
    `SELECT ${clusterSql('client_hash')} AS cluster, count(*) FILTER (base & 3 <> candidate & 3)::DOUBLE AS part,
       count(*)::DOUBLE AS whole FROM ${answers} GROUP BY cluster ORDER BY cluster`,
  );
  const changed = found.filter(({ base, candidate }) => base.verdict !== candidate.verdict);
  return {
    compared: sumPairs(found).decisions,
    changed: sumPairs(changed).decisions,
    changedShare: estimateShareByCluster(
      clusters.map((row) => toNumbersByColumn(row, { part: 0, whole: 0 })),
    ),
    transitions: mapVerdicts((from) =>
      mapVerdicts((to) =>
        sumPairs(found.filter(({ base, candidate }) => base.verdict === from && candidate.verdict === to)),
      ),
    ),
    changes: changed
      .map(({ base, candidate, counts: { decisions, ...orders }, samples }) => ({
        from: base.verdict,
        to: candidate.verdict,
        fromRule: base.rule,
        toRule: candidate.rule,
        count: decisions,
        ...orders,
        samples,
      }))
      .toSorted((a, b) => b.count - a.count || (changeName(a) < changeName(b) ? -1 : 1)),
  };
}

const NONE = { decisions: 0, ...NO_ORDERS };

type Pair = ReturnType<typeof readPair>;

function readPair(row: ResultRow, codes: AnswerCodec) {
  const samples = row['samples'];
  return {
    base: codes.answerOf(toNumberOrNull(row['base']) ?? 0),
    candidate: codes.answerOf(toNumberOrNull(row['candidate']) ?? 0),
    counts: toNumbersByColumn(row, NONE),
    samples: Array.isArray(samples) ? samples.map((one) => toTextOrNull(one) ?? '') : [],
  };
}

function sumPairs(pairs: readonly Pair[]): typeof NONE {
  return pairs.reduce((sum, { counts }) => addSums(sum, counts), NONE);
}

function changeName({ from, fromRule, to, toRule }: Comparison['changes'][number]): string {
  return `${from} ${fromRule} ${to} ${toRule}`;
}

/** Creates the tables of a comparison. `names` are those of the base and the candidate. */
export function toComparisonTables(
  { transitions, changes }: Pick<Comparison, 'transitions' | 'changes'>,
  names: readonly [base: string, candidate: string],
): readonly EvidenceTable[] {
  return [
    {
      name: 'verdicts',
      title: 'Verdicts, and what became of the orders that the decisions are about',
      columns: createColumns(['text', ...names], ['count', 'decisions'], ORDER_STATUS_COLUMNS),
      rows: VERDICTS.flatMap((from) =>
        VERDICTS.map((to) => ({ from, to, cell: transitions[from][to] }))
          .filter(({ cell }) => cell.decisions > 0)
          .map(({ from, to, cell }) => [
            from,
            from === to ? 'the same' : to,
            cell.decisions,
            ...listOrderCountCells(cell),
          ]),
      ),
    },
    {
      name: 'changes',
      title: 'Changes by rule',
      columns: createColumns(['count', 'count'], ORDER_STATUS_COLUMNS, [
        'text',
        'from',
        'by rule',
        'to',
        'by rule',
        'orders, for example',
      ]),
      rows: changes.map((change) => [
        ...[change.count, ...listOrderCountCells(change)],
        ...[change.from, change.fromRule, change.to, change.toRule, change.samples.join(', ')],
      ]),
    },
  ];
}
