import type { DuckDBConnection, DuckDBInstance, DuckDBResult, JS } from '@duckdb/node-api';
import { DuckAppender, DuckBatch, type DuckRow } from './duck-batch.ts';

export type { DuckRow } from './duck-batch.ts';

export interface DuckLimits {
  readonly threads: number;
  readonly memoryMiB: number;
  /** The folder for work that does not fit into memory. */
  readonly temporaryFolder: string;
}

/** A query took longer than allowed. */
export class QueryTooSlow extends Error {
  override readonly name = 'QueryTooSlow';
}

/** The text is not a statement that only reads. */
export class NotAQuery extends Error {
  override readonly name = 'NotAQuery';
}

export interface QueryAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly JS[])[];
  /** The query has more rows than the limit. */
  readonly more: boolean;
}

/** Loaded when it is first used: most commands never read the archive, and the engine is a fifth of their start. */
function engine() {
  return import('@duckdb/node-api');
}

/** An engine without data of its own, over Parquet files. It works on threads of its own, never on Node's. */
export class Duck {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open({ threads, memoryMiB, temporaryFolder }: DuckLimits): Promise<Duck> {
    const { DuckDBInstance } = await engine();
    const instance = await DuckDBInstance.create(':memory:', {
      threads: String(threads),
      memory_limit: `${memoryMiB}MiB`,
      temp_directory: temporaryFolder,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return new Duck(instance, connection);
  }

  async run(sql: string): Promise<void> {
    await this.#connection.run(sql);
  }

  async rows(sql: string): Promise<readonly DuckRow[]> {
    return (await this.#connection.runAndReadAll(sql)).getRowObjectsJS();
  }

  /** Rows as they come, some thousands at a time: memory does not grow with their number. */
  async *stream(sql: string): AsyncGenerator<readonly DuckRow[]> {
    const result = await this.#connection.stream(sql);
    yield* result.yieldRowObjectJs();
  }

  /** The same by columns, for millions of rows: numbers, texts, flags and 64-bit integers alone. */
  async *batches(sql: string): AsyncGenerator<DuckBatch> {
    yield* batchesOf(await this.#connection.stream(sql));
  }

  /** All of them at once, to take rows out of them later; these may hold anything. */
  async wholeBatches(sql: string): Promise<readonly DuckBatch[]> {
    return Array.fromAsync(batchesOf(await this.#connection.run(sql)));
  }

  /** Adds rows to a table, also while a query is read. */
  async appender(table: string): Promise<DuckAppender> {
    return DuckAppender.open(await this.#instance.connect(), table);
  }

  /** Columns and rows of one SELECT, or QueryTooSlow after `timeoutMs`. */
  async query(sql: string, rowsMax: number, timeoutMs: number): Promise<QueryAnswer> {
    await this.requireSelect(sql);
    return this.#within(timeoutMs, async () => {
      const reader = await this.#connection.streamAndReadUntil(sql, rowsMax + 1);
      const rows = reader.getRowsJS();
      return { columns: reader.columnNames(), rows: rows.slice(0, rowsMax), more: rows.length > rowsMax };
    });
  }

  /** Throws NotAQuery unless the text is one statement that only reads. */
  async requireSelect(sql: string): Promise<void> {
    const statements = await this.#connection.extractStatements(sql);
    if (statements.count !== 1)
      throw new NotAQuery(`one SELECT is wanted, not ${statements.count} statements`);
    const { statementType } = await statements.prepare(0);
    const { StatementType } = await engine();
    if (statementType !== StatementType.SELECT)
      throw new NotAQuery('only a SELECT is allowed: the archive is not changed by queries');
  }

  runWithin(sql: string, timeoutMs: number): Promise<void> {
    return this.#within(timeoutMs, () => this.run(sql));
  }

  async #within<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
    let slow = false;
    const timer = setTimeout(() => {
      slow = true;
      this.#connection.interrupt();
    }, timeoutMs);
    try {
      return await work();
    } catch (error) {
      if (slow) throw new QueryTooSlow(`the query took longer than ${timeoutMs / 1000} s`, { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

async function* batchesOf(result: DuckDBResult): AsyncGenerator<DuckBatch> {
  const { JSDuckDBValueConverter } = await engine();
  const columns = result.columnNames();
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield new DuckBatch(chunk, columns, JSDuckDBValueConverter);
  }
}

/** Whether the engine failed because of the bytes that it read, and not because of the query. */
export function isAboutWhatWasRead(error: Error): boolean {
  return /^(IO|Invalid|Invalid Input) Error: /.test(error.message);
}

/** A text inside SQL. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name inside SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A number of a row; bigint becomes a number, a date its epoch ms. Null where the row has none. */
export function numberOf(value: JS | undefined): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : null;
}

export function textOf(value: JS | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

export function flagOf(value: JS | undefined): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

export function textsOf(value: JS | undefined): readonly string[] | null {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : null;
}
