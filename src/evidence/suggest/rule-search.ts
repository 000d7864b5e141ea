import { shareUpperBound } from '../../statistics/share-interval.ts';

/** One fact of many orders; flags are 0 and 1. */
export interface Feature {
  /** `verdicts(1h)`. */
  readonly label: string;
  readonly isFlag: boolean;
  readonly values: Float64Array;
}

/** Orders whose outcome is known, by what was known of them when they were first asked for. */
export interface KnownOrders {
  readonly features: readonly Feature[];
  /** 1 is paid, 0 is unpaid. */
  readonly paid: Uint8Array;
  /** 1: blocked already. */
  readonly blocked: Uint8Array;
}

export interface FoundCondition {
  readonly label: string;
  readonly isFlag: boolean;
  readonly operator: 'greaterThanInclusive' | 'lessThanInclusive' | 'equal';
  readonly value: number;
}

/** Conditions that must all hold, and the orders that only they would block. */
export interface FoundRule {
  readonly conditions: readonly FoundCondition[];
  readonly unpaid: number;
  readonly paid: number;
  /** Places of the orders, of those that were not blocked before. */
  readonly matched: readonly number[];
}

export interface RuleSearch {
  /** Share of all paid orders that the rules together may block, 0 to 1; its upper 95 % bound is kept to. */
  readonly budget: number;
  /** Rules that were found before and do not fit. */
  readonly banned: readonly FoundRule[];
}

const RULES_MAX = 4;
const CONDITIONS_MAX = 3;
const BEAM = 24;
const THRESHOLDS_MAX = 24;

/** A rule must stop so many more unpaid orders, and so large a share of them: fewer are chance. */
const UNPAID_MIN = 15;
const UNPAID_SHARE_MIN = 0.01;

/** A further condition must be worth this much more. */
const GAIN_MIN = 1.2;

/**
 * Rules that would block unpaid orders within a budget of paid ones, greedily: of all conjunctions that a beam
 * search grows, the one that stops most within the budget, then the next on what is left. After RIFF (Martins et
 * al., RIFF: Inducing Rules for Fraud Detection from Decision Trees, arXiv 2408.12989), which chooses rules by
 * what they catch under a bound on false positives; here the upper confidence bound of it.
 */
export function findRules(orders: KnownOrders, { budget, banned }: RuleSearch): readonly FoundRule[] {
  const blocked = orders.blocked.slice();
  const conditions = conditionsOf(orders.features);
  const paidTotal = orders.paid.reduce((sum, paid) => sum + paid, 0);
  const found: FoundRule[] = [];
  // Each rule spends its own upper bound: many rules that met no paid order by chance must not come for nothing.
  let spent = 0;
  while (found.length < RULES_MAX) {
    const isAllowed = (rule: FoundRule) =>
      spent + shareUpperBound(rule.paid, paidTotal) <= budget &&
      !banned.some((other) => saysNoMore(rule, other));
    const best = bestRule({ ...orders, blocked }, conditions, isAllowed);
    if (best === null) break;
    found.push(best);
    spent += shareUpperBound(best.paid, paidTotal);
    for (const order of best.matched) blocked[order] = 1;
  }
  return found;
}

/** It has all conditions of the other, and those that it adds change nothing. */
function saysNoMore(rule: FoundRule, other: FoundRule): boolean {
  if (rule.matched.length !== other.matched.length) return false;
  const conditions = new Set(rule.conditions.map(conditionText));
  return other.conditions.every((condition) => conditions.has(conditionText(condition)));
}

interface Grown extends FoundRule {
  readonly worth: number;
}

function bestRule(
  orders: KnownOrders,
  conditions: readonly FoundCondition[],
  isAllowed: (rule: FoundRule) => boolean,
): FoundRule | null {
  const open = [...orders.blocked.keys()].filter((order) => orders.blocked[order] === 0);
  const unpaidTotal = open.filter((order) => orders.paid[order] === 0).length;
  const unpaidMin = Math.max(UNPAID_MIN, UNPAID_SHARE_MIN * unpaidTotal);
  const values = new Map(orders.features.map((feature) => [feature.label, feature.values]));
  let beam: readonly Grown[] = [{ conditions: [], unpaid: 0, paid: 0, matched: open, worth: 0 }];
  let best: FoundRule | null = null;
  for (let length = 1; length <= CONDITIONS_MAX; length++) {
    const grown = beam.flatMap((rule) => grow(rule, conditions, values, orders, unpaidMin));
    const fitting = grown.filter(isAllowed).toSorted((a, b) => b.unpaid - a.unpaid);
    const [first] = fitting;
    if (first !== undefined && first.unpaid > (best?.unpaid ?? 0) * GAIN_MIN) best = first;
    beam = grown.toSorted((a, b) => b.worth - a.worth).slice(0, BEAM);
  }
  return best;
}

function grow(
  rule: FoundRule,
  conditions: readonly FoundCondition[],
  values: ReadonlyMap<string, Float64Array>,
  { paid }: KnownOrders,
  unpaidMin: number,
): readonly Grown[] {
  const used = new Set(rule.conditions.map(({ label, operator }) => `${label} ${operator}`));
  return conditions.flatMap((condition) => {
    if (used.has(`${condition.label} ${condition.operator}`)) return [];
    const column = values.get(condition.label);
    if (column === undefined) return [];
    const matched = rule.matched.filter((order) => holds(condition, column[order] ?? Number.NaN));
    const paidCount = matched.reduce((sum, order) => sum + (paid[order] ?? 0), 0);
    const unpaid = matched.length - paidCount;
    if (unpaid < unpaidMin || matched.length === rule.matched.length) return [];
    // A paid order outweighs some unpaid ones; with the root rare paid orders do not drive out all that is large.
    const worth = unpaid / (paidCount + 1) ** 0.7;
    return [{ conditions: [...rule.conditions, condition], unpaid, paid: paidCount, matched, worth }];
  });
}

function holds({ operator, value }: FoundCondition, seen: number): boolean {
  switch (operator) {
    case 'greaterThanInclusive':
      return seen >= value;
    case 'lessThanInclusive':
      return seen <= value;
    case 'equal':
      return seen === value;
    default:
      return operator satisfies never;
  }
}

/** `distinctFingerprints(1h) >= 3 and paidCount <= 0`. */
export function ruleText({ conditions }: Pick<FoundRule, 'conditions'>): string {
  return conditions.map(conditionText).join(' and ');
}

function conditionText({ label, operator, value, isFlag }: FoundCondition): string {
  const signs = { greaterThanInclusive: '>=', lessThanInclusive: '<=', equal: '=' } as const;
  return `${label} ${signs[operator]} ${isFlag ? value === 1 : value}`;
}

/** Every flag both ways, and every number from below and above at values that part the orders. */
function conditionsOf(features: readonly Feature[]): readonly FoundCondition[] {
  return features.flatMap(({ label, isFlag, values }): readonly FoundCondition[] => {
    if (isFlag) return [0, 1].map((value) => ({ label, isFlag, operator: 'equal' as const, value }));
    return thresholds(values).flatMap((value) => [
      { label, isFlag, operator: 'greaterThanInclusive' as const, value },
      { label, isFlag, operator: 'lessThanInclusive' as const, value },
    ]);
  });
}

/** All different values when they are few, otherwise quantiles of them, in both cases as they were seen. */
function thresholds(values: Float64Array): readonly number[] {
  const different = [...new Set(values)].toSorted((a, b) => a - b);
  if (different.length <= THRESHOLDS_MAX) return different;
  const sorted = values.toSorted();
  const places = Array.from({ length: THRESHOLDS_MAX }, (_, n) =>
    Math.round(((n + 0.5) / THRESHOLDS_MAX) * (sorted.length - 1)),
  );
  return [...new Set(places.map((place) => sorted[place] ?? 0))];
}
