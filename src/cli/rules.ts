import type { Command } from 'commander';
import { backtestCommand } from './rules-backtest.ts';
import { checkCommand } from './rules-check.ts';
import { diffCommand } from './rules-diff.ts';
import { newCommand } from './rules-new.ts';
import { releaseCommand } from './rules-release.ts';
import { rolloutCommands } from './rules-rollout.ts';
import { schemaCommand } from './rules-schema.ts';
import { testCommand } from './rules-test.ts';

/** rules ...: an analyst's way from an edited file to a version that decides. */
export function rulesCommands(program: Command): void {
  const rules = program
    .command('rules')
    .description('rule sets: from an edited file to the version that decides');
  checkCommand(rules);
  schemaCommand(rules);
  testCommand(rules);
  newCommand(rules);
  diffCommand(rules);
  backtestCommand(rules);
  releaseCommand(rules);
  rolloutCommands(rules);
}
