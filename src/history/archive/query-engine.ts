import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBResult,
  DuckDBType,
  DuckDBValue,
  DuckDBValueConverter,
  JS,
} from '@duckdb/node-api';
import { NamedError } from '#base/named-error.ts';
import { mapSums } from '#history/statistics/sums.ts';

export interface DuckLimits {
  readonly threads: number;
  readonly memoryMiB: number;
  readonly temporaryFolder: string;
}

export class QueryTooSlow extends NamedError {}

/** Thrown if a text is not a single statement that only reads. */
export class QueryRefused extends NamedError {}

export interface QueryAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly JS[])[];
  readonly more: boolean;
}

/** Adds a value to a statement and returns its placeholder, such as `$1`. A value from a caller never becomes SQL. */
export type BindAsPlaceholder = (value: string) => string;

/** A statement: its text, or a function that makes the text with placeholders for its values. */
export type Statement = string | ((bind: BindAsPlaceholder) => string);

/**
 * Loads the engine when it is first used. Most commands never read the archive, and loading the engine would take a
 * fifth of the time they need to start.
 */
function loadEngine() {
  return import('@duckdb/node-api');
}

/** A query engine that reads Parquet files and has no data of its own. It works on its own threads, never on Node's. */
export class QueryEngine {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open({ threads, memoryMiB, temporaryFolder }: DuckLimits): Promise<QueryEngine> {
    const { DuckDBInstance } = await loadEngine();
    const instance = await DuckDBInstance.create(':memory:', {
      threads: String(threads),
      memory_limit: `${memoryMiB}MiB`,
      temp_directory: temporaryFolder,
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return new QueryEngine(instance, connection);
  }

  async run(statement: Statement): Promise<void> {
    await this.#connection.run(...bindValues(statement));
  }

  async rows(statement: Statement): Promise<readonly ResultRow[]> {
    return (await this.#connection.runAndReadAll(...bindValues(statement))).getRowObjectsJS();
  }

  /** Yields rows as they come, some thousands at a time, so that memory does not grow with their number. */
  async *stream(statement: Statement): AsyncGenerator<readonly ResultRow[]> {
    const result = await this.#connection.stream(...bindValues(statement));
    yield* result.yieldRowObjectJs();
  }

  /**
   * Yields the rows in batches that are stored by columns. It is for results of millions of rows. The columns must
   * hold numbers, texts, booleans or 64-bit integers.
   */
  async *batches(statement: Statement): AsyncGenerator<ResultBatch> {
    yield* readBatches(await this.#connection.stream(...bindValues(statement)));
  }

  /** Returns all rows as batches, so that single rows can be read from them later. The columns may have any type. */
  async readAllBatches(statement: Statement): Promise<readonly ResultBatch[]> {
    return Array.fromAsync(readBatches(await this.#connection.run(...bindValues(statement))));
  }

  /** Opens an appender to a table. It also works while the rows of a query are being read. */
  async openAppender(table: string): Promise<DuckAppender> {
    return DuckAppender.open(await this.#instance.connect(), table);
  }

  /** Returns columns and rows of one SELECT. Throws QueryTooSlow after `timeoutMs`. */
  async query(sql: string, rowsMax: number, timeoutMs: number): Promise<QueryAnswer> {
    await this.requireSelect(sql);
    return this.#runWithTimeout(timeoutMs, async () => {
      const reader = await this.#connection.streamAndReadUntil(sql, rowsMax + 1);
      const rows = reader.getRowsJS();
      return { columns: reader.columnNames(), rows: rows.slice(0, rowsMax), more: rows.length > rowsMax };
    });
  }

  /** Throws QueryRefused unless the text is a single statement that only reads. */
  async requireSelect(sql: string): Promise<void> {
    const statements = await this.#connection.extractStatements(sql);
    if (statements.count !== 1)
      throw new QueryRefused(`one SELECT is wanted, not ${statements.count} statements`);
    const { statementType } = await statements.prepare(0);
    const { StatementType } = await loadEngine();
    if (statementType !== StatementType.SELECT)
      throw new QueryRefused('only a SELECT is allowed: the archive is not changed by queries');
  }

  runWithTimeLimit(sql: string, timeoutMs: number): Promise<void> {
    return this.#runWithTimeout(timeoutMs, () => this.run(sql));
  }

  async #runWithTimeout<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
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

function bindValues(statement: Statement): readonly [text: string, values?: DuckDBValue[]] {
  if (typeof statement === 'string') return [statement];
  const values: DuckDBValue[] = [];
  const text = statement((value) => `$${values.push(value)}`);
  return [text, values];
}

async function* readBatches(result: DuckDBResult): AsyncGenerator<ResultBatch> {
  const { JSDuckDBValueConverter } = await loadEngine();
  const columns = result.columnNames();
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield new ResultBatch(chunk, columns, JSDuckDBValueConverter);
  }
}

/** Whether the engine failed because of the bytes it read, and not because of the query. */
export function isDamagedInput(error: Error): boolean {
  return /^(IO|Invalid|Invalid Input) Error: /.test(error.message);
}

/**
 * Quotes a text for SQL where a parameter is not allowed: in views, paths and types. The text of a statement ends at
 * U+0000, so that character is written as a call, `chr(0)`.
 */
export function quoteSql(text: string): string {
  const parts = text.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || chr(0) || ')})`;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Reads a number from a cell. A bigint becomes a number, and a date its epoch ms. Returns null for any other value. */
export function toNumberOrNull(value: JS | undefined): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : null;
}

/**
 * Reads numbers from a row. The members of `none` are the columns that are read. A column without a number gets the
 * number in `none`.
 */
export function toNumbersByColumn<Numbers extends Readonly<Record<string, number>>>(
  row: ResultRow,
  none: Numbers,
): Numbers {
  return mapSums(none, (other, column) => toNumberOrNull(row[column]) ?? other);
}

export function toTextOrNull(value: JS | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

export function toBooleanOrNull(value: JS | undefined): boolean | null {
  return typeof value === 'boolean' ? value : null;
}

export function toTextsOrNull(value: JS | undefined): readonly string[] | null {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : null;
}

export function toNumberList(value: JS | undefined): readonly number[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : [];
}

/** A cell of a batch, if its column holds numbers, texts, booleans or 64-bit integers. */
export type BatchCell = number | bigint | string | boolean | null;

/** The cells of a row, by the names of their columns. A time is a Date, and a BIGINT is a bigint. */
export type ResultRow = Readonly<Record<string, JS>>;

/** Some thousands of rows, stored by columns. This costs a fraction of the memory of one object for each row. */
export class ResultBatch {
  readonly rowCount: number;
  readonly #chunk: DuckDBDataChunk;
  readonly #places: ReadonlyMap<string, number>;
  readonly #convert: DuckDBValueConverter<JS>;

  constructor(chunk: DuckDBDataChunk, columns: readonly string[], convert: DuckDBValueConverter<JS>) {
    this.rowCount = chunk.rowCount;
    this.#chunk = chunk;
    this.#places = new Map(columns.map((name, place) => [name, place]));
    this.#convert = convert;
  }

  row(index: number, columns: Iterable<string> = this.#places.keys()): ResultRow {
    const row: Record<string, JS> = {};
    for (const column of columns) {
      const vector = this.#chunk.getColumnVector(this.#getPlace(column));
      row[column] = this.#convert(vector.getItem(index), vector.type, this.#convert);
    }
    return row;
  }

  get columns(): readonly string[] {
    return [...this.#places.keys()];
  }

  numbers(column: string): readonly (number | null)[] {
    return this.#readValues(column, (value) => (typeof value === 'number' ? value : null));
  }

  integers(column: string): readonly (bigint | null)[] {
    return this.#readValues(column, (value) => (typeof value === 'bigint' ? value : null));
  }

  texts(column: string): readonly (string | null)[] {
    return this.#readValues(column, (value) => (typeof value === 'string' ? value : null));
  }

  cells(column: string): readonly BatchCell[] {
    return this.#readValues(column, (value) =>
      value === undefined || typeof value === 'object' ? null : value,
    );
  }

  #readValues<T>(column: string, pick: (value: DuckDBValue) => T | null): readonly (T | null)[] {
    const vector = this.#chunk.getColumnVector(this.#getPlace(column));
    const values: (T | null)[] = [];
    for (let row = 0; row < this.rowCount; row++) values.push(pick(vector.getItem(row)));
    return values;
  }

  #getPlace(column: string): number {
    const place = this.#places.get(column);
    if (place === undefined) throw new Error(`the query gives no column ${column}`);
    return place;
  }
}

type NewChunk = typeof DuckDBDataChunk.create;

/** Adds rows to a table. The appender has a connection of its own, so that a query may run at the same time. */
export class DuckAppender {
  readonly #connection: DuckDBConnection;
  readonly #appender: DuckDBAppender;
  readonly #newChunk: NewChunk;
  readonly #types: readonly DuckDBType[];
  readonly #added: BatchCell[][];

  private constructor(connection: DuckDBConnection, appender: DuckDBAppender, newChunk: NewChunk) {
    this.#connection = connection;
    this.#appender = appender;
    this.#newChunk = newChunk;
    this.#types = Array.from({ length: appender.columnCount }, (_, column) => appender.columnType(column));
    this.#added = this.#types.map(() => []);
  }

  static async open(connection: DuckDBConnection, table: string): Promise<DuckAppender> {
    const { DuckDBDataChunk } = await import('@duckdb/node-api');
    return new DuckAppender(connection, await connection.createAppender(table), (types, rowCount) =>
      DuckDBDataChunk.create(types, rowCount),
    );
  }

  /** Appends at most BATCH_ROWS_MAX rows. All columns must have the same length. */
  append(columns: readonly (readonly BatchCell[])[]): void {
    const rowCount = columns[0]?.length ?? 0;
    if (rowCount === 0) return;
    const chunk = this.#newChunk(this.#types, rowCount);
    chunk.setColumns(columns);
    this.#appender.appendDataChunk(chunk);
  }

  /** Adds one row. The row reaches the table together with others, at the latest when the appender is closed. */
  add(...cells: readonly BatchCell[]): void {
    for (const [column, cell] of cells.entries()) this.#added[column]?.push(cell);
    if (this.#added[0]?.length === BATCH_ROWS_MAX) this.#flush();
  }

  #flush(): void {
    this.append(this.#added);
    for (const column of this.#added) column.length = 0;
  }

  close(): void {
    this.#flush();
    this.#appender.closeSync();
    this.#connection.closeSync();
  }
}

/** The most rows in one chunk that is appended to a table or comes out of a query. */
export const BATCH_ROWS_MAX = 2048;
