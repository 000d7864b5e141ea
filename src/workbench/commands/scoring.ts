import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Command, CommanderError, Help, type Option } from 'commander';
import { NamedError } from '#base/named-error.ts';
import { parseDecisionId } from '#decision/payer/client-key.ts';
import {
  EXIT_CODES,
  FindingsError,
  isSystemError,
  StateForbidsChangeError,
  toExitCode,
  UsageError,
} from './exit.ts';
import { printError } from './print.ts';

/** The folder that keeps compiled modules from one command to the next. If it cannot be written, nothing is kept. */
const COMPILED = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'compiled');

type CommandAdder = (program: Command) => void;

/**
 * The commands by their first word, in the order in which the help lists them. A command loads only its own modules.
 */
const COMMANDS: Readonly<Record<string, () => Promise<CommandAdder>>> = {
  keys: async () => (await import('./keys.ts')).addKeysCommands,
  rules: async () => (await import('./rules/rules.ts')).addRulesCommands,
  find: async () => (await import('./find.ts')).addFindCommand,
  clients: async () => (await import('./clients.ts')).addClientsCommands,
  decisions: async () => (await import('./decisions.ts')).addDecisionsCommands,
  journal: async () => (await import('./journal.ts')).addJournalCommands,
  audit: async () => (await import('./audit.ts')).addAuditCommand,
  archive: async () => (await import('./archive.ts')).addArchiveCommands,
  proposals: async () => (await import('./proposals.ts')).addProposalsCommands,
  links: async () => (await import('./links.ts')).addClientLinksCommand,
  lists: async () => (await import('./lists.ts')).addListsCommands,
  state: async () => (await import('./state.ts')).addStateCommands,
  restore: async () => (await import('./restore.ts')).addRestoreCheckCommand,
  size: async () => (await import('./size.ts')).addSizeCommand,
  completion: async () => (await import('./completion.ts')).addCompletionCommand,
};

/**
 * Runs `npm run -s scoring -- <command>`, with which operators and analysts use the service. Prints the result, and
 * sets `process.exitCode`.
 */
export async function main(args: readonly string[]): Promise<void> {
  enableCompileCache(COMPILED);
  const program = new Command('scoring')
    .description('Client Scoring Service: keys, rule sets, decisions, archive and audit')
    .configureHelp({ optionDescription, commandUsage })
    .configureOutput({ getOutHelpWidth: countHelpColumns, getErrHelpWidth: countHelpColumns })
    .exitOverride();
  for (const load of listAskedCommands(args[0])) (await load())(program);
  showUsageAfterErrors(program);
  try {
    await program.parseAsync(moveDecisionIdsLast(args), { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

/**
 * The largest width of the help, in columns. It fits a command's options with a sentence beside each. The help is
 * never wider than the terminal.
 */
const HELP_COLUMNS_MAX = 100;

function countHelpColumns(): number {
  return Math.min(process.stdout.columns ?? HELP_COLUMNS_MAX, HELP_COLUMNS_MAX);
}

/** Moves ids of decisions to the end, after `--`. An id may begin with "-", and would otherwise look like an option. */
function moveDecisionIdsLast(args: readonly string[]): readonly string[] {
  const isId = (arg: string) => arg.startsWith('-') && parseDecisionId(arg) !== null;
  const ids = args.filter(isId);
  return ids.length === 0 ? args : [...args.filter((arg) => !isId(arg)), '--', ...ids];
}

/** Describes an option. Its default is shown without quotes, as a person would write it after the option. */
function optionDescription(option: Option): string {
  const description = new Help().optionDescription(option).replace(/\(default: "(.*)"\)/, '(default: $1)');
  return option.mandatory ? `required: ${description}` : description;
}

/** Describes how a command is called, with its required options. */
function commandUsage(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  return new Help().commandUsage(command).replace('[options]', [...required, '[options]'].join(' '));
}

/**
 * Makes a command answer a wrong call with its usage in a few lines. The whole help would push the error off the
 * screen.
 */
function showUsageAfterErrors(command: Command): void {
  const names = command.commands.map((one) => one.name());
  const commands = names.length === 0 ? '' : `\ncommands: ${names.join(', ')}`;
  command.showHelpAfterError(`usage: ${commandUsage(command)}${commands}\n--help has the rest`);
  for (const one of command.commands) showUsageAfterErrors(one);
}

/**
 * Returns the loader of the command of that name. Returns the loaders of all commands for the help, the completion of
 * a shell, and an unknown name.
 */
function listAskedCommands(name = ''): readonly (() => Promise<CommandAdder>)[] {
  const isAlone = Object.hasOwn(COMMANDS, name) && name !== 'completion';
  const command = isAlone ? COMMANDS[name] : undefined;
  return command === undefined ? Object.values(COMMANDS) : [command];
}

/** Prints what went wrong and returns the exit code for it. Bugs are printed with their stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return toExitCode(error);
  const isForPeople = error instanceof NamedError || isSystemError(error);
  const isRefused = error instanceof StateForbidsChangeError;
  printError(isForPeople ? `${isRefused ? 'refused' : 'error'}: ${error.message}` : inspect(error));
  if (error instanceof UsageError) return EXIT_CODES.usage;
  return isRefused || error instanceof FindingsError ? EXIT_CODES.findings : EXIT_CODES.environment;
}

if (import.meta.main) await main(process.argv.slice(2));
