import { conclude, verdictRule } from '../../decision/assess.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type Constant, constantsOf, withConstants } from '../../rules/folder/constant.ts';
import { draftOf } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { type KnownOrders, unpaidMin } from './rule-search.ts';

/** A constant of the version with another value, and the orders that it would block besides. */
export interface Edit {
  readonly kind: 'edit';
  readonly constant: Constant;
  /** As it would stand in the file. */
  readonly value: string;
  /** Places of orders that the version did not block. */
  readonly matched: readonly number[];
}

/** The same with what it adds to the changes before it. */
export interface FoundEdit extends Edit {
  readonly unpaid: number;
  readonly paid: number;
}

/** Thresholds and weights of these files choose who is blocked; the ladder and the smoothing do not. */
const FILES: readonly string[] = ['groups.yaml', 'bot-signals.yaml', 'verdicts.yaml'];

/**
 * Every constant of a rule near its present value, as far as this blocks enough unpaid orders more and lets none
 * through that is blocked now. `values` are what the rules saw when each order was first asked for.
 */
export function editsOf(
  version: string,
  files: RuleFiles,
  orders: KnownOrders,
  values: readonly (readonly FactValue[])[],
): readonly Edit[] {
  const present = draftOf(version, files);
  if (!present.ok) return [];
  const labels = labelsOf(present.ruleSet);
  const least = unpaidMin(orders);
  return constantsOf(files)
    .filter(({ file }) => FILES.includes(file))
    .flatMap((constant) => nearby(constant.text).map((value) => ({ constant, value })))
    .flatMap(({ constant, value }): readonly Edit[] => {
      const edited = draftOf(version, withConstants(files, [[constant, value]]));
      // Values that were read for other facts cannot be given to it.
      if (!edited.ok || labelsOf(edited.ruleSet) !== labels) return [];
      const matched = newlyBlocked(edited.ruleSet, orders, values);
      if (matched === null || matched.filter((order) => orders.paid[order] === 0).length < least) return [];
      return [{ kind: 'edit', constant, value, matched }];
    });
}

/** Of one constant at most one edit; those of `taken` have theirs. */
export function bestEdit(
  { paid, blocked }: KnownOrders,
  edits: readonly Edit[],
  taken: readonly { readonly kind: string; readonly constant?: Constant }[],
  isAllowed: (edit: FoundEdit) => boolean,
): FoundEdit | null {
  const least = unpaidMin({ paid, blocked });
  const paths = new Set(taken.map(({ constant }) => constant?.path));
  let best: FoundEdit | null = null;
  for (const edit of edits) {
    if (paths.has(edit.constant.path)) continue;
    const matched = edit.matched.filter((order) => blocked[order] === 0);
    const paidCount = matched.reduce((sum, order) => sum + (paid[order] ?? 0), 0);
    const found = { ...edit, matched, paid: paidCount, unpaid: matched.length - paidCount };
    if (found.unpaid >= least && found.unpaid > (best?.unpaid ?? 0) && isAllowed(found)) best = found;
  }
  return best;
}

/** `groups.blocked-by-unpaid-chain.unpaidChain: 4 -> 3`. */
export function editText({ constant, value }: Pick<Edit, 'constant' | 'value'>): string {
  return `${constant.path}: ${constant.text} -> ${value}`;
}

/** The rule that gives the verdict on values, and whether it is BLOCK. */
export function blockingRule(rules: RuleSet, values: readonly FactValue[]): string | null {
  const { rule, params } = verdictRule(rules, conclude(rules, values, false).values);
  return params.verdict === 'BLOCK' ? rule : null;
}

/** Null when an order that is blocked now would not be. */
function newlyBlocked(
  rules: RuleSet,
  { blocked }: KnownOrders,
  values: readonly (readonly FactValue[])[],
): readonly number[] | null {
  const matched: number[] = [];
  for (const [order, seen] of values.entries()) {
    const isBlocked = blockingRule(rules, seen) !== null;
    if (blocked[order] === 1 && !isBlocked) return null;
    if (blocked[order] === 0 && isBlocked) matched.push(order);
  }
  return matched;
}

function labelsOf(rules: RuleSet): string {
  return rules.facts.map(({ label }) => label).join(' ');
}

/** How many steps up and down a small whole number is tried. */
const STEPS = [-3, -2, -1, 1, 2, 3];
const SMALL_MAX = 12;
const FACTORS = [0.25, 0.5, 0.75, 1.5, 2, 4];

/** Values near a number; nothing for words and durations. */
function nearby(text: string): readonly string[] {
  if (!/^\d+(?:\.\d+)?$/.test(text)) return [];
  const number = Number(text);
  if (Number.isInteger(number) && number <= SMALL_MAX)
    return STEPS.map((step) => number + step)
      .filter((value) => value >= 0)
      .map(String);
  const tried = FACTORS.map((factor) => number * factor);
  const round = (value: number) => (Number.isInteger(number) ? Math.round(value) : Number(value.toFixed(4)));
  return [...new Set(tried.map(round))].map(String);
}
