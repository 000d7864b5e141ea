import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { QueryAnswer } from '../../archive/duck.ts';
import { whileHere } from '../../archive/frozen-archive.ts';
import { exportQuery, type Queried, queryArchive } from '../../archive/read/query.ts';
import { EXIT, UsageError } from '../exit.ts';
import { print, printError } from '../print.ts';
import { table } from '../table.ts';
import { erasedNow, leftOutTexts, readArchiveConfig, withArchive } from './archive-folder.ts';

const FORMATS = ['table', 'csv', 'json', 'parquet'] as const;

interface QueryOptions {
  readonly format: (typeof FORMATS)[number];
  readonly output?: string;
  readonly json?: true;
}

const LIMITS = { rowsMax: 100_000, timeoutMs: 60_000, memoryMiB: 1024 } as const;

/** archive query: SQL over what was decided. */
export function queryCommand(archive: Command): void {
  archive
    .command('query <sql>')
    .description(
      'one SELECT over the tables decisions, outcomes, scores, bindings, overrides and erasures, and the view orders; exit code 1 when rows are missing from the answer',
    )
    .addOption(
      new Option(
        '--format <format>',
        'how to print the rows; csv is for spreadsheets, json and parquet are exact',
      )
        .choices(FORMATS)
        .default('table'),
    )
    .option('--output <file>', 'with --format parquet: the file to write')
    .option('--json', 'the same as --format json')
    .action((sql: string, options: QueryOptions) => query(sql, options));
}

async function query(sql: string, { format, output, json }: QueryOptions): Promise<void> {
  readArchiveConfig();
  const erased = await erasedNow();
  try {
    if (format === 'parquet') {
      if (output === undefined) throw new UsageError('--format parquet needs --output FILE');
      const { leftOut } = await onTables(sql, (folder) =>
        exportQuery(folder, sql, resolve(output), LIMITS, erased),
      );
      printError([...leftOutTexts(leftOut), `Written to ${output}.`].join('\n'));
      if (leftOut.length > 0) process.exitCode = EXIT.findings;
      return;
    }
    const { answer, leftOut } = await onTables(sql, (folder) => queryArchive(folder, sql, LIMITS, erased));
    for (const text of leftOutTexts(leftOut)) printError(text);
    print(textOf(answer, json === true ? 'json' : format));
    if (answer.more)
      printError(`Only the first ${LIMITS.rowsMax} rows; --format parquet --output FILE writes all.`);
    if (leftOut.length > 0 || answer.more) process.exitCode = EXIT.findings;
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    throw new UsageError(error.message);
  }
}

/** Runs a query on the tables that it may name. */
function onTables<T>(sql: string, run: (folder: string) => Promise<Queried<T>>): Promise<Queried<T>> {
  const text = sql.toLowerCase();
  const isNamed = (table: string) =>
    text.includes(table) || (OF_ORDERS.has(table) && text.includes('orders'));
  return withArchive((archive) =>
    whileHere(
      archive,
      ({ table }) => isNamed(table),
      async (folder, missing) => {
        const { answer, leftOut } = await run(folder);
        return { answer, leftOut: [...missing, ...leftOut] };
      },
    ),
  );
}

/** What the view `orders` is made of. */
const OF_ORDERS: ReadonlySet<string> = new Set(['decisions', 'outcomes']);

function textOf({ columns, rows }: QueryAnswer, format: 'table' | 'csv' | 'json'): string {
  switch (format) {
    case 'json':
      return JSON.stringify(
        rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, plain(row[index])]))),
      );
    case 'csv':
      return [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\n');
    case 'table':
      return table(
        columns,
        rows.map((row) => row.map(cellText)),
      );
    default:
      return format satisfies never;
  }
}

/** As JSON has it: times as RFC 3339, whole numbers as numbers while they are exact. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return value;
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value, (_, inner) => plain(inner)) : String(value);
}

/**
 * As the console saves it: a text that a spreadsheet would run as a formula begins with an apostrophe, numbers never do,
 * and some spreadsheets take a semicolon for the end of a cell.
 */
function csvCell(value: unknown): string {
  const text = cellText(value);
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
