import { type FileHandle, open, stat } from 'node:fs/promises';
import { OUTCOMES, type Outcome } from '../../src/client/order.ts';
import { type JsonObject, parseJsonObject } from '../../src/files/json-object.ts';

/** One recorded payment attempt: a line of the file. README.md lists the members. */
export interface RecordedPayment {
  /** Where it stands in the file, from 1. */
  readonly line: number;
  /** When the payer asked, epoch ms. */
  readonly at: number;
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly method: string;
  readonly amountRequested: string;
  readonly orderRef: string;
  readonly toPayCurrency: string | null;
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Null when it is not known how the order ended. */
  readonly result: RecordedResult | null;
  /** Whether a person judged it abuse; null when nobody did. */
  readonly abuse: boolean | null;
}

export interface RecordedResult {
  readonly outcome: Outcome;
  /** When the order became final, epoch ms; not before the payer asked. */
  readonly at: number;
}

/** What a file holds, known before the first request. */
export interface Survey {
  readonly payments: number;
  /** Epoch ms of the first attempt and of the last thing that happened. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The file is not what can be replayed; the message names file and line, and what is allowed. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** Times in seconds would pass as January 1970 and make every wait look served. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
const LATEST_MS = Date.UTC(2200, 0, 1);

/** Reads the whole file once, so that a bad line is found before anything is replayed. */
export async function surveyRecordedPayments(path: string): Promise<Survey> {
  let payments = 0;
  let firstAt = Number.POSITIVE_INFINITY;
  let lastAt = 0;
  for await (const { at, result } of readRecordedPayments(path)) {
    payments += 1;
    firstAt = Math.min(firstAt, at);
    lastAt = Math.max(lastAt, result?.at ?? at);
  }
  if (payments > 0) return { payments, firstAt, lastAt };
  throw new InputError(`${path} holds no recorded payment; it should hold one JSON object a line`);
}

/** The payments line by line, in the order of the file, which must be the order of time. */
export async function* readRecordedPayments(path: string): AsyncGenerator<RecordedPayment> {
  const file = await openFile(path);
  let line = 0;
  let latest: RecordedPayment | null = null;
  try {
    for await (const text of file.readLines()) {
      line += 1;
      if (text.trim() === '') continue;
      const payment = parseRecordedPayment(text, path, line);
      if (latest !== null && payment.at < latest.at) throw outOfOrder(path, payment, latest);
      latest = payment;
      yield payment;
    }
  } finally {
    await file.close();
  }
}

/** One line; throws InputError when it is no recorded payment. */
export function parseRecordedPayment(text: string, path: string, line: number): RecordedPayment {
  const refuse = (what: string): never => {
    throw new InputError(`${path}:${line}: ${what}`);
  };
  const record =
    parseJsonObject(text) ?? refuse('this is not a JSON object; each line must hold exactly one');
  const field = new Fields(record, refuse);
  const at = field.moment('at');
  return {
    line,
    at,
    sellPointKey: field.text('sellPointKey'),
    clientIdKey: field.text('clientIdKey'),
    method: field.text('method'),
    amountRequested: field.text('amountRequested'),
    orderRef: field.text('orderRef'),
    toPayCurrency: field.optionalText('toPayCurrency'),
    fingerprint: field.optionalText('fingerprint'),
    ip: field.optionalText('ip'),
    userAgent: field.optionalText('userAgent'),
    result: field.result(at),
    abuse: field.optionalFlag('abuse'),
  };
}

/** Reads the members of one line, and refuses the line at the first that is not as it should be. */
class Fields {
  readonly #members: JsonObject;
  readonly #refuse: (what: string) => never;

  constructor(members: JsonObject, refuse: (what: string) => never) {
    this.#members = members;
    this.#refuse = refuse;
  }

  text(name: string): string {
    const value = this.#required(name);
    if (typeof value === 'string' && value !== '') return value;
    return this.#refuse(`"${name}" must be a JSON string that is not empty, not ${JSON.stringify(value)}`);
  }

  optionalText(name: string): string | null {
    return this.#isAbsent(name) ? null : this.text(name);
  }

  optionalFlag(name: string): boolean | null {
    if (this.#isAbsent(name)) return null;
    const value = this.#members[name];
    if (typeof value === 'boolean') return value;
    return this.#refuse(`"${name}" must be true or false, not ${JSON.stringify(value)}`);
  }

  moment(name: string): number {
    const value = this.#required(name);
    const isMoment = typeof value === 'number' && Number.isInteger(value);
    if (isMoment && value >= EARLIEST_MS && value < LATEST_MS) return value;
    return this.#refuse(
      `"${name}" must be whole milliseconds since 1970, from the year 2000 on, not ${JSON.stringify(value)}`,
    );
  }

  result(attemptedAt: number): RecordedResult | null {
    if (this.#isAbsent('outcome') && this.#isAbsent('outcomeAt')) return null;
    const given = this.#required('outcome');
    const outcome = OUTCOMES.find((known) => known === given);
    if (outcome === undefined) {
      return this.#refuse(`"outcome" must be one of ${OUTCOMES.join(', ')}, not ${JSON.stringify(given)}`);
    }
    const at = this.moment('outcomeAt');
    if (at >= attemptedAt) return { outcome, at };
    return this.#refuse(`"outcomeAt" ${at} lies before "at" ${attemptedAt}; an order ends after it began`);
  }

  #required(name: string): unknown {
    if (this.#isAbsent(name)) this.#refuse(`"${name}" is missing`);
    return this.#members[name];
  }

  #isAbsent(name: string): boolean {
    return this.#members[name] === undefined || this.#members[name] === null;
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    if ((await stat(path)).isFile()) return await open(path);
  } catch (cause) {
    throw new InputError(explainUnreadable(path, cause), { cause });
  }
  throw new InputError(`${path} is not a file; give the path of one NDJSON file`);
}

function explainUnreadable(path: string, cause: unknown): string {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') {
    return `there is no file ${path}; give the path of an NDJSON file of recorded payments`;
  }
  return `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
}

function outOfOrder(path: string, payment: RecordedPayment, before: RecordedPayment): InputError {
  return new InputError(
    `${path}:${payment.line}: "at" ${payment.at} lies before ${before.at} of line ${before.line}; sort the lines by "at"`,
  );
}
