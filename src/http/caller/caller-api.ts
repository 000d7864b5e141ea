import Koa from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { ScoringService } from '../../service/scoring.ts';
import type { RateBuckets } from '../../state/rate-buckets.ts';
import { docsRoutes } from '../openapi/docs.ts';
import { documentOf } from '../openapi/document.ts';
import type { OpenApiDocument } from '../openapi/open-api-document.ts';
import { searchTurns } from '../operation/operation.ts';
import { addOperations, mountRoutes, strictRouter } from '../operation/routes.ts';
import { answerProblems } from '../request/answer-problems.ts';
import { hiddenAddress } from '../request/caller-address.ts';
import { limitRate, type RateLimit } from '../request/rate-limit.ts';
import type { RequestState } from '../request/request-state.ts';
import { countWork, ownWork } from '../server/overload.ts';
import { logBrokenAnswers, logRequests } from '../server/request-log.ts';
import type { WorkLimit } from '../server/work-limit.ts';
import { score } from './score.ts';
import { verdict } from './verdict.ts';

export interface CallerApiParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly rateBuckets: RateBuckets;
  readonly rateLimit: RateLimit;
  readonly pseudonym: Pseudonym;
  /** The code that opens the listener refuses what is too much before the API sees it. */
  readonly workLimit: WorkLimit;
  /** '' or a path like `/scoring`. */
  readonly basePath: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * The two operations of the interface (section 4). Checks come in this order: rate, key (401), grant
 * (403), body (415, 413, 400); only then is anything decided.
 */
export function callerApi(parts: CallerApiParts): Koa<RequestState> {
  const { keys, log, metrics, workLimit } = parts;
  const router = strictRouter(parts.basePath);
  addOperations(router, [score, verdict], parts, {
    keys,
    browsers: null,
    // The interface names no parameters, and callers sign or trace their addresses in ways of their own.
    refusesUnknownParameters: false,
    // Otherwise callers who send their bodies slowly would keep all others out.
    whileReading: ({ req, state }, read) => {
      ownWork(workLimit, state);
      return req.complete ? read() : workLimit.aside(read);
    },
    approvals: null,
    searches: searchTurns(),
  });

  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  const { trustedProxies } = parts.rateLimit;
  app.use(logRequests(log, metrics, (req) => hiddenAddress(parts.pseudonym, req, trustedProxies)));
  app.use(answerProblems(log));
  app.use(limitRate(parts.rateLimit, parts.rateBuckets, parts.pseudonym, metrics));
  app.use(countWork(workLimit));
  mountRoutes(
    app,
    router,
    docsRoutes(() => callerDocument(parts.basePath), parts.basePath),
  );
  return app;
}

const DESCRIPTION = `Classifies a payer and says whether a payment requisite may be issued right now.

Call score when the checkout is open and the amount is known, then verdict directly before a requisite is
issued. Both are decisions, not pings: repeated verdicts move the payer up the cooldown ladder.

Checks come in this order: rate, key (401), grant (403), body (415, 413, 400). About 20 requests a second
are taken from one client IP; over it answers are delayed, then the connection is dropped without an answer.
Unknown members of a body are ignored, and named in X-Ignored-Members. Whoever gets no answer to a verdict asks
again with the same Idempotency-Key; with a new one the payer takes another step. An optional member
that is null or "" is taken for absent.`;

/** The two operations of the interface; `basePath` is '' or a path like `/scoring`. */
export function callerDocument(basePath: string): OpenApiDocument {
  return documentOf({
    title: 'Client Scoring Service',
    description: DESCRIPTION,
    serverUrl: basePath === '' ? '/' : basePath,
    tags: [{ name: 'Scoring', description: 'What a checkout asks' }],
    operations: [score, verdict],
    elsewhere: [],
    refusesUnknownParameters: false,
  });
}
