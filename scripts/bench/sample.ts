import { type DecisionStanding, decideVerdict, type VerdictResult } from '#decision/decide.ts';
import { toVerdictAnswer, type VerdictAnswer } from '#decision/decision.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import type { VerdictRequest } from '#decision/requests.ts';
import { clientKey } from '../../test/decision/payer/client-keys.ts';
import { currentRules } from '../../test/service/current-rules.ts';

export const BENCH_PLATFORM = toPlatformName('bench');

export const SAMPLE_CLIENT = clientKey(BENCH_PLATFORM, 'payer-1-1-1');

export const SAMPLE_REQUEST: VerdictRequest = {
  sellPointKey: 'shop-1',
  method: 'card',
  amount: '25.00',
  currency: null,
  orderRef: 'order-1-1-1',
  requestId: '00000000-0000-4000-8000-000000000000',
  arm: 'active',
};

/** What a decision about a new client starts from. */
export const SAMPLE_STANDING: DecisionStanding = {
  client: SAMPLE_CLIENT,
  state: UNKNOWN_CLIENT_STATE,
  sightings: NO_SIGHTINGS,
  now: Date.UTC(2026, 0, 1),
};

/** Decides a verdict for a new client, like every request of the load. */
export function decideSampleVerdict(): VerdictResult {
  return decideVerdict(currentRules(), SAMPLE_STANDING, SAMPLE_REQUEST);
}

const answer = toVerdictAnswer(decideSampleVerdict().decision);

export function getSampleAnswer(): VerdictAnswer {
  return answer;
}
