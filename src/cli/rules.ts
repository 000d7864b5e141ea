import { existsSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { type CaseReport, runCases } from '../analysis/cases.ts';
import { readConfig } from '../config.ts';
import {
  formatProblems,
  listRuleVersions,
  loadRuleSet,
  RELEASE_FILE,
  readRuleFiles,
} from '../rules/library.ts';
import { makeRelease } from '../rules/release.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleSet } from '../rules/rule-set.ts';
import { EXIT, UsageError } from './exit.ts';

/** rules check, test, release: an analyst's way from an edited file to a version that can decide. */
export function rulesCommands(program: Command): void {
  const rules = program.command('rules').description('rule sets');

  rules
    .command('check [folders...]')
    .description('every problem of rule sets, with file, line and column; without folders: all of them')
    .option('--json', 'print one JSON object')
    .action((folders: string[], options: { json?: true }) => check(folders, options.json === true));

  rules
    .command('test [versions...]')
    .description('run the cases of rule sets; without versions: all of them')
    .option('--json', 'print one JSON object')
    .action((versions: string[], options: { json?: true }) => test(versions, options.json === true));

  rules
    .command('release <version>')
    .description('fix a version for good: it may decide from then on, and never changes')
    .option('--json', 'print the release')
    .action((version: string, options: { json?: true }) => release(version, options.json === true));
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

function testFolder(folder: string): FolderReport {
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

function release(version: string, json: boolean): void {
  const [folder = ''] = chosenFolders([version]);
  const name = fromHere(folder);
  const loaded = loadRuleSet(folder);
  if (!loaded.ok)
    throw new UsageError(
      `${version} is not sound and cannot be released:\n${formatProblems(name, loaded.problems)}`,
    );
  const path = join(folder, RELEASE_FILE);
  if (existsSync(path))
    throw new UsageError(`${version} is released already, with digest ${loaded.ruleSet.digest}`);
  const { failed } = testFolder(folder);
  if (failed > 0) throw new UsageError(`${failed} cases of ${version} fail; see: rules test ${version}`);
  const made = makeRelease(version, readRuleFiles(folder, []) ?? new Map(), new Date());
  writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`, { flag: 'wx' });
  console.log(json ? JSON.stringify(made) : `${version} is released: sha256:${made.digest}`);
}

/** Versions by name, or folders by path; without any, all that lie in RULES_DIR. */
function chosenFolders(chosen: readonly string[]): readonly string[] {
  const { rulesDir } = readConfig();
  if (chosen.length === 0) return listRuleVersions(rulesDir).map((version) => join(rulesDir, version));
  return chosen.map((name) => {
    const folder = isRuleVersion(name) ? join(rulesDir, name) : resolve(name);
    if (!isRuleVersion(basename(folder)))
      throw new UsageError(`a rule set's folder is named ${RULE_VERSION_FORM}, unlike "${name}"`);
    if (!existsSync(folder)) throw new UsageError(`there is no rule set at ${fromHere(folder)}`);
    return folder;
  });
}

function fromHere(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') || short === '' ? path : short;
}

function ruleCount({ groups, signals, verdicts }: RuleSet): number {
  return groups.rules.length + signals.rules.length + verdicts.rules.length;
}
