import type { Arm, Decision } from '../decision/decision.ts';
import type { RuleChoice, RuleSource } from '../rollout/rule-source.ts';
import type { RuleSet } from '../rules/rule-set.ts';

/** Lets one rule set of a choice decide. */
export type DecideBy<T> = (rules: RuleSet, arm: Arm) => T;

export interface DecidedBy<T> {
  readonly rules: RuleSet;
  readonly result: T;
}

/** Lets the chosen rules decide; the active ones step in for a candidate that throws. */
export function decideByChoice<T>(
  source: RuleSource,
  { rules, arm, fallback }: RuleChoice,
  decideBy: DecideBy<T>,
): DecidedBy<T> {
  if (fallback === undefined) return { rules, result: decideBy(rules, arm) };
  try {
    return { rules, result: decideBy(rules, arm) };
  } catch (error) {
    source.candidateFailed(rules.version, error);
    return { rules: fallback, result: decideBy(fallback, 'active') };
  }
}

/** What the shadow would have said; undefined without one, null when it threw: it never disturbs the answer. */
export function decideByShadow(
  { shadow }: RuleChoice,
  decideBy: DecideBy<{ readonly decision: Decision }>,
): Decision | null | undefined {
  if (shadow === undefined) return undefined;
  try {
    return decideBy(shadow, 'candidate').decision;
  } catch {
    return null;
  }
}
