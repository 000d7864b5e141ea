import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { makeRelease } from '../../rules/folder/release.ts';
import { formatProblems, loadRuleSet, RELEASE_FILE, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import { UsageError } from '../exit.ts';
import { print } from '../print.ts';
import { chosenFolders, fromHere } from './rule-folders.ts';
import { testFolder } from './test.ts';

/** rules release: from then on a version may decide, and never changes. */
export function releaseCommand(rules: Command): void {
  rules
    .command('release <version>')
    .description('fix a version for good: it may decide from then on, and never changes')
    .option('--json', 'print the release')
    .action((version: string, options: { json?: true }) => release(version, options.json === true));
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
  print(json ? JSON.stringify(made) : `${version} is released: sha256:${made.digest}`);
}
