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
  readonly kind: 'rule';
  readonly conditions: readonly FoundCondition[];
  readonly unpaid: number;
  readonly paid: number;
  /** Places of the orders, of those that were not blocked before. */
  readonly matched: readonly number[];
}

const CONDITIONS_MAX = 3;
const BEAM = 24;
const THRESHOLDS_MAX = 24;

/** What is found must stop so many more unpaid orders, and so large a share of them: fewer are chance. */
const UNPAID_MIN = 15;
const UNPAID_SHARE_MIN = 0.01;

/** A further condition must be worth this much more. */
const GAIN_MIN = 1.2;

/** Unpaid orders that a rule or an edit must block besides those that are blocked already. */
export function unpaidMin({ paid, blocked }: Pick<KnownOrders, 'paid' | 'blocked'>): number {
  let open = 0;
  for (const [order, isBlocked] of blocked.entries()) if (isBlocked === 0 && paid[order] === 0) open++;
  return Math.max(UNPAID_MIN, UNPAID_SHARE_MIN * open);
}

/** Whether it has all conditions of the other. */
export function saysAllOf(rule: FoundRule, other: FoundRule): boolean {
  const conditions = new Set(rule.conditions.map(conditionText));
  return other.conditions.every((condition) => conditions.has(conditionText(condition)));
}

interface Grown extends FoundRule {
  readonly worth: number;
}

/** Of all conjunctions that a beam search grows, the allowed one that blocks most unpaid orders that are not blocked yet. */
export function bestRule(
  orders: KnownOrders,
  conditions: readonly FoundCondition[],
  isAllowed: (rule: FoundRule) => boolean,
): FoundRule | null {
  const open = [...orders.blocked.keys()].filter((order) => orders.blocked[order] === 0);
  const least = unpaidMin(orders);
  const values = new Map(orders.features.map((feature) => [feature.label, feature.values]));
  let beam: readonly Grown[] = [
    { kind: 'rule', conditions: [], unpaid: 0, paid: 0, matched: open, worth: 0 },
  ];
  let best: FoundRule | null = null;
  for (let length = 1; length <= CONDITIONS_MAX; length++) {
    const grown = beam.flatMap((rule) => grow(rule, conditions, values, orders, least));
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
  least: number,
): readonly Grown[] {
  const used = new Set(rule.conditions.map(({ label, operator }) => `${label} ${operator}`));
  return conditions.flatMap((condition) => {
    if (used.has(`${condition.label} ${condition.operator}`)) return [];
    const column = values.get(condition.label);
    if (column === undefined) return [];
    const matched = rule.matched.filter((order) => holds(condition, column[order] ?? Number.NaN));
    const paidCount = matched.reduce((sum, order) => sum + (paid[order] ?? 0), 0);
    const unpaid = matched.length - paidCount;
    if (unpaid < least || matched.length === rule.matched.length) return [];
    // A paid order outweighs some unpaid ones; with the root rare paid orders do not drive out all that is large.
    const worth = unpaid / (paidCount + 1) ** 0.7;
    return [
      { kind: 'rule', conditions: [...rule.conditions, condition], unpaid, paid: paidCount, matched, worth },
    ];
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
export function conditionsOf(features: readonly Feature[]): readonly FoundCondition[] {
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
