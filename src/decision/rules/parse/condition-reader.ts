import { isScalar, type Node } from 'yaml';
import { FACTS } from '#decision/facts/catalogue.ts';
import type { Fact, ListedFact, WindowedFact } from '#decision/facts/fact.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  listFittingOperators,
  OPERATOR_NAMES,
  type OperatorName,
} from '#decision/rules/condition.ts';
import { formatNameHint } from '#decision/rules/problem.ts';
import { describeBadListName, isName } from '#decision/rules/rule-set.ts';
import {
  explainFactWrittenAsText,
  findComparisonFault,
  formatDomain,
  getFactNameInMessages,
} from './compared-facts.ts';
import {
  formatConditionHint,
  guessConditionKeyword,
  guessOperator,
  PARAM_NAMES,
  RULE_MEMBERS_BESIDE_CONDITIONS,
} from './correction-hints.ts';
import { type FactRefs, findWindowFault } from './fact-refs.ts';
import { readFactValue } from './fact-value.ts';
import type { RuleLadders } from './rule-ladders.ts';
import type { RuleLists } from './rule-lists.ts';
import { explainUnknownFact } from './unknown-fact.ts';
import {
  formatWrongIndentMessage,
  type Member,
  type Members,
  NO_MEMBERS,
  type YamlFile,
} from './yaml-file.ts';

/** The kind of rules that asks for a fact. Each kind may use the conclusions of the kinds before it. */
export type RuleType = 'groups' | 'bot-signals' | 'verdicts' | 'flags';

const STAGES: readonly RuleType[] = ['groups', 'bot-signals', 'verdicts', 'flags'];

/**
 * Whether rules of this kind may ask for a fact. Facts that rules of the same or a later kind conclude are not known.
 */
export function isFactUsableIn(stage: RuleType, fact: Fact): boolean {
  return fact.kind !== 'concluded' || STAGES.indexOf(stage) >= STAGES.indexOf(fact.from);
}

/** The facts, lists and ladders of the rule set that conditions may name. Conditions may also name each other. */
export interface FactsListsAndLadders {
  readonly refs: FactRefs;
  readonly lists: RuleLists;
  readonly ladders: RuleLadders;
}

/** The right side of a comparison, and the name of the list from which its values come, if there is one. */
type RightSide = Pick<Comparison, 'value' | 'list'>;

const MEMBERS = ['fact', 'params', 'operator', 'value'] as const;

/** With this operator the right side is read as true or false, even if the fact does not accept the operator. */
const KNOWN_OPERATOR = 'known';

/** Reads the comparisons of one rule file: a fact, an operator, and the right side. */
class ComparisonReader {
  readonly #file: YamlFile;
  readonly #stage: RuleType;
  readonly #refs: FactRefs;
  readonly #lists: RuleLists;

  constructor(file: YamlFile, stage: RuleType, { refs, lists }: FactsListsAndLadders) {
    this.#file = file;
    this.#stage = stage;
    this.#refs = refs;
    this.#lists = lists;
  }

  /** Reads a comparison. If the comparison is not sound, returns null and reports why. */
  read(node: Node, members: Members): Comparison | null {
    const beside = members.has('params') ? undefined : PARAM_NAMES.find((name) => members.has(name));
    if (beside !== undefined) return this.#refuseParamBeside(beside, members.get(beside));
    this.#file.checkMemberNames(node, members, 'a condition', MEMBERS, ['fact', 'operator', 'value']);
    const fact = members.get('fact');
    const operator = members.get('operator');
    const value = members.get('value');
    // All members are read, so that a fault of one member hides no fault of another.
    const ref = fact === undefined ? null : this.#readFact(fact, members.get('params'));
    const operatorName = operator === undefined ? null : this.#readOperator(operator.value, ref);
    const asked =
      operator !== undefined && this.#file.toPlainValue(operator.value) === KNOWN_OPERATOR
        ? KNOWN_OPERATOR
        : operatorName;
    const limit = value === undefined || ref === null ? null : this.#readLimit(value.value, ref, asked);
    if (ref === null || operatorName === null || limit === null) return null;
    return { kind: 'comparison', fact: ref, operator: operatorName, ...limit, at: this.#file.locate(node) };
  }

  #refuseParamBeside(name: string, member: Member | undefined): null {
    const value = member === undefined ? '..' : this.#file.toPlainValue(member.value);
    return this.#file.report(
      member?.key ?? null,
      `"${name}" must stand within params; write params: { ${name}: ${value} }`,
    );
  }

  #readFact(member: Member, params?: Member): FactRef | null {
    const name = this.#file.readText(member.value, 'fact');
    if (name === null) return null;
    const fact = FACTS.get(name);
    if (fact === undefined) {
      const message = this.#refs.isAttributeDeclared(name)
        ? `"${name}" is an attribute; write fact: attribute, params: { name: ${name} }`
        : explainUnknownFact(name);
      return this.#file.report(member.value, message);
    }
    if (!isFactUsableIn(this.#stage, fact)) {
      return this.#file.report(
        member.value,
        `"${name}" is not yet known in ${this.#stage}.yaml; use it in ${listUsableFiles(fact)}`,
      );
    }
    if (fact.kind === 'windowed' && fact.ofAttribute !== undefined)
      return this.#readVelocity(name, fact, member, params);
    if (fact.kind === 'windowed') return this.#readWindowed(name, fact, member, params);
    if (fact.kind === 'listed') return this.#readSharedList(name, fact, member, params);
    if (fact.kind === 'attribute') return this.#readAttribute(member, params);
    if (params !== undefined) return this.#file.report(params.key, `"${name}" takes no params`);
    return this.#refs.intern(name, fact, 0);
  }

  #readWindowed(name: string, fact: WindowedFact, member: Member, params?: Member): FactRef | null {
    if (params === undefined) {
      return this.#file.report(
        member.value,
        `"${name}" is counted over a window; add params: { window: 10m }`,
      );
    }
    const window = this.#file.readMembers(params.value, 'params', ['window'], ['window'])?.get('window');
    if (window === undefined) return null;
    const windowMs = this.#readWindow(name, fact, window);
    return windowMs === null ? null : this.#refs.intern(name, fact, windowMs);
  }

  #readWindow(name: string, fact: WindowedFact, window: Member): number | null {
    const windowMs = this.#file.readDuration(window.value, 'window');
    if (windowMs === null) return null;
    const why = findWindowFault(name, fact, windowMs);
    return why === null ? windowMs : this.#file.report(window.value, why);
  }

  /** Reads a fact about the values of an attribute. Such a fact needs the attribute's name and a window. */
  #readVelocity(name: string, fact: WindowedFact, member: Member, params?: Member): FactRef | null {
    if (params === undefined) {
      const message = `"${name}" counts by an attribute over a window; add params: { name: card, window: 1h }`;
      return this.#file.report(member.value, message);
    }
    const wanted = ['name', 'window'];
    const members = this.#file.readMembers(params.value, 'params', wanted, wanted);
    const [attribute, window] = [members?.get('name'), members?.get('window')];
    if (attribute === undefined || window === undefined) return null;
    const asked = this.#file.readText(attribute.value, 'name');
    const windowMs = this.#readWindow(name, fact, window);
    const declared = asked === null ? null : this.#refs.findCountedAttribute(asked);
    if (typeof declared === 'string') return this.#file.report(attribute.value, declared);
    if (declared === null || windowMs === null) return null;
    return this.#refs.internVelocity(name, fact, windowMs, declared);
  }

  /** Reads a fact about a shared list. Whether the list exists is unknown, because lists change without a release. */
  #readSharedList(name: string, fact: ListedFact, member: Member, params?: Member): FactRef | null {
    if (params === undefined) {
      const message = `"${name}" asks about a shared list; add params: { list: blocked-devices }`;
      return this.#file.report(member.value, message);
    }
    const list = this.#file.readMembers(params.value, 'params', ['list'], ['list'])?.get('list');
    const listName = list === undefined ? null : this.#file.readText(list.value, 'list');
    if (list === undefined || listName === null) return null;
    if (!isName(listName)) {
      return this.#file.report(list.value, describeBadListName(listName));
    }
    return this.#refs.internListed(name, fact, listName);
  }

  #readAttribute(member: Member, params?: Member): FactRef | null {
    if (params === undefined) {
      const message = '"attribute" asks for what the caller says; add params: { name: cardCountry }';
      return this.#file.report(member.value, message);
    }
    const name = this.#file.readMembers(params.value, 'params', ['name'], ['name'])?.get('name');
    const asked = name === undefined ? null : this.#file.readText(name.value, 'name');
    if (name === undefined || asked === null) return null;
    const ref = this.#refs.findAttribute(asked);
    return ref === null || typeof ref !== 'string' ? ref : this.#file.report(name.value, ref);
  }

  /** Reads a fact on the right side. Both sides must be attributes, or one the amount, with equal type and unit. */
  #readOtherFact(node: Node, ref: FactRef, operator: OperatorName | null): FactRef | null {
    const members = this.#file.readMembers(node, 'value', ['fact', 'params'], ['fact']);
    const fact = members?.get('fact');
    const other = fact === undefined ? null : this.#readFact(fact, members?.get('params'));
    if (other === null) return null;
    const refusal = findComparisonFault(ref, operator, other);
    return refusal === null ? other : this.#file.report(node, refusal);
  }

  /** Reads an operator. If `ref` is null, because the fact is not sound, only checks that the operator exists. */
  #readOperator(node: Node, ref: FactRef | null): OperatorName | null {
    const meant = OPERATOR_NAMES.find((name) => name === guessOperator(this.#file.toPlainValue(node)));
    if (meant !== undefined)
      return this.#file.report(
        node,
        `unknown operator "${this.#file.toPlainValue(node)}"; did you mean "${meant}"?`,
      );
    const operator = this.#file.readChoice(node, 'operator', OPERATOR_NAMES);
    if (operator === null || ref === null) return operator;
    const { domain, absence } = ref.fact;
    const allowed = listFittingOperators(ref.fact);
    if (allowed.includes(operator)) return operator;
    if (operator === KNOWN_OPERATOR && absence === undefined) {
      return this.#file.report(
        node,
        `"${ref.name}" always has a value, so it cannot be asked whether it is known`,
      );
    }
    return this.#file.report(
      node,
      `operator "${operator}" does not fit "${getFactNameInMessages(ref)}", ${formatDomain(domain)}; allowed: ${allowed.join(', ')}`,
    );
  }

  /** Reads the right side. If `operator` is null, because it is not sound, only a single value is read. */
  #readLimit(node: Node, ref: FactRef, operator: OperatorName | null): RightSide | null {
    const what = `value for "${getFactNameInMessages(ref)}"`;
    if (operator === null && !isScalar(node)) return null;
    if (operator === KNOWN_OPERATOR) {
      const value = this.#file.readBoolean(node, 'value of operator "known"');
      return value === null ? null : { value };
    }
    if (operator !== 'in' && operator !== 'notIn') return this.#readSingle(node, ref, operator);
    if (this.#file.isMapping(node)) return this.#readListed(node, ref, operator);
    const items = this.#file.listItemNodes(node, `value of operator "${operator}"`);
    if (items === null) return null;
    const value = this.#file.readItems(items, (one) => this.#readValue(this.#file, one, what, ref, operator));
    return value === null ? null : { value };
  }

  #readSingle(node: Node, ref: FactRef, operator: OperatorName | null): RightSide | null {
    const value = this.#file.hasMember(node, 'fact')
      ? this.#readOtherFact(node, ref, operator)
      : this.#readValue(this.#file, node, `value for "${getFactNameInMessages(ref)}"`, ref, operator);
    return value === null ? null : { value };
  }

  #readValue(file: YamlFile, node: Node, what: string, ref: FactRef, operator: OperatorName | null) {
    const explainNamedFact = (text: string) => this.#explainNamedFact(text, ref, operator);
    return readFactValue({ file, node, what, explainNamedFact }, ref, operator);
  }

  #explainNamedFact(text: string, ref: FactRef, operator: OperatorName | null): string | null {
    const other = this.#refs.findAttributeOrFact(text);
    return other === null ? null : explainFactWrittenAsText(ref, operator, other);
  }

  /** Reads the values of `{ list: NAME }`. An entry that the fact can never have is reported in the list's file. */
  #readListed(node: Node, ref: FactRef, operator: OperatorName): RightSide | null {
    const member = this.#file.readMembers(node, 'value', ['list'], ['list'])?.get('list');
    const name = member === undefined ? null : this.#file.readText(member.value, 'list');
    if (member === undefined || name === null) return null;
    const list = this.#lists.findList(name, this.#file, member.value);
    if (list === null) return null;
    const what = `entry for "${getFactNameInMessages(ref)}"`;
    const value = this.#lists.readValuesFor(list, getFactNameInMessages(ref), (entry) =>
      this.#readValue(list.file, entry, what, ref, operator),
    );
    return value === null ? null : { value, list: name };
  }
}

function listUsableFiles(fact: Fact): string {
  if (fact.kind !== 'concluded') return 'every file';
  return STAGES.slice(STAGES.indexOf(fact.from))
    .map((stage) => `${stage}.yaml`)
    .join(' and ');
}

/** Rules that are nested deeper than this cannot be read by people. */
const NESTING_LEVELS_MAX = 16;

/** Named conditions that name each other can multiply a few lines into billions of comparisons. */
const COMPARISONS_MAX = 1000;

/** The size of a condition, including the named conditions that it refers to. */
interface ConditionSize {
  readonly depth: number;
  readonly comparisons: number;
}

const ONE_COMPARISON: ConditionSize = { depth: 1, comparisons: 1 };

const BOOLEAN_MEMBERS = ['all', 'any', 'not', 'condition'] as const;

/** Reads the conditions of one rule file. Conditions may refer to each other by name. */
export class ConditionReader {
  readonly #file: YamlFile;
  readonly #comparisons: ComparisonReader;
  #named: Members = NO_MEMBERS;
  readonly #resolved = new Map<string, Condition | null>();
  readonly #extents = new Map<Condition, ConditionSize>();
  readonly #path: string[] = [];

  constructor(file: YamlFile, stage: RuleType, ruleNames: FactsListsAndLadders) {
    this.#file = file;
    this.#comparisons = new ComparisonReader(file, stage, ruleNames);
  }

  /** Reads the conditions that other conditions may name. */
  readNamedConditions(node: Node): true {
    this.#named = this.#file.readAnyMembers(node, '"conditions"') ?? NO_MEMBERS;
    for (const name of this.#named.keys()) this.#readNamedCondition(name);
    return true;
  }

  /** Reads a rule's `conditions`, which must begin with all, any, not or condition. Messages call them `what`. */
  readRuleConditions(node: Node, what = 'conditions'): Condition | null {
    const members = this.#file.readAnyMembers(node, what);
    if (members === null) return null;
    if (!BOOLEAN_MEMBERS.some((kind) => members.has(kind))) {
      const meant = [...members].find(([name]) => guessConditionKeyword(name) !== null);
      const hint =
        meant === undefined
          ? 'write { all: [{ fact: .., operator: .., value: .. }] }'
          : `write ${guessConditionKeyword(meant[0])} for ${meant[0]}`;
      return this.#file.report(
        meant?.[1].key ?? node,
        `${what} must start with all, any, not or condition; ${hint}`,
      );
    }
    return this.#readCondition(node, 1);
  }

  #readCondition(node: Node, depth: number): Condition | null {
    if (depth > NESTING_LEVELS_MAX) return this.#refuseDepth(node);
    const members = this.#file.readAnyMembers(
      node,
      'a condition',
      formatConditionHint(this.#file.toPlainValue(node)),
    );
    if (members === null) return null;
    const kinds = BOOLEAN_MEMBERS.filter((kind) => members.has(kind));
    const [kind] = kinds;
    if (kind === undefined) return this.#comparisons.read(node, members);
    if (members.size > 1) {
      const ofRule = RULE_MEMBERS_BESIDE_CONDITIONS.map((name) => ({ name, key: members.get(name)?.key }));
      const [misplaced] = ofRule.filter(({ key }) => key !== undefined);
      if (misplaced?.key !== undefined && depth === 1)
        return this.#file.report(misplaced.key, formatWrongIndentMessage(misplaced.name, 'conditions'));
      const others = [...members.keys()].filter((name) => name !== kind).join(', ');
      return this.#file.report(
        node,
        `a condition has only one of all, any, not, condition and fact; "${kind}" stands beside ${others}`,
      );
    }
    const member = members.get(kind);
    return member === undefined ? null : this.#readBoolean(kind, node, member, depth);
  }

  #readBoolean(
    kind: (typeof BOOLEAN_MEMBERS)[number],
    node: Node,
    { value }: Member,
    depth: number,
  ): Condition | null {
    const at = this.#file.locate(node);
    switch (kind) {
      case 'all':
      case 'any': {
        const items = this.#file.listItemNodes(value, `"${kind}"`);
        if (items === null) return null;
        const conditions = items
          .map((item) => this.#readCondition(item, depth + 1))
          .filter((item) => item !== null);
        return conditions.length === items.length
          ? this.#checkSize({ kind, conditions, at }, conditions, node)
          : null;
      }
      case 'not': {
        const condition = this.#readCondition(value, depth + 1);
        return condition === null ? null : this.#checkSize({ kind, condition, at }, [condition], node);
      }
      case 'condition': {
        const name = this.#file.readText(value, 'condition');
        if (name === null) return null;
        const condition = this.#findReference(name, value);
        return condition === null
          ? null
          : this.#checkSize({ kind: 'reference', name, condition, at }, [condition], node);
      }
      default:
        return kind satisfies never;
    }
  }

  /** Returns the condition. If the condition with its parts is too large, returns null and reports it. */
  #checkSize(condition: Condition, parts: readonly Condition[], node: Node): Condition | null {
    let depth = 0;
    let comparisons = 0;
    for (const part of parts) {
      const extent = this.#extents.get(part) ?? ONE_COMPARISON;
      depth = Math.max(depth, extent.depth);
      comparisons += extent.comparisons;
    }
    if (depth >= NESTING_LEVELS_MAX) return this.#refuseDepth(node);
    if (comparisons > COMPARISONS_MAX) {
      return this.#file.report(
        node,
        `the condition makes ${comparisons} comparisons with the named conditions in it; at most ${COMPARISONS_MAX} are allowed`,
      );
    }
    this.#extents.set(condition, { depth: depth + 1, comparisons });
    return condition;
  }

  #refuseDepth(node: Node): null {
    return this.#file.report(
      node,
      `conditions are nested deeper than ${NESTING_LEVELS_MAX} levels, named conditions included`,
    );
  }

  #findReference(name: string, node: Node): Condition | null {
    if (!this.#named.has(name)) {
      const names = [...this.#named.keys()];
      const hint = names.length === 0 ? '; this file has no "conditions:"' : formatNameHint(name, names);
      return this.#file.report(node, `unknown condition "${name}"${hint}`);
    }
    if (this.#path.includes(name)) {
      const cycle = [...this.#path.slice(this.#path.indexOf(name)), name].join(' -> ');
      return this.#file.report(node, `conditions refer to each other in a circle: ${cycle}`);
    }
    if (this.#path.length >= NESTING_LEVELS_MAX && !this.#resolved.has(name)) return this.#refuseDepth(node);
    return this.#readNamedCondition(name);
  }

  #readNamedCondition(name: string): Condition | null {
    const known = this.#resolved.get(name);
    if (known !== undefined) return known;
    const member = this.#named.get(name);
    if (member === undefined) return null;
    this.#path.push(name);
    const condition = this.readRuleConditions(member.value);
    this.#path.pop();
    this.#resolved.set(name, condition);
    return condition;
  }
}
