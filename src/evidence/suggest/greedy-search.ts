import { shareUpperBound } from '../../statistics/share-interval.ts';
import { bestEdit, type Edit, type FoundEdit } from './edit-search.ts';
import { bestRule, conditionsOf, type FoundRule, type KnownOrders, saysAllOf } from './rule-search.ts';

/** A rule to be added, or a constant of a present rule to be changed. */
export type FoundChange = FoundRule | FoundEdit;

export interface ChangeSearch {
  /** Share of all paid orders that the changes together may block, 0 to 1; its upper 95 % bound is kept to. */
  readonly budget: number;
  /** Changes that were found before and do not fit. */
  readonly banned: readonly BannedChange[];
}

export interface BannedChange {
  readonly change: FoundChange;
  /** A rule is banned with all that say the same and more; otherwise only where what they add changes nothing. */
  readonly withNarrower: boolean;
}

const CHANGES_MAX = 4;

/**
 * Changes that would block unpaid orders within a budget of paid ones, greedily: of all rules and edits the one that
 * stops most within the budget, then the next on what is left; of equals the edit, which leaves the version as small
 * as it was. After RIFF (Martins et al., RIFF: Inducing Rules for Fraud Detection from Decision Trees, arXiv
 * 2408.12989), which chooses rules by what they catch under a bound on false positives; here the upper confidence
 * bound of it.
 */
export function findChanges(
  orders: KnownOrders,
  edits: readonly Edit[],
  { budget, banned }: ChangeSearch,
): readonly FoundChange[] {
  const blocked = orders.blocked.slice();
  const conditions = conditionsOf(orders.features);
  const paidTotal = orders.paid.reduce((sum, paid) => sum + paid, 0);
  const found: FoundChange[] = [];
  // Each change spends its own upper bound: many that met no paid order by chance must not come for nothing.
  let spent = 0;
  while (found.length < CHANGES_MAX) {
    const isAllowed = (change: FoundChange) =>
      spent + shareUpperBound(change.paid, paidTotal) <= budget && !isBanned(change, banned);
    const left = { ...orders, blocked };
    const edit = bestEdit(left, edits, found, isAllowed);
    const rule = bestRule(left, conditions, isAllowed);
    const best = edit !== null && edit.unpaid >= (rule?.unpaid ?? 0) ? edit : rule;
    if (best === null) break;
    found.push(best);
    spent += shareUpperBound(best.paid, paidTotal);
    for (const order of best.matched) blocked[order] = 1;
  }
  return found;
}

function isBanned(change: FoundChange, banned: readonly BannedChange[]): boolean {
  return banned.some(({ change: other, withNarrower }) => {
    if (change.kind === 'rule' && other.kind === 'rule')
      return saysAllOf(change, other) && (withNarrower || change.matched.length === other.matched.length);
    if (change.kind === 'rule' || other.kind === 'rule') return false;
    return change.constant.path === other.constant.path && change.value === other.value;
  });
}
