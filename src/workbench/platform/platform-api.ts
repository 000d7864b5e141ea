import Koa from 'koa';
import {
  addOperationRoutes,
  createExactPathRouter,
  createSearchQueue,
  mountRoutes,
} from '#checkout/http/operation/operation.ts';
import { hashCallerAddress } from '#checkout/http/request/rate-limit.ts';
import { createErrorMiddleware } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { REQUEST_TIMEOUT_MS } from '#checkout/http/server/listener.ts';
import { delayOverloadRefusals } from '#checkout/http/server/overload.ts';
import { logBrokenAnswers, logRequests } from '#checkout/http/server/request-log.ts';
import { IdentityProvider } from '#workbench/access/identity-provider.ts';
import { createConsoleRoutes } from '#workbench/console/routes.ts';
import { createDocsRoutes, prepareDocument, type ServedDocument } from '#workbench/openapi/docs.ts';
import { compressAnswers } from './compress-answers.ts';
import { HEALTH_PATHS } from './health.ts';
import { ListenerShares, PLATFORM_LISTENER_LIMITS } from './listener-shares.ts';
import type { PlatformApiParts } from './parts.ts';
import { createPlatformDocument, PLATFORM_OPERATIONS } from './platform-operations.ts';
import { createOperationDependencies } from './platform-parts.ts';
import { createIdentityProviderRoutes } from './provider-routes.ts';
import { toPlatformProblem } from './refusals.ts';

/** One document for all listeners of a process. */
let ownDocument: ServedDocument | null = null;

/**
 * Creates the listener at which the owner of a platform reports outcomes and asks about payers, decisions and rules.
 */
export function createPlatformApi(parts: PlatformApiParts): Koa<RequestState> {
  const { log, metrics, keys } = parts;
  const { trustedProxies } = parts.rateLimit;
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics, (req) => hashCallerAddress(parts.pseudonym, req, trustedProxies)));
  app.use(createErrorMiddleware(log, toPlatformProblem));
  app.use(delayOverloadRefusals());
  const shares = new ListenerShares(PLATFORM_LISTENER_LIMITS, HEALTH_PATHS, trustedProxies);
  app.use(shares.limit);
  app.use(compressAnswers());
  const groups = createOperationDependencies(parts);
  const listener = {
    keys,
    browsers: groups.always.browsers,
    isStrict: true,
    whileReading: <T>(_ctx: unknown, read: () => Promise<T>) => read(),
    assignPlatform: shares.own.bind(shares),
    openBodyMs: REQUEST_TIMEOUT_MS,
    searches: createSearchQueue(),
  };
  const router = createExactPathRouter('');
  const { always, withRollout, withRuleFolders, withEvidence } = PLATFORM_OPERATIONS;
  addOperationRoutes(router, always, groups.always, listener);
  if (groups.withRollout !== null) addOperationRoutes(router, withRollout, groups.withRollout, listener);
  if (groups.withRuleFolders !== null)
    addOperationRoutes(router, withRuleFolders, groups.withRuleFolders, listener);
  if (groups.withEvidence !== null) addOperationRoutes(router, withEvidence, groups.withEvidence, listener);
  ownDocument ??= prepareDocument(createPlatformDocument());
  const { consoleUrl = null, provider = null } = parts;
  const toProvider =
    provider === null || consoleUrl === null
      ? []
      : [createIdentityProviderRoutes(new IdentityProvider(provider, consoleUrl), groups.always)];
  mountRoutes(
    app,
    router,
    ...toProvider,
    createDocsRoutes(ownDocument, parts.callerDocument),
    createConsoleRoutes(),
  );
  return app;
}
