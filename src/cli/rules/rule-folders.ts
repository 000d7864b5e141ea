import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { ConfigError, readConfig } from '../../config.ts';
import { formatProblems, listRuleVersions, loadRuleSet } from '../../rules/folder/rule-folder.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleSet } from '../../rules/rule-set.ts';
import { FindingsError, UsageError } from '../exit.ts';

/** Versions by name, or folders by path; without any, all that lie in RULES_DIR. */
export function chosenFolders(chosen: readonly string[]): readonly string[] {
  const { rulesDir } = readConfig();
  if (!existsSync(rulesDir))
    throw new ConfigError(
      `RULES_DIR is ${rulesDir}, where there is no folder; set it to the folder of rule sets`,
    );
  if (chosen.length === 0) return listRuleVersions(rulesDir).map((version) => join(rulesDir, version));
  return chosen.map((name) => {
    const folder = isRuleVersion(name) ? join(rulesDir, name) : resolve(name);
    if (!isRuleVersion(basename(folder)))
      throw new UsageError(`a rule set's folder is named ${RULE_VERSION_FORM}, unlike "${name}"`);
    if (!existsSync(folder)) throw new UsageError(`there is no rule set at ${fromHere(folder)}`);
    return folder;
  });
}

/** A path as a person standing in the working folder would write it. */
export function fromHere(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') || short === '' ? path : short;
}

/** The rule set that somebody named on the command line. Throws FindingsError with every problem it has. */
export function soundRuleSet(chosen: string): RuleSet {
  const [folder = ''] = chosenFolders([chosen]);
  const loaded = loadRuleSet(folder);
  if (loaded.ok) return loaded.ruleSet;
  throw new FindingsError(
    `${basename(folder)} is not sound:\n${formatProblems(fromHere(folder), loaded.problems)}`,
  );
}
