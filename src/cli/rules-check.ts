import { join } from 'node:path';
import type { Command } from 'commander';
import { formatProblems, loadRuleSet } from '../rules/library.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { EXIT } from './exit.ts';
import { chosenFolders, fromHere } from './rule-folders.ts';

/** rules check: every problem of rule sets at once. */
export function checkCommand(rules: Command): void {
  rules
    .command('check [folders...]')
    .description('every problem of rule sets, with file, line and column; without folders: all of them')
    .option('--json', 'print one JSON object')
    .action((folders: string[], options: { json?: true }) => check(folders, options.json === true));
}

function check(folders: readonly string[], json: boolean): void {
  const reports = chosenFolders(folders).map((folder) => ({ folder, result: loadRuleSet(folder) }));
  const problems = reports.flatMap(({ folder, result }) =>
    result.ok
      ? []
      : result.problems.map(({ at, message }) => ({ ...at, file: join(fromHere(folder), at.file), message })),
  );
  if (json) console.log(JSON.stringify({ problems }));
  else {
    for (const { folder, result } of reports) {
      if (result.ok) console.log(`${fromHere(folder)}: sound, ${ruleCount(result.ruleSet)} rules`);
      else console.log(formatProblems(fromHere(folder), result.problems));
    }
  }
  if (problems.length > 0) process.exitCode = EXIT.findings;
}

function ruleCount({ groups, signals, verdicts }: RuleSet): number {
  return groups.rules.length + signals.rules.length + verdicts.rules.length;
}
