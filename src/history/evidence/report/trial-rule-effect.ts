import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { ExperimentReport } from '#history/evidence/experiment/experiment-report.ts';
import { VETOES_AGAINST_COMPARISON } from '#history/evidence/experiment/recommendation.ts';
import type { Estimate } from '#history/statistics/intervals.ts';
import { excludeRule, listRulesWithPaths } from './fact-cells.ts';
import { multiplyEstimate, type RuleEffect } from './holdout.ts';

/**
 * Finds the rule that `other` lacks and returns its path, if the two rule sets differ in nothing else except texts.
 * Returns null in every other case.
 */
export function findOnlyMissingRulePath(rules: RuleSet, other: RuleSet): string | null {
  const others = serializeDecidingRules(other);
  const lacking = listRulesWithPaths(rules).find(
    ({ rule }) => rule !== null && serializeDecidingRules(excludeRule(rules, rule)) === others,
  );
  return lacking?.path ?? null;
}

/**
 * Serializes all parts of a rule set that affect decisions, without their positions in files and without the sequence
 * of the facts.
 */
function serializeDecidingRules({
  settings,
  platforms,
  groups,
  signals,
  verdicts,
  limits,
  lists,
}: RuleSet): string {
  const parts = [settings, [...platforms], groups, signals, verdicts, [...limits], [...lists]];
  return serializeDecidingPart(parts);
}

/** Serializes a part of a rule set to a text that does not depend on where the part is written. */
export function serializeDecidingPart(part: unknown): string {
  return JSON.stringify(part, (name, value) => (NOT_DECIDING.has(name) ? undefined : value));
}

const NOT_DECIDING: ReadonlySet<string> = new Set(['at', 'levelsAt', 'index', 'description']);

/**
 * Computes the effect of a rule from a trial in which a candidate and the active version differ in that rule alone.
 * The result is the difference per client between the arms without and with the rule, times the clients of the arm
 * that has it. Returns null if the arms cannot be compared, or if nothing is known yet.
 */
export function computeRuleEffectOfTrial(
  found: ExperimentReport,
  candidate: string,
  isInActive: boolean,
): RuleEffect {
  const { vetoes, version: active, arms, differences, objective } = found;
  const isApart = vetoes.some(
    ({ veto, version }) => (version ?? candidate) === candidate && VETOES_AGAINST_COMPARISON.has(veto),
  );
  const arm = arms.find(({ version }) => version === (isInActive ? active : candidate));
  if (isApart || arm === undefined || objective === null) return null;
  const without = (metric: string, times = 1): Estimate | null => {
    const told = differences.find((one) => one.version === candidate && one.metric === metric);
    return multiplyEstimate(told, times * arm.clients * (isInActive ? 1 : -1));
  };
  const value = without('value', -1);
  if (value === null) return null;
  return {
    by: 'trial',
    currency: objective.currency ?? '',
    clients: arm.clients,
    value,
    payments: without('paid'),
    amount: without('amount'),
    reversals: without('reversals'),
    requisites: without('unpaidRequisites'),
  };
}
