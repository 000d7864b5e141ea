import type { Logger } from 'pino';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { Audit } from '../../access/audit.ts';
import type { ProviderSettings } from '../../access/identity-provider.ts';
import type { Sessions } from '../../access/sessions.ts';
import type { EventFeed } from '../../archive/read/event-feed.ts';
import type { DeskLimits, RuleDesk } from '../../authoring/desk/rule-desk.ts';
import type { Drafts } from '../../authoring/drafts.ts';
import type { ClientKeys, PlatformName } from '../../client/client-key.ts';
import type { Pseudonym } from '../../decision/requests.ts';
import type { PlatformNames } from '../../decision/shared-lists.ts';
import type { EvidenceDesk } from '../../evidence/desk/evidence-desk.ts';
import type { ListEditor } from '../../lists/list-editor.ts';
import type { ListNode } from '../../lists/list-node.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Reporting } from '../../metrics/reporting.ts';
import type { Fleet, NodeReport } from '../../rollout/fleet.ts';
import type { LoadedRules } from '../../rollout/loaded-rules.ts';
import type { Approvals } from '../../service/approvals.ts';
import type { Erasure } from '../../service/erasure.ts';
import type { Records } from '../../service/records.ts';
import type { ScoringService } from '../../service/scoring.ts';
import type { LocalRateBuckets } from '../../state/rate-buckets.ts';
import type { Store } from '../../state/store.ts';
import type { Shares } from '../../work/turns.ts';
import type { ServedDocument } from '../openapi/docs.ts';
import type { BrowserSessions } from '../request/authenticate.ts';
import type { RateLimit } from '../request/rate-limit.ts';
import type { Address } from '../server/listener.ts';

/**
 * Whether the process should get traffic. `why` says why not; of a ready process it says which clients cannot
 * be served and what needs attention, if anything.
 */
export type Readiness = () => Promise<{ readonly ready: boolean; readonly why?: string }>;

/** The node's side of the rollout. */
export interface RolloutView {
  readonly fleet: Fleet;
  readonly loadedRules: LoadedRules;
  readonly report: () => NodeReport;
}

/** What the listener of the platform is made of. */
export interface PlatformApiParts {
  readonly service: ScoringService;
  readonly store: Pick<Store, 'registers' | 'documents' | 'load' | 'tallies' | 'decision'>;
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

  readonly reporting: (platform: PlatformName) => Promise<Reporting>;
  readonly rateLimit: RateLimit;
  /** Where callers reach this node. */
  readonly caller: Address;
  readonly basePath: string;
  /** Whether somebody else approves what reaches most payers (APPROVALS). */
  readonly requiresApproval?: boolean;
  /** Null or absent where nothing is archived. */
  readonly archive?: object | null;
  readonly archiveKeepMs?: number;
  readonly decisionsHotMs?: number;
  readonly erasureLedger?: object | null;
}

/** What its operations work with. */
export interface PlatformParts extends PlatformApiParts {
  readonly approvals: Approvals;
  readonly browsers: BrowserSessions;
  /** Counts the refused sign-ins of an address. */
  readonly refusedSignIns: LocalRateBuckets;
  /** Of the identity provider; null where people sign in with keys alone. */
  readonly providerHost: string | null;
  /** Readers of the feed that wait, by access key. */
  readonly waiting: Shares;
}

/** The same of a node whose rules are rolled out. */
export interface RolloutParts extends PlatformParts, RolloutView {}

/** The same of a node with a RULES_DIR. */
export interface RuleParts extends RolloutParts {
  readonly desk: RuleDesk;
  readonly drafts: Drafts;
}

/** The same of a node that works evidence out. */
export interface EvidenceParts extends RuleParts {
  readonly evidence: EvidenceDesk;
}
