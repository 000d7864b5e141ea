import type { Logger } from 'pino';
import type { CountsByOwner } from '#base/work/fair-queue.ts';
import type { AccessKeys } from '#checkout/access/access-keys.ts';
import type { RateLimit } from '#checkout/http/request/rate-limit.ts';
import type { Address } from '#checkout/http/server/listener.ts';
import type { ListNode } from '#checkout/lists/list-node.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { Fleet } from '#checkout/rollout/fleet.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { ClientKeys, PlatformName } from '#decision/payer/client-key.ts';
import type { DeviceNames } from '#decision/shared-lists.ts';
import type { EventFeed } from '#history/archive/read/event-feed.ts';
import type { LocalRateBuckets } from '#state/rate-buckets.ts';
import type { Store } from '#state/store.ts';
import type { Audit } from '#workbench/access/audit.ts';
import type { ProviderSettings } from '#workbench/access/identity-provider.ts';
import type { Sessions } from '#workbench/access/sessions.ts';
import type { Approvals } from '#workbench/approvals/approvals.ts';
import type { DeskLimits, RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import type { Drafts } from '#workbench/authoring/drafts.ts';
import type { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import type { ListEditor } from '#workbench/lists/list-editor.ts';
import type { Reporting } from '#workbench/monitoring/reporting.ts';
import type { ServedDocument } from '#workbench/openapi/docs.ts';
import type { Erasure } from '#workbench/payers/erasure.ts';
import type { Records } from '#workbench/payers/records.ts';
import type { BrowserSessions } from './browser-sessions.ts';

/**
 * Whether the process should get traffic. `why` says why not; of a ready process it says which clients cannot
 * be served and what needs attention, if anything.
 */
export type Readiness = () => Promise<{ readonly ready: boolean; readonly why?: string }>;

/** The rollout, and the rule sets of this process that it may lead to. */
export interface RolloutView {
  readonly fleet: Fleet;
  readonly loadedRules: LoadedRules;
}

/** What a node gives to its listeners. */
export interface NodeParts {
  /** Epoch ms. */
  readonly clock: () => number;
  /** What the platform may see and change of the rollout; null when the rule set is fixed. */
  readonly rollout: RolloutView | null;
  /** The folder of the rule sets, whose files the console shows; without it none are shown. */
  readonly rulesDir?: string | undefined;
  /** What work on a rule set may take; the desk's own limits when absent. */
  readonly deskLimits?: DeskLimits;
  /** Works out what the rules of `rulesDir` were worth; without it the API has no such operations. */
  readonly evidence?: EvidenceDesk;
  /** Where people reach the console; null: wherever they do. */
  readonly consoleUrl?: URL | null;
  /** Where people sign in; null: with keys alone. */
  readonly provider?: ProviderSettings | null;
  readonly rateLimit: RateLimit;
  /** Where callers reach this node. */
  readonly caller: Address;
  /** '' or a path like `/scoring`. */
  readonly basePath: string;
  /** Whether somebody else approves what reaches most payers (APPROVALS); absent: nobody has to. */
  readonly requiresApproval?: boolean;
  /** Null or absent where nothing is archived. */
  readonly archive?: object | null;
  /** How long the archive keeps rows, ms. */
  readonly archiveKeepMs?: number;
  /** How long the store keeps decisions that the archive has, ms. */
  readonly decisionsHotMs?: number;
  /** Who was erased, outside every backup; null where that is not kept. */
  readonly erasureLedger?: object | null;
  readonly log: Logger;
}

/** What the listener of the platform is made of. */
export interface PlatformApiParts extends NodeParts {
  readonly service: ScoringService;
  readonly store: Pick<Store, 'registers' | 'documents' | 'load' | 'tallies' | 'decision'>;
  readonly records: Records;
  readonly erasure: Erasure;
  readonly keys: AccessKeys;
  readonly sessions: Sessions;
  readonly audit: Audit;
  readonly clientKeys: ClientKeys;
  readonly readiness: Readiness;
  readonly feed: EventFeed;
  readonly lists: ListNode;
  readonly listEditor: ListEditor;
  /** Hides addresses in the log. */
  readonly pseudonym: Pseudonymize;
  readonly names: DeviceNames;
  /** Of the listener for callers, for the page that shows both. */
  readonly callerDocument: ServedDocument;
  readonly metrics: Metrics;
  readonly reporting: (platform: PlatformName) => Promise<Reporting>;
}

/** What its operations work with. */
export interface PlatformParts extends Omit<PlatformApiParts, 'callerDocument'> {
  readonly approvals: Approvals;
  readonly browsers: BrowserSessions;
  /** Counts the refused sign-ins of an address. */
  readonly refusedSignIns: LocalRateBuckets;
  /** Of the identity provider; null where people sign in with keys alone. */
  readonly providerHost: string | null;
  /** Readers of the feed that wait, by access key. */
  readonly waiting: CountsByOwner;
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
