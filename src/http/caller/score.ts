import { ScoreAnswerSchema } from '../../decision/decision.ts';
import { ScoreBodySchema } from '../../decision/request-bodies.ts';
import type { ScoringService } from '../../service/scoring.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';
import { jsonBody, malformed } from '../operation/request-body.ts';
import type { WorkLimit } from '../server/work-limit.ts';

export interface ScoreParts {
  readonly service: ScoringService;
  readonly workLimit: WorkLimit;
}

export const score = operation({
  method: 'post',
  path: '/v1/client/score',
  operationId: 'score',
  summary: 'Which payer this is',
  description:
    'Interface, section 4.1. Before payment methods are rendered; a couple of times per checkout at most. Idempotent per sellPointKey and clientIdKey.',
  tag: 'Scoring',
  grant: 'score',
  body: jsonBody('ScoreBody', ScoreBodySchema, {
    sellPointKey: 'shop-1',
    clientIdKey: 'ann',
    amountRequested: '25.00',
    selectedMethodKey: 'card',
    toPayCurrency: 'EUR',
    fingerprint: 'f-5d1c',
    ip: '203.0.113.7',
    userAgent: 'Mozilla/5.0',
    clientHints: { jsOk: true, honeypotTriggered: false },
  }),
  answers: jsonAnswer('Group, payment score and bot flag', ScoreAnswerSchema, {
    clientGroup: 'NEW',
    paymentScore: '0.5000',
    isBot: false,
  }),
  refusals: [malformed('/amountRequested', 'must be a JSON string')],
  answer: async ({ ctx, caller, body }, { service, workLimit }: ScoreParts) => {
    const given = await body();
    const answer = await workLimit.inTurn(caller.platform, () =>
      service.score(caller.platform, given, ctx.state.admitted),
    );
    ctx.state.noted = { clientGroup: answer.clientGroup, isBot: answer.isBot };
    return answer;
  },
});
