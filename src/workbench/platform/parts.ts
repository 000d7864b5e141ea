import type { Logger } from 'pino';
import type { PerOwnerCounter } from '#base/work/fair-queue.ts';
import type { AccessKeys } from '#checkout/access/access-keys.ts';
import type { RateLimit } from '#checkout/http/request/rate-limit.ts';
import type { ListenAddress } from '#checkout/http/server/listener.ts';
import type { ListNode } from '#checkout/lists/list-node.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { Fleet } from '#checkout/rollout/fleet.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import type { DevicePseudonymConverter } from '#decision/shared-lists.ts';
import type { EventFeed } from '#history/archive/read/event-feed.ts';
import type { LocalRateBuckets } from '#state/rate-buckets.ts';
import type { Store } from '#state/store.ts';
import type { Audit } from '#workbench/access/audit.ts';
import type { ProviderSettings } from '#workbench/access/identity-provider.ts';
import type { Sessions } from '#workbench/access/sessions.ts';
import type { Approvals } from '#workbench/approvals/approvals.ts';
import type { DeskTimeLimit, RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import type { Drafts } from '#workbench/authoring/drafts.ts';
import type { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import type { ListEditor } from '#workbench/lists/list-editor.ts';
import type { Reporting } from '#workbench/monitoring/reporting.ts';
import type { ServedDocument } from '#workbench/openapi/docs.ts';
import type { Erasure } from '#workbench/payers/erasure.ts';
import type { PlatformRecords } from '#workbench/payers/records.ts';
import type { BrowserSessions } from './browser-sessions.ts';

/**
 * Returns whether the process should get traffic. `why` gives the reason if it should not. For a ready process it
 * names the clients that cannot be served, and the troubles that need attention, if there are any.
 */
export type ReadinessCheck = () => Promise<{ readonly ready: boolean; readonly why?: string }>;

/** The access to the fleet's rollout, and the rule sets that this process has loaded. */
export interface RolloutAndRules {
  readonly fleet: Fleet;
  readonly loadedRules: LoadedRules;
}

/** The parts that a node gives to its listeners. */
export interface NodeParts {
  /** Returns epoch ms. */
  readonly clock: () => number;
  /** The rollout that the platform may see and change. Null if the rule set is fixed. */
  readonly rollout: RolloutAndRules | null;
  /** The folder of the rule sets, whose files the console shows. If missing, no files are shown. */
  readonly rulesDir?: string | undefined;
  /** The limits of work on a rule set. The rule desk has its own limits by default. */
  readonly deskLimits?: DeskTimeLimit;
  /** Computes what the rules in `rulesDir` were worth. If missing, the API has no such operations. */
  readonly evidence?: EvidenceDesk;
  /** The address at which people reach the console. Null if any address is allowed. */
  readonly consoleUrl?: URL | null;
  /** The provider at which people sign in. Null if people have only keys. */
  readonly provider?: ProviderSettings | null;
  readonly rateLimit: RateLimit;
  /** The address at which callers reach this node. */
  readonly caller: ListenAddress;
  /** The path before all routes: empty, or a path like `/scoring`. */
  readonly basePath: string;
  /**
   * Whether another person approves changes that reach most payers (APPROVALS). If missing, no change needs approval.
   */
  readonly requiresApproval?: boolean;
  /** Null or missing if nothing is archived. */
  readonly archive?: object | null;
  /** How long the archive keeps rows, in ms. */
  readonly archiveKeepMs?: number;
  /** How long the store keeps decisions that are archived, in ms. */
  readonly decisionsHotMs?: number;
  /** The ledger of erased clients outside every backup. Null if it is not kept. */
  readonly erasureLedger?: object | null;
  readonly log: Logger;
}

/** The parts of the platform's listener. */
export interface PlatformApiParts extends NodeParts {
  readonly service: ScoringService;
  readonly store: Pick<Store, 'registers' | 'documents' | 'load' | 'tallies' | 'decision'>;
  readonly records: PlatformRecords;
  readonly erasure: Erasure;
  readonly keys: AccessKeys;
  readonly sessions: Sessions;
  readonly audit: Audit;
  readonly clientKeys: ClientKeys;
  readonly readiness: ReadinessCheck;
  readonly feed: EventFeed;
  readonly lists: ListNode;
  readonly listEditor: ListEditor;
  /** Replaces addresses in the log by pseudonyms. */
  readonly pseudonym: Pseudonymize;
  readonly names: DevicePseudonymConverter;
  /** The document of the callers' listener, for the page that shows both documents. */
  readonly callerDocument: ServedDocument;
  readonly metrics: Metrics;
  readonly reporting: (platform: PlatformName) => Promise<Reporting>;
}

/** The parts that the platform's operations use. */
export interface PlatformOperationParts extends Omit<PlatformApiParts, 'callerDocument'> {
  readonly approvals: Approvals;
  readonly browsers: BrowserSessions;
  /** Counts the refused sign-ins of an address. */
  readonly refusedSignIns: LocalRateBuckets;
  /** The host of the identity provider. Null if people sign in with keys only. */
  readonly providerHost: string | null;
  /** The number of waiting readers of the feed, by access key. */
  readonly waiting: PerOwnerCounter;
}

/** The parts that operations use on a node whose rule sets are rolled out. */
export interface RolloutParts extends PlatformOperationParts, RolloutAndRules {}

/** The parts that operations use on a node with a RULES_DIR. */
export interface RuleParts extends RolloutParts {
  readonly desk: RuleDesk;
  readonly drafts: Drafts;
}

/** The parts that operations use on a node that computes evidence. */
export interface EvidenceParts extends RuleParts {
  readonly evidence: EvidenceDesk;
}
