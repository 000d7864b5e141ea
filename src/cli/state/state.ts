import type { Command } from 'commander';
import { checkCommand } from './check.ts';
import { forgetSecretCommand } from './forget-secret.ts';
import { moveCommand } from './move.ts';
import { repairCommand } from './repair.ts';

/** state check, repair, forget-secret, move: what is stored, what of it cannot be read, and where it lies. */
export function stateCommands(program: Command): void {
  const state = program
    .command('state')
    .description('what is stored: finds what cannot be read, and mends it');
  checkCommand(state);
  repairCommand(state);
  forgetSecretCommand(state);
  moveCommand(state);
}
