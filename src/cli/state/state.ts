import type { Command } from 'commander';
import { checkCommand } from './check.ts';
import { forgetCommands } from './forget.ts';
import { repairCommand } from './repair.ts';

/** state check, repair, forget-secret, forget-archive: what is stored, and what of it cannot be read. */
export function stateCommands(program: Command): void {
  const state = program
    .command('state')
    .description('what is stored: finds what cannot be read, and mends it');
  checkCommand(state);
  repairCommand(state);
  forgetCommands(state);
}
