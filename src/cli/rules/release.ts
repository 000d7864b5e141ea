import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { makeRelease } from '../../rules/folder/release.ts';
import { RELEASE_FILE, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import { FindingsError, UsageError } from '../exit.ts';
import { print } from '../print.ts';
import { checkFolder, problemLines } from './check.ts';
import { chosenFolders, soundRuleSet } from './rule-folders.ts';
import { testFolder } from './test.ts';

/** rules release: from then on a version may decide, and never changes. */
export function releaseCommand(rules: Command): void {
  rules
    .command('release <version>')
    .description(
      'fix a version for good, when check and test find nothing: it may decide then, and never changes',
    )
    .option('--json', 'print the release')
    .action((version: string, options: { json?: true }) => release(version, options.json === true));
}

function release(version: string, json: boolean): void {
  const [folder = ''] = chosenFolders([version]);
  const ruleSet = soundRuleSet(version);
  const path = join(folder, RELEASE_FILE);
  if (existsSync(path)) throw new UsageError(`${version} is released already, with digest ${ruleSet.digest}`);
  refuseFindings(folder, version);
  const made = makeRelease(version, readRuleFiles(folder, []) ?? new Map(), new Date());
  writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`, { flag: 'wx' });
  print(json ? JSON.stringify(made) : `${version} is released: sha256:${made.digest}`);
}

/** What `rules check` and `rules test` find stands in the way of a release: afterwards nothing can be mended. */
function refuseFindings(folder: string, version: string): void {
  const { problems } = checkFolder(folder);
  if (problems.length > 0) {
    throw new FindingsError(
      `${version} has findings and is not released; see: rules check ${version}\n${problemLines(problems)}`,
    );
  }
  const { failed } = testFolder(folder);
  if (failed > 0) {
    const cases = failed === 1 ? '1 case' : `${failed} cases`;
    throw new FindingsError(`${cases} of ${version} failed; it is not released; see: rules test ${version}`);
  }
}
