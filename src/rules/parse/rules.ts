import type { Node } from 'yaml';
import { CLIENT_GROUPS } from '../../client/client-group.ts';
import { type Condition, foldCondition } from '../condition.ts';
import { isName } from '../name.ts';
import {
  type GroupParams,
  type ParsedRules,
  type Rule,
  type SignalParams,
  VERDICTS,
  type VerdictParams,
} from '../rule-set.ts';
import { totalWeight } from '../signal-weight.ts';
import type { RuleNames, RuleStage } from './comparison.ts';
import { ConditionReader } from './condition.ts';
import { readHoldout } from './holdout.ts';
import { readReason } from './reason.ts';
import { type Members, NO_MEMBERS, optional, type YamlFile } from './yaml-file.ts';

export const RULES_MAX = 500;
export const PRIORITY_MAX = 1_000_000;
export const WEIGHT_MAX = 1000;

/** How the rules of one file are read: what they have besides name, description and conditions. */
interface RuleForm<Params> {
  readonly stage: RuleStage;
  /** The first match counts, so each rule says when it is asked. */
  readonly prioritised: boolean;
  readonly eventType: string;
  readonly eventMembers: readonly string[];
  readonly optionalEventMembers?: readonly string[];
  /** `condition` is null when the rule's conditions are not sound; that is then among the problems. */
  readonly params: (members: Members, condition: Condition | null, node: Node) => Params | null;
}

interface RuleList<Params> {
  readonly rules: readonly Rule<Params>[];
  /** Whether every rule of the file was sound. */
  readonly complete: boolean;
}

/** Reads `groups.yaml`. */
export function readGroups(file: YamlFile, names: RuleNames): ParsedRules['groups'] | null {
  const allowed = ['conditions', 'rules', 'otherwise'];
  const members = file.members(file.root, 'groups.yaml', allowed, ['rules', 'otherwise']);
  if (members === null) return null;
  const choose = (node: Node) => file.choice(node, 'group', CLIENT_GROUPS);
  const { rules } = readRules<GroupParams>(file, members, names, {
    stage: 'groups',
    prioritised: true,
    eventType: 'group',
    eventMembers: ['group'],
    params: (params) => {
      const group = optional(params.get('group'), choose);
      return group === null ? null : { group };
    },
  });
  const otherwise = optional(members.get('otherwise'), choose);
  return otherwise === null ? null : { rules, otherwise };
}

/** Reads `bot-signals.yaml`. */
export function readSignals(file: YamlFile, names: RuleNames): ParsedRules['signals'] | null {
  const allowed = ['conditions', 'threshold', 'rules'];
  const members = file.members(file.root, 'bot-signals.yaml', allowed, ['threshold', 'rules']);
  if (members === null) return null;
  const weigh = (what: string) => (node: Node) => file.number(node, what, { min: 0.01, max: WEIGHT_MAX });
  const { rules, complete } = readRules<SignalParams>(file, members, names, {
    stage: 'bot-signals',
    prioritised: false,
    eventType: 'signal',
    eventMembers: ['weight'],
    params: (params) => {
      const weight = optional(params.get('weight'), weigh('weight'));
      return weight === null ? null : { weight };
    },
  });
  const threshold = optional(members.get('threshold'), weigh('threshold'));
  if (threshold === null) return null;
  const reachable = totalWeight(rules.map((rule) => rule.params.weight));
  if (complete && reachable < threshold) {
    return file.report(
      members.get('threshold')?.value ?? null,
      `all signals together weigh ${reachable}, which never reaches the threshold of ${threshold}`,
    );
  }
  return { rules, threshold };
}

/** Reads `verdicts.yaml`. */
export function readVerdicts(file: YamlFile, names: RuleNames): ParsedRules['verdicts'] | null {
  const allowed = ['conditions', 'rules', 'otherwise'];
  const members = file.members(file.root, 'verdicts.yaml', allowed, ['rules', 'otherwise']);
  if (members === null) return null;
  const { rules } = readRules<VerdictParams>(file, members, names, {
    stage: 'verdicts',
    prioritised: true,
    eventType: 'verdict',
    eventMembers: ['verdict', 'reason'],
    optionalEventMembers: ['ladder'],
    // What is wrong with the conditions is reported already; they may have demanded the binding.
    params: (params, condition, node) =>
      readVerdict(file, params, names, condition === null || demandsBinding(condition), node),
  });
  const otherwise = optional(members.get('otherwise'), (node) => {
    const allowed = ['verdict', 'reason', 'ladder'];
    const params = file.members(node, 'otherwise', allowed, ['verdict', 'reason']);
    return params === null ? null : readVerdict(file, params, names, false, node);
  });
  return otherwise === null ? null : { rules, otherwise };
}

function readVerdict(
  file: YamlFile,
  params: Members,
  names: RuleNames,
  bindingDemanded: boolean,
  node: Node,
): VerdictParams | null {
  const verdict = optional(params.get('verdict'), (value) => file.choice(value, 'verdict', VERDICTS));
  const reason = optional(params.get('reason'), (value) => readReason(file, value, names.refs));
  if (verdict === 'GET_SAME_STICKY' && !bindingDemanded) {
    return file.report(
      node,
      'GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
    );
  }
  const named = params.get('ladder');
  const ladder = optional(named, (value) => names.ladders.use(file, value));
  if (named !== undefined && verdict !== null && verdict !== 'WAIT') {
    return file.report(named.key, `only WAIT has a ladder; ${verdict} imposes no wait`);
  }
  if (verdict === null || reason === null || (named !== undefined && ladder === null)) return null;
  return { verdict, ladder, reason };
}

function readRules<Params>(
  file: YamlFile,
  members: Members,
  names: RuleNames,
  form: RuleForm<Params>,
): RuleList<Params> {
  const named =
    optional(members.get('conditions'), (node) => file.anyMembers(node, '"conditions"')) ?? NO_MEMBERS;
  const reader = new ConditionReader(file, form.stage, names, named);
  const nodes = optional(members.get('rules'), (node) => file.items(node, '"rules"')) ?? [];
  if (nodes.length > RULES_MAX) {
    file.report(nodes[RULES_MAX] ?? null, `a file holds at most ${RULES_MAX} rules`);
  }
  const read = nodes.slice(0, RULES_MAX).map((node) => readRule(file, node, reader, form));
  const sound = read.filter((rule) => rule !== null);
  refuseNamesakes(file, sound);
  const rules = sound.map(({ rule }) => rule);
  return {
    rules: form.prioritised ? rules.toSorted((a, b) => b.priority - a.priority) : rules,
    complete: nodes.length > 0 && sound.length === nodes.length,
  };
}

/** A rule with the node where it stands, for what only shows beside other rules. */
interface ReadRule<Params> {
  readonly rule: Rule<Params>;
  readonly node: Node;
}

function readRule<Params>(
  file: YamlFile,
  node: Node,
  reader: ConditionReader,
  form: RuleForm<Params>,
): ReadRule<Params> | null {
  const required = ['name', ...(form.prioritised ? ['priority'] : []), 'conditions', 'event'];
  const allowed = [...required, 'description', 'holdout', 'holdoutMaxAmount'];
  const members = file.members(node, 'a rule', allowed, required);
  if (members === null) return null;
  const name = optional(members.get('name'), (value) => readName(file, value));
  const description = members.has('description')
    ? optional(members.get('description'), (value) => file.text(value, 'description'))
    : '';
  const priority = form.prioritised
    ? optional(members.get('priority'), (value) =>
        file.number(value, 'priority', { min: 1, max: PRIORITY_MAX, integer: true }),
      )
    : 1;
  const condition = optional(members.get('conditions'), (value) => reader.topLevel(value));
  const params = optional(members.get('event'), (value) => readEvent(file, value, condition, form));
  const holdout = readHoldout(file, members);
  if (name === null || description === null || priority === null || condition === null || params === null)
    return null;
  if (holdout === null) return null;
  const rule = { name, description, priority, condition, params, at: file.at(node) };
  return { rule: holdout === undefined ? rule : { ...rule, holdout }, node };
}

function readName(file: YamlFile, node: Node): string | null {
  const name = file.text(node, 'name');
  if (name === null) return null;
  if (name === 'otherwise') {
    return file.report(node, '"otherwise" is the name of the answer when no rule matches');
  }
  if (isName(name)) return name;
  return file.report(
    node,
    `name must be lower-case words joined by "-", at most 64 characters, like asked-too-early, not "${name}"`,
  );
}

function readEvent<Params>(
  file: YamlFile,
  node: Node,
  condition: Condition | null,
  form: RuleForm<Params>,
): Params | null {
  const members = file.members(node, 'event', ['type', 'params'], ['type', 'params']);
  const type = optional(members?.get('type'), (value) => file.choice(value, 'event type', [form.eventType]));
  const params = optional(members?.get('params'), (value) => {
    const allowed = [...form.eventMembers, ...(form.optionalEventMembers ?? [])];
    const found = file.members(value, 'params', allowed, form.eventMembers);
    return found === null ? null : form.params(found, condition, node);
  });
  return type === null ? null : params;
}

function refuseNamesakes<Params>(file: YamlFile, rules: readonly ReadRule<Params>[]): void {
  const first = new Map<string, Rule<Params>>();
  for (const { rule, node } of rules) {
    const namesake = first.get(rule.name);
    if (namesake === undefined) first.set(rule.name, rule);
    else file.report(node, `the name "${rule.name}" is taken by the rule in line ${namesake.at.line}`);
  }
}

/** Whether a condition can only hold for a client with a live binding. */
function demandsBinding(condition: Condition): boolean {
  return foldCondition(condition, {
    group: (kind, parts) => (kind === 'all' ? parts.includes(true) : !parts.includes(false)),
    not: () => false,
    reference: (_name, part) => part,
    comparison: ({ fact, operator, value }) =>
      ['hasBinding', 'bindingFitsMethod'].includes(fact.name) && operator === 'equal' && value === true,
  });
}
