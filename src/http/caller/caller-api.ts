import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { Pseudonym, ScoreBody, VerdictBody } from '../../decision/requests.ts';
import type { Metrics } from '../../metrics.ts';
import type { ScoringService } from '../../service.ts';
import type { RateBuckets } from '../../state/rate-buckets.ts';
import { callerDocument } from '../openapi/caller.ts';
import { docsRoutes } from '../openapi/docs.ts';
import { authenticate } from '../request/authenticate.ts';
import { readJson } from '../request/body.ts';
import { answerProblems, badRequest } from '../request/problems.ts';
import { limitRate, type RateLimit } from '../request/rate-limit.ts';
import type { RequestState } from '../request/request-state.ts';
import { bodyOf, IDEMPOTENCY_KEY_PATTERN, ScoreBodySchema, VerdictBodySchema } from '../request/schemas.ts';
import { countWork, shedOverload, WorkLimit } from '../server/overload.ts';
import { logBrokenAnswers, logRequests } from '../server/request-log.ts';
import { mountRoutes } from '../server/routes.ts';

export interface CallerApiParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly rateBuckets: RateBuckets;
  readonly rateLimit: RateLimit;
  readonly pseudonym: Pseudonym;
  /** '' or a path like `/scoring`. */
  readonly basePath: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const scoreBody: (value: unknown) => ScoreBody = bodyOf(ScoreBodySchema);
const verdictBody: (value: unknown) => VerdictBody = bodyOf(VerdictBodySchema);
const IDEMPOTENCY_KEY = new RegExp(IDEMPOTENCY_KEY_PATTERN);

/**
 * The two operations of the contract (section 4). Checks come in this order: overload (503), rate, key
 * (401), scope (403), body (415, 413, 400); only then is anything decided.
 */
export function callerApi(parts: CallerApiParts): Koa<RequestState> {
  const { service, keys, log, metrics } = parts;
  const workLimit = new WorkLimit();
  // Otherwise callers who send their bodies slowly would keep all others out.
  const jsonOf = (req: IncomingMessage) =>
    req.complete ? readJson(req) : workLimit.aside(() => readJson(req));
  const router = new Router<RequestState>({
    prefix: `${parts.basePath}/v1/client`,
    strict: true,
    sensitive: true,
  });

  router.post('/score', async (ctx) => {
    const key = await authenticate(ctx, keys, 'score');
    const answer = await service.score(key.platform, scoreBody(await jsonOf(ctx.req)));
    ctx.state.noted = { clientGroup: answer.clientGroup, isBot: answer.isBot };
    ctx.body = answer;
  });

  router.post('/verdict', async (ctx) => {
    const key = await authenticate(ctx, keys, 'verdict');
    const idempotencyKey = idempotencyKeyOf(ctx);
    const body = verdictBody(await jsonOf(ctx.req));
    const { requestId } = ctx.state;
    const { answer, decisionId, replayed } = await service.verdict(key.platform, body, {
      requestId,
      idempotencyKey,
    });
    const { verdict, ruleVersion } = answer;
    ctx.state.noted = { verdict, ruleVersion, decisionId };
    ctx.set('X-Decision-Id', decisionId);
    if (replayed) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = answer;
  });

  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(shedOverload(workLimit, metrics, parts.basePath));
  app.use(logRequests(log, metrics));
  app.use(answerProblems(log));
  app.use(limitRate(parts.rateLimit, parts.rateBuckets, parts.pseudonym, metrics));
  app.use(countWork(workLimit));
  mountRoutes(app, router, docsRoutes(callerDocument(parts.basePath), parts.basePath));
  return app;
}

/** The Idempotency-Key of a verdict; null when the caller sent none. */
function idempotencyKeyOf(ctx: Pick<Context, 'req'>): string | null {
  const given = ctx.req.headersDistinct['idempotency-key'] ?? [];
  const [key] = given;
  if (key === undefined) return null;
  if (given.length === 1 && IDEMPOTENCY_KEY.test(key)) return key;
  throw badRequest('Idempotency-Key must come once, with 1 to 255 visible ASCII characters.', [
    { pointer: '', detail: 'the header Idempotency-Key is not valid' },
  ]);
}
