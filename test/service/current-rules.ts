import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';

/** The folder of the rule set that the service decides with. */
export const RULES_FOLDER = join(import.meta.dirname, '..', '..', 'rules', 'p2.v10');

/** How many cases the rule set has. */
export function countCurrentCases(): number {
  const folder = join(RULES_FOLDER, 'cases');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/^ {2}- name: /gm)]).length;
}

let loadedRules: RuleSet | null = null;

export function currentRules(): RuleSet {
  if (loadedRules !== null) return loadedRules;
  const result = loadRuleSet(RULES_FOLDER);
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('\n'));
  loadedRules = result.ruleSet;
  return loadedRules;
}
