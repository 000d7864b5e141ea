import type { PlatformName } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import type { Matchable, RuleSet } from '../rules/rule-set.ts';

/** How often a rule held, and how often it also decided because no earlier one held. */
export interface RuleHits {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly held: number;
  readonly decided: number;
}

/** The hits of all rules of a version, over so many decisions of one platform. */
export interface VersionHits {
  readonly platform: PlatformName;
  readonly decisions: number;
  readonly rules: readonly RuleHits[];
}

/** How often each rule held, and how often it decided, over those decisions that this very digest made. */
export function versionHits(
  { groups, signals, verdicts, facts, digest }: RuleSet,
  decisions: readonly Decision[],
  platform: PlatformName,
): VersionHits {
  const mine = decisions.filter((decision) => decision.digest === digest);
  const rows = mine.map((decision) => facts.map(({ label }) => decision.facts[label] ?? false));
  const count = (rules: readonly Matchable<object>[], firstOnly: boolean): readonly RuleHits[] => {
    const first = rows.map((values) => rules.findIndex((rule) => rule.matches(values)));
    return rules.map((rule, index) => {
      const held = rows.filter((values) => rule.matches(values)).length;
      const decided = firstOnly ? first.filter((place) => place === index).length : held;
      return { file: rule.at.file, name: rule.name, line: rule.at.line, held, decided };
    });
  };
  return {
    platform,
    decisions: mine.length,
    rules: [...count(groups.rules, true), ...count(signals.rules, false), ...count(verdicts.rules, true)],
  };
}
