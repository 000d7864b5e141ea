import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { exactSystemClock } from '#base/clock.ts';
import { PLATFORM_NAME_FORM } from '#decision/payer/client-key.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { suggestName } from '#decision/rules/problem.ts';
import {
  findContentFault,
  findValueRemark,
  formatListContent,
  LIST_KINDS,
  type ListKind,
} from '#decision/shared-lists.ts';
import { LIST_CHANGES_MAX } from '#state/store.ts';
import {
  changeByLines,
  type ReadLine,
  readListLine,
  type ToldLine,
  toContentView,
  toEntriesView,
  toEntryView,
  toListsView,
} from '#workbench/platform/list-entries.ts';
import { EXIT, UsageError } from './exit.ts';
import { parseLifetime, parseListOwner, parseReason } from './options.ts';
import { formatTable, print, printError } from './print.ts';
import { editedByUser, withLists } from './with-lists.ts';

interface WhoseOptions {
  readonly platform: string;
  readonly json?: true;
}

interface RemoveOptions extends WhoseOptions {
  readonly reason: string;
}

interface MakeOptions extends WhoseOptions {
  readonly kind: string;
  readonly attribute?: string;
}

interface AddOptions extends RemoveOptions {
  readonly expires?: string;
}

const PLATFORM = `the platform, ${PLATFORM_NAME_FORM}; "*" for the lists of the whole installation`;

/** lists show, add, remove, import: the shared lists, which people change without a release. */
export function listsCommands(program: Command): void {
  const lists = program
    .command('lists')
    .description('shared lists, which rules ask about and which change without a release');

  lists
    .command('show [list]')
    .description('all lists, or the entries of one')
    .requiredOption('--platform <name>', PLATFORM)
    .option('--value <value>', 'only the entry for this value')
    .option('--json', 'print JSON')
    .action((list: string | undefined, options: WhoseOptions & { value?: string }) =>
      list === undefined ? showAll(options) : showOne(list, options),
    );

  lists
    .command('make <list>')
    .description('make a list, which must exist before entries are put on it')
    .requiredOption('--platform <name>', PLATFORM)
    .requiredOption('--kind <kind>', `what it holds: ${LIST_KINDS.join(', ')}`)
    .option('--attribute <name>', 'of kind attribute: the name under which callers send what it holds')
    .option('--json', 'print one JSON object')
    .action((list: string, options: MakeOptions) => make(list, options));

  lists
    .command('add <list> <value>')
    .description('put a value on a list, or renew it; every node knows of it within 2 s')
    .requiredOption('--platform <name>', PLATFORM)
    .requiredOption('--reason <text>', 'why; the audit log keeps it')
    .option('--expires <duration>', 'how long it stays, like 30d; without it until it is removed')
    .option('--json', 'print one JSON object')
    .action((list: string, value: string, options: AddOptions) => add(list, value, options));

  lists
    .command('remove <list> <value>')
    .description('take a value from a list')
    .requiredOption('--platform <name>', PLATFORM)
    .requiredOption('--reason <text>', 'why; the audit log keeps it')
    .option('--json', 'print one JSON object')
    .action((list: string, value: string, options: RemoveOptions) => remove(list, value, options));

  lists
    .command('import <list> <file>')
    .description(
      'put many values on a list: one a line, or one JSON object a line as the API takes them; lines that begin with # are comments',
    )
    .requiredOption('--platform <name>', PLATFORM)
    .option('--reason <text>', 'why, for lines that do not say it')
    .option('--json', 'print a JSON object a line')
    .action((list: string, file: string, options: WhoseOptions & { reason?: string }) =>
      importList(list, file, options),
    );
}

async function make(list: string, options: MakeOptions): Promise<void> {
  const { platform, attribute = null, json } = options;
  const edited = editedByUser(parseListOwner(platform), list);
  const kind = parseKind(options.kind);
  const fault = findContentFault({ kind, attribute });
  if (fault !== null) throw new UsageError(`--attribute ${fault}`);
  const made = await withLists(({ editor }) => editor.make(edited, kind, attribute));
  if (json === true) print(JSON.stringify({ list, ...toContentView(made) }));
  else print(`The list ${list} is made; its entries are of kind ${formatListContent(made)}.`);
}

async function add(list: string, value: string, options: AddOptions): Promise<void> {
  const { platform, reason, expires, json } = options;
  const edited = editedByUser(parseListOwner(platform), list);
  const lifetimeMs = expires === undefined ? null : parseLifetime(expires);
  const why = parseReason(reason);
  const ask = {
    value,
    reason: why,
    expiresAt: lifetimeMs === null ? null : Math.round(exactSystemClock()) + lifetimeMs,
  };
  const { entry, remark } = await withLists(async ({ editor }) => {
    const put = await editor.put(edited, ask);
    return { entry: editor.shown(put), remark: findValueRemark(put) };
  });
  const { value: kept, expiresAt } = entry;
  if (json === true)
    print(JSON.stringify({ list, value: kept, expiresAt, ...(remark === null ? {} : { remark }) }));
  else {
    const end = expiresAt === null ? 'until it is removed' : `until ${new Date(expiresAt).toISOString()}`;
    print(`${kept} is on the list ${list} ${end}.`);
    if (remark !== null) print(remark);
  }
}

async function remove(list: string, value: string, { platform, reason, json }: RemoveOptions): Promise<void> {
  const edited = editedByUser(parseListOwner(platform), list);
  const why = parseReason(reason);
  const wasThere = await withLists(({ editor }) => editor.remove(edited, value, why));
  if (json === true) print(JSON.stringify({ list, removed: wasThere }));
  else if (wasThere) print(`It is taken from the list ${list}.`);
  if (wasThere) return;
  printError(`The list ${list} has no such entry; "lists show ${list} --platform ${platform}" shows them.`);
  process.exitCode = EXIT.findings;
}

function parseKind(text: string): ListKind {
  const kind = LIST_KINDS.find((one) => one === text);
  if (kind !== undefined) return kind;
  throw new UsageError(`unknown kind "${text}"${suggestName(text, LIST_KINDS)}`);
}

/** Puts the lines of a file on a list, a batch at a time; a bad line stops no other, and makes the exit code 1. */
async function importList(
  list: string,
  file: string,
  options: WhoseOptions & { reason?: string },
): Promise<void> {
  const { platform, reason, json } = options;
  const edited = editedByUser(parseListOwner(platform), list);
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
    for await (const read of linesOf(file, reason)) {
      batch.push(read);
      if (batch.length < LIST_CHANGES_MAX) continue;
      for (const outcome of await changeByLines(batch, editor, edited)) tell(outcome);
      batch = [];
    }
    for (const outcome of await changeByLines(batch, editor, edited)) tell(outcome);
  });
  if (json !== true) print(`${list}: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`);
  if (counts.has('refused')) process.exitCode = EXIT.findings;
}

async function* linesOf(file: string, reason: string | undefined): AsyncGenerator<ReadLine> {
  const defaults = reason === undefined ? {} : { reason };
  let number = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number++;
      if (text.trim() !== '' && !text.trimStart().startsWith('#'))
        yield readListLine(number, Buffer.from(withDefaults(text, defaults)));
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

const ALL = { after: null, limit: Number.MAX_SAFE_INTEGER } as const;

async function showAll({ platform, json }: WhoseOptions): Promise<void> {
  const whose = parseListOwner(platform);
  const { lists } = await withLists(async ({ node, clock }) =>
    toListsView(node, whose, { ...ALL, now: clock() }),
  );
  if (json === true) print(JSON.stringify(lists));
  else if (lists.length === 0) {
    print('There is no list yet. Make one: lists make <list> --kind <kind> --platform <name>');
  } else {
    const rows = lists.map(({ list, kind, attribute = null, entries, ended, changedAt, ofInstallation }) => [
      list,
      formatListContent({ kind, attribute }),
      String(entries),
      String(ended),
      formatTime(changedAt),
      ofInstallation ? 'the whole installation' : platform,
    ]);
    print(formatTable(['LIST', 'KIND', 'ENTRIES', 'ENDED', 'CHANGED', 'OF'], rows, { right: [2, 3] }));
  }
}

async function showOne(
  list: string,
  { platform, value, json }: WhoseOptions & { value?: string },
): Promise<void> {
  const whose = parseListOwner(platform);
  const entries = await withLists(async ({ node, editor, clock }) => {
    const now = clock();
    if (value !== undefined) {
      const entry = editor.find(whose, list, value);
      return entry === null ? [] : [toEntryView(entry, { now, editor })];
    }
    const page = { ...ALL, now, editor };
    return toEntriesView(list, await editor.contentOf(whose, list), node.copy.list(whose, list), page)
      .entries;
  });
  if (json === true) print(JSON.stringify(entries));
  else if (entries.length === 0) print(`The list ${list} has no ${value === undefined ? '' : 'such '}entry.`);
  else {
    const rows = entries.map((entry) => [
      entry.value,
      formatTime(entry.addedAt),
      entry.expiresAt === null
        ? 'never'
        : `${formatTime(entry.expiresAt)}${entry.hasEnded ? ' (ended)' : ''}`,
      entry.who,
      entry.reason,
    ]);
    print(formatTable(['VALUE', 'ADDED', 'ENDS', 'BY', 'REASON'], rows));
  }
}
