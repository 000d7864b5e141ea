import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { ConfigError, readConfig } from '#config.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import { describeBadVersionName, isRuleVersion, type RuleSet } from '#decision/rules/rule-set.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { explainUnusableRulesDir, listRuleVersions } from '#state/rule-folders/rules-dir.ts';
import { copyVersionToDraft, DraftRefused } from '#workbench/authoring/draft.ts';
import { FindingsError, UsageError } from '#workbench/commands/exit.ts';
import { print } from '#workbench/commands/print.ts';

/**
 * Lists the folders of the chosen versions. A choice is a version's name or a folder's path. If there is no choice,
 * all versions in RULES_DIR are listed.
 */
export function listChosenFolders(chosen: readonly string[]): readonly string[] {
  const { rulesDir } = readConfig();
  const refusal = explainUnusableRulesDir(rulesDir);
  if (refusal !== null) throw new ConfigError(refusal);
  if (chosen.length === 0) return listRuleVersions(rulesDir).map((version) => join(rulesDir, version));
  return chosen.map((name) => {
    const folder = isRuleVersion(name) ? join(rulesDir, name) : resolve(name);
    if (!isRuleVersion(basename(folder))) throw new UsageError(describeBadVersionName(name));
    if (!existsSync(folder)) throw new UsageError(`there is no rule set at ${toRelativePath(folder)}`);
    return folder;
  });
}

/** Returns a path as a person in the working folder would write it. */
export function toRelativePath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') || short === '' ? path : short;
}

/**
 * Loads the rule set that a person named on the command line. If the rule set has problems, throws FindingsError with
 * all of them.
 */
export function loadSoundRuleSet(chosen: string): RuleSet {
  const [folder = ''] = listChosenFolders([chosen]);
  const loaded = loadRuleSet(folder);
  if (loaded.ok) return loaded.ruleSet;
  throw new FindingsError(
    `${basename(folder)} has problems:\n${formatProblems(toRelativePath(folder), loaded.problems)}`,
  );
}

interface NewOptions {
  readonly from: string;
  readonly json?: true;
}

export function addNewVersionCommand(rules: Command): void {
  rules
    .command('new <version>')
    .description('start a version as a copy of another one')
    .requiredOption('--from <version>', 'the version to copy')
    .option('--json', 'print one JSON object')
    .action((version: string, options: NewOptions) => startVersion(version, options));
}

function startVersion(version: string, { from, json }: NewOptions): void {
  const [source = ''] = listChosenFolders([from]);
  const sourceVersion = basename(source);
  const folder = copyRuleSet(source, version);
  if (json === true) {
    print(JSON.stringify({ ruleVersion: version, from: sourceVersion, folder }));
    return;
  }
  print(
    [
      `${toRelativePath(folder)} is a new draft, copied from ${sourceVersion}. Edit its files, then run:`,
      `  rules check ${version}`,
      `  rules test ${version}`,
      `  rules diff ${sourceVersion} ${version}`,
      `  rules backtest ${version}`,
      `  rules release ${version}`,
    ].join('\n'),
  );
}

function copyRuleSet(source: string, version: string): string {
  try {
    return copyVersionToDraft(source, readConfig().rulesDir, version, toRelativePath);
  } catch (error) {
    throw error instanceof DraftRefused ? new UsageError(error.message) : error;
  }
}
