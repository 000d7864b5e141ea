import { type Command, CommanderError } from 'commander';
import { toExitCode } from '#workbench/commands/exit.ts';

/**
 * Runs a script's program with the arguments of this process. If the call is wrong, prints an explanation and sets
 * the exit code.
 */
export async function runCommanderProgram(program: Command): Promise<void> {
  try {
    await program.exitOverride().showHelpAfterError().parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = toExitCode(error);
  }
}
