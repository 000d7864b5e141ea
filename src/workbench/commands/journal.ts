import { type FileHandle, open } from 'node:fs/promises';
import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import type { ClientKeys } from '#decision/payer/client-key.ts';
import { toExportedEntry } from '#history/archive/ship/journal-file.ts';
import type { JournalGap } from '#state/journal.ts';
import type { JournalPage, Store } from '#state/store.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import { EXIT_CODES, isSystemError, UsageError } from './exit.ts';
import { readLogPages, withStoppableOutput } from './follow.ts';
import { withOpenStore } from './open-store.ts';
import { print, printError } from './print.ts';

interface ExportOptions {
  readonly follow?: true;
  readonly output?: string;
  readonly after?: string;
  readonly json?: true;
}

const PAGE_ENTRIES = 500;

/**
 * How many bytes at the end of a file are searched for the last cursor. Each page of an export ends with a cursor and
 * is far smaller than this. A file without a cursor within this many bytes of its end is no export.
 */
const TAIL_BYTES_MAX = 64 << 20;

/**
 * Adds `journal export`, which writes every accepted input and decision as NDJSON, one entry a line. The last line of
 * each page has a member `cursor`, the position from which to continue. An exporter that is killed may leave a part
 * of an entry after the last cursor of a file. The next run cuts off what follows that cursor and reads it again, so
 * no entry is lost or written twice.
 */
export function addJournalCommands(program: Command): void {
  const journal = program
    .command('journal')
    .description('the journal of accepted inputs and decisions, in order');
  journal
    .command('export')
    .description(
      'write the journal of all platforms, scores included, as NDJSON, for backtests on a file or for moving away; with --output an existing export is continued; exit code 1 when entries in between are missing. A program that follows one platform should read the feed instead: GET /v1/platform/events',
    )
    .option('--follow', 'keep waiting for new entries until SIGINT or SIGTERM')
    .option('--output <file>', 'a file to begin or to continue; without it standard output')
    .option('--after <cursor>', 'begin after this cursor; an existing export goes on from its own cursor')
    .option('--json', 'with --output: print {written, cursor, gaps} at the end')
    .action((options: ExportOptions) => exportJournal(options));
}

/** The output to which entries are written. `write` resolves when the next page may be written. */
interface Sink {
  readonly cursor: string | null;
  readonly write: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

async function exportJournal({ follow, output, after, json }: ExportOptions): Promise<void> {
  try {
    const done = await withStoppableOutput(async ({ stop, write }) => {
      const sink =
        output === undefined
          ? { cursor: after ?? null, write, close: async () => {} }
          : await toFile(output, after);
      return withOpenStore((store) => copyPages(store, sink, follow === true, stop)).finally(sink.close);
    });
    if (output === undefined) return;
    if (json === true) print(JSON.stringify(done));
    else printError(`${formatCount(done.written, 'entry was', 'entries were')} written to ${output}.`);
  } catch (error) {
    if (error instanceof UnknownCursor) throw new UsageError(`--after: ${error.message}`);
    if (!isSystemError(error)) throw error;
    printError(`error: the journal cannot be written to ${output ?? 'standard output'}: ${error.message}`);
    process.exitCode = EXIT_CODES.environment;
  }
}

async function copyPages(store: Store, sink: Sink, follow: boolean, stop: AbortSignal) {
  const { cursor: begin } = sink;
  const read = (after: string | null) => store.readJournal(after, PAGE_ENTRIES);
  let [cursor, written] = [begin, 0];
  const gaps: JournalGap[] = [];
  for await (const page of readLogPages({ read, after: begin, follow, stop })) {
    if (page.gap !== null) {
      gaps.push(page.gap);
      reportGap(page.gap);
    }
    for (const { place, why } of page.unreadable ?? []) {
      printError(`left out: entry ${place.partition}/${place.ms}-${place.seq} cannot be read (${why})`);
      process.exitCode = EXIT_CODES.findings;
    }
    if (page.entries.length === 0) continue;
    await sink.write(formatLines(page, store.clientKeys));
    written += page.entries.length;
    cursor = page.cursor;
  }
  return { written, cursor, gaps };
}

/** Prints a message about missing entries at once, and sets the exit code. */
function reportGap({ from, to, entries }: JournalGap): void {
  const iso = (at: number) => new Date(at).toISOString();
  printError(
    `gap: about ${formatCount(entries, 'entry is', 'entries are')} missing from ${iso(from)} to ${iso(to)}; the journal keeps a limited number of entries, and newer ones pushed these out before they were exported`,
  );
  process.exitCode = EXIT_CODES.findings;
}

/**
 * Formats the lines of a page. `kind` comes first in each line, and `cursor` last in the last line, because a later
 * run recognises an export and its cursors by them.
 */
function formatLines({ entries, cursor }: JournalPage, clientKeys: ClientKeys): string {
  return entries
    .map((entry, index) => {
      const { kind, ...line } = toExportedEntry(entry, clientKeys);
      const last = index === entries.length - 1 && cursor !== null;
      return `${JSON.stringify(last ? { kind, ...line, cursor } : { kind, ...line })}\n`;
    })
    .join('');
}

async function toFile(path: string, after: string | undefined): Promise<Sink> {
  const file = await openForUpdate(path);
  try {
    const { cursor, bytes } = await findLastPlace(file, path);
    await file.truncate(bytes);
    return createFileSink(file, path, cursor ?? after ?? null, bytes);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function createFileSink(file: FileHandle, path: string, cursor: string | null, bytes: number): Sink {
  let position = bytes;
  return {
    cursor,
    write: async (text) => {
      if ((await file.stat()).size !== position)
        throw new UsageError(`another process writes to ${path}; only one export may write to a file`);
      const page = Buffer.from(text);
      for (let done = 0; done < page.length; ) {
        const { bytesWritten } = await file.write(page, done, page.length - done, position);
        done += bytesWritten;
        position += bytesWritten;
      }
    },
    close: async () => {
      await file.sync();
      await file.close();
    },
  };
}

async function openForUpdate(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    return open(path, 'wx+', 0o600);
  }
}

/** Finds the last cursor of an export and the end of its line. The text after that line may be a part of an entry. */
async function findLastPlace(
  file: FileHandle,
  path: string,
): Promise<{ cursor: string | null; bytes: number }> {
  const { size } = await file.stat();
  if (size === 0) return { cursor: null, bytes: 0 };
  if (!(await beginsLikeAnExport(file))) throw createOtherFileError(path);
  for (let length = 1 << 20; ; length *= 4) {
    const from = Math.max(0, size - length);
    const found = findLastCursor(await readPart(file, from, size - from));
    if (found !== null) return { cursor: found.cursor, bytes: from + found.end };
    if (from === 0) return { cursor: null, bytes: 0 };
    if (length > TAIL_BYTES_MAX) throw createOtherFileError(path);
  }
}

const BEGINNING = Buffer.from('{"kind":"');

/**
 * Whether a file begins like an export of the journal. Another file must not be cut back, because that would destroy
 * it.
 */
async function beginsLikeAnExport(file: FileHandle): Promise<boolean> {
  const head = await readPart(file, 0, BEGINNING.length);
  return head.equals(BEGINNING.subarray(0, head.length));
}

function createOtherFileError(path: string): UsageError {
  return new UsageError(`${path} exists and is not an export of the journal; choose another file`);
}

async function readPart(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/** Finds the last complete line in `part` that has a cursor. `end` is the offset after that line. */
function findLastCursor(part: Buffer): { readonly cursor: string; readonly end: number } | null {
  let end = part.lastIndexOf('\n') + 1;
  while (end > 0) {
    const begin = end < 2 ? 0 : part.lastIndexOf('\n', end - 2) + 1;
    const cursor = readCursor(part.toString('utf8', begin, end));
    if (cursor !== null) return { cursor, end };
    end = begin;
  }
  return null;
}

function readCursor(line: string): string | null {
  if (!line.includes(',"cursor":"')) return null;
  try {
    const entry: { readonly cursor?: unknown } | null = JSON.parse(line);
    return typeof entry?.cursor === 'string' ? entry.cursor : null;
  } catch {
    // The first line of a part may be the second half of a line.
    return null;
  }
}
