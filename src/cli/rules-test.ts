import { join } from 'node:path';
import type { Command } from 'commander';
import { type CaseReport, runCases } from '../analysis/cases.ts';
import { formatProblems, loadRuleSet, readRuleFiles } from '../rules/library.ts';
import { EXIT } from './exit.ts';
import { chosenFolders, fromHere } from './rule-folders.ts';

/** rules test: the cases that lie beside the rules. */
export function testCommand(rules: Command): void {
  rules
    .command('test [versions...]')
    .description('run the cases of rule sets; without versions: all of them')
    .option('--json', 'print one JSON object')
    .action((versions: string[], options: { json?: true }) => test(versions, options.json === true));
}

function test(versions: readonly string[], json: boolean): void {
  const reports = chosenFolders(versions).map((folder) => testFolder(folder));
  if (json) console.log(JSON.stringify({ reports }));
  else for (const report of reports) console.log(describe(report));
  if (reports.some(({ problems, failed }) => problems.length > 0 || failed > 0))
    process.exitCode = EXIT.findings;
}

interface FolderReport {
  readonly folder: string;
  readonly problems: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly failures: CaseReport['failures'];
}

/** Runs the cases of one folder; what is unsound is told instead. */
export function testFolder(folder: string): FolderReport {
  const name = fromHere(folder);
  const unsound = (problems: string): FolderReport => ({
    folder: name,
    problems: problems.split('\n'),
    passed: 0,
    failed: 0,
    failures: [],
  });
  const loaded = loadRuleSet(folder);
  if (!loaded.ok) return unsound(formatProblems(name, loaded.problems));
  const report = runCases(loaded.ruleSet, readRuleFiles(folder, []) ?? new Map());
  if (report.problems.length > 0) return unsound(formatProblems(name, report.problems));
  const { passed, failures } = report;
  return { folder: name, problems: [], passed, failed: failures.length, failures };
}

function describe({ folder, problems, passed, failed, failures }: FolderReport): string {
  if (problems.length > 0) return problems.join('\n');
  const lines = failures.map((failure) => {
    const { file, line, column } = failure.at;
    return `${join(folder, file)}:${line}:${column}  ${failure.caseName}: ${failure.message}`;
  });
  return [...lines, `${folder}: ${passed} cases passed, ${failed} failed`].join('\n');
}
