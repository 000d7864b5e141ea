import { Metrics } from '#checkout/metrics/metrics.ts';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import { ScoringService, type ScoringServiceParts } from '#checkout/scoring/scoring.ts';
import type { Store } from '#state/store.ts';
import { currentRules } from './current-rules.ts';

/** The service below HTTP, by the current rules unless others are given; it notes devices as they are sent. */
export function scoringService(
  store: Store,
  clock: () => number,
  more: Partial<ScoringServiceParts> = {},
): ScoringService {
  const ruleSource = createFixedRuleSource(currentRules());
  const pseudonym = (_kind: string, text: string) => text;
  return new ScoringService({ store, ruleSource, clock, pseudonym, metrics: new Metrics(), ...more });
}
