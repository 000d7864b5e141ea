import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../../config.ts';
import { formatProblems, RELEASE_FILE, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import { parse, type RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleVersion } from '../../rules/rule-set.ts';
import { UsageError } from '../exit.ts';
import { print } from '../print.ts';
import { chosenFolders, fromHere } from './rule-folders.ts';

interface NewOptions {
  readonly from: string;
  readonly json?: true;
}

/** rules new: a draft to edit, because a released version never changes. */
export function newCommand(rules: Command): void {
  rules
    .command('new <version>')
    .description('start a version as a copy of another one')
    .requiredOption('--from <version>', 'the version to copy')
    .option('--json', 'print one JSON object')
    .action((version: string, options: NewOptions) => startVersion(version, options));
}

function startVersion(version: string, { from, json }: NewOptions): void {
  if (!isRuleVersion(version))
    throw new UsageError(`a version is named ${RULE_VERSION_FORM}, unlike "${version}"`);
  const [source = ''] = chosenFolders([from]);
  const target = join(readConfig().rulesDir, version);
  if (existsSync(target))
    throw new UsageError(`${fromHere(target)} exists already; choose another version or edit it as it is`);
  const renamed = renamedRuleSet(source, version);
  copyFolder(source, target, renamed);
  const sourceVersion = basename(source);
  if (json === true) {
    print(JSON.stringify({ ruleVersion: version, from: sourceVersion, folder: target }));
    return;
  }
  print(
    [
      `${fromHere(target)} is a draft, a copy of ${sourceVersion}. Edit its files, then:`,
      `  rules check ${version}`,
      `  rules test ${version}`,
      `  rules diff ${sourceVersion} ${version}`,
      `  rules backtest ${version} --journal <file>`,
      `  rules release ${version}`,
    ].join('\n'),
  );
}

/**
 * The text of ruleset.yaml with the new version in it. The source must be sound in itself; that it was
 * edited after its release is no obstacle, because a new version is the way on from there.
 */
function renamedRuleSet(source: string, version: RuleVersion): string {
  const problems: Problem[] = [];
  const files: RuleFiles = readRuleFiles(source, problems) ?? new Map();
  const read = parse(basename(source), files);
  if (problems.length > 0 || !read.ok) {
    const all = [...problems, ...(read.ok ? [] : read.problems)];
    throw new UsageError(
      `${basename(source)} is not sound and cannot be copied:\n${formatProblems(fromHere(source), all)}`,
    );
  }
  // Replaced as text, not by writing the YAML anew, so that comments and layout stay as they are.
  const text = (files.get('ruleset.yaml') ?? '').replace(
    /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+/m,
    (_, before: string) => before + version,
  );
  if (!parse(version, new Map([...files, ['ruleset.yaml', text]])).ok) {
    throw new UsageError(
      `the ruleVersion in ${fromHere(join(source, 'ruleset.yaml'))} cannot be replaced; write it as a line of its own, like ruleVersion: ${basename(source)}`,
    );
  }
  return text;
}

/** Made beside its place and moved there at the end, so that no node ever sees half a version. */
function copyFolder(source: string, target: string, ruleSetText: string): void {
  const draft = mkdtempSync(join(dirname(target), '.new-'));
  try {
    const made = join(draft, basename(target));
    cpSync(source, made, {
      recursive: true,
      filter: (path) => path !== join(source, RELEASE_FILE),
    });
    writeFileSync(join(made, 'ruleset.yaml'), ruleSetText);
    renameSync(made, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
