import { type Duck, type DuckRow, numberOf, textOf } from '../../archive/duck.ts';
import { ORDER_KEY_SQL, WAIT_WORTH_MS } from '../../archive/read/order-views.ts';
import type { OrderCounts } from '../result-shapes.ts';
import { amountSum } from '../source/amount-sum.ts';
import { clusterOf } from '../source/client-clusters.ts';
import { type AnswerTable, levelOf, verdictIs, verdictPlaceOf } from './answer-table.ts';
import type { LadderLevelReport, OrderEffects, OrderSums } from './backtest-report.ts';
import type { ClusteredScore } from './score-quality.ts';
import { type ClusterVerdicts, verdictAt } from './verdict-mix.ts';

const NOBODY: OrderCounts = { paid: 0, unpaid: 0, unknown: 0 };

/**
 * What came after the answers of some sides: the AnswerTable joined to the outcomes, by order and by client. An
 * order whose last outcome is a technical failure says nothing about the payer and is left out; of several
 * outcomes the last one counts.
 */
export class Aftermath {
  readonly #duck: Duck;
  readonly #answers: AnswerTable;

  private constructor(duck: Duck, answers: AnswerTable) {
    this.#duck = duck;
    this.#answers = answers;
  }

  /** The engine is that of the evidence; `sides` of the table are joined. */
  static async join(duck: Duck, answers: AnswerTable, sides: number): Promise<Aftermath> {
    await duck.run(`CREATE OR REPLACE TABLE answered_orders AS ${answeredOrders(sides)}`);
    return new Aftermath(duck, answers);
  }

  /** All orders that were asked for. */
  async orders(): Promise<OrderSums> {
    return this.#tally('true');
  }

  async effects(side: number): Promise<OrderEffects> {
    const [blocked, waited, granted] = [`blocked_${side}`, `waited_${side}`, `granted_${side}`];
    return {
      blocked: await this.#tally(blocked),
      heldBack: await this.#tally(`${waited} AND NOT ${blocked}`),
      stopped: await this.#tally(`NOT ${granted}`),
    };
  }

  /** Paid and unpaid orders by the paymentScore that a side had for them when they were first asked for. */
  async scored(side: number): Promise<readonly ClusteredScore[]> {
    const rows = await this.#duck.rows(
      `SELECT ${clusterOf('client_hash')} AS cluster, score_${side} AS score, granted, has_history,
         count(*) FILTER (fate = 'PAID') AS paid, count(*) FILTER (fate = 'UNPAID') AS unpaid
       FROM answered_orders WHERE fate IN ('PAID', 'UNPAID') GROUP BY ALL ORDER BY ALL`,
    );
    return rows.map((row) => ({
      cluster: cell(row, 'cluster'),
      score: cell(row, 'score') / 10_000,
      hasHistory: row['has_history'] === true,
      granted: row['granted'] === true,
      paid: cell(row, 'paid'),
      unpaid: cell(row, 'unpaid'),
    }));
  }

  /** Decisions by cluster of clients and by the verdicts of two sides. */
  async verdicts(base: number, candidate: number): Promise<readonly ClusterVerdicts[]> {
    const rows = await this.#duck.rows(
      `SELECT ${clusterOf('client_hash')} AS cluster, ${verdictPlaceOf(`answer_${base}`)} AS base,
         ${verdictPlaceOf(`answer_${candidate}`)} AS candidate, count(*) AS decisions
       FROM answers GROUP BY ALL ORDER BY ALL`,
    );
    return rows.map((row) => ({
      cluster: cell(row, 'cluster'),
      base: verdictAt(cell(row, 'base')),
      candidate: verdictAt(cell(row, 'candidate')),
      decisions: cell(row, 'decisions'),
    }));
  }

  /** Decisions by what two sides answered and what became of the order. */
  async pairs(base: number, candidate: number): Promise<readonly AnsweredPair[]> {
    const rows = await this.#duck.rows(
      `SELECT answer_${base} AS base, answer_${candidate} AS candidate, count(*) AS decisions,
         ${byOutcome('count(*)')}
       FROM answers JOIN answered_orders USING (order_key) GROUP BY ALL ORDER BY ALL`,
    );
    return rows.map((row) => ({
      base: this.#answers.answerOf(cell(row, 'base')),
      candidate: this.#answers.answerOf(cell(row, 'candidate')),
      decisions: cell(row, 'decisions'),
      orders: outcomeCells(row),
    }));
  }

  async ladder(side: number): Promise<readonly LadderLevelReport[]> {
    const rows = await this.#duck.rows(ladderLevels(side));
    return rows.map((row) => ({
      level: cell(row, 'level'),
      waits: cell(row, 'waits'),
      clients: cell(row, 'clients'),
      cameBack: cell(row, 'came_back'),
      paid: cell(row, 'paid'),
    }));
  }

  async #tally(which: string): Promise<OrderSums> {
    const rows = await this.#duck.rows(
      `SELECT currency, fate, count(*) AS orders, sum(amount) AS amount FROM answered_orders
       WHERE fate <> 'TECHNICAL' AND ${which} GROUP BY ALL ORDER BY ALL`,
    );
    let orders = NOBODY;
    const amount: Record<string, OrderCounts> = {};
    for (const row of rows) {
      const outcome = outcomeOf(row);
      const currency = textOf(row['currency']) ?? '';
      const before = amount[currency] ?? NOBODY;
      orders = { ...orders, [outcome]: orders[outcome] + cell(row, 'orders') };
      amount[currency] = { ...before, [outcome]: amountSum(before[outcome] + cell(row, 'amount')) };
    }
    return { orders, amount };
  }
}

/** Decisions that two sides answered in these ways. */
export interface AnsweredPair {
  readonly base: ReturnType<AnswerTable['answerOf']>;
  readonly candidate: ReturnType<AnswerTable['answerOf']>;
  readonly decisions: number;
  /** The decisions by what became of their orders; technical failures are in none of the three. */
  readonly orders: OrderCounts;
}

function answeredOrders(sides: number): string {
  const ofSide = (side: number) => [
    `bool_or(${verdictIs(`answer_${side}`, 'BLOCK')}) AS blocked_${side}`,
    `bool_or(${verdictIs(`answer_${side}`, 'WAIT')}) AS waited_${side}`,
    `bool_or(${verdictIs(`answer_${side}`, 'GET_NEW', 'GET_SAME_STICKY')}) AS granted_${side}`,
    `arg_min(score_${side}, "at") AS score_${side}`,
  ];
  return `
    WITH payments AS (
      SELECT ${ORDER_KEY_SQL} AS order_key, epoch_ms(min(occurred_at))::DOUBLE AS paid_at
      FROM outcomes WHERE outcome = 'PAID' GROUP BY ALL
    ), answered AS (
      SELECT order_key, any_value(client_hash) AS client_hash, min("at") AS first_at,
        any_value(paid_at) AS paid_at,
        ${Array.from({ length: sides }, (_, side) => ofSide(side))
          .flat()
          .join(',\n        ')}
      FROM answers LEFT JOIN payments USING (order_key) GROUP BY order_key
    )
    SELECT answered.*, fate, amount, currency, granted, has_history
    FROM answered JOIN (SELECT order_key, fate, amount, currency, granted, has_history FROM orders) USING (order_key)`;
}

function ladderLevels(side: number): string {
  const code = `answer_${side}`;
  return `
    WITH waits AS (
      SELECT client_hash, ${levelOf(code)} AS level, count(*) AS waits, min("at") AS first_at
      FROM answers WHERE ${verdictIs(code, 'WAIT')} GROUP BY ALL
    ), followed AS (
      SELECT waits.*, bool_or(next."at" IS NOT NULL) AS came_back,
        bool_or(fate = 'PAID' AND paid_at BETWEEN next."at" AND waits.first_at + ${WAIT_WORTH_MS}) AS paid
      FROM waits LEFT JOIN answers next ON next.client_hash = waits.client_hash
        AND next."at" > waits.first_at AND next."at" <= waits.first_at + ${WAIT_WORTH_MS}
      LEFT JOIN answered_orders USING (order_key)
      GROUP BY ALL
    )
    SELECT level, sum(waits) AS waits, count(*) AS clients, count(*) FILTER (came_back) AS came_back,
      count(*) FILTER (paid) AS paid
    FROM followed
    GROUP BY level ORDER BY level`;
}

/** SQL: an aggregate for each fate; a technical failure is in none of them. */
function byOutcome(aggregate: string): string {
  return `${aggregate} FILTER (fate = 'PAID') AS paid, ${aggregate} FILTER (fate = 'UNPAID') AS unpaid,
    ${aggregate} FILTER (fate = 'UNKNOWN') AS unknown`;
}

function outcomeCells(row: DuckRow): OrderCounts {
  return { paid: cell(row, 'paid'), unpaid: cell(row, 'unpaid'), unknown: cell(row, 'unknown') };
}

function outcomeOf(row: DuckRow): keyof OrderCounts {
  const fate = textOf(row['fate']);
  return fate === 'PAID' ? 'paid' : fate === 'UNPAID' ? 'unpaid' : 'unknown';
}

function cell(row: DuckRow, column: string): number {
  return numberOf(row[column]) ?? 0;
}
