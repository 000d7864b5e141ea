import { climb } from '../../client/ladder.ts';
import { circumstantialFacts, conclude, verdictRule } from '../../decision/assess.ts';
import type { Decision } from '../../decision/decision.ts';
import type { FactValue } from '../../facts/fact.ts';
import { factsNamed } from '../../rules/condition.ts';
import { type RuleSet, settingsOf } from '../../rules/rule-set.ts';
import type { BacktestAnswer } from './comparison.ts';

/** What a decision is made again from. */
type Redecidable = Pick<Decision, 'facts' | 'platform' | 'ladderBefore' | 'at'>;

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
  readonly #circumstantial: boolean;

  constructor(rules: RuleSet) {
    this.#rules = rules;
    const asked = askedFacts(rules);
    this.#circumstantial = rules.facts.some(({ fact }) => fact.kind === 'circumstantial');
    this.#asked = rules.facts.map(({ label, fact }) =>
      fact.kind !== 'concluded' && asked.has(label) ? label : null,
    );
  }

  /** Labels of the facts that the rules ask and the record lacks. */
  missing(decision: Redecidable): readonly string[] {
    const facts = this.#facts(decision);
    return this.#asked.filter((label) => label !== null && facts[label] === undefined).map(String);
  }

  /** Null when the record lacks a fact that the rules ask. */
  answer(decision: Redecidable): BacktestAnswer | null {
    const { platform, ladderBefore, at } = decision;
    const facts = this.#facts(decision);
    const values: FactValue[] = [];
    for (const label of this.#asked) {
      const value = label === null ? false : facts[label];
      if (value === undefined) return null;
      values.push(value);
    }
    // A verdict counts its own request, so its client is never new any more.
    const { values: concluded, clientGroup, isBot } = conclude(this.#rules, values, false);
    const { rule, params } = verdictRule(this.#rules, concluded);
    const { ladder: settings } = settingsOf(this.#rules, platform);
    const level = params.verdict === 'WAIT' ? climb(ladderBefore, settings, at).level : 0;
    return { verdict: params.verdict, rule, clientGroup, isBot, level, waitSeconds: null };
  }

  #facts(decision: Redecidable): Decision['facts'] {
    return this.#circumstantial
      ? { ...decision.facts, ...circumstantialFacts(this.#rules, decision) }
      : decision.facts;
  }
}

/** Labels of the facts that some condition of the rule set compares. */
export function askedFacts({ groups, signals, verdicts }: RuleSet): ReadonlySet<string> {
  const rules = [...groups.rules, ...signals.rules, ...verdicts.rules];
  return new Set(factsNamed(rules.map(({ condition }) => condition)).map(({ label }) => label));
}
