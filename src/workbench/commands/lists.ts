import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import type { ValueOf, WithMomentsAsText } from '#base/shapes.ts';
import { findListContentFault, formatListContent, LIST_KINDS } from '#decision/shared-lists.ts';
import { LINES_MAX } from '#workbench/platform/lines.ts';
import type {
  AppliedListLine,
  ListEntriesSchema,
  ListEntryViewSchema,
  SharedListSchema,
  SharedListsSchema,
} from '#workbench/platform/list-entries.ts';
import {
  importListEntries,
  type ListEntryRemovalSchema,
  makeList,
  putListEntry,
  readListEntries,
  readLists,
  removeListEntry,
} from '#workbench/platform/lists.ts';
import { EXIT_CODES, UsageError } from './exit.ts';
import { addOperationCommand, type CommandContext } from './operation-command.ts';
import { formatItemTable } from './operation-table.ts';
import { parseReason } from './options.ts';
import { print, printError } from './print.ts';

type Lists = WithMomentsAsText<ValueOf<typeof SharedListsSchema>>;
type Entries = WithMomentsAsText<ValueOf<typeof ListEntriesSchema>>;
type Entry = WithMomentsAsText<ValueOf<typeof ListEntryViewSchema>>;

const COMMON = { platform: 'named or *', needs: { lists: true } } as const;

/**
 * Adds `lists show`, `make`, `add`, `remove` and `import` for the shared lists, which people change without a
 * release.
 */
export function addListsCommands(program: Command): void {
  const lists = program
    .command('lists')
    .description('shared lists, which rules check and which change without a release');

  addOperationCommand<Lists | Entries>(lists, {
    ...COMMON,
    operation: readListEntries,
    optionalArguments: ['list'],
    run: ({ read }, given) => read(given['list'] === undefined ? readLists : readListEntries, given),
    formatAnswer: (shown, { options, platform }) =>
      'lists' in shown ? formatLists(shown, platform) : formatEntries(shown, options['value'] !== undefined),
    jsonHelp: 'print a JSON array',
  });

  addOperationCommand<WithMomentsAsText<ValueOf<typeof SharedListSchema>>>(lists, {
    ...COMMON,
    operation: makeList,
    toInputs: ({ kind, attribute = null }) => {
      const held = LIST_KINDS.find((one) => one === kind);
      const named = attribute === null ? null : String(attribute);
      const fault = held === undefined ? null : findListContentFault({ kind: held, attribute: named });
      if (fault !== null) throw new UsageError(`--attribute ${fault}`);
      return {};
    },
    formatAnswer: ({ list, kind, attribute = null }) =>
      `The list ${list} is made; its entries are of kind ${formatListContent({ kind, attribute })}.`,
  });

  addOperationCommand<Entry>(lists, {
    ...COMMON,
    operation: putListEntry,
    formatAnswer: ({ value, expiresAt, remark }, { options }) => {
      const end = expiresAt === null ? 'until it is removed' : `until ${expiresAt}`;
      return [
        `${value} is on the list ${options['list']} ${end}.`,
        ...(remark === undefined ? [] : [remark]),
      ].join('\n');
    },
    toJsonValue: (entry, { options }) => ({ list: options['list'], ...entry }),
  });

  addOperationCommand<ValueOf<typeof ListEntryRemovalSchema>>(lists, {
    ...COMMON,
    operation: removeListEntry,
    options: [new Option('--reason <text>', 'why; the audit keeps it').makeOptionMandatory()],
    formatAnswer: ({ removed }, { options }) =>
      removed ? `It is removed from the list ${options['list']}.` : '',
    toJsonValue: ({ removed }, { options }) => ({ list: options['list'], removed }),
    afterPrint: ({ removed }, { options, platform }) => {
      const list = options['list'];
      if (removed) return;
      printError(
        `The list ${list} has no such entry; "lists show ${list} --platform ${platform}" shows them.`,
      );
      process.exitCode = EXIT_CODES.findings;
    },
  });

  addOperationCommand<ReadonlyMap<string, number>>(lists, {
    ...COMMON,
    operation: importListEntries,
    omittedInputs: ['value', 'remove', 'expiresAt'],
    options: [new Option('--reason <text>', 'the reason for lines that have none')],
    run: importFile,
    formatAnswer: (counts, { options }) =>
      `${options['list']}: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`,
    jsonHelp: 'print a JSON object a line',
    toJsonValue: () => undefined,
    afterPrint: (counts) => {
      if (counts.has('refused')) process.exitCode = EXIT_CODES.findings;
    },
  });
}

function formatLists({ lists }: Lists, platform: string): string {
  if (lists.length === 0)
    return 'There is no list yet. Make one: lists make <list> --kind <kind> --platform <name>';
  const rows = lists.map(({ kind, attribute = null, ofInstallation, ...list }) => ({
    ...list,
    kind: formatListContent({ kind, attribute }),
    of: ofInstallation ? 'the whole installation' : platform,
  }));
  return formatItemTable(readLists, rows);
}

function formatEntries({ list, entries }: Entries, isOne: boolean): string {
  if (entries.length === 0) return `The list ${list} has no ${isOne ? 'such ' : ''}entry.`;
  const rows = entries.map((entry) => ({
    ...entry,
    ends: entry.hasEnded ? `${entry.expiresAt} (ended)` : (entry.expiresAt ?? 'never'),
  }));
  return formatItemTable(readListEntries, rows);
}

/**
 * Puts the lines of a file on a list. A bad line does not stop the others. Returns the number of lines for each
 * result.
 */
async function importFile(asking: CommandContext, { list }: Readonly<Record<string, unknown>>) {
  const { options, ask, platform } = asking;
  const reason = options['reason'] === undefined ? {} : { reason: parseReason(String(options['reason'])) };
  const counts = new Map<string, number>();
  const lines = readLines(String(options['file']), reason);
  let next = await lines.next();
  let before = 0;
  do {
    const { stream } = await ask(importListEntries, { list }, platform, takeLines(LINES_MAX));
    for await (const piece of stream ?? [])
      reportLine(JSON.parse(String(piece)), before, counts, options['json'] === true);
    before += LINES_MAX;
  } while (next.done !== true);
  return counts;

  /** Yields the next lines, at most `most`. Each line is read from the file when it is needed. */
  async function* takeLines(most: number): AsyncGenerator<string> {
    for (let taken = 0; taken < most && next.done !== true; taken += 1) {
      yield next.value;
      next = await lines.next();
    }
  }
}

function reportLine(told: AppliedListLine, before: number, counts: Map<string, number>, json: boolean): void {
  const line = told.line + before;
  const what = 'result' in told ? told.result : 'refused';
  counts.set(what, (counts.get(what) ?? 0) + 1);
  if (json) print(JSON.stringify({ ...told, line }));
  else if ('detail' in told) printError(`line ${line}: ${told.detail}`);
}

/** Yields the lines of a file in the form that the operation takes. Throws UsageError if the file cannot be read. */
async function* readLines(file: string, defaults: object): AsyncGenerator<string> {
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity }))
      yield `${toEntryLine(text, defaults)}\n`;
  } catch (error) {
    throw error instanceof Error && 'code' in error
      ? new UsageError(`${file} cannot be read: ${error.message}`)
      : error;
  }
}

/**
 * Converts a line to the form that the operation takes. A line that does not begin with `{` is a value. Blank lines,
 * comments and broken JSON are returned unchanged.
 */
function toEntryLine(text: string, defaults: object): string {
  const line = text.trim();
  if (line === '' || line.startsWith('#')) return text;
  if (!line.startsWith('{')) return JSON.stringify({ ...defaults, value: line });
  try {
    const given: unknown = JSON.parse(line);
    return JSON.stringify(typeof given === 'object' ? { ...defaults, ...given } : given);
  } catch {
    return text;
  }
}
