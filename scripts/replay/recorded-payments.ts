import { open } from 'node:fs/promises';
import { isJsonObject, type JsonObject, parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { DECIMAL_PATTERN } from '#decision/payer/amount.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { OUTCOME_CAUSES, OUTCOMES, type Outcome, type OutcomeCause } from '#decision/payer/order.ts';
import { type CsvMapping, type CsvRecordOrProblem, NO_MAPPING, readCsvFile } from './csv-payments.ts';

/** The members that every line of the file has. README.md lists them. */
interface RecordedLine {
  /** The number of the line in the file, from 1. */
  readonly line: number;
  /** The time of the event, in epoch ms. */
  readonly at: number;
  readonly clientIdKey: string;
}

/** A payer asks for a requisite. */
export interface RecordedPayment extends RecordedLine {
  readonly kind: 'payment';
  readonly sellPointKey: string;
  readonly method: string;
  readonly amountRequested: string;
  readonly orderRef: string;
  readonly toPayCurrency: string | null;
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly clientHints: JsonObject | null;
  /** Whether a person judged the payment abuse. Null when nobody judged it. */
  readonly abuse: boolean | null;
}

/** The outcome of an order becomes known, or is corrected. */
export interface RecordedOutcome extends RecordedLine {
  readonly kind: 'outcome';
  readonly orderRef: string;
  readonly outcome: Outcome;
  readonly cause: OutcomeCause | null;
}

/** The platform binds a client to a requisite, or unbinds it. */
export interface RecordedBinding extends RecordedLine {
  readonly kind: 'binding' | 'unbinding';
  readonly binding: { readonly requisiteRef: string; readonly acceptorKeys: readonly string[] } | null;
  readonly method: string | null;
  /** Epoch ms. */
  readonly expiresAt: number | null;
}

export type RecordedEvent = RecordedPayment | RecordedOutcome | RecordedBinding;

/** A line that is left out, as text: `file:line: what is wrong`. */
export type BadLine = string;

/** The contents of a file. */
export interface RecordedHistory {
  /** The events in the order of time. Events of the same time are in the order of the file. */
  readonly events: readonly RecordedEvent[];
  readonly badLines: readonly BadLine[];
}

/** A line is bad, or the file has nothing that can be replayed. The message says what is allowed. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** The earliest time that is accepted. Times in seconds would look like January 1970, when every wait would be over. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
const LATEST_MS = Date.UTC(2200, 0, 1);

const KINDS = ['payment', 'outcome', 'binding', 'unbinding'] as const;

/** Reads the whole file. Throws InputError when it cannot be read or holds nothing that can be replayed. */
export async function readRecordedHistory(
  path: string,
  mapping: CsvMapping = NO_MAPPING,
): Promise<RecordedHistory> {
  const events: RecordedEvent[] = [];
  const badLines: BadLine[] = [];
  const isCsv = /\.csv$/i.test(path);
  for await (const { line, read } of isCsv ? readCsvLines(path, mapping) : readJsonLines(path)) {
    try {
      events.push(...read());
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      badLines.push(`${path}:${line}: ${error.message}`);
    }
  }
  if (events.length > 0) return { events: events.toSorted((a, b) => a.at - b.at), badLines };
  const [first] = badLines;
  if (first !== undefined) throw new InputError(`no line can be replayed; the first one is ${first}`);
  const wanted = isCsv ? 'a heading and one payment a row' : 'one JSON object a line';
  throw new InputError(`${path} holds no recorded payment; it should hold ${wanted}`);
}

/** A line of a file. `read` returns its events, and throws InputError for a bad line. */
interface UnreadLine {
  readonly line: number;
  readonly read: () => readonly RecordedEvent[];
}

async function* readJsonLines(path: string): AsyncGenerator<UnreadLine> {
  let line = 0;
  for await (const text of readLines(path)) {
    line += 1;
    const at = line;
    if (text.trim() !== '') yield { line, read: () => parseEventsOfRecordedLine(text, at) };
  }
}

async function* readCsvLines(path: string, mapping: CsvMapping): AsyncGenerator<UnreadLine> {
  const { headings, rows } = await readCsvFile(path, mapping).catch((cause: unknown) => {
    throw new InputError(explainUnreadable(path, cause), { cause });
  });
  requireColumns(path, headings, mapping);
  refuseDecimalCommas(path, rows, mapping);
  for (const row of rows) {
    const { line } = row;
    yield {
      line,
      read: () => {
        if ('problem' in row) throw new InputError(row.problem);
        return toRecordedEvents(joinHints(row.record), line);
      },
    };
  }
}

/** Throws InputError when a CSV file has no column for a member that every payment has. */
function requireColumns(path: string, headings: readonly string[], { columns, constants }: CsvMapping): void {
  if (headings.length === 0) return;
  const unknown = [...columns].filter(([, heading]) => !headings.includes(heading));
  const [first] = unknown;
  if (first !== undefined)
    throw new InputError(
      `${path} has no column "${first[1]}" for "${first[0]}"; its columns are ${headings.join(', ')}`,
    );
  const missing = REQUIRED_MEMBERS.filter(
    (member) => !headings.includes(member) && !columns.has(member) && !constants.has(member),
  );
  if (missing.length === 0) return;
  throw new InputError(
    `${path} has no column for ${missing.join(', ')}; its columns are ${headings.join(', ')}. ` +
      `Say which column it is: --column ${missing[0]}=HEADING, or what it is in every row: --constant ${missing[0]}=VALUE`,
  );
}

/**
 * Throws InputError when a CSV file has an amount with a comma. It is not guessed whether decimals or thousands follow
 * the comma.
 */
function refuseDecimalCommas(
  path: string,
  rows: readonly CsvRecordOrProblem[],
  { columns }: CsvMapping,
): void {
  for (const row of rows) {
    const amount = 'record' in row ? row.record['amountRequested'] : null;
    if (typeof amount !== 'string' || !AMOUNT_WITH_COMMA.test(amount)) continue;
    const heading = columns.get('amountRequested') ?? 'amountRequested';
    throw new InputError(
      `${path}:${row.line}: column "${heading}" has the amount ${JSON.stringify(amount)}; ` +
        'decimals take a point, like 25.00, and thousands no mark',
    );
  }
}

const AMOUNT_WITH_COMMA = /^\d[\d.' ]*,[\d.,]*$/;

const REQUIRED_MEMBERS = [
  'at',
  'clientIdKey',
  'orderRef',
  'sellPointKey',
  'amountRequested',
  'method',
] as const;

/** Joins the hints of the page into `clientHints`, because they have columns of their own in a CSV file. */
function joinHints({ jsOk, honeypotTriggered, ...record }: JsonObject): JsonObject {
  const hints = Object.entries({ jsOk, honeypotTriggered }).filter(([, value]) => value !== undefined);
  return hints.length === 0 ? record : { ...record, clientHints: Object.fromEntries(hints) };
}

/**
 * Parses the events of one line. If the line of a payment also has the outcome, the outcome is a second event. Throws
 * InputError for a bad line.
 */
export function parseEventsOfRecordedLine(text: string, line: number): readonly RecordedEvent[] {
  const record = parseJsonObjectOrNull(text);
  if (record === null) throw new InputError('this is not a JSON object; each line must hold exactly one');
  return toRecordedEvents(record, line);
}

function toRecordedEvents(record: JsonObject, line: number): readonly RecordedEvent[] {
  const field = new Fields(record);
  const kind = field.oneOf('kind', KINDS, 'payment');
  const about = { line, at: field.moment('at'), clientIdKey: field.text('clientIdKey') };
  switch (kind) {
    case 'payment': {
      const payment = { kind, ...about, ...askedIn(field) };
      return [payment, ...endOf(field, payment)];
    }
    case 'outcome':
      return [{ kind, ...about, orderRef: field.text('orderRef'), ...readOutcome(field) }];
    case 'binding':
      return [{ kind, ...about, binding: readBinding(field), ...readLimits(field) }];
    case 'unbinding':
      return [{ kind, ...about, binding: null, method: null, expiresAt: null }];
    default:
      return kind satisfies never;
  }
}

function askedIn(field: Fields) {
  return {
    sellPointKey: field.text('sellPointKey'),
    method: field.text('method'),
    amountRequested: field.decimal('amountRequested'),
    orderRef: field.text('orderRef'),
    toPayCurrency: field.optionalText('toPayCurrency'),
    fingerprint: field.optionalText('fingerprint'),
    ip: field.optionalText('ip'),
    userAgent: field.optionalText('userAgent'),
    clientHints: field.optionalObject('clientHints'),
    abuse: field.optionalFlag('abuse'),
  };
}

function endOf(field: Fields, { line, at, clientIdKey, orderRef }: RecordedPayment): RecordedOutcome[] {
  if (field.isAbsent('outcome') && field.isAbsent('outcomeAt') && field.isAbsent('cause')) return [];
  const told = readOutcome(field);
  const endedAt = field.moment('outcomeAt');
  if (endedAt < at)
    throw new InputError(`"outcomeAt" ${endedAt} lies before "at" ${at}; an order ends after it began`);
  return [{ kind: 'outcome', line, at: endedAt, clientIdKey, orderRef, ...told }];
}

function readOutcome(field: Fields): Pick<RecordedOutcome, 'outcome' | 'cause'> {
  const outcome = field.oneOf('outcome', OUTCOMES);
  const cause = field.isAbsent('cause') ? null : field.oneOf('cause', OUTCOME_CAUSES);
  if (cause === null || outcome === 'UNPAID') return { outcome, cause };
  throw new InputError('"cause" goes only with UNPAID');
}

function readBinding(field: Fields): RecordedBinding['binding'] {
  return { requisiteRef: field.text('requisiteRef'), acceptorKeys: field.texts('acceptorKeys') };
}

function readLimits(field: Fields): Pick<RecordedBinding, 'method' | 'expiresAt'> {
  return {
    method: field.optionalText('method'),
    expiresAt: field.isAbsent('expiresAt') ? null : field.moment('expiresAt'),
  };
}

const DECIMAL = new RegExp(DECIMAL_PATTERN);

/** Reads the members of one line, and refuses it at the first bad one. */
class Fields {
  readonly #members: JsonObject;

  constructor(members: JsonObject) {
    this.#members = members;
  }

  text(name: string): string {
    return this.#required(name, isText, 'a JSON string that is not empty');
  }

  decimal(name: string): string {
    const text = this.text(name);
    if (DECIMAL.test(text)) return text;
    throw this.#unlike(name, 'digits, with a point before decimals, like "25.00"');
  }

  texts(name: string): readonly string[] {
    return this.#required(name, isTexts, 'an array of strings');
  }

  optionalText(name: string): string | null {
    return this.isAbsent(name) ? null : this.text(name);
  }

  optionalFlag(name: string): boolean | null {
    return this.isAbsent(name) ? null : this.#required(name, isFlag, 'true or false');
  }

  optionalObject(name: string): JsonObject | null {
    return this.isAbsent(name) ? null : this.#required(name, isJsonObject, 'an object');
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], usual?: T): T {
    if (usual !== undefined && this.isAbsent(name)) return usual;
    const isAllowed = (value: unknown): value is T => allowed.some((one) => one === value);
    return this.#required(name, isAllowed, `one of ${allowed.join(', ')}`);
  }

  moment(name: string): number {
    const at = toEpochMs(this.#members[name]);
    if (at !== null && at >= EARLIEST_MS && at < LATEST_MS) return at;
    throw this.#unlike(
      name,
      'a moment from the year 2000 on, RFC 3339 like "2026-11-21T10:00:00Z" or milliseconds since 1970 (not seconds)',
    );
  }

  isAbsent(name: string): boolean {
    return this.#members[name] === undefined || this.#members[name] === null;
  }

  #required<T>(name: string, is: (value: unknown) => value is T, allowed: string): T {
    const value = this.#members[name];
    if (is(value)) return value;
    throw this.#unlike(name, allowed);
  }

  #unlike(name: string, allowed: string): InputError {
    if (this.isAbsent(name)) return new InputError(`"${name}" is missing`);
    return new InputError(`"${name}" must be ${allowed}, not ${JSON.stringify(this.#members[name])}`);
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

async function* readLines(path: string): AsyncGenerator<string> {
  try {
    const file = await open(path);
    yield* file.readLines();
  } catch (cause) {
    throw new InputError(explainUnreadable(path, cause), { cause });
  }
}

function explainUnreadable(path: string, cause: unknown): string {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') {
    return `there is no file ${path}; give the path of an NDJSON or CSV file of recorded payments`;
  }
  return `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
}
