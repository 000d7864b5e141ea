import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblems, listRuleVersions, loadRuleSet, RELEASE_FILE } from './library.ts';
import type { RuleSet, RuleVersion } from './rule-set.ts';

/** No rule set can decide; the message says why and what to do. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
}

/** The rule set to decide with: the wanted version, or without a wish the newest released one. */
export function loadActiveRules(rulesDir: string, wanted: RuleVersion | null): RuleSet {
  const version = wanted ?? newestReleased(rulesDir);
  const folder = join(rulesDir, version);
  const result = loadRuleSet(folder);
  if (!result.ok) {
    const problems = formatProblems(folder, result.problems);
    throw new RulesError(`the rule set ${version} is not sound:\n${problems}`);
  }
  if (!result.ruleSet.released) {
    throw new RulesError(
      `the rule set ${version} is a draft; run "rules release ${version}" before it may decide`,
    );
  }
  return result.ruleSet;
}

function newestReleased(rulesDir: string): RuleVersion {
  if (!existsSync(rulesDir))
    throw new RulesError(`there is no folder ${rulesDir}; set RULES_DIR to the folder of rule sets`);
  const released = listRuleVersions(rulesDir).filter((version) =>
    existsSync(join(rulesDir, version, RELEASE_FILE)),
  );
  const newest = released.at(-1);
  if (newest === undefined)
    throw new RulesError(`there is no released rule set in ${rulesDir}; see rules/README.md`);
  return newest;
}
