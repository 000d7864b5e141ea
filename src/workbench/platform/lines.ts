import { Readable } from 'node:stream';
import { type TProperties, Type } from '#base/json-schema.ts';
import { named, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { GrantedRequest } from '#checkout/http/operation/operation.ts';
import { BODY_BYTES_MAX, decodeText, parseUniqueMembers } from '#checkout/http/request/body.ts';
import {
  createMalformedBodyProblem,
  errorsSchema,
  type HttpProblem,
  retryableSchema,
} from '#checkout/http/request/problems.ts';
import { readBodyChunks, readBodyLines } from './body-lines.ts';
import { GrantWatch, readWhileGranted } from './grant-watch.ts';

/** The media type of lines of JSON objects. */
export const LINES_MEDIA_TYPE = 'application/x-ndjson';

export const LINES_MAX = 100_000;

const line = Type.Integer({ minimum: 1, description: 'Number of the line, from 1' });

const RefusedLineSchema = named(
  'RefusedLine',
  shape('A line that was refused; the other lines are processed', {
    line,
    error: plainText('Like the title of a problem'),
    code: plainText('Like the code of a problem'),
    detail: plainText('What is wrong, and what to do'),
    errors: errorsSchema,
    retryable: retryableSchema,
  }),
);

/** The answer to a refused line. `retryable` says whether sending the line again may succeed. */
export type RefusedLine = ValueOf<typeof RefusedLineSchema>;

/**
 * Declares the schema of the answer to a line. `taken` declares the members of the answer to a processed line. The
 * answer to a refused line has an error.
 */
export function declareLineResult(name: string, taken: TProperties) {
  return named(name, Type.Union([shape('A line that was processed', { line, ...taken }), RefusedLineSchema]));
}

/**
 * Parses the JSON value of a line. Throws 400 if `bytes` is null, which means that the line was longer than a body
 * may be, and for text that is not JSON.
 */
export function parseJsonLine(bytes: Buffer | null): unknown {
  if (bytes === null) throw createMalformedBodyProblem(`A line must have at most ${BODY_BYTES_MAX} bytes.`);
  return parseUniqueMembers(decodeText(bytes));
}

/** Whether a line holds only blanks. Exports and shells leave such lines behind. */
export function isBlankLine(bytes: Buffer | null): boolean {
  return bytes?.every((byte) => BLANKS.includes(byte)) ?? false;
}

const BLANKS: readonly number[] = [0x20, 0x09, 0x0d];

/** Converts the problem of a line to the line's answer. `line` is the number of the line in the body. */
export function toRefusedLine(line: number, problem: HttpProblem): RefusedLine {
  const { title, code, message, errors, retryable } = problem;
  const pointed = errors.length === 0 ? {} : { errors };
  return { line, error: title, code, detail: message, ...pointed, retryable };
}

export function createTooManyLinesRefusal(line: number): RefusedLine {
  const detail = `Send at most ${LINES_MAX} lines at once.`;
  return { line, error: 'too many lines', code: 'too-many-lines', detail, retryable: true };
}

/**
 * Creates the last line of an answer if the key ended before the lines did. `undone` is the verb of what was not
 * done, as in `nothing from this line on was recorded`.
 */
export function createEndedKeyRefusal(number: number, undone: string): RefusedLine {
  const detail = `The access key was revoked or has expired meanwhile; nothing from this line on was ${undone}.`;
  return { line: number, error: 'unknown X-KA-Access-Key', code: 'unknown-key', detail, retryable: false };
}

/**
 * Creates the answer to a line that was not processed because the store is away. `undone` is the verb of what was not
 * done.
 */
export function createUnavailableRefusal(number: number, undone: string): RefusedLine {
  return {
    line: number,
    error: 'temporarily unavailable',
    code: 'store-away',
    detail: `Not ${undone}; send this line again.`,
    retryable: true,
  };
}

/**
 * Answers a body of lines while it is being read, for as long as the key allows it. `results` gets the lines as
 * bytes, and null for a line that is longer than a body may be.
 */
export function answerLines(
  { ctx, isStillGranted }: Pick<GrantedRequest<unknown>, 'ctx' | 'isStillGranted'>,
  results: (lines: AsyncIterable<Buffer | null>, grant: GrantWatch) => AsyncIterable<object>,
): Readable {
  ctx.type = LINES_MEDIA_TYPE;
  // Data that arrives after the last answer is not read.
  ctx.res.once('finish', () => ctx.req.complete || ctx.req.destroy());
  const grant = new GrantWatch(isStillGranted);
  const lines = readBodyLines(readWhileGranted(readBodyChunks(ctx.req), grant), BODY_BYTES_MAX);
  return Readable.from(formatResults(results(lines, grant))).once('close', () => grant.stop());
}

async function* formatResults(results: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const result of results) yield `${JSON.stringify(result)}\n`;
}
