import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBType,
  DuckDBValue,
  DuckDBValueConverter,
  JS,
} from '@duckdb/node-api';

/** What a column of a batch holds, once SQL has made it a number, text, flag or 64-bit integer. */
export type BatchCell = number | bigint | string | boolean | null;

/** A row by the names of its columns. Times are dates, BIGINT is bigint. */
export type DuckRow = Readonly<Record<string, JS>>;

/** Some thousands of rows by their columns: a fraction of what an object a row costs. */
export class DuckBatch {
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

  /** One row, or some columns of it. */
  row(index: number, columns: Iterable<string> = this.#places.keys()): DuckRow {
    const row: Record<string, JS> = {};
    for (const column of columns) {
      const vector = this.#chunk.getColumnVector(this.#place(column));
      row[column] = this.#convert(vector.getItem(index), vector.type, this.#convert);
    }
    return row;
  }

  get columns(): readonly string[] {
    return [...this.#places.keys()];
  }

  has(column: string): boolean {
    return this.#places.has(column);
  }

  /** All values of a column. */
  numbers(column: string): readonly (number | null)[] {
    return this.#values(column, (value) => (typeof value === 'number' ? value : null));
  }

  integers(column: string): readonly (bigint | null)[] {
    return this.#values(column, (value) => (typeof value === 'bigint' ? value : null));
  }

  texts(column: string): readonly (string | null)[] {
    return this.#values(column, (value) => (typeof value === 'string' ? value : null));
  }

  flags(column: string): readonly (boolean | null)[] {
    return this.#values(column, (value) => (typeof value === 'boolean' ? value : null));
  }

  /** All values of a column that holds numbers, texts or flags. */
  cells(column: string): readonly (number | string | boolean | null)[] {
    return this.#values(column, (value) =>
      typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean' ? value : null,
    );
  }

  /** One text, for columns of which few rows are wanted. */
  text(column: string, row: number): string {
    return String(this.#chunk.getColumnVector(this.#place(column)).getItem(row));
  }

  #values<T>(column: string, pick: (value: DuckDBValue) => T | null): readonly (T | null)[] {
    const vector = this.#chunk.getColumnVector(this.#place(column));
    const values: (T | null)[] = [];
    for (let row = 0; row < this.rowCount; row++) values.push(pick(vector.getItem(row)));
    return values;
  }

  #place(column: string): number {
    const place = this.#places.get(column);
    if (place === undefined) throw new Error(`the query gives no column ${column}`);
    return place;
  }
}

type NewChunk = typeof DuckDBDataChunk.create;

/** Rows on their way into a table, by columns. It has a connection of its own, so that a query may run beside it. */
export class DuckAppender {
  readonly #connection: DuckDBConnection;
  readonly #appender: DuckDBAppender;
  readonly #newChunk: NewChunk;
  readonly #types: readonly DuckDBType[];

  private constructor(connection: DuckDBConnection, appender: DuckDBAppender, newChunk: NewChunk) {
    this.#connection = connection;
    this.#appender = appender;
    this.#newChunk = newChunk;
    this.#types = Array.from({ length: appender.columnCount }, (_, column) => appender.columnType(column));
  }

  static async open(connection: DuckDBConnection, table: string): Promise<DuckAppender> {
    const { DuckDBDataChunk } = await import('@duckdb/node-api');
    return new DuckAppender(connection, await connection.createAppender(table), (types, rowCount) =>
      DuckDBDataChunk.create(types, rowCount),
    );
  }

  /** At most BATCH_ROWS_MAX rows, every column of the same length. */
  append(columns: readonly (readonly BatchCell[])[]): void {
    const rowCount = columns[0]?.length ?? 0;
    if (rowCount === 0) return;
    const chunk = this.#newChunk(this.#types, rowCount);
    chunk.setColumns(columns);
    this.#appender.appendDataChunk(chunk);
  }

  close(): void {
    this.#appender.closeSync();
    this.#connection.closeSync();
  }
}

/** The most rows that go into a table, or come out of a query, at once. */
export const BATCH_ROWS_MAX = 2048;
