import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ListKind } from '../../decision/lists/list-kind.ts';
import { type ReadLine, readListLine } from '../../http/platform/lists/entry-lines.ts';
import { type ListDesk, type ListEditor, ListRefusal } from '../../lists/list-editor.ts';
import { LIST_CHANGES_MAX } from '../../state/lists/list-log.ts';
import { EXIT, UsageError } from '../exit.ts';
import { parseWhose } from '../platform-option.ts';
import { print, printError } from '../print.ts';
import { deskOfUser, withLists } from './with-lists.ts';

export interface ImportOptions {
  readonly platform: string;
  readonly reason?: string;
  readonly kind?: string;
  readonly json?: true;
}

/** What became of a line of the file. */
type Outcome = { readonly line: number; readonly result?: string; readonly detail?: string };

/** Puts the lines of a file on a list, a batch at a time; a bad line stops no other, and makes the exit code 1. */
export async function importList(
  list: string,
  file: string,
  { platform, reason, json }: ImportOptions,
  kind: ListKind | null,
): Promise<void> {
  const desk = deskOfUser(parseWhose(platform), list);
  const counts = new Map<string, number>();
  const tell = ({ line, result, detail }: Outcome) => {
    const what = result ?? 'refused';
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (json === true) print(JSON.stringify({ line, ...(detail === undefined ? { result } : { detail }) }));
    else if (detail !== undefined) printError(`line ${line}: ${detail}`);
  };
  await withLists(async ({ editor }) => {
    let batch: ReadLine[] = [];
    for await (const read of linesOf(file, { kind, reason })) {
      batch.push(read);
      if (batch.length < LIST_CHANGES_MAX) continue;
      for (const outcome of await changeBy(batch, editor, desk)) tell(outcome);
      batch = [];
    }
    for (const outcome of await changeBy(batch, editor, desk)) tell(outcome);
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

/** A line as the API takes it; what is no JSON object is the value itself. */
function withDefaults(text: string, defaults: object): string {
  if (!text.trimStart().startsWith('{')) return JSON.stringify({ ...defaults, value: text.trim() });
  try {
    const line: unknown = JSON.parse(text);
    return JSON.stringify(typeof line === 'object' ? { ...defaults, ...line } : line);
  } catch {
    return text;
  }
}

async function changeBy(
  batch: readonly ReadLine[],
  editor: ListEditor,
  desk: ListDesk,
): Promise<readonly Outcome[]> {
  const edits = batch.flatMap((read) => ('edit' in read ? [read.edit] : []));
  const effects = (edits.length === 0 ? [] : await editor.change(desk, edits)).values();
  return batch.map((read): Outcome => {
    if (!('edit' in read)) return { line: read.line, detail: read.detail };
    const effect = effects.next().value;
    return effect instanceof ListRefusal
      ? { line: read.line, detail: effect.message }
      : { line: read.line, result: effect ?? 'refused' };
  });
}
