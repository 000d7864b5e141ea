import { conclude, verdictRule } from '../../decision/assess.ts';
import type { Decision } from '../../decision/decision.ts';
import type { FactValue } from '../../facts/fact.ts';
import { factsNamed } from '../../rules/condition.ts';
import { type RuleSet, settingsOf } from '../../rules/rule-set.ts';
import type { BacktestAnswer } from './comparison.ts';

type RecordedFacts = Decision['facts'];

/** What was decided then, as the journal tells it. */
export function recordedAnswer(decision: Decision): BacktestAnswer {
  const { verdict, rule, clientGroup, isBot, ladderAfter } = decision;
  return {
    verdict,
    rule,
    clientGroup,
    isBot,
    level: verdict === 'WAIT' ? ladderAfter.level : 0,
    waitSeconds: null,
  };
}

/** Lets a rule set decide again on the fact values of recorded decisions. */
export class Redecider {
  readonly #rules: RuleSet;
  /**
   * By place among the values: the label that a record must have. Null where no rule asks, or where the
   * rules conclude the value anew.
   */
  readonly #asked: readonly (string | null)[];

  constructor(rules: RuleSet) {
    this.#rules = rules;
    const asked = askedFacts(rules);
    this.#asked = rules.facts.map((ref) =>
      ref.fact.kind !== 'concluded' && asked.has(ref.label) ? ref.label : null,
    );
  }

  /** Labels of the facts that the rules ask and the record lacks. */
  missing({ facts }: Pick<Decision, 'facts'>): readonly string[] {
    return this.#asked.filter((label) => label !== null && facts[label] === undefined).map(String);
  }

  /** Null when the record lacks a fact that the rules ask. */
  answer({ facts, platform }: Pick<Decision, 'facts' | 'platform'>): BacktestAnswer | null {
    const values: FactValue[] = [];
    for (const label of this.#asked) {
      const value = label === null ? false : facts[label];
      if (value === undefined) return null;
      values.push(value);
    }
    // A verdict counts its own request, so its client is never new any more.
    const { values: concluded, clientGroup, isBot } = conclude(this.#rules, values, false);
    const { rule, params } = verdictRule(this.#rules, concluded);
    const level = params.verdict === 'WAIT' ? this.#levelAfter(facts, platform) : 0;
    return { verdict: params.verdict, rule, clientGroup, isBot, level, waitSeconds: null };
  }

  /** As `climb` does it, without the time of which no record tells. */
  #levelAfter(facts: RecordedFacts, platform: string): number {
    const before = facts['ladderLevel'];
    const { levelsMs } = settingsOf(this.#rules, platform).ladder;
    return Math.min(levelsMs.length, (typeof before === 'number' ? before : 0) + 1);
  }
}

/** Labels of the facts that some condition of the rule set compares. */
export function askedFacts({ groups, signals, verdicts }: RuleSet): ReadonlySet<string> {
  const rules = [...groups.rules, ...signals.rules, ...verdicts.rules];
  return new Set(factsNamed(rules.map(({ condition }) => condition)).map(({ label }) => label));
}
