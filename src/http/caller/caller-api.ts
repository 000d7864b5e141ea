import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { ScoringService } from '../../service.ts';
import type { RateBuckets } from '../../state/rate-buckets.ts';
import { docsRoutes } from '../openapi/docs.ts';
import { mountRoutes } from '../operation/routes.ts';
import { answerProblem, answerProblems } from '../request/answer-problems.ts';
import { type RateLimit, RateLimiter } from '../request/rate-limit.ts';
import { METHOD_NOT_ALLOWED } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';
import { countWork } from '../server/overload.ts';
import { logBrokenAnswers, logRequests, tellOf } from '../server/request-log.ts';
import type { WorkLimit } from '../server/work-limit.ts';
import { callerDocument } from './caller-document.ts';
import type { CallerDesk, CallerOperation } from './caller-operation.ts';
import { CALLER_OPERATIONS } from './caller-operations.ts';
import { DirectExchange } from './direct-exchange.ts';

export interface CallerApiParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly rateBuckets: RateBuckets;
  readonly rateLimit: RateLimit;
  readonly pseudonym: Pseudonym;
  /** Whoever opens the listener refuses what is too much, before the API sees it. */
  readonly workLimit: WorkLimit;
  /** '' or a path like `/scoring`. */
  readonly basePath: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * The two operations of the interface (section 4). Checks come in this order: rate, key (401), scope
 * (403), body (415, 413, 400); only then is anything decided. What else is asked, Koa answers.
 */
export function callerApi(parts: CallerApiParts): RequestListener {
  const { basePath, service, keys, log, metrics, workLimit } = parts;
  const limiter = new RateLimiter(parts.rateLimit, parts.rateBuckets, parts.pseudonym, metrics);
  const operations = new Map(
    CALLER_OPERATIONS.map((operation) => [basePath + operation.path, operation] as const),
  );
  const desk: CallerDesk = {
    service,
    keys,
    // Otherwise callers who send their bodies slowly would keep all others out.
    whileReading: ({ req }, read) => (req.complete ? read() : workLimit.aside(read)),
  };
  const serve = async (req: IncomingMessage, res: ServerResponse, operation: CallerOperation) => {
    const startedMs = performance.now();
    const exchange = new DirectExchange(req, res);
    try {
      await limiter.run(exchange, () => workLimit.run(() => operation.serve(exchange, desk)));
    } catch (error) {
      answerProblem(exchange, error, log);
    }
    tellOf(exchange, performance.now() - startedMs, log, metrics);
    if (exchange.respond && !exchange.send())
      log.info({ why: 'the connection was closed' }, 'the answer could not be sent');
  };
  const answerOthers = otherPaths(parts, limiter, operations).callback();
  return (req, res) => {
    const operation = operations.get(pathOf(req));
    if (operation === undefined || req.method !== operation.method.toUpperCase()) answerOthers(req, res);
    else
      serve(req, res, operation).catch((error: unknown) => {
        log.error({ err: error }, 'unexpected error');
        res.destroy();
      });
  };
}

/** The API document with its page, and the refusals of everything that there is not. */
function otherPaths(
  { basePath, log, metrics, workLimit }: CallerApiParts,
  limiter: RateLimiter,
  operations: ReadonlyMap<string, CallerOperation>,
): Koa<RequestState> {
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics));
  app.use(answerProblems(log));
  app.use((ctx, next) => limiter.run(ctx, next));
  app.use(countWork(workLimit));
  app.use((ctx, next) => {
    const { method } = operations.get(ctx.path) ?? {};
    if (method !== undefined) throw METHOD_NOT_ALLOWED.problem(method.toUpperCase());
    return next();
  });
  mountRoutes(
    app,
    docsRoutes(() => callerDocument(basePath), basePath),
  );
  return app;
}

/** Without its query. A proxy may send the whole address. */
function pathOf({ url = '' }: IncomingMessage): string {
  if (!url.startsWith('/')) return URL.parse(url)?.pathname ?? url;
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
