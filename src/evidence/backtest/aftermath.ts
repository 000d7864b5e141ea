import {
  BATCH_ROWS_MAX,
  type BatchCell,
  type Duck,
  type DuckAppender,
  type DuckRow,
  numberOf,
  numbersOf,
  textOf,
} from '../../archive/duck.ts';
import { CLIENT_GROUPS } from '../../client/client-state.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import { fateMember, NO_ORDERS } from '../shown.ts';
import { clusterOf, MoneySums } from '../source/order-clusters.ts';
import type { OrderEffects, OrderSums } from './backtest-report.ts';
import { type AnsweredPair, type ClusterVerdicts, type CodedAnswer, verdictAt } from './comparison.ts';
import type { LifeAnswer } from './lives.ts';

/**
 * What came after the answers of some sides: the AnswerTable joined to the outcomes, by order and by client. An order
 * whose last outcome is a technical failure says nothing about the payer and is left out, and an order that was
 * turned away when it was recorded does not count as an unpaid one that a side stops; of several outcomes the last
 * one counts.
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

  /** Decisions by cluster of clients and by the verdicts of two sides. */
  async verdicts(base: number, candidate: number): Promise<readonly ClusterVerdicts[]> {
    const rows = await this.#duck.rows(
      `SELECT ${clusterOf('client_hash')} AS cluster, ${verdictPlaceOf(`answer_${base}`)} AS base,
         ${verdictPlaceOf(`answer_${candidate}`)} AS candidate, count(*) AS decisions
       FROM answers GROUP BY ALL ORDER BY ALL`,
    );
    return rows.map((row) => ({
      ...numbersOf(row, { cluster: 0, decisions: 0 }),
      base: verdictAt(cell(row, 'base')),
      candidate: verdictAt(cell(row, 'candidate')),
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
      orders: numbersOf(row, NO_ORDERS),
    }));
  }

  async #tally(which: string): Promise<OrderSums> {
    const rows = await this.#duck.rows(
      `SELECT currency, fate, reversed, count(*) AS orders, sum(amount) AS amount FROM answered_orders
       WHERE fate <> 'TECHNICAL' AND ${which} GROUP BY ALL ORDER BY ALL`,
    );
    let orders = NO_ORDERS;
    const sums = new MoneySums();
    for (const row of rows) {
      const outcome = fateMember(row['fate']);
      orders = { ...orders, [outcome]: orders[outcome] + cell(row, 'orders') };
      sums.add({
        fate: row['fate'],
        reversed: row['reversed'] === true,
        currency: textOf(row['currency']) ?? '',
        amount: cell(row, 'amount'),
      });
    }
    return { orders, amount: sums.money };
  }
}

function answeredOrders(sides: number): string {
  const ofSide = (side: number) => [
    `bool_or(${verdictIs(`answer_${side}`, 'BLOCK')}) AS blocked_${side}`,
    `bool_or(${verdictIs(`answer_${side}`, 'WAIT')}) AS waited_${side}`,
    `bool_or(${verdictIs(`answer_${side}`, 'GET_NEW', 'GET_SAME_STICKY')}) AS granted_${side}`,
  ];
  return `
    WITH answered AS (
      SELECT order_key, any_value(client_hash) AS client_hash, min("at") AS first_at,
        ${Array.from({ length: sides }, (_, side) => ofSide(side))
          .flat()
          .join(',\n        ')}
      FROM answers GROUP BY order_key
    )
    SELECT answered.*, fate, reversed, amount, currency
    FROM answered JOIN (SELECT order_key, fate, reversed, amount, currency FROM orders) USING (order_key)`;
}

/** SQL: an aggregate for each fate, by the members of OrderCounts, without technical failures. */
export function byOutcome(aggregate: string): string {
  return `${aggregate} FILTER (fate = 'PAID') AS paid, ${aggregate} FILTER (fate = 'UNPAID') AS unpaid,
    ${aggregate} FILTER (fate = 'TURNED_AWAY') AS "turnedAway", ${aggregate} FILTER (fate = 'UNKNOWN') AS unknown`;
}

function cell(row: DuckRow, column: string): number {
  return numberOf(row[column]) ?? 0;
}

/** The request that is answered, as the table keeps it. */
interface AnsweredRequest {
  readonly clientHash: bigint;
  /** The key of the order, as in order-fate.ts. */
  readonly orderKey: bigint;
  /** Epoch ms. */
  readonly at: number;
}

const LEVELS = 32;
const GROUPS = 8;

/** SQL: the verdict of a column of codes. */
function verdictIs(column: string, ...verdicts: readonly Verdict[]): string {
  return `${verdictPlaceOf(column)} IN (${verdicts.map((verdict) => VERDICTS.indexOf(verdict)).join(', ')})`;
}

/** SQL: the number of the verdict of a column of codes, as `verdictAt` reads it. */
function verdictPlaceOf(column: string): string {
  return `(${column} & 3)`;
}

/**
 * How several sides (versions, or lives of one) answered the same requests, a row a request. It lies in DuckDB,
 * which moves to disk what does not fit into its memory, so that outcomes can be joined to it whatever its length.
 *
 * Columns: `client_hash`, `order_key`, `at` (epoch ms), and `answer_0` (a code) of side 0, and so on.
 */
export class AnswerTable {
  readonly #appender: DuckAppender;
  readonly #rules = new Names();
  readonly #columns: BatchCell[][];
  #rows = 0;

  private constructor(appender: DuckAppender, columns: number) {
    this.#appender = appender;
    this.#columns = Array.from({ length: columns }, () => []);
  }

  static async create(duck: Duck, sides: number): Promise<AnswerTable> {
    const columns = [
      'client_hash UBIGINT',
      'order_key UBIGINT',
      '"at" DOUBLE',
      ...Array.from({ length: sides }, (_, side) => `answer_${side} INTEGER`),
    ];
    await duck.run(`CREATE OR REPLACE TABLE answers (${columns.join(', ')})`);
    return new AnswerTable(await duck.appender('answers'), columns.length);
  }

  get rows(): number {
    return this.#rows;
  }

  add({ clientHash, orderKey, at }: AnsweredRequest, answers: readonly LifeAnswer[]): void {
    const columns = this.#columns;
    columns[0]?.push(clientHash);
    columns[1]?.push(orderKey);
    columns[2]?.push(at);
    let column = 3;
    for (const answer of answers) columns[column++]?.push(this.#codeOf(answer));
    this.#rows++;
    if (columns[0]?.length === BATCH_ROWS_MAX) this.#flush();
  }

  /** Rows that are added later are lost. */
  close(): void {
    this.#flush();
    this.#appender.close();
  }

  answerOf(code: number): CodedAnswer {
    return {
      verdict: verdictAt(code & 3),
      level: (code >> 2) & (LEVELS - 1),
      clientGroup: CLIENT_GROUPS[(code >> 7) & (GROUPS - 1)] ?? 'NEW',
      isBot: ((code >> 10) & 1) === 1,
      rule: this.#rules.nameOf(code >> 11),
    };
  }

  #codeOf({ verdict, rule, clientGroup, isBot, level }: LifeAnswer): number {
    return (
      VERDICTS.indexOf(verdict) |
      (Math.min(level, LEVELS - 1) << 2) |
      (CLIENT_GROUPS.indexOf(clientGroup) << 7) |
      (isBot ? 1 << 10 : 0) |
      (this.#rules.placeOf(rule) << 11)
    );
  }

  #flush(): void {
    this.#appender.append(this.#columns);
    for (const column of this.#columns) column.length = 0;
  }
}

class Names {
  readonly #names: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(name: string): number {
    return this.#places.getOrInsertComputed(name, () => this.#names.push(name) - 1);
  }

  nameOf(place: number): string {
    return this.#names[place] ?? '';
  }
}
