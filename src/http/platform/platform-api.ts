import Koa from 'koa';
import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { Audit } from '../../access/audit.ts';
import { IdentityProvider, type ProviderSettings } from '../../access/identity-provider.ts';
import { Proposals } from '../../access/proposals.ts';
import type { Sessions } from '../../access/sessions.ts';
import type { EventFeed } from '../../archive/read/event-feed.ts';
import { type DeskLimits, RuleDesk } from '../../authoring/desk/rule-desk.ts';
import { Drafts } from '../../authoring/drafts.ts';
import type { ClientKeys } from '../../client/client-key.ts';
import { consoleRoutes } from '../../console/routes.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { PlatformNames } from '../../decision/shared-lists.ts';
import type { EvidenceDesk } from '../../evidence/desk/evidence-desk.ts';
import type { ListEditor } from '../../lists/list-editor.ts';
import type { ListNode } from '../../lists/list-node.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { Approvals } from '../../service/approvals.ts';
import type { Erasure } from '../../service/erasure.ts';
import type { Records } from '../../service/records.ts';
import type { ScoringService } from '../../service/scoring.ts';
import { LocalRateBuckets } from '../../state/rate-buckets.ts';
import type { Store } from '../../state/store.ts';
import { Shares } from '../../work/turns.ts';
import { docsRoutes, type ServedDocument, servedDocument } from '../openapi/docs.ts';
import { addOperations, mountRoutes, searchTurns, strictRouter } from '../operation/operation.ts';
import { BrowserSessions } from '../request/authenticate.ts';
import { hiddenAddress } from '../request/rate-limit.ts';
import { answerProblems } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';
import { compressAnswers } from '../server/compress-answers.ts';
import { REQUEST_TIMEOUT_MS } from '../server/listener.ts';
import { ListenerShares, PLATFORM_SHARES } from '../server/listener-shares.ts';
import { delayRefusals } from '../server/overload.ts';
import { logBrokenAnswers, logRequests } from '../server/request-log.ts';
import { HEALTH_PATHS, type Readiness, type ReportingParts } from './health.ts';
import { PLATFORM_OPERATIONS, platformDocument } from './platform-operations.ts';
import { providerRoutes } from './provider-routes.ts';
import type { RolloutView } from './rules/rollout.ts';
import type { SettingsParts } from './settings.ts';

export interface PlatformApiParts extends ReportingParts, SettingsParts {
  readonly service: ScoringService;
  readonly store: Pick<Store, 'registers' | 'documents' | 'load' | 'tallies'>;
  readonly records: Records;
  readonly erasure: Erasure;
  readonly keys: AccessKeys;
  readonly sessions: Sessions;
  readonly audit: Audit;
  /** Where people reach the console; null: wherever they do. */
  readonly consoleUrl?: URL | null;
  /** Where they sign in; null: with keys alone. */
  readonly provider?: ProviderSettings | null;
  readonly clientKeys: ClientKeys;
  readonly readiness: Readiness;
  readonly clock: () => number;
  /** Null when the rule set is fixed: then there is nothing to roll out. */
  readonly rollout: RolloutView | null;
  /** The folder of the rule sets, for showing their files; without it none are shown. */
  readonly rulesDir?: string | undefined;
  readonly deskLimits?: DeskLimits;
  readonly feed: EventFeed;
  readonly lists: ListNode;
  readonly listEditor: ListEditor;
  /** Works out what the rules of `rulesDir` were worth; without it the API has no such operations. */
  readonly evidence?: EvidenceDesk;
  /** Hides addresses in the log. */
  readonly pseudonym: Pseudonym;
  readonly names: PlatformNames;
  /** Of the listener for callers, for the page that shows both. */
  readonly callerDocument: ServedDocument;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The same for every listener of a process. */
let ownDocument: ServedDocument | null = null;

/** What the platform owner tells the service, and may ask of it, on a listener of its own. */
export function platformApi(parts: PlatformApiParts): Koa<RequestState> {
  const { log, metrics, keys, rollout, rulesDir } = parts;
  const { trustedProxies } = parts.rateLimit;
  const app = new Koa<RequestState>();
  logBrokenAnswers(app, log);
  app.use(logRequests(log, metrics, (req) => hiddenAddress(parts.pseudonym, req, trustedProxies)));
  app.use(answerProblems(log));
  app.use(delayRefusals());
  const shares = new ListenerShares(PLATFORM_SHARES, HEALTH_PATHS, trustedProxies);
  app.use(shares.limit);
  app.use(compressAnswers());
  const { consoleUrl = null, provider = null } = parts;
  const browsers = new BrowserSessions(parts.sessions, consoleUrl);
  const desk = rulesDir === undefined || rollout === null ? null : new RuleDesk(rulesDir, parts.deskLimits);
  const approvals = approvalsOf(parts, desk);
  const common = { ...parts, approvals };
  const listener = {
    keys,
    browsers,
    approvals,
    isStrict: true,
    whileReading: <T>(_ctx: unknown, read: () => Promise<T>) => read(),
    own: shares.own.bind(shares),
    openBodyMs: REQUEST_TIMEOUT_MS,
    searches: searchTurns(),
  };
  const router = strictRouter('');
  const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
  const refusedSignIns = new LocalRateBuckets(() => performance.now());
  const signInParts = {
    keys,
    audit: parts.audit,
    browsers,
    refusedSignIns,
    rateLimit: parts.rateLimit,
    providerHost: provider?.issuer.host ?? null,
  };
  addOperations(router, always, { ...common, ...signInParts, waiting: new Shares() }, listener);
  if (rollout !== null) {
    const rolloutParts = { ...common, ...rollout };
    addOperations(router, withRollout, rolloutParts, listener);
    const { evidence } = parts;
    if (desk !== null) {
      const drafts = new Drafts(parts.store, parts.clock);
      const folderParts = { ...rolloutParts, rulesDir: desk.rulesDir, desk, drafts };
      addOperations(router, withRuleFolders, folderParts, listener);
      if (evidence !== undefined) addOperations(router, withEvidence, { ...folderParts, evidence }, listener);
    }
  }
  ownDocument ??= servedDocument(platformDocument());
  const toProvider =
    provider === null || consoleUrl === null
      ? []
      : [providerRoutes(new IdentityProvider(provider, consoleUrl), signInParts, log)];
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
      (await records.findDecisions(platform, { from }, limit)).decisions,
  });
}
