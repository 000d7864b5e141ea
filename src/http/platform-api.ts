import Router from '@koa/router';
import Koa, { type ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../access/access-keys.ts';
import type { PlatformName } from '../client/client-key.ts';
import type { Metrics } from '../metrics.ts';
import type { RuleSource } from '../rollout/rule-choice.ts';
import type { ScoringService } from '../service.ts';
import { authenticate } from './authenticate.ts';
import { contentType, readJson, requireContentType } from './body.ts';
import { viewOfClient } from './client-view.ts';
import { consoleRoutes } from './console-routes.ts';
import { docsRoutes } from './docs-routes.ts';
import { explanationRoutes } from './explanation-routes.ts';
import { healthRoutes, type Readiness } from './health.ts';
import type { LastHour } from './last-hour.ts';
import { platformDocument } from './openapi-platform.ts';
import { outcomeReport, streamOutcomes } from './outcome-stream.ts';
import { answerProblems, badRequest, notFound } from './problems.ts';
import { logBrokenAnswers, logRequests } from './request-log.ts';
import type { RequestState } from './request-state.ts';
import { type RolloutView, rolloutRoutes } from './rollout-routes.ts';
import { mountRoutes } from './routes.ts';
import { ruleFilesRoutes } from './rule-files-routes.ts';
import { BindingBodySchema, bodyOf, DECISIONS_LISTED, OverrideBodySchema, toEpochMs } from './schemas.ts';
import { sessionRoutes } from './session-routes.ts';
import { whatIfRoutes } from './what-if-routes.ts';

export interface PlatformApiParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly readiness: Readiness;
  readonly clock: () => number;
  readonly ruleSource: RuleSource;
  /** Null when the rule set is fixed: then there is nothing to roll out. */
  readonly rollout: RolloutView | null;
  /** The folder of the rule sets, for showing their files; without it none are shown. */
  readonly rulesDir?: string | undefined;
  readonly lastHour: LastHour;
  readonly log: Logger;
  readonly metrics: Metrics;
}

type Ctx = ParameterizedContext<RequestState>;

const bindingBody = bodyOf(BindingBodySchema);
const overrideBody = bodyOf(OverrideBodySchema);

const MAX_KEY_CHARACTERS = 256;

/** What the platform owner tells the service, and may ask of it: DESIGN's second listener. */
export function platformApi(parts: PlatformApiParts): Koa<RequestState> {
  const { log, metrics } = parts;
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics));
  app.use(answerProblems(log));
  app.use(healthRoutes(parts.readiness, metrics).routes());
  app.use(docsRoutes(platformDocument(), '').routes());
  app.use(consoleRoutes().routes());
  const router = new Router<RequestState>({ prefix: '/v1/platform', strict: true, sensitive: true });
  outcomeRoutes(router, parts);
  clientRoutes(router, parts);
  decisionRoutes(router, parts);
  explanationRoutes(router, parts);
  sessionRoutes(router, parts);
  if (parts.rollout !== null) {
    const withRollout = { ...parts, ...parts.rollout };
    rolloutRoutes(router, withRollout);
    whatIfRoutes(router, withRollout);
    if (parts.rulesDir !== undefined) ruleFilesRoutes(router, { ...withRollout, rulesDir: parts.rulesDir });
  }
  mountRoutes(app, router);
  return app;
}

function outcomeRoutes(router: Router<RequestState>, { service, keys }: PlatformApiParts): void {
  router.post('/outcomes', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'outcomes');
    if (contentType(ctx.req) === 'application/x-ndjson') {
      requireContentType(ctx.req, 'application/x-ndjson');
      ctx.type = 'application/x-ndjson';
      ctx.body = streamOutcomes(ctx.req, (report) => service.outcome(platform, report));
      return;
    }
    const report = outcomeReport(await readJson(ctx.req));
    const result = await service.outcome(platform, report);
    ctx.body = { clientIdKey: report.clientIdKey, orderRef: report.orderRef, result };
  });
}

function clientRoutes(router: Router<RequestState>, { service, keys }: PlatformApiParts): void {
  router.get('/clients/:clientIdKey', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    const view = await service.client(platform, clientIdKey);
    if (view === null) throw notFound('Nothing is known of this client.');
    ctx.body = viewOfClient(platform, clientIdKey, view);
  });

  router.delete('/clients/:clientIdKey', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    await service.erase(platform, clientIdKey);
    ctx.status = 204;
  });

  router.put('/clients/:clientIdKey/binding', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    const { requisiteRef, acceptorKeys, method, expiresAt } = bindingBody(await readJson(ctx.req));
    const binding = { requisiteRef, acceptorKeys, method: method ?? null, expiresAt: toEpochMs(expiresAt) };
    await service.setBinding(platform, clientIdKey, binding);
    ctx.body = binding;
  });

  router.delete('/clients/:clientIdKey/binding', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    await service.setBinding(platform, clientIdKey, null);
    ctx.status = 204;
  });

  router.put('/clients/:clientIdKey/override', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    const { group, reason, by, expiresAt } = overrideBody(await readJson(ctx.req));
    ctx.body = await service.setOverride(platform, clientIdKey, {
      group,
      reason,
      by,
      expiresAt: toEpochMs(expiresAt),
    });
  });

  router.delete('/clients/:clientIdKey/override', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    await service.setOverride(platform, clientIdKey, null);
    ctx.status = 204;
  });
}

function decisionRoutes(router: Router<RequestState>, { service, keys }: PlatformApiParts): void {
  router.get('/decisions', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    const limit = limitOf(ctx);
    const orderRef = queryText(ctx, 'orderRef');
    const clientIdKey = queryText(ctx, 'clientIdKey');
    const decisions =
      orderRef !== null
        ? await service.decisionsOfOrder(platform, orderRef)
        : clientIdKey !== null
          ? await service.decisionsOfClient(platform, clientIdKey, limit)
          : await service.latestDecisions(platform, limit);
    ctx.body = { decisions: decisions.slice(0, limit) };
  });

  router.get('/decisions/:decisionId', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    const decision = await service.decision(platform, ctx.params['decisionId'] ?? '');
    if (decision === null) throw notFound('There is no such decision, or it is past its retention.');
    ctx.body = decision;
  });
}

async function clientOf(
  ctx: Ctx & { readonly params: Record<string, string> },
  keys: AccessKeys,
): Promise<{ readonly platform: PlatformName; readonly clientIdKey: string }> {
  const { platform } = await authenticate(ctx, keys, 'clients');
  requireDecodable(ctx.path);
  const clientIdKey = ctx.params['clientIdKey'] ?? '';
  requireKey(clientIdKey, 'clientIdKey');
  return { platform, clientIdKey };
}

/** The router takes what it cannot decode as it is, so two paths would name one client. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw badRequest('The path is not percent-encoded UTF-8; encode the clientIdKey in it.');
  }
}

function queryText(ctx: Ctx, name: string): string | null {
  const value = ctx.query[name];
  if (value === undefined) return null;
  if (Array.isArray(value)) throw badRequest(`The parameter ${name} must come once.`);
  requireKey(value, name);
  return value;
}

function requireKey(value: string, name: string): void {
  const length = [...value].length;
  if (length >= 1 && length <= MAX_KEY_CHARACTERS && value.isWellFormed()) return;
  throw badRequest(`${name} must have 1 to ${MAX_KEY_CHARACTERS} characters of well-formed Unicode.`);
}

function limitOf(ctx: Ctx): number {
  const text = queryText(ctx, 'limit');
  if (text === null) return DECISIONS_LISTED.default;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= DECISIONS_LISTED.max) return limit;
  throw badRequest(`The parameter limit must be a whole number from 1 to ${DECISIONS_LISTED.max}.`);
}
