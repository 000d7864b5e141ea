import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { type DecisionStanding, decideWithoutRecord } from './decide.ts';
import { type Decision, waitSecondsSchema } from './decision.ts';
import { formatDecimal } from './payer/amount.ts';
import { chooseEventTime } from './payer/client-state.ts';
import { resetLadderAfterAbsence } from './payer/ladder.ts';
import type { VerdictRequestWithoutOrigin } from './requests.ts';
import { getPlatformSettings, type RuleSet, verdictSchema } from './rules/rule-set.ts';

const ExpectedVerdictSchema = s.shape('The answer that a request would get', {
  at: s.epochMs('When it would be asked'),
  verdict: verdictSchema,
  waitSeconds: Type.Optional(waitSecondsSchema),
  rule: s.plainText('The rule that would give the verdict, or "otherwise"', 'otherwise'),
  reason: s.plainText('The reason in this answer', 'No reason to hold the payer back.'),
});

export const NextVerdictSchema = s.named(
  'NextVerdict',
  s.shape('The answer that the next request of a client would get, as far as is known now', {
    asked: s.shape('The request that is supposed', {
      like: s.describedChoice<'lastVerdict' | 'ordinary'>(
        { lastVerdict: 'the newest one that is kept', ordinary: 'an ordinary one, where none is kept' },
        'Which request it is like',
      ),
      amount: s.plainText('A decimal number', '25.00'),
      currency: s.plainText('Its currency', 'EUR'),
      method: s.plainText('The payment method', 'card'),
      sellPointKey: s.plainText('Point of sale', 'shop-1'),
    }),
    now: s.shape('The answer to a request now', ExpectedVerdictSchema.properties),
    afterWait: s.nullable(
      s.shape(
        'The answer to a request after the current wait, or after the wait that `now` would begin; null without a wait',
        ExpectedVerdictSchema.properties,
      ),
    ),
  }),
);

export type NextVerdict = s.ValueOf<typeof NextVerdictSchema>;

type ExpectedVerdict = NextVerdict['now'];

/**
 * The request that is supposed if the newest decision did not record its amount or its method. No known rule compares
 * the amount with a smaller number.
 */
const ORDINARY = { amount: '100', method: 'card', sellPointKey: 'shop' } as const;

/**
 * Predicts the answers to the next request of a client: now, and after the wait. The supposed request repeats the
 * amount, the method and the point of sale of the newest decision. It does not repeat attributes that were sent with
 * that request only. Nothing is counted or changed.
 */
export function predictNextVerdict(
  rules: RuleSet,
  standing: DecisionStanding,
  newest: Pick<Decision, 'facts' | 'orderRef' | 'sellPointKey'> | undefined,
): NextVerdict {
  const { client, state } = standing;
  const settings = getPlatformSettings(rules, client.platform);
  const asked = supposeRequest(newest, settings.currency);
  const request: VerdictRequestWithoutOrigin = { ...asked, orderRef: newest?.orderRef ?? '' };
  const at = chooseEventTime(state, standing.now);
  const { waitUntil } = resetLadderAfterAbsence(state, settings.ladder, at);
  const { expected: now, nextState, ladderAfter } = expectVerdict(rules, { ...standing, now: at }, request);
  if (waitUntil !== null && waitUntil > at)
    return { asked, now, afterWait: expectVerdict(rules, { ...standing, now: waitUntil }, request).expected };
  if (now.verdict !== 'WAIT' || ladderAfter.waitUntil === null) return { asked, now, afterWait: null };
  const waited = { ...standing, state: nextState, now: ladderAfter.waitUntil };
  return { asked, now, afterWait: expectVerdict(rules, waited, request).expected };
}

function supposeRequest(
  newest: Pick<Decision, 'facts' | 'sellPointKey'> | undefined,
  currency: string,
): NextVerdict['asked'] {
  const { amount, method, currency: said } = newest?.facts ?? {};
  if (newest === undefined || amount === undefined || method === undefined)
    return { like: 'ordinary', ...ORDINARY, currency };
  return {
    like: 'lastVerdict',
    amount: formatDecimal(amount),
    currency: String(said ?? currency),
    method: String(method),
    sellPointKey: newest.sellPointKey,
  };
}

function expectVerdict(rules: RuleSet, standing: DecisionStanding, request: VerdictRequestWithoutOrigin) {
  const { at, concluded, nextState } = decideWithoutRecord(rules, standing, request);
  const { verdict, waitSeconds, rule, reason, ladderAfter } = concluded;
  const wait = waitSeconds === null ? {} : { waitSeconds };
  const expected: ExpectedVerdict = { at, verdict, ...wait, rule, reason };
  return { expected, nextState, ladderAfter };
}
