import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { readConfig } from '../../config.ts';
import type { ListKind } from '../../decision/shared-lists.ts';
import {
  changeByLines,
  type ReadLine,
  readListLine,
  type ToldLine,
  withoutRange,
} from '../../http/platform/lists/entry-lines.ts';
import { LIST_CHANGES_MAX } from '../../state/list-log.ts';
import { type ApprovalOption, whoChanges } from '../approval.ts';
import { EXIT, UsageError } from '../exit.ts';
import { parseWhose } from '../platform-option.ts';
import { print, printError } from '../print.ts';
import { deskOfUser, withLists } from './with-lists.ts';

export interface ImportOptions extends ApprovalOption {
  readonly platform: string;
  readonly reason?: string;
  readonly kind?: string;
  readonly json?: true;
}

/** Puts the lines of a file on a list, a batch at a time; a bad line stops no other, and makes the exit code 1. */
export async function importList(
  list: string,
  file: string,
  options: ImportOptions,
  kind: ListKind | null,
): Promise<void> {
  const { platform, reason, json } = options;
  const desk = deskOfUser(parseWhose(platform), list, whoChanges(options));
  const refusesRanges = readConfig().requiresApproval && options.withoutApproval !== true;
  const counts = new Map<string, number>();
  const tell = (told: ToldLine) => {
    const { line } = told;
    const [what, rest] =
      'result' in told ? [told.result, { result: told.result }] : ['refused', { detail: told.detail }];
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (json === true) print(JSON.stringify({ line, ...rest }));
    else if ('detail' in told) printError(`line ${line}: ${told.detail}`);
  };
  await withLists(async ({ editor }) => {
    let batch: ReadLine[] = [];
    for await (const read of linesOf(file, { kind, reason })) {
      batch.push(refusesRanges ? withoutRange(read) : read);
      if (batch.length < LIST_CHANGES_MAX) continue;
      for (const outcome of await changeByLines(batch, editor, desk)) tell(outcome);
      batch = [];
    }
    for (const outcome of await changeByLines(batch, editor, desk)) tell(outcome);
  });
  if (json !== true) print(`${list}: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`);
  if (counts.has('refused')) process.exitCode = EXIT.findings;
}

async function* linesOf(
  file: string,
  { kind, reason }: { readonly kind: ListKind | null; readonly reason: string | undefined },
): AsyncGenerator<ReadLine> {
  const defaults = { ...(kind === null ? {} : { kind }), ...(reason === undefined ? {} : { reason }) };
  let number = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number++;
      if (text.trim() !== '') yield readListLine(number, Buffer.from(withDefaults(text, defaults)));
    }
  } catch (error) {
    throw error instanceof Error && 'code' in error
      ? new UsageError(`${file} cannot be read: ${error.message}`)
      : error;
  }
}

/** A line as the API takes it; what is not JSON object is the value itself. */
function withDefaults(text: string, defaults: object): string {
  if (!text.trimStart().startsWith('{')) return JSON.stringify({ ...defaults, value: text.trim() });
  try {
    const line: unknown = JSON.parse(text);
    return JSON.stringify(typeof line === 'object' ? { ...defaults, ...line } : line);
  } catch {
    return text;
  }
}
