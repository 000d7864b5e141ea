import type { Command } from 'commander';
import { PLATFORM_NAME_FORM } from '../../client/client-key.ts';
import { exactSystemClock } from '../../clock.ts';
import { LIST_KINDS, type ListKind } from '../../decision/shared-lists.ts';
import { suggest } from '../../rules/problem.ts';
import { type ApprovalOption, printProposed, proposedBy, WITHOUT_APPROVAL, whoChanges } from '../approval.ts';
import { EXIT, UsageError } from '../exit.ts';
import { parseWhose } from '../platform-option.ts';
import { print, printError } from '../print.ts';
import { parseReason } from '../reason.ts';
import { parseLifetime } from '../time.ts';
import { type ImportOptions, importList } from './import.ts';
import { type ShowOptions, showLists } from './show.ts';
import { deskOfUser, withLists } from './with-lists.ts';

interface AddOptions extends ApprovalOption {
  readonly platform: string;
  readonly kind?: string;
  readonly reason: string;
  readonly expires?: string;
  readonly json?: true;
}

interface RemoveOptions {
  readonly platform: string;
  readonly reason: string;
  readonly json?: true;
}

const PLATFORM = `the platform, ${PLATFORM_NAME_FORM}; "*" for the lists of the whole installation`;

/** lists show, add, remove, import: what rules ask about and people change without a release. */
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
    .action((list: string | undefined, options: ShowOptions) => showLists(list, options));

  lists
    .command('add <list> <value>')
    .description('put a value on a list, or renew it; every node knows of it within 2 s')
    .requiredOption('--platform <name>', PLATFORM)
    .requiredOption('--reason <text>', 'why; the audit log keeps it')
    .option('--kind <kind>', `what the list holds, needed with its first entry: ${LIST_KINDS.join(', ')}`)
    .option('--expires <duration>', 'how long it stays, like 30d; without it until it is removed')
    .option(...WITHOUT_APPROVAL)
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
    .description('put many values on a list: one a line, or one JSON object a line as the API takes them')
    .requiredOption('--platform <name>', PLATFORM)
    .option('--reason <text>', 'why, for lines that do not say it')
    .option('--kind <kind>', `what the list holds: ${LIST_KINDS.join(', ')}`)
    .option(...WITHOUT_APPROVAL)
    .option('--json', 'print a JSON object a line')
    .action((list: string, file: string, options: ImportOptions) =>
      importList(list, file, options, parseKind(options.kind)),
    );
}

async function add(list: string, value: string, options: AddOptions): Promise<void> {
  const { platform, reason, expires, json } = options;
  const whose = parseWhose(platform);
  const desk = deskOfUser(whose, list, whoChanges(options));
  const kind = parseKind(options.kind);
  const lifetimeMs = expires === undefined ? null : parseLifetime(expires);
  const why = parseReason(reason);
  const ask = {
    value,
    kind,
    reason: why,
    expiresAt: lifetimeMs === null ? null : Math.round(exactSystemClock()) + lifetimeMs,
  };
  const proposal = await proposedBy(whose, { what: 'list', list, ...ask }, options);
  if (proposal !== null) return printProposed(whose, proposal, json === true);
  const { value: kept, expiresAt } = await withLists(({ editor }) => editor.put(desk, ask));
  if (json === true) print(JSON.stringify({ list, value: kept, expiresAt }));
  else {
    const end = expiresAt === null ? 'until it is removed' : `until ${new Date(expiresAt).toISOString()}`;
    print(`${kept} is on the list ${list} ${end}.`);
  }
}

async function remove(list: string, value: string, { platform, reason, json }: RemoveOptions): Promise<void> {
  const desk = deskOfUser(parseWhose(platform), list);
  const why = parseReason(reason);
  const wasThere = await withLists(({ editor }) => editor.remove(desk, value, why));
  if (json === true) print(JSON.stringify({ list, removed: wasThere }));
  else if (wasThere) print(`It is taken from the list ${list}.`);
  if (wasThere) return;
  printError(`The list ${list} has no such entry; "lists show ${list} --platform ${platform}" shows them.`);
  process.exitCode = EXIT.findings;
}

function parseKind(text: string | undefined): ListKind | null {
  if (text === undefined) return null;
  const kind = LIST_KINDS.find((one) => one === text);
  if (kind !== undefined) return kind;
  throw new UsageError(`unknown kind "${text}"${suggest(text, LIST_KINDS)}`);
}
