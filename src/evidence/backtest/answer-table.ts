import type { Duck } from '../../archive/duck.ts';
import { BATCH_ROWS_MAX, type BatchCell, type DuckAppender } from '../../archive/duck-batch.ts';
import { CLIENT_GROUPS, type ClientGroup } from '../../client/client-group.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import type { LifeAnswer } from './lives.ts';
import { verdictAt } from './verdict-mix.ts';

/** The request that is answered, as the table keeps it. */
export interface AnsweredRequest {
  readonly clientHash: bigint;
  /** Of the order, as in order-views.ts. */
  readonly orderKey: bigint;
  /** Epoch ms. */
  readonly at: number;
}

/** What an answer's code stands for. */
export type CodedAnswer = Pick<LifeAnswer, 'verdict' | 'rule' | 'clientGroup' | 'isBot' | 'level'>;

const LEVELS = 32;
const GROUPS = 8;

/** SQL: the verdict of a column of codes. */
export function verdictIs(column: string, ...verdicts: readonly Verdict[]): string {
  return `${verdictPlaceOf(column)} IN (${verdicts.map((verdict) => VERDICTS.indexOf(verdict)).join(', ')})`;
}

/** SQL: the number of the verdict of a column of codes, as `verdictAt` reads it. */
export function verdictPlaceOf(column: string): string {
  return `(${column} & 3)`;
}

/** SQL: the level of the wait. */
export function levelOf(column: string): string {
  return `(${column} >> 2) & ${LEVELS - 1}`;
}

/**
 * How several sides (versions, or lives of one) answered the same requests, a row a request. It lies in DuckDB,
 * which moves to disk what does not fit into its memory, so that outcomes can be joined to it whatever its length.
 *
 * Columns: `client_hash`, `order_key`, `at` (epoch ms), and for side 0 `answer_0` (a code) and `score_0`
 * (paymentScore in ten thousandths), and so on.
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
      ...Array.from({ length: sides }, (_, side) => [
        `answer_${side} INTEGER`,
        `score_${side} INTEGER`,
      ]).flat(),
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
    for (const answer of answers) {
      columns[column++]?.push(this.#codeOf(answer));
      columns[column++]?.push(Math.round(10_000 * answer.paymentScore));
    }
    this.#rows++;
    if (columns[0]?.length === BATCH_ROWS_MAX) this.#flush();
  }

  /** What is added later is lost. */
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
      VERDICT_PLACES[verdict] |
      (Math.min(level, LEVELS - 1) << 2) |
      (GROUP_PLACES[clientGroup] << 7) |
      (isBot ? 1 << 10 : 0) |
      (this.#rules.placeOf(rule) << 11)
    );
  }

  #flush(): void {
    this.#appender.append(this.#columns);
    for (const column of this.#columns) column.length = 0;
  }
}

const VERDICT_PLACES: Readonly<Record<Verdict, number>> = {
  GET_NEW: VERDICTS.indexOf('GET_NEW'),
  GET_SAME_STICKY: VERDICTS.indexOf('GET_SAME_STICKY'),
  WAIT: VERDICTS.indexOf('WAIT'),
  BLOCK: VERDICTS.indexOf('BLOCK'),
};

const GROUP_PLACES: Readonly<Record<ClientGroup, number>> = {
  NEW: CLIENT_GROUPS.indexOf('NEW'),
  STICKY: CLIENT_GROUPS.indexOf('STICKY'),
  PAYING: CLIENT_GROUPS.indexOf('PAYING'),
  TRUSTED: CLIENT_GROUPS.indexOf('TRUSTED'),
  BLOCKED: CLIENT_GROUPS.indexOf('BLOCKED'),
};

/** Names by numbers, in the order in which they came. */
class Names {
  readonly #names: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.#names.push(name) - 1;
    this.#places.set(name, place);
    return place;
  }

  nameOf(place: number): string {
    return this.#names[place] ?? '';
  }
}
