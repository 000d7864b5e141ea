import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { SecretRefused } from '../service/signal-secret.ts';
import { StoreUnavailable } from '../state/store.ts';
import { archiveCommands } from './archive/archive.ts';
import { auditCommand } from './audit.ts';
import { decisionsCommands } from './decisions/decisions.ts';
import { EXIT, FindingsError, UsageError } from './exit.ts';
import { journalCommands } from './journal.ts';
import { keysCommands } from './keys.ts';
import { listsCommands } from './lists/lists.ts';
import { printError } from './print.ts';
import { rulesCommands } from './rules/rules.ts';
import { stateCommands } from './state/state.ts';

/** `npm run -s scoring -- <command>`: the operator's and analyst's hand on the service. */
async function main(): Promise<void> {
  const program = new Command('scoring')
    .description('Client Scoring Service: keys, rule sets, decisions and who changed what')
    .exitOverride()
    .showHelpAfterError();
  keysCommands(program);
  rulesCommands(program);
  decisionsCommands(program);
  journalCommands(program);
  auditCommand(program);
  archiveCommands(program);
  listsCommands(program);
  stateCommands(program);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Says what went wrong and gives the exit code for it; bugs keep their stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.usage;
  if (error instanceof UsageError) {
    printError(`error: ${error.message}`);
    return EXIT.usage;
  }
  if (error instanceof FindingsError) {
    printError(`error: ${error.message}`);
    return EXIT.findings;
  }
  if (error instanceof ConfigError || error instanceof StoreUnavailable || error instanceof SecretRefused) {
    printError(`error: ${error.message}`);
    return EXIT.environment;
  }
  printError(inspect(error));
  return EXIT.environment;
}

await main();
