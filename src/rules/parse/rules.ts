import type { Node } from 'yaml';
import { CLIENT_GROUPS } from '../../client/client-state.ts';
import { type Condition, foldCondition } from '../condition.ts';
import { suggest } from '../problem.ts';
import {
  ANSWER_PLACEHOLDERS,
  type GroupParams,
  isName,
  type ParsedRules,
  type ReasonPart,
  type Rule,
  type SignalParams,
  totalWeight,
  VERDICTS,
  type VerdictParams,
} from '../rule-set.ts';
import {
  ComparisonReader,
  type FactRefs,
  factOfPlaceholder,
  type RuleNames,
  type RuleStage,
} from './comparison.ts';
import { PayerTexts } from './payer-text.ts';
import { readHoldout } from './rule-ladders.ts';
import { type Member, type Members, NO_MEMBERS, optional, type YamlFile } from './yaml-file.ts';

export const RULES_MAX = 500;
export const PRIORITY_MAX = 1_000_000;
export const WEIGHT_RANGE = { min: 0.01, max: 1000 } as const;

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
  const weigh = (what: string) => (node: Node) => file.number(node, what, WEIGHT_RANGE);
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

/** Reads `verdicts.yaml`; no text for the payer may name one of its rules, nor one of `otherRules`. */
export function readVerdicts(
  file: YamlFile,
  names: RuleNames,
  otherRules: readonly string[],
): ParsedRules['verdicts'] | null {
  const allowed = ['conditions', 'rules', 'otherwise'];
  const members = file.members(file.root, 'verdicts.yaml', allowed, ['rules', 'otherwise']);
  if (members === null) return null;
  const payerTexts = new PayerTexts(file);
  const { rules } = readRules<VerdictParams>(file, members, names, {
    stage: 'verdicts',
    prioritised: true,
    eventType: 'verdict',
    eventMembers: ['verdict', 'reason'],
    optionalEventMembers: OPTIONAL_OF_VERDICT,
    // What is wrong with the conditions is reported already; they may have demanded the binding.
    params: (params, condition, node) =>
      readVerdict(file, params, { names, payerTexts }, condition === null || demandsBinding(condition), node),
  });
  const otherwise = optional(members.get('otherwise'), (node) => {
    const required = ['verdict', 'reason'];
    const params = file.members(node, 'otherwise', [...required, ...OPTIONAL_OF_VERDICT], required);
    return params === null ? null : readVerdict(file, params, { names, payerTexts }, false, node);
  });
  payerTexts.refuseRuleNames([...otherRules, ...rules.map(({ name }) => name)]);
  return otherwise === null ? null : { rules, otherwise };
}

const OPTIONAL_OF_VERDICT = ['ladder', 'payerText'];

function readVerdict(
  file: YamlFile,
  params: Members,
  { names, payerTexts }: { readonly names: RuleNames; readonly payerTexts: PayerTexts },
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
  const said = params.get('payerText');
  const payerText = optional(said, (value) => payerTexts.read(value, verdict));
  const named = params.get('ladder');
  const ladder = optional(named, (value) => names.ladders.use(file, value));
  if (named !== undefined && verdict !== null && verdict !== 'WAIT') {
    return file.report(named.key, `only WAIT has a ladder; ${verdict} imposes no wait`);
  }
  if (verdict === null || reason === null || (named !== undefined && ladder === null)) return null;
  return said !== undefined && payerText === null ? null : { verdict, ladder, reason, payerText };
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

/** Reads a reason text like `Wait {waitSeconds} s; asked {verdicts(10m)} times.` */
function readReason(file: YamlFile, node: Node, refs: FactRefs): readonly ReasonPart[] | null {
  const text = file.text(node, 'reason');
  if (text === null) return null;
  const pieces = text.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const parts = pieces.map((piece) => readPart(file, node, piece, refs)).filter((part) => part !== null);
  return parts.length === pieces.length ? parts : null;
}

function readPart(file: YamlFile, node: Node, piece: string, refs: FactRefs): ReasonPart | null {
  if (piece.startsWith('{') && piece.endsWith('}')) {
    return readPlaceholder(file, node, piece.slice(1, -1), refs);
  }
  const [brace] = /[{}]/.exec(piece) ?? [];
  if (brace === undefined) return { kind: 'words', words: piece };
  return file.report(
    node,
    `reason has a "${brace}" without its partner; braces stand around a fact, like {paidCount}`,
  );
}

function readPlaceholder(file: YamlFile, node: Node, name: string, refs: FactRefs): ReasonPart | null {
  const answer = ANSWER_PLACEHOLDERS.find((candidate) => candidate === name);
  if (answer !== undefined) return { kind: 'answer', name: answer };
  const named = factOfPlaceholder(name, refs);
  if (named.kind === 'fact') return named;
  const allowed = [...refs.all().map((ref) => ref.label), ...ANSWER_PLACEHOLDERS];
  const hint = named.kind === 'unknown' ? suggest(name, allowed) : '';
  return file.report(node, `reason has a bad placeholder {${name}}: ${named.message}${hint}`);
}

/** Nobody can read rules that are nested deeper than this. */
const NESTING_LEVELS_MAX = 16;

/** Named conditions that name each other can multiply a few lines into billions of comparisons. */
const COMPARISONS_MAX = 1000;

/** How large a condition is with the named conditions that it refers to. */
interface Extent {
  readonly depth: number;
  readonly comparisons: number;
}

const ONE_COMPARISON: Extent = { depth: 1, comparisons: 1 };

const BOOLEAN_MEMBERS = ['all', 'any', 'not', 'condition'] as const;

class ConditionReader {
  readonly #file: YamlFile;
  readonly #comparisons: ComparisonReader;
  readonly #named: Members;
  readonly #resolved = new Map<string, Condition | null>();
  readonly #extents = new Map<Condition, Extent>();
  readonly #path: string[] = [];

  constructor(file: YamlFile, stage: RuleStage, ruleNames: RuleNames, named: Members) {
    this.#file = file;
    this.#comparisons = new ComparisonReader(file, stage, ruleNames);
    this.#named = named;
    for (const name of named.keys()) this.#resolve(name);
  }

  /** What a rule's `conditions` may be: all, any, not or condition, but no bare comparison. */
  topLevel(node: Node): Condition | null {
    const members = this.#file.anyMembers(node, 'conditions');
    if (members === null) return null;
    if (!BOOLEAN_MEMBERS.some((kind) => members.has(kind))) {
      return this.#file.report(
        node,
        'conditions must start with all, any, not or condition; put the comparison in "all"',
      );
    }
    return this.#condition(node, 1);
  }

  #condition(node: Node, depth: number): Condition | null {
    if (depth > NESTING_LEVELS_MAX) return this.#tooDeep(node);
    const members = this.#file.anyMembers(node, 'a condition');
    if (members === null) return null;
    const kinds = BOOLEAN_MEMBERS.filter((kind) => members.has(kind));
    const [kind] = kinds;
    if (kind === undefined) return this.#comparisons.read(node);
    if (members.size > 1) {
      const others = [...members.keys()].filter((name) => name !== kind).join(', ');
      return this.#file.report(
        node,
        `a condition has either all, any, not, condition or fact; "${kind}" stands beside ${others}`,
      );
    }
    const member = members.get(kind);
    return member === undefined ? null : this.#boolean(kind, node, member, depth);
  }

  #boolean(
    kind: (typeof BOOLEAN_MEMBERS)[number],
    node: Node,
    { value }: Member,
    depth: number,
  ): Condition | null {
    const at = this.#file.at(node);
    switch (kind) {
      case 'all':
      case 'any': {
        const items = this.#file.items(value, `"${kind}"`);
        if (items === null) return null;
        const conditions = items
          .map((item) => this.#condition(item, depth + 1))
          .filter((item) => item !== null);
        return conditions.length === items.length
          ? this.#measured({ kind, conditions, at }, conditions, node)
          : null;
      }
      case 'not': {
        const condition = this.#condition(value, depth + 1);
        return condition === null ? null : this.#measured({ kind, condition, at }, [condition], node);
      }
      case 'condition': {
        const name = this.#file.text(value, 'condition');
        if (name === null) return null;
        const condition = this.#reference(name, value);
        return condition === null
          ? null
          : this.#measured({ kind: 'reference', name, condition, at }, [condition], node);
      }
      default:
        return kind satisfies never;
    }
  }

  /** The condition itself, when it is not too large together with its parts. */
  #measured(condition: Condition, parts: readonly Condition[], node: Node): Condition | null {
    let depth = 0;
    let comparisons = 0;
    for (const part of parts) {
      const extent = this.#extents.get(part) ?? ONE_COMPARISON;
      depth = Math.max(depth, extent.depth);
      comparisons += extent.comparisons;
    }
    if (depth >= NESTING_LEVELS_MAX) return this.#tooDeep(node);
    if (comparisons > COMPARISONS_MAX) {
      return this.#file.report(
        node,
        `the condition makes ${comparisons} comparisons with the named conditions in it; at most ${COMPARISONS_MAX} are allowed`,
      );
    }
    this.#extents.set(condition, { depth: depth + 1, comparisons });
    return condition;
  }

  #tooDeep(node: Node): null {
    return this.#file.report(
      node,
      `conditions are nested deeper than ${NESTING_LEVELS_MAX} levels, named conditions included`,
    );
  }

  #reference(name: string, node: Node): Condition | null {
    if (!this.#named.has(name)) {
      const names = [...this.#named.keys()];
      const hint = names.length === 0 ? '; this file has no "conditions:"' : suggest(name, names);
      return this.#file.report(node, `unknown condition "${name}"${hint}`);
    }
    if (this.#path.includes(name)) {
      const cycle = [...this.#path.slice(this.#path.indexOf(name)), name].join(' -> ');
      return this.#file.report(node, `conditions refer to each other in a circle: ${cycle}`);
    }
    if (this.#path.length >= NESTING_LEVELS_MAX && !this.#resolved.has(name)) return this.#tooDeep(node);
    return this.#resolve(name);
  }

  #resolve(name: string): Condition | null {
    const known = this.#resolved.get(name);
    if (known !== undefined) return known;
    const member = this.#named.get(name);
    if (member === undefined) return null;
    this.#path.push(name);
    const condition = this.topLevel(member.value);
    this.#path.pop();
    this.#resolved.set(name, condition);
    return condition;
  }
}
