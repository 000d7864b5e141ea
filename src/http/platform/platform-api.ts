import Router from '@koa/router';
import Koa, { type ParameterizedContext } from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { Metrics } from '../../metrics.ts';
import type { RuleSource } from '../../rollout/rule-source.ts';
import type { Records } from '../../service/records.ts';
import type { ScoringService } from '../../service.ts';
import { consoleRoutes } from '../console/routes.ts';
import { docsRoutes } from '../openapi/docs.ts';
import { platformDocument } from '../openapi/platform.ts';
import { authenticate } from '../request/authenticate.ts';
import { contentType, readJson, requireContentType } from '../request/body.ts';
import { answerProblems, badRequest, notFound } from '../request/problems.ts';
import { queryLimit, requireKey } from '../request/query.ts';
import type { RequestState } from '../request/request-state.ts';
import { BindingBodySchema, bodyOf, OverrideBodySchema, toEpochMs } from '../request/schemas.ts';
import { healthRoutes, type Readiness } from '../server/health.ts';
import type { LastHour } from '../server/last-hour.ts';
import { logBrokenAnswers, logRequests } from '../server/request-log.ts';
import { mountRoutes } from '../server/routes.ts';
import { HISTORY_LISTED, viewOfHistory } from './client-history.ts';
import { viewOfClient } from './client-view.ts';
import { decisionRoutes } from './decisions.ts';
import { explanationRoutes } from './explanation.ts';
import { outcomeReport, streamOutcomes } from './outcome-stream.ts';
import { type RolloutView, rolloutRoutes } from './rollout.ts';
import { ruleFilesRoutes } from './rule-files.ts';
import { sessionRoutes } from './session.ts';
import { whatIfRoutes } from './what-if.ts';

export interface PlatformApiParts {
  readonly service: ScoringService;
  readonly records: Records;
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

/** What the platform owner tells the service, and may ask of it: DESIGN's second listener. */
export function platformApi(parts: PlatformApiParts): Koa<RequestState> {
  const { log, metrics } = parts;
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics));
  app.use(answerProblems(log));
  app.use(healthRoutes(parts.readiness, metrics).routes());
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
  mountRoutes(app, router, docsRoutes(platformDocument(), ''), consoleRoutes());
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

function clientRoutes(router: Router<RequestState>, { service, records, keys }: PlatformApiParts): void {
  router.get('/clients/:clientIdKey', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    const view = await records.client(platform, clientIdKey);
    if (view === null) throw notFound('Nothing is known of this client.');
    ctx.body = viewOfClient(platform, clientIdKey, view);
  });

  router.get('/clients/:clientIdKey/history', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys);
    const history = await records.history(platform, clientIdKey, queryLimit(ctx, HISTORY_LISTED));
    if (history === null) throw notFound('Nothing is known of this client.');
    ctx.body = viewOfHistory(clientIdKey, history);
  });

  router.delete('/clients/:clientIdKey', async (ctx) => {
    const { platform, clientIdKey } = await clientOf(ctx, keys, 'erase');
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

async function clientOf(
  ctx: Ctx & { readonly params: Record<string, string> },
  keys: AccessKeys,
  operation: 'clients' | 'erase' = 'clients',
): Promise<{ readonly platform: PlatformName; readonly clientIdKey: string }> {
  const { platform } = await authenticate(ctx, keys, operation);
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
