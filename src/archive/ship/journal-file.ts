import { closeSync, openSync, readSync } from 'node:fs';
import { type ClientKeys, isClientHash, isPlatformName } from '../../client/client-key.ts';
import { isJsonObject } from '../../files/json-object.ts';
import { VERDICTS } from '../../rules/rule-set.ts';
import type { ErasureEntry, JournalEntry, JournalRecord } from '../../state/journal.ts';

/** The file is not what `journal export` writes; `line` counts from 1. */
export class JournalFileError extends Error {
  override readonly name = 'JournalFileError';
  readonly line: number;

  constructor(line: number, what: string) {
    super(what);
    this.line = line;
  }
}

/** An entry with its client's hash, because the salt of the hashes stays where it was made. */
export type ExportedEntry = JournalEntry & { readonly clientHash: string };

/** What a line tells. */
export type ExportedRecord = ExportedEntry | ErasureEntry;

/** As a line of the file has it. */
export function exported(entry: JournalRecord, clientKeys: ClientKeys): ExportedRecord {
  if (entry.kind === 'erasure') return entry;
  return { ...entry, clientHash: clientKeys.of(entry.platform, entry.clientIdKey).hash };
}

/** A complete line of the file, counted from 1. */
export interface JournalLine {
  readonly number: number;
  readonly text: string;
}

export interface JournalFilePage {
  readonly lines: readonly JournalLine[];
  /** Of the last page: the last line has no end. The exporter was stopped in it, or is still writing it. */
  readonly torn: boolean;
}

const CHUNK_BYTES = 1 << 20;

/** A journal entry takes a few KB; a "line" longer than this is another kind of file. */
const LINE_BYTES_MAX = 16 << 20;

const NEWLINE = 10;

/** Reads an exported journal some lines at a time, in constant memory; blank lines are passed over. */
export function* journalPages(path: string): Generator<JournalFilePage> {
  const file = openSync(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let held = 0;
    let before = 0;
    for (;;) {
      if (held === buffer.length) buffer = grown(buffer, before + 1);
      const got = readSync(file, buffer, held, buffer.length - held, null);
      if (got === 0) break;
      const end = buffer.lastIndexOf(NEWLINE, held + got - 1) + 1;
      const texts = buffer.toString('utf8', 0, end).split('\n').slice(0, -1);
      const first = before + 1;
      const lines = texts.map((text, index) => ({ number: first + index, text }));
      yield { lines: lines.filter(({ text }) => text !== ''), torn: false };
      before += texts.length;
      buffer.copy(buffer, 0, end, held + got);
      held = held + got - end;
    }
    yield { lines: [], torn: held > 0 };
  } finally {
    closeSync(file);
  }
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

const JOURNAL_KINDS = [
  'score',
  'verdict',
  'outcome',
  'binding',
  'override',
  'erasure',
] as const satisfies readonly [...JournalRecord['kind'][]];

/** A line as an entry, or JournalFileError. Members deeper inside are as the exporter wrote them. */
export function parseEntry(text: string, line: number): ExportedRecord {
  let entry: ExportedRecord;
  try {
    entry = JSON.parse(text);
  } catch {
    throw new JournalFileError(line, 'the line is not JSON');
  }
  const wrong = whatIsWrong(entry);
  if (wrong === null) return entry;
  throw new JournalFileError(line, `the line is no journal entry: ${wrong}`);
}

function whatIsWrong(value: ExportedRecord): string | null {
  const entry: unknown = value;
  if (!isJsonObject(entry)) return 'it must be an object';
  const { kind, at, platform, clientIdKey, clientHash } = entry;
  if (!JOURNAL_KINDS.some((known) => known === kind))
    return `"kind" must be one of ${JOURNAL_KINDS.join(', ')}`;
  if (typeof at !== 'number' || Number.isNaN(new Date(at).getTime()))
    return '"at" must be a number, epoch ms';
  // It becomes the name of a folder.
  if (typeof platform !== 'string' || !isPlatformName(platform))
    return '"platform" must be the name of a platform';
  if (value.kind !== 'erasure' && typeof clientIdKey !== 'string') return '"clientIdKey" must be a text';
  const lacks = whatItLacks(value, entry);
  if (lacks !== null || value.kind === 'erasure' || isClientHash(clientHash)) return lacks;
  return '"clientHash" must be the hash of the client, 22 characters';
}

function whatItLacks(value: ExportedRecord, entry: Readonly<Record<string, unknown>>): string | null {
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
  if (!isJsonObject(value)) return false;
  if (!['facts', 'ladderBefore', 'ladderAfter'].every((member) => isJsonObject(value[member]))) return false;
  return typeof value['orderRef'] === 'string' && VERDICTS.some((verdict) => verdict === value['verdict']);
}
