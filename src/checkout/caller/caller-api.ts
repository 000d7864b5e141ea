import type Router from '@koa/router';
import Koa, { type ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import { named, oneOf, plainText, shape } from '#base/shapes.ts';
import type { AccessKeys } from '#checkout/access/access-keys.ts';
import {
  addOperationRoutes,
  createExactPathRouter,
  createSearchQueue,
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  mountRoutes,
} from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import { createBadRequestProblem, declareRefusal } from '#checkout/http/request/problems.ts';
import { hashCallerAddress, limitRate, type RateLimit } from '#checkout/http/request/rate-limit.ts';
import { createErrorMiddleware, IDEMPOTENCY_KEY_REUSED } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { REQUEST_TIMEOUT_MS } from '#checkout/http/server/listener.ts';
import { assignWorkToPlatform, countWork } from '#checkout/http/server/overload.ts';
import { logBrokenAnswers, logRequests } from '#checkout/http/server/request-log.ts';
import type { WorkLimit } from '#checkout/http/server/work-limit.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import {
  isBotSchema,
  ScoreAnswerSchema,
  stickyRequisiteRefSchema,
  waitSecondsSchema,
} from '#decision/decision.ts';
import { ScoreBodySchema, VerdictBodySchema } from '#decision/requests.ts';
import { createSingleVerdictSchema, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import type { RateBuckets } from '#state/rate-buckets.ts';

interface ScoreParts {
  readonly service: ScoringService;
  readonly workLimit: WorkLimit;
}

const score = declareOperation({
  route: 'post /v1/client/score',
  summary: 'Classify a payer: group, payment score and bot flag',
  description:
    'Interface, section 4.1. Call it before payment methods are shown, at most a couple of times per checkout. Idempotent per sellPointKey and clientIdKey.',
  grant: 'score',
  body: declareJsonBody('ScoreBody', ScoreBodySchema, {
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
  answers: declareJsonAnswer('Group, payment score and bot flag', ScoreAnswerSchema),
  answer: async ({ ctx, caller, body }, { service, workLimit }: ScoreParts) => {
    const given = await body();
    const answer = await workLimit.inTurn(caller.platform, () =>
      service.score(caller.platform, given, ctx.state.admitted),
    );
    ctx.state.extraLogMembers = { clientGroup: answer.clientGroup, isBot: answer.isBot };
    return answer;
  },
});

const ALWAYS = {
  reason: plainText('Explanation for people, free form', 'No reason to hold the payer back.'),
  ruleVersion: ruleVersionSchema,
  isBot: isBotSchema,
};

/** The verdict answer of the interface, section 2.4. */
const VerdictAnswerSchema = named(
  'VerdictAnswer',
  oneOf(
    'verdict',
    {
      GET_NEW: named(
        'GetNewAnswer',
        shape('Issue a new requisite', { verdict: createSingleVerdictSchema('GET_NEW'), ...ALWAYS }),
      ),
      GET_SAME_STICKY: named(
        'GetSameStickyAnswer',
        shape('Show the bound requisite, do not issue a new one', {
          verdict: createSingleVerdictSchema('GET_SAME_STICKY'),
          stickyRequisiteRef: stickyRequisiteRefSchema,
          ...ALWAYS,
        }),
      ),
      WAIT: named(
        'WaitAnswer',
        shape('An instruction, not an error: wait, then ask again', {
          verdict: createSingleVerdictSchema('WAIT'),
          waitSeconds: waitSecondsSchema,
          ...ALWAYS,
        }),
      ),
      BLOCK: named(
        'BlockAnswer',
        shape('A refusal', { verdict: createSingleVerdictSchema('BLOCK'), ...ALWAYS }),
      ),
    },
    'The answer to a verdict request (interface, section 2.4): one of four commands; `verdict` says which',
  ),
);

/** The allowed form of an Idempotency-Key: visible ASCII. */
const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x7e]{1,255}$';
const IDEMPOTENCY_KEY_FORM = new RegExp(IDEMPOTENCY_KEY_PATTERN);

const BAD_IDEMPOTENCY_KEY = declareRefusal(
  'bad-idempotency-key',
  'The header Idempotency-Key is not valid.',
  () =>
    createBadRequestProblem('Idempotency-Key must come once, with 1 to 255 visible ASCII characters.', [
      { header: 'Idempotency-Key', detail: 'must come once, with 1 to 255 visible ASCII characters' },
    ]),
);

/** `read` returns null if the caller sent no Idempotency-Key. */
const IDEMPOTENCY_KEY: Parameter<string | null> = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Send the same key when you repeat a request: for 24 hours it gets the stored answer, and the verdict counts once',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
  read: ({ req }) => {
    const given = req.headersDistinct['idempotency-key'] ?? [];
    const [key] = given;
    if (key === undefined) return null;
    if (given.length === 1 && IDEMPOTENCY_KEY_FORM.test(key)) return key;
    throw BAD_IDEMPOTENCY_KEY.problem();
  },
};

const verdict = declareOperation({
  route: 'post /v1/client/verdict',
  summary: 'Decide whether a requisite may be issued right now',
  description:
    'Interface, section 4.2. Call it directly before a requisite is shown, after score, and again when the method or the amount changes. After WAIT, call it no earlier than waitSeconds.',
  grant: 'verdict',
  parameters: [IDEMPOTENCY_KEY],
  body: declareJsonBody('VerdictBody', VerdictBodySchema, {
    sellPointKey: 'shop-1',
    clientIdKey: 'ann',
    method: 'card',
    amountRequested: '25.00',
    orderRef: 'order-1',
    toPayCurrency: 'EUR',
  }),
  answers: {
    200: {
      ...declareJsonAnswer('One of four commands; recorded before it is answered', VerdictAnswerSchema)[200],
      headers: ['X-Decision-Id', 'Idempotent-Replayed'],
    },
  },
  refusals: [BAD_IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_REUSED],
  answer: async ({ ctx, caller, body }, { service, workLimit }: ScoreParts) => {
    const idempotencyKey = IDEMPOTENCY_KEY.read(ctx);
    const given = await body();
    const { requestId, admitted } = ctx.state;
    const { answer, decisionId, replayed } = await workLimit.inTurn(caller.platform, () =>
      service.verdict(caller.platform, given, { requestId, idempotencyKey, admitted }),
    );
    const { verdict, ruleVersion } = answer;
    ctx.state.extraLogMembers = { verdict, ruleVersion, decisionId };
    ctx.set('X-Decision-Id', decisionId);
    if (replayed) ctx.set('Idempotent-Replayed', 'true');
    return answer;
  },
});

export const CALLER_OPERATIONS = createTaggedOperations('Scoring', { score, verdict });

export interface CallerApiParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly rateBuckets: RateBuckets;
  readonly rateLimit: RateLimit;
  readonly pseudonym: Pseudonymize;
  /**
   * Limits the work under way. The code that opens the listener also refuses excess requests before the API sees
   * them.
   */
  readonly workLimit: WorkLimit;
  /** The path before all routes: empty, or a path like `/scoring`. */
  readonly basePath: string;
  /** Further routes of the listener: the API document of these operations. */
  readonly documentRoutes: Router<RequestState>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * A Koa whose answers are texts. Koa adds listeners to every request to close bodies that are streams. This class
 * adds none, because no body is a stream.
 */
class TextKoa extends Koa<RequestState> {
  handleRequest(ctx: ParameterizedContext<RequestState>, run: (asked: typeof ctx) => Promise<void>) {
    const send = () => ctx.respond === false || ctx.res.end(ctx.writable ? ctx.body : undefined);
    ctx.res.statusCode = 404;
    return run(ctx).then(send).catch(ctx.onerror.bind(ctx));
  }
}

/**
 * Creates the API of the two operations of the interface (section 4). Checks run in this sequence: rate, key (401),
 * grant (403), body (415, 413, 400). Nothing is decided before all checks pass.
 */
export function createCallerApi(parts: CallerApiParts): Koa<RequestState> {
  const { keys, log, metrics, workLimit } = parts;
  const router = createExactPathRouter(parts.basePath);
  addOperationRoutes(router, CALLER_OPERATIONS, parts, {
    keys,
    browsers: null,
    // The interface names no parameters. Callers add parameters of their own to sign or trace requests.
    isStrict: false,
    // Reading a body does not count as work under way. Otherwise callers who send their bodies slowly would keep all
    // others out.
    whileReading: ({ req, state }, read) => {
      assignWorkToPlatform(workLimit, state);
      return req.complete ? read() : workLimit.waitUncounted(read);
    },
    searches: createSearchQueue(),
    // The listener bounds the work under way and the time for a body.
    assignPlatform: () => {},
    openBodyMs: REQUEST_TIMEOUT_MS,
  });

  const app = new TextKoa();
  logBrokenAnswers(app, log);
  const { trustedProxies } = parts.rateLimit;
  app.use(logRequests(log, metrics, (req) => hashCallerAddress(parts.pseudonym, req, trustedProxies)));
  app.use(createErrorMiddleware(log));
  app.use(limitRate(parts.rateLimit, parts.rateBuckets, parts.pseudonym, metrics));
  app.use(countWork(workLimit));
  mountRoutes(app, router, parts.documentRoutes);
  return app;
}
