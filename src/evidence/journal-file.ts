import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { isJsonObject } from '../files/json-object.ts';
import { VERDICTS } from '../rules/rule-set.ts';
import type { JournalRecord } from '../state/journal/entry.ts';

/** The file is not what `journal export` writes; `line` counts from 1. */
export class JournalFileError extends Error {
  override readonly name = 'JournalFileError';
  readonly line: number;

  constructor(line: number, what: string) {
    super(what);
    this.line = line;
  }
}

export interface JournalFileEnd {
  /** Complete lines that were given to the visitor. */
  readonly lines: number;
  /** The last line has no end: the exporter was stopped in it, or is still writing it. It was left out. */
  readonly torn: boolean;
}

const CHUNK_BYTES = 1 << 20;

/** A journal entry takes a few KB; a "line" longer than this is another kind of file. */
export const LINE_BYTES_MAX = 16 << 20;

const NEWLINE = 10;

/**
 * Reads an exported journal line by line, in constant memory; blank lines are passed over.
 * Synchronous, because nothing else waits and a callback a line costs less than a promise a line.
 */
export function readJournalFile(
  path: string,
  visit: (text: string, line: number) => void,
  onProgress: (bytesRead: number, bytes: number) => void = () => {},
): JournalFileEnd {
  const file = openSync(path, 'r');
  try {
    const bytes = fstatSync(file).size;
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let held = 0;
    let bytesRead = 0;
    let line = 0;
    for (;;) {
      if (held === buffer.length) buffer = grown(buffer, line + 1);
      const got = readSync(file, buffer, held, buffer.length - held, null);
      if (got === 0) return { lines: line, torn: held > 0 };
      bytesRead += got;
      const end = buffer.lastIndexOf(NEWLINE, held + got - 1) + 1;
      if (end > 0) line = visitLines(buffer.toString('utf8', 0, end), line, visit);
      buffer.copy(buffer, 0, end, held + got);
      held = held + got - end;
      onProgress(bytesRead, bytes);
    }
  } finally {
    closeSync(file);
  }
}

/** Calls `visit` for each line of a text that ends with a line's end; gives the number of the last one. */
function visitLines(text: string, before: number, visit: (text: string, line: number) => void): number {
  let line = before;
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    line++;
    if (end > from) visit(text.slice(from, end), line);
    from = end + 1;
  }
  return line;
}

function grown(buffer: Buffer, line: number): Buffer<ArrayBuffer> {
  if (buffer.length >= LINE_BYTES_MAX) {
    throw new JournalFileError(
      line,
      `the line is longer than ${LINE_BYTES_MAX} bytes; this is not a journal`,
    );
  }
  const larger = Buffer.allocUnsafe(2 * buffer.length);
  buffer.copy(larger);
  return larger;
}

export const JOURNAL_KINDS = [
  'score',
  'verdict',
  'outcome',
  'binding',
  'override',
  'erasure',
] as const satisfies readonly [...JournalRecord['kind'][]];

/** A line as an entry, or JournalFileError. Members deeper inside are as the exporter wrote them. */
export function parseEntry(text: string, line: number): JournalRecord {
  let entry: JournalRecord;
  try {
    entry = JSON.parse(text);
  } catch {
    throw new JournalFileError(line, 'the line is not JSON');
  }
  const wrong = whatIsWrong(entry);
  if (wrong === null) return entry;
  throw new JournalFileError(line, `the line is no journal entry: ${wrong}`);
}

function whatIsWrong(value: JournalRecord): string | null {
  const entry: unknown = value;
  if (!isJsonObject(entry)) return 'it must be an object';
  const { kind, at, platform, clientIdKey } = entry;
  if (!JOURNAL_KINDS.some((known) => known === kind))
    return `"kind" must be one of ${JOURNAL_KINDS.join(', ')}`;
  if (typeof at !== 'number') return '"at" must be a number, epoch ms';
  if (typeof platform !== 'string') return '"platform" must be a text';
  if (value.kind !== 'erasure' && typeof clientIdKey !== 'string') return '"clientIdKey" must be a text';
  return whatItLacks(value, entry);
}

function whatItLacks(value: JournalRecord, entry: Readonly<Record<string, unknown>>): string | null {
  switch (value.kind) {
    case 'verdict':
      return isDecision(entry['decision']) ? null : '"decision" must be a decision with its facts';
    case 'score':
      return isJsonObject(entry['request']) ? null : '"request" must be a score request';
    case 'outcome':
      return typeof entry['orderRef'] === 'string' && isJsonObject(entry['order'])
        ? null
        : '"orderRef" and "order" must tell an outcome';
    case 'binding':
      return entry['binding'] === undefined ? '"binding" is missing' : null;
    case 'override':
      return entry['override'] === undefined ? '"override" is missing' : null;
    case 'erasure':
      return typeof entry['clientNumber'] === 'string' ? null : '"clientNumber" must be a text';
    default:
      return value satisfies never;
  }
}

function isDecision(value: unknown): boolean {
  if (!isJsonObject(value) || !isJsonObject(value['facts']) || !isJsonObject(value['ladderAfter']))
    return false;
  return typeof value['orderRef'] === 'string' && VERDICTS.some((verdict) => verdict === value['verdict']);
}
