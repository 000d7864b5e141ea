import { conclude, verdictRule } from '../../decision/assess.ts';
import { OTHERWISE } from '../../decision/decision.ts';
import type { FactValue } from '../../facts/fact.ts';
import type { RuleSet, Verdict } from '../../rules/rule-set.ts';

/** A rule as a report names it; `otherwise` stands for what holds when no rule of its file matches. */
export interface NamedRule {
  readonly file: 'groups.yaml' | 'bot-signals.yaml' | 'verdicts.yaml';
  readonly name: string;
  /** Of a verdict rule. */
  readonly verdict: Verdict | null;
}

/** The rules' judgement of one decision; each rule by its index in `namedRules`. */
export interface Judgement {
  /** Rules whose condition holds; `otherwise` where no rule of the file does. */
  readonly matched: readonly number[];
  /** The group rule and the verdict rule that gave the answer, and the signals that raised the bot flag. */
  readonly decided: readonly number[];
  /** Rules without which the verdict or the bot flag would have been another. */
  readonly sole: readonly number[];
}

/** All rules of a rule set in the order of its files. */
export function namedRules({ groups, signals, verdicts }: RuleSet): readonly NamedRule[] {
  return [
    ...groups.rules.map(({ name }) => ({ file: 'groups.yaml', name, verdict: null }) as const),
    { file: 'groups.yaml', name: OTHERWISE, verdict: null },
    ...signals.rules.map(({ name }) => ({ file: 'bot-signals.yaml', name, verdict: null }) as const),
    ...verdicts.rules.map(
      ({ name, params }) => ({ file: 'verdicts.yaml', name, verdict: params.verdict }) as const,
    ),
    { file: 'verdicts.yaml', name: OTHERWISE, verdict: verdicts.otherwise.verdict },
  ];
}

/** Asks a rule set about recorded values, as it is and without each of its rules. */
export class Judge {
  readonly #rules: RuleSet;
  readonly #without: readonly (RuleSet | null)[];

  constructor(rules: RuleSet) {
    this.#rules = rules;
    this.#without = rulesWithoutEach(rules);
  }

  judge(values: readonly FactValue[]): Judgement {
    const { groups, signals, verdicts } = this.#rules;
    const { values: concluded, isBot } = conclude(this.#rules, values, false);
    const inGroups = groups.rules.map((rule) => rule.matches(concluded));
    const inSignals = signals.rules.map((rule) => rule.matches(concluded));
    const inVerdicts = verdicts.rules.map((rule) => rule.matches(concluded));
    const holds = [
      ...inGroups,
      !inGroups.includes(true),
      ...inSignals,
      ...inVerdicts,
      !inVerdicts.includes(true),
    ];
    const matched = holds.flatMap((held, place) => (held ? [place] : []));
    const signalsFrom = groups.rules.length + 1;
    const verdictsFrom = signalsFrom + signals.rules.length;
    const first = (from: number) => matched.filter((place) => place >= from).slice(0, 1);
    const raised = matched.filter((place) => isBot && place >= signalsFrom && place < verdictsFrom);
    return {
      matched,
      decided: [...first(0), ...raised, ...first(verdictsFrom)],
      sole: this.#sole(matched, values),
    };
  }

  #sole(matched: readonly number[], values: readonly FactValue[]): readonly number[] {
    const answer = answerOf(this.#rules, values);
    return matched.filter((place) => {
      const without = this.#without[place];
      return without !== null && without !== undefined && answerOf(without, values) !== answer;
    });
  }
}

/** What a verdict says to the caller, as far as rules choose it. */
function answerOf(rules: RuleSet, values: readonly FactValue[]): string {
  const { values: concluded, isBot } = conclude(rules, values, false);
  return `${verdictRule(rules, concluded).params.verdict} ${isBot}`;
}

/** By place in `namedRules`; nothing can be left out of `otherwise`. */
function rulesWithoutEach(rules: RuleSet): readonly (RuleSet | null)[] {
  const { groups, signals, verdicts } = rules;
  const others = <Rule>(all: readonly Rule[], place: number) => all.filter((_, other) => other !== place);
  return [
    ...groups.rules.map((_, place) => ({
      ...rules,
      groups: { ...groups, rules: others(groups.rules, place) },
    })),
    null,
    ...signals.rules.map((_, place) => ({
      ...rules,
      signals: { ...signals, rules: others(signals.rules, place) },
    })),
    ...verdicts.rules.map((_, place) => ({
      ...rules,
      verdicts: { ...verdicts, rules: others(verdicts.rules, place) },
    })),
    null,
  ];
}
