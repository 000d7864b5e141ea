import type { Node } from 'yaml';
import type { Condition } from '../condition.ts';
import { suggest } from '../problem.ts';
import { ComparisonReader, type RuleNames, type RuleStage } from './comparison.ts';
import type { Member, Members, YamlFile } from './yaml-file.ts';

/** Rules nested deeper than this are not read by anybody. */
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

/** Reads the conditions of one rule file, with its named conditions. */
export class ConditionReader {
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
