import { basename } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../../config.ts';
import type { YamlEdit } from '../../rules/edited-yaml.ts';
import { DraftRefused, writeDraft } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
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
  const folder = draftFrom(from, version);
  const sourceVersion = basename(chosenFolders([from])[0] ?? '');
  if (json === true) {
    print(JSON.stringify({ ruleVersion: version, from: sourceVersion, folder }));
    return;
  }
  print(
    [
      `${fromHere(folder)} is a draft, a copy of ${sourceVersion}. Edit its files, then:`,
      `  rules check ${version}`,
      `  rules test ${version}`,
      `  rules diff ${sourceVersion} ${version}`,
      `  rules backtest ${version}`,
      `  rules release ${version}`,
    ].join('\n'),
  );
}

/** Makes a draft in RULES_DIR from a version or folder that a person named, and gives the draft's folder. */
export function draftFrom(
  from: string,
  version: string,
  edits: Readonly<Record<string, readonly YamlEdit[]>> = {},
  texts: RuleFiles = new Map(),
): string {
  const [source = ''] = chosenFolders([from]);
  try {
    return writeDraft({ source, rulesDir: readConfig().rulesDir, version, edits, texts, shown: fromHere });
  } catch (error) {
    if (error instanceof DraftRefused) throw new UsageError(error.message);
    throw error;
  }
}
