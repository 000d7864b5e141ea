import Koa from 'koa';
import { Shares } from '#base/work/turns.ts';
import { addOperations, mountRoutes, searchTurns, strictRouter } from '#checkout/http/operation/operation.ts';
import { hiddenAddress } from '#checkout/http/request/rate-limit.ts';
import { answerProblems } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { REQUEST_TIMEOUT_MS } from '#checkout/http/server/listener.ts';
import { delayRefusals } from '#checkout/http/server/overload.ts';
import { logBrokenAnswers, logRequests } from '#checkout/http/server/request-log.ts';
import { LocalRateBuckets } from '#state/rate-buckets.ts';
import { IdentityProvider } from '#workbench/access/identity-provider.ts';
import { Approvals } from '#workbench/approvals/approvals.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import { RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import { Drafts } from '#workbench/authoring/drafts.ts';
import { consoleRoutes } from '#workbench/console/routes.ts';
import { docsRoutes, type ServedDocument, servedDocument } from '#workbench/openapi/docs.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { compressAnswers } from './compress-answers.ts';
import { HEALTH_PATHS } from './health.ts';
import { ListenerShares, PLATFORM_SHARES } from './listener-shares.ts';
import type { PlatformApiParts, PlatformParts } from './parts.ts';
import { PLATFORM_OPERATIONS, platformDocument } from './platform-operations.ts';
import { providerRoutes } from './provider-routes.ts';
import { platformProblemOf } from './refusals.ts';

/** The same for every listener of a process. */
let ownDocument: ServedDocument | null = null;

/** What the platform owner tells the service, and may ask of it, on a listener of its own. */
export function platformApi(parts: PlatformApiParts): Koa<RequestState> {
  const { log, metrics, keys, rollout, rulesDir } = parts;
  const { trustedProxies } = parts.rateLimit;
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics, (req) => hiddenAddress(parts.pseudonym, req, trustedProxies)));
  app.use(answerProblems(log, platformProblemOf));
  app.use(delayRefusals());
  const shares = new ListenerShares(PLATFORM_SHARES, HEALTH_PATHS, trustedProxies);
  app.use(shares.limit);
  app.use(compressAnswers());
  const { consoleUrl = null, provider = null } = parts;
  const browsers = new BrowserSessions(parts.sessions, consoleUrl);
  const desk = rulesDir === undefined || rollout === null ? null : new RuleDesk(rulesDir, parts.deskLimits);
  const approvals = approvalsOf(parts, desk);
  const listener = {
    keys,
    browsers,
    isStrict: true,
    whileReading: <T>(_ctx: unknown, read: () => Promise<T>) => read(),
    own: shares.own.bind(shares),
    openBodyMs: REQUEST_TIMEOUT_MS,
    searches: searchTurns(),
  };
  const router = strictRouter('');
  const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
  const common: PlatformParts = {
    ...parts,
    approvals,
    browsers,
    waiting: new Shares(),
    refusedSignIns: new LocalRateBuckets(() => performance.now()),
    providerHost: provider?.issuer.host ?? null,
  };
  addOperations(router, always, common, listener);
  if (rollout !== null) {
    const rolloutParts = { ...common, ...rollout };
    addOperations(router, withRollout, rolloutParts, listener);
    if (desk !== null) {
      const ruleParts = { ...rolloutParts, desk, drafts: new Drafts(parts.store, parts.clock) };
      addOperations(router, withRuleFolders, ruleParts, listener);
      const { evidence } = parts;
      if (evidence !== undefined) addOperations(router, withEvidence, { ...ruleParts, evidence }, listener);
    }
  }
  ownDocument ??= servedDocument(platformDocument());
  const toProvider =
    provider === null || consoleUrl === null
      ? []
      : [providerRoutes(new IdentityProvider(provider, consoleUrl), common)];
  mountRoutes(app, router, ...toProvider, docsRoutes(ownDocument, parts.callerDocument), consoleRoutes());
  return app;
}

function approvalsOf(parts: PlatformApiParts, desk: RuleDesk | null): Approvals {
  const { store, records, audit, clientKeys, clock, rollout, requiresApproval = false } = parts;
  return new Approvals({
    ...parts,
    isRequired: requiresApproval,
    proposals: new Proposals(store.registers, audit, clientKeys, clock),
    fleet: rollout?.fleet ?? null,
    loadedRules: rollout?.loadedRules ?? null,
    desk,
    decidedLately: async (platform, from, limit) =>
      (await records.decisions.find(platform, { from }, limit)).decisions,
  });
}
