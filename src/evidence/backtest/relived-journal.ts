import { Simulation } from '../../analysis/simulation.ts';
import { decimalText } from '../../client/amount.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { VerdictRequest } from '../../decision/decide.ts';
import type { Decision } from '../../decision/decision.ts';
import { type RuleSet, settingsOf } from '../../rules/rule-set.ts';
import type { JournalRecord } from '../../state/store.ts';
import type { BacktestAnswer } from './comparison.ts';

/** Which rule set decides an entry of the journal; a score tells no digest. */
export type RulesOfEntry = (ruleVersion: string, digest: string | null) => RuleSet;

/**
 * The inputs of a journal lived through once more, from an empty state, so that a verdict that comes out
 * otherwise changes the ladder and the counters behind it. Inputs stay as they were: an outcome that was
 * reported is reported again, even of an attempt that would not have been granted.
 */
export class RelivedJournal {
  readonly #rulesOf: RulesOfEntry;
  readonly #rulesThen: RulesOfEntry;
  /** Stands in until the first request of a platform says which rule set decides. */
  readonly #rules: RuleSet;
  readonly #platforms = new Map<PlatformName, Simulation>();

  /** `rulesOf` decides now; `rulesThen`, by whose currency requests without one were recorded, decided then. */
  constructor(rules: RuleSet, rulesThen: RulesOfEntry, rulesOf: RulesOfEntry = () => rules) {
    this.#rules = rules;
    this.#rulesThen = rulesThen;
    this.#rulesOf = rulesOf;
  }

  /** Lets an entry happen; of a verdict it gives the answer. */
  live(entry: JournalRecord): BacktestAnswer | null {
    // What an erased client had done is gone from the journal: there is nothing to forget.
    if (entry.kind === 'erasure') return null;
    const { at, clientIdKey } = entry;
    const simulation = this.#on(entry.platform);
    switch (entry.kind) {
      case 'score':
        simulation.use(this.#rulesOf(entry.ruleVersion, null));
        simulation.score(clientIdKey, entry.request, at);
        return null;
      case 'verdict': {
        const { decision } = entry;
        simulation.use(this.#rulesOf(decision.ruleVersion, decision.digest));
        const { currency } = settingsOf(
          this.#rulesThen(decision.ruleVersion, decision.digest),
          entry.platform,
        );
        return answerOf(simulation.verdict(clientIdKey, requestOf(decision, currency), at));
      }
      case 'outcome':
        simulation.outcome(clientIdKey, entry.orderRef, entry.report ?? entry.order, at);
        return null;
      case 'binding':
        simulation.bind(clientIdKey, entry.binding, at);
        return null;
      case 'override':
        simulation.override(clientIdKey, entry.override, at);
        return null;
      default:
        return entry satisfies never;
    }
  }

  #on(platform: PlatformName): Simulation {
    const known = this.#platforms.get(platform);
    if (known !== undefined) return known;
    const simulation = new Simulation(this.#rules, platform);
    this.#platforms.set(platform, simulation);
    return simulation;
  }
}

/**
 * The request as it must have been: what a record does not repeat, its facts tell. A request with the
 * platform's own currency is taken to have named none, so that each version gives it its own.
 */
function requestOf(
  { sellPointKey, orderRef, requestId, arm, facts }: Decision,
  platformCurrency: string,
): VerdictRequest {
  const currency = String(facts['currency']);
  return {
    sellPointKey,
    method: String(facts['method']),
    amount: decimalText(facts['amount']),
    currency: currency === platformCurrency ? null : currency,
    orderRef,
    requestId,
    arm,
  };
}

function answerOf(decision: Decision): BacktestAnswer {
  const { verdict, rule, clientGroup, isBot, ladderAfter, waitSeconds } = decision;
  const level = verdict === 'WAIT' ? ladderAfter.level : 0;
  return { verdict, rule, clientGroup, isBot, level, waitSeconds: waitSeconds ?? null };
}
