import type { Command } from 'commander';
import { adoptCommand } from './adopt.ts';
import { backupCommand } from './backup.ts';
import { queryCommand } from './query.ts';
import { shipCommand } from './ship.ts';
import { statusCommand } from './status.ts';
import { verifyCommand } from './verify.ts';

/** archive ...: what was decided over the years. */
export function archiveCommands(program: Command): void {
  const archive = program.command('archive').description('what was decided over the years, in Parquet');
  statusCommand(archive);
  queryCommand(archive);
  verifyCommand(archive);
  shipCommand(archive);
  backupCommand(archive);
  adoptCommand(archive);
}
