import { isGrant } from '../../decision/conclude-verdict.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { PRIORITY_MAX } from '../../rules/parse/rules.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import type { FoundCondition, FoundRule } from './rule-search.ts';

/** The name of a suggested rule, which no rule of the version has. */
export function freeNames(rules: RuleSet, count: number): readonly string[] {
  const taken = new Set(rules.verdicts.rules.map(({ name }) => name));
  const names: string[] = [];
  for (let number = 1; names.length < count; number++)
    if (!taken.has(`suggested-${number}`)) names.push(`suggested-${number}`);
  return names;
}

/**
 * Free priorities right above every rule that does not block, so that what is suggested comes before them, and
 * as far as possible after the rules that block already: orders which these stop stay theirs.
 */
export function freePriorities(rules: RuleSet, count: number): readonly number[] {
  const taken = new Set(rules.verdicts.rules.map(({ priority }) => priority));
  const others = rules.verdicts.rules.filter(
    ({ params }) => isGrant(params.verdict) || params.verdict === 'WAIT',
  );
  const above = Math.max(0, ...others.map(({ priority }) => priority));
  const free: number[] = [];
  for (let priority = above + 1; free.length < count && priority <= PRIORITY_MAX; priority++)
    if (!taken.has(priority)) free.push(priority);
  return free.toReversed();
}

export interface SuggestedRule {
  readonly kind: 'rule';
  readonly name: string;
  readonly priority: number;
  readonly description: string;
  readonly rule: FoundRule;
}

/** The files with further rules at the beginning of verdicts.yaml; all else stays as it is. */
export function withRules(files: RuleFiles, rules: readonly SuggestedRule[]): RuleFiles {
  const text = files.get('verdicts.yaml') ?? '';
  // The first item of the list, with the comments right above it left where they are.
  const first = /^rules:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]*)-/m.exec(text);
  if (first === null) return files;
  const [head, indent = ''] = first;
  const at = first.index + head.length - indent.length - 1;
  const added = rules.map((rule) => yamlOf(rule, indent)).join('\n');
  return new Map([...files, ['verdicts.yaml', `${text.slice(0, at)}${added}\n${text.slice(at)}`]]);
}

function yamlOf({ name, priority, description, rule }: SuggestedRule, indent: string): string {
  const lines = [
    `- name: ${name}`,
    '  description: >-',
    `    ${description}`,
    `  priority: ${priority}`,
    '  conditions:',
    '    all:',
    // A person's decision outweighs what was found in counts.
    '      - { fact: overrideGroup, operator: notEqual, value: TRUSTED }',
    ...rule.conditions.map((condition) => `      - ${conditionYaml(condition)}`),
    '  event:',
    '    type: verdict',
    '    params: { verdict: BLOCK, reason: "Payers who came here like this hardly ever paid." }',
  ];
  return `${lines.map((line) => indent + line).join('\n')}\n`;
}

function conditionYaml({ label, operator, value, isFlag }: FoundCondition): string {
  const [, fact = label, window] = /^(\w+)(?:\((.+)\))?$/.exec(label) ?? [];
  const params = window === undefined ? '' : `params: { window: ${window} }, `;
  return `{ fact: ${fact}, ${params}operator: ${operator}, value: ${isFlag ? value === 1 : value} }`;
}
