import type { Command } from 'commander';
import { checkCommand } from './rules-check.ts';
import { releaseCommand } from './rules-release.ts';
import { testCommand } from './rules-test.ts';

/** rules ...: an analyst's way from an edited file to a version that decides. */
export function rulesCommands(program: Command): void {
  const rules = program.command('rules').description('rule sets: check, test, release');
  checkCommand(rules);
  testCommand(rules);
  releaseCommand(rules);
}
