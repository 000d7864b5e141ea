import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { JsonObject } from '#base/files/json-object.ts';
import { withTemporaryFolder } from '#base/files/temporary-folder.ts';
import {
  QueryEngine,
  quoteSql,
  type ResultRow,
  toNumberOrNull,
  toTextOrNull,
} from '#history/archive/query-engine.ts';

/** How the members of a recorded payment are found in the columns of a CSV file. */
export interface CsvMapping {
  /**
   * The heading of a member's column, by the member's name. A member that is not here has the heading of its own
   * name.
   */
  readonly columns: ReadonlyMap<string, string>;
  /** The value that a member has in every row, by the member's name. */
  readonly constants: ReadonlyMap<string, string>;
  /** The value that replaces another one, by `member:value`, like `outcome:succeeded`. */
  readonly values: ReadonlyMap<string, string>;
}

/** The members that a CSV file may have, by which `CsvMapping` names them. README.md says what they mean. */
export const CSV_MEMBERS: readonly string[] = [
  'kind',
  'at',
  'clientIdKey',
  'orderRef',
  'sellPointKey',
  'amountRequested',
  'method',
  'toPayCurrency',
  'fingerprint',
  'ip',
  'userAgent',
  'jsOk',
  'honeypotTriggered',
  'outcome',
  'outcomeAt',
  'cause',
  'abuse',
  'requisiteRef',
  'acceptorKeys',
  'expiresAt',
];

export const NO_MAPPING: CsvMapping = { columns: new Map(), constants: new Map(), values: new Map() };

/**
 * A row of a CSV file as a JSON object, or the reason why it cannot be read. `line` counts from 1, the heading
 * included.
 */
export type CsvRecordOrProblem = { readonly line: number } & (
  | { readonly record: JsonObject }
  | { readonly problem: string }
);

export interface CsvFile {
  readonly headings: readonly string[];
  readonly rows: readonly CsvRecordOrProblem[];
}

const MEMORY_MIB = 512;

/**
 * Reads a CSV file with a heading. Columns are separated by commas, semicolons or tabs, whichever the heading has
 * most of. Texts are quoted as in RFC 4180. Throws the error of the system or the engine when the file cannot be read
 * at all.
 */
export function readCsvFile(path: string, mapping: CsvMapping): Promise<CsvFile> {
  return withTemporaryFolder('replay-csv-', async (temporaryFolder) => {
    const limits = { threads: Math.min(2, availableParallelism()), memoryMiB: MEMORY_MIB, temporaryFolder };
    const engine = await QueryEngine.open(limits);
    try {
      const dialect = `delim = ${quoteSql(await findSeparator(path))}, quote = '"', escape = '"'`;
      const rows = await engine.rows(
        `SELECT * FROM read_csv(${quoteSql(path)}, ${dialect}, header = true, all_varchar = true, store_rejects = true)`,
      );
      const rejected = await engine.rows(
        'SELECT line, min(error_message) AS problem FROM reject_errors GROUP BY line',
      );
      return { headings: Object.keys(rows[0] ?? {}), rows: numberRows(rows, rejected, mapping) };
    } finally {
      engine.close();
    }
  });
}

const SEPARATORS = [',', ';', '\t'];

/**
 * Finds the separator that the heading has most of. It is not left to the engine, which would also guess from the
 * rows.
 */
async function findSeparator(path: string): Promise<string> {
  const file = await open(path);
  for await (const heading of file.readLines()) {
    const counts = SEPARATORS.map((separator) => heading.split(separator).length);
    return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',';
  }
  return ',';
}

/** Gives the rows their line numbers in the file, because the engine leaves out rejected lines and the heading. */
function numberRows(
  rows: readonly ResultRow[],
  rejected: readonly ResultRow[],
  mapping: CsvMapping,
): readonly CsvRecordOrProblem[] {
  const problems = new Map(
    rejected.map(({ line, problem }) => [
      toNumberOrNull(line) ?? 0,
      toTextOrNull(problem) ?? 'it cannot be read',
    ]),
  );
  const found: CsvRecordOrProblem[] = [];
  let line = 1;
  for (const row of rows) {
    line += 1;
    for (let problem = problems.get(line); problem !== undefined; problem = problems.get(line)) {
      found.push({ line, problem });
      problems.delete(line);
      line += 1;
    }
    found.push({ line, record: toRecord(row, mapping) });
  }
  for (const [rest, problem] of problems) found.push({ line: rest, problem });
  return found;
}

/** Returns the members of a row. An empty cell is an absent member. */
function toRecord(row: ResultRow, { columns, constants, values }: CsvMapping): JsonObject {
  const renamed = new Map([...columns].map(([member, heading]) => [member, row[heading]]));
  const members = [...Object.entries(row), ...renamed, ...constants];
  return Object.fromEntries(
    members.flatMap(([member, cell]) => {
      const text = toTextOrNull(cell)?.trim() ?? '';
      return text === '' ? [] : [[member, toValue(member, values.get(`${member}:${text}`) ?? text)]];
    }),
  );
}

/** Returns the JSON value of a member of a payment. */
function toValue(member: string, text: string): unknown {
  if (member === 'at' || member === 'outcomeAt' || member === 'expiresAt') return toMoment(text);
  if (member === 'abuse' || member === 'jsOk' || member === 'honeypotTriggered') return toFlag(text);
  if (member === 'acceptorKeys') return text.split('|').map((key) => key.trim());
  return text;
}

/**
 * Parses a moment. Milliseconds since 1970 become a number. `2026-01-05 12:00:00`, as databases export moments, is
 * taken as UTC.
 */
function toMoment(text: string): unknown {
  if (/^\d+$/.test(text)) return Number(text);
  const [, day, time, zone = ''] =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/.exec(
      text,
    ) ?? [];
  if (day === undefined || time === undefined) return text;
  return `${day}T${time.length === 5 ? `${time}:00` : time}${toOffset(zone)}`;
}

function toOffset(zone: string): string {
  if (zone === '' || zone === 'UTC' || zone === 'Z') return 'Z';
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  return `${zone.slice(0, 1)}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

function toFlag(text: string): unknown {
  const word = text.toLowerCase();
  if (word === 'true' || word === '1' || word === 'yes') return true;
  return word === 'false' || word === '0' || word === 'no' ? false : text;
}
