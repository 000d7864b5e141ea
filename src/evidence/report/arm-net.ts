import type { Rule, RuleSet } from '../../rules/rule-set.ts';
import type { Estimate } from '../../statistics/intervals.ts';
import type { Experiment } from '../experiment/experiment-report.ts';
import { INCOMPARABLE_ARMS } from '../experiment/recommendation.ts';
import type { Net } from './holdout.ts';

/** A rule that one version has and another lacks, by file and name like `groups/blocked-by-unpaid-chain`. */
interface OneRule {
  readonly rule: string;
  readonly isInFirst: boolean;
}

/** The rule that is all in which two rule sets differ, but for texts; null where they differ otherwise. */
export function onlyRuleApart(one: RuleSet, other: RuleSet): OneRule | null {
  const [first, second] = [rulesByName(one), rulesByName(other)];
  const apart = [...first.keys(), ...second.keys()].filter((rule) => first.get(rule) !== second.get(rule));
  const [rule] = apart;
  if (rule === undefined || apart.length > 1 || (first.has(rule) && second.has(rule))) return null;
  return restOf(one) === restOf(other) ? { rule, isInFirst: first.has(rule) } : null;
}

function rulesByName({ groups, signals, verdicts }: RuleSet): ReadonlyMap<string, string> {
  const named = (file: string, rules: readonly Rule<unknown>[]) =>
    rules.map(({ name, description: _, ...rule }) => [`${file}/${name}`, plain(rule)] as const);
  return new Map([
    ...named('groups', groups.rules),
    ...named('bot-signals', signals.rules),
    ...named('verdicts', verdicts.rules),
  ]);
}

/** All else that decides. */
function restOf({ settings, platforms, groups, signals, verdicts, limits, lists }: RuleSet): string {
  const otherwise = [groups.otherwise, signals.threshold, verdicts.otherwise];
  return plain([settings, [...platforms], otherwise, [...limits], [...lists]]);
}

/** Without where it is written, and where a fact's value lies among the others. */
function plain(part: unknown): string {
  return JSON.stringify(part, (name, value) => (PLACES.has(name) ? undefined : value));
}

const PLACES: ReadonlySet<string> = new Set(['at', 'levelsAt', 'index']);

/**
 * What a rule did by a trial, where it is all in which a candidate and the active version differ: what clients of the
 * arm without it did more than those of the other, for each client of the arm that has it. Null where the arms are not
 * comparable, or nothing is known yet.
 */
export function armNet(found: Experiment, candidate: string, isInActive: boolean): Net {
  const { vetoes, version: active, arms, differences, objective } = found;
  const isApart = vetoes.some(
    ({ veto, version }) => (version ?? candidate) === candidate && INCOMPARABLE_ARMS.has(veto),
  );
  const arm = arms.find(({ version }) => version === (isInActive ? active : candidate));
  if (isApart || arm === undefined || objective === null) return null;
  const without = (metric: string, times = 1): Estimate | null => {
    const told = differences.find((one) => one.version === candidate && one.metric === metric);
    return told === undefined ? null : multiplied(told, times * arm.clients * (isInActive ? 1 : -1));
  };
  const value = without('value', -1);
  if (value === null) return null;
  return {
    ...{ by: 'trial', currency: objective.currency ?? '', clients: arm.clients, value },
    ...{ payments: without('paid'), amount: without('amount') },
    ...{ reversals: without('reversals'), requisites: without('unpaidRequisites') },
  };
}

function multiplied({ value, low, high }: Estimate, times: number): Estimate {
  const ends = [times * low, times * high];
  return { value: times * value, low: Math.min(...ends), high: Math.max(...ends) };
}
