import { isBot, stickyRequisiteRef, waitSeconds } from '../../decision/decision.ts';
import { VerdictBodySchema } from '../../decision/request-bodies.ts';
import { ruleVersion, verdictWord } from '../../rules/rule-set.ts';
import type { ScoringService } from '../../service/scoring.ts';
import { named, oneOf, shape, word } from '../../shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';
import type { Parameter } from '../operation/parameters.ts';
import { jsonBody, malformed } from '../operation/request-body.ts';
import { badRequest, refusal } from '../request/problems.ts';
import { IDEMPOTENCY_KEY_REUSED } from '../request/refusals.ts';
import type { WorkLimit } from '../server/work-limit.ts';

export interface VerdictParts {
  readonly service: ScoringService;
  readonly workLimit: WorkLimit;
}

const ALWAYS = { reason: word('For people, free form'), ruleVersion, isBot };

/** The verdict answer of the interface, section 2.4. */
export const VerdictAnswerSchema = named(
  'VerdictAnswer',
  oneOf(
    'verdict',
    {
      GET_NEW: named(
        'GetNewAnswer',
        shape('Issue a new requisite', { verdict: verdictWord('GET_NEW'), ...ALWAYS }),
      ),
      GET_SAME_STICKY: named(
        'GetSameStickyAnswer',
        shape('Show the bound requisite, do not issue a new one', {
          verdict: verdictWord('GET_SAME_STICKY'),
          stickyRequisiteRef,
          ...ALWAYS,
        }),
      ),
      WAIT: named(
        'WaitAnswer',
        shape('An instruction, not an error: wait, then ask again', {
          verdict: verdictWord('WAIT'),
          waitSeconds,
          ...ALWAYS,
        }),
      ),
      BLOCK: named('BlockAnswer', shape('A refusal', { verdict: verdictWord('BLOCK'), ...ALWAYS })),
    },
    'Interface, section 2.4: one of four commands, told apart by `verdict`',
  ),
);

/** What an Idempotency-Key may be: visible ASCII. */
const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x7e]{1,255}$';
const IDEMPOTENCY_KEY_FORM = new RegExp(IDEMPOTENCY_KEY_PATTERN);

const BAD_IDEMPOTENCY_KEY = refusal('badIdempotencyKey', 'The header Idempotency-Key is not valid.', () =>
  badRequest('Idempotency-Key must come once, with 1 to 255 visible ASCII characters.', [
    { pointer: '', detail: 'the header Idempotency-Key is not valid' },
  ]),
);

/** Null when the caller sent none. */
const IDEMPOTENCY_KEY: Parameter<string | null> = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Send the same key with a repeat of the same request: within 24 h it gets the stored answer and counts once',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
  read: ({ req }) => {
    const given = req.headersDistinct['idempotency-key'] ?? [];
    const [key] = given;
    if (key === undefined) return null;
    if (given.length === 1 && IDEMPOTENCY_KEY_FORM.test(key)) return key;
    throw BAD_IDEMPOTENCY_KEY.problem();
  },
};

export const verdict = operation({
  method: 'post',
  path: '/v1/client/verdict',
  operationId: 'verdict',
  summary: 'Whether a requisite may be issued right now',
  description:
    'Interface, section 4.2. Directly before a requisite is shown, after score; again when method or amount changes. After WAIT no earlier than waitSeconds.',
  tag: 'Scoring',
  grant: 'verdict',
  parameters: [IDEMPOTENCY_KEY],
  body: jsonBody('VerdictBody', VerdictBodySchema, {
    sellPointKey: 'shop-1',
    clientIdKey: 'ann',
    method: 'card',
    amountRequested: '25.00',
    orderRef: 'order-1',
    toPayCurrency: 'EUR',
  }),
  answers: {
    200: {
      ...jsonAnswer('One of four commands; recorded before it is answered', VerdictAnswerSchema, {
        verdict: 'WAIT',
        waitSeconds: 30,
        reason: 'The last attempt is not paid yet; cooldown level 1.',
        ruleVersion: 'p2.v10',
        isBot: false,
      })[200],
      headers: ['X-Decision-Id', 'Idempotent-Replayed'],
    },
  },
  refusals: [malformed('/orderRef', 'is required'), BAD_IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_REUSED],
  answer: async ({ ctx, caller, body }, { service, workLimit }: VerdictParts) => {
    const idempotencyKey = IDEMPOTENCY_KEY.read(ctx);
    const given = await body();
    const { requestId, admitted } = ctx.state;
    const { answer, decisionId, replayed } = await workLimit.inTurn(caller.platform, () =>
      service.verdict(caller.platform, given, { requestId, idempotencyKey, admitted }),
    );
    const { verdict, ruleVersion } = answer;
    ctx.state.noted = { verdict, ruleVersion, decisionId };
    ctx.set('X-Decision-Id', decisionId);
    if (replayed) ctx.set('Idempotent-Replayed', 'true');
    return answer;
  },
});
