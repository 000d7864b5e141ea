import type { Command } from 'commander';
import { checkCommand } from './check.ts';
import { diffCommand } from './diff.ts';
import { backtestCommand } from './evidence/backtest.ts';
import { calibrateCommand } from './evidence/calibrate.ts';
import { driftCommand } from './evidence/drift.ts';
import { experimentCommand } from './evidence/experiment.ts';
import { reportCommand } from './evidence/report.ts';
import { suggestCommand } from './evidence/suggest.ts';
import { sweepCommand } from './evidence/sweep.ts';
import { newCommand } from './new.ts';
import { releaseCommand } from './release.ts';
import { rolloutCommands } from './rollout.ts';
import { schemaCommand } from './schema.ts';
import { testCommand } from './test.ts';

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
  reportCommand(rules);
  calibrateCommand(rules);
  driftCommand(rules);
  experimentCommand(rules);
  backtestCommand(rules);
  sweepCommand(rules);
  suggestCommand(rules);
  releaseCommand(rules);
  rolloutCommands(rules);
}
