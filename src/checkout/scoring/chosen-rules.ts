import type { RuleChoice, RuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { Arm, Decision } from '#decision/decision.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';

/** Decides by one of the chosen rule sets. */
export type DecideBy<T> = (rules: RuleSet, arm: Arm) => T;

interface DecidedBy<T> {
  readonly rules: RuleSet;
  readonly result: T;
}

/** Decides by the chosen rule set. If a candidate throws, the active rule set decides instead. */
export function decideByChoice<T>(
  source: RuleSource,
  { rules, arm, fallback }: RuleChoice,
  decideBy: DecideBy<T>,
): DecidedBy<T> {
  if (fallback === undefined) return { rules, result: decideBy(rules, arm) };
  try {
    return { rules, result: decideBy(rules, arm) };
  } catch (error) {
    source.countCandidateError(rules.version, error);
    return { rules: fallback, result: decideBy(fallback, 'active') };
  }
}

/**
 * Returns the shadow's decision. Returns undefined if there is no shadow, and null if the shadow threw. A shadow
 * never disturbs the answer.
 */
export function decideByShadowIfAny(
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
