import type { RuleSet } from '#decision/rules/rule-set.ts';
import type { Experiment } from '#history/evidence/experiment/experiment-report.ts';
import { INCOMPARABLE_ARMS } from '#history/evidence/experiment/recommendation.ts';
import type { Estimate } from '#history/statistics/intervals.ts';
import { listNamedRules, removeRule } from './fact-cells.ts';
import { multiplyEstimate, type Net } from './holdout.ts';

/** The rule that another rule set lacks, by its path, where that is all in which it differs but for texts; otherwise null. */
export function findOnlyMissingRule(rules: RuleSet, other: RuleSet): string | null {
  const others = plain(other);
  const lacking = listNamedRules(rules).find(
    ({ rule }) => rule !== null && plain(removeRule(rules, rule)) === others,
  );
  return lacking?.path ?? null;
}

/** All that decides, without where it is written, and where a fact's value lies among the others. */
function plain({ settings, platforms, groups, signals, verdicts, limits, lists }: RuleSet): string {
  const parts = [settings, [...platforms], groups, signals, verdicts, [...limits], [...lists]];
  return serializeDecidingPart(parts);
}

/** A part of a rule set as a text that is the same wherever the part is written. */
export function serializeDecidingPart(part: unknown): string {
  return JSON.stringify(part, (name, value) => (NOT_DECIDING.has(name) ? undefined : value));
}

const NOT_DECIDING: ReadonlySet<string> = new Set(['at', 'levelsAt', 'index', 'description']);

/**
 * What a rule did by a trial, where it is all in which a candidate and the active version differ: what clients of the
 * arm without it did more than those of the other, for each client of the arm that has it. Null where the arms are not
 * comparable, or nothing is known yet.
 */
export function computeArmNet(found: Experiment, candidate: string, isInActive: boolean): Net {
  const { vetoes, version: active, arms, differences, objective } = found;
  const isApart = vetoes.some(
    ({ veto, version }) => (version ?? candidate) === candidate && INCOMPARABLE_ARMS.has(veto),
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
