import type { Verdict } from '../rules/rule-set.ts';
import type { Decision } from './decision.ts';

/** Which decisions somebody looks for; members that are left out fit all. Names are compared exactly. */
export interface DecisionFilter {
  readonly verdict?: Verdict;
  readonly rule?: string;
  readonly ruleVersion?: string;
}

export function fitsFilter(decision: Decision, { verdict, rule, ruleVersion }: DecisionFilter): boolean {
  return (
    (verdict === undefined || decision.verdict === verdict) &&
    (rule === undefined || decision.rule === rule) &&
    (ruleVersion === undefined || decision.ruleVersion === ruleVersion)
  );
}
