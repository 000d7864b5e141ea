// Written by scripts/client-records.ts from the OpenAPI documents; a test holds it equal to them.
// Times are RFC 3339 in UTC.

/** The group of the payer. NEW: first contact; STICKY: bound to a requisite; PAYING: has paid without a binding; TRUSTED: stable history of payments; BLOCKED: blocked by decision or by a chain of unpaid attempts */
export type ClientGroup = 'NEW' | 'STICKY' | 'PAYING' | 'TRUSTED' | 'BLOCKED';

/** What the caller is to do. GET_NEW: issue a new requisite; GET_SAME_STICKY: show the bound requisite; WAIT: show a timer for waitSeconds, then ask again; BLOCK: do not issue a requisite, show support contact */
export type VerdictCommand = 'GET_NEW' | 'GET_SAME_STICKY' | 'WAIT' | 'BLOCK';

/** What the report did. recorded: it is the first report of the order; superseded: it replaced the outcome known before; unchanged: it repeats the known outcome; outweighed: it says unpaid, but the order is paid and stays paid; stale: a newer or stronger report is known; unknownPayer: the payer was erased, and the report changes nothing */
export type OutcomeEffect = 'recorded' | 'superseded' | 'unchanged' | 'outweighed' | 'stale' | 'unknownPayer';

/** The kind of the entries of the list */
export type ListKind = 'client' | 'fingerprint' | 'ip' | 'method' | 'sellPoint' | 'attribute';

/** A place in a rule file */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One fault of the request */
export interface PointedDetail {
  readonly pointer?: string;
  readonly header?: string;
  readonly detail: string;
}

/** The current outcome of an order */
export interface CurrentOutcome {
  readonly outcome: 'PAID' | 'UNPAID';
  readonly cause: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED' | null;
  readonly occurredAt: string;
  readonly undated?: boolean;
  readonly awaitsPayment?: boolean;
}

/** A rule set version, and its digest */
export interface VersionWithDigest {
  readonly version: string;
  readonly digest: string;
}

/** Counts of what one version answered */
export interface TrialArmCounts {
  readonly verdicts: number;
  readonly blocks: number;
  readonly waits: number;
  readonly bots: number;
  readonly clients: {
    readonly seen: number;
    readonly blocked: number;
    readonly waited: number;
    readonly bots: number;
    readonly paid: number;
    readonly unpaid: number;
  };
}

/** An entry of the audit */
export interface AuditEntry {
  readonly at: string;
  readonly who: string;
  readonly action:
    | 'key issued'
    | 'key revoked'
    | 'proposal'
    | 'proposal approved'
    | 'proposal rejected'
    | 'rollout'
    | 'draft'
    | 'release'
    | 'sign-in'
    | 'sign-out'
    | 'binding'
    | 'override'
    | 'wait ended'
    | 'list'
    | 'client read'
    | 'client erased'
    | 'client rebuilt'
    | 'secret forgotten'
    | 'archive forgotten'
    | 'archive adopted'
    | 'store accepted';
  readonly platform: string | null;
  readonly subject: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly reason: string | null;
  readonly number: number;
  readonly hash: string;
}

/** The requisite that a client is bound to */
export interface Binding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  readonly method: string | null;
  readonly expiresAt: string | null;
}

/** A binding was set or lifted */
export interface BindingEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'binding';
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: HistoryBinding & { readonly clientIdKey: string };
}

/** A refusal */
export interface BlockAnswer {
  readonly verdict: 'BLOCK';
  readonly reason: string;
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

/** A change of the rollout, and the nodes that follow it */
export interface ChangedRollout {
  readonly rollout: Rollout;
  readonly following: readonly NodeReport[];
  readonly lagging: readonly NodeReport[];
  readonly compared: string | null;
}

/** All that is held on a client */
export interface ClientExport {
  readonly platform: string;
  readonly clientIdKey: string;
  readonly at: string;
  readonly state: Readonly<Record<string, unknown>> | null;
  readonly lists: readonly {
    readonly list: string;
    readonly kind: ListKind;
    readonly value: string;
    readonly expiresAt: string | null;
    readonly reason: string;
    readonly who: string;
    readonly addedAt: string;
  }[];
  readonly proposals: readonly Proposal[];
  readonly audit: readonly AuditEntry[];
  readonly decisions: readonly Decision[];
  readonly history: readonly (KeptScore | KeptOutcome | KeptBindingChange | KeptOverrideChange)[];
  readonly complete: boolean;
}

/** What happened to a client */
export interface ClientHistory {
  readonly clientIdKey: string;
  readonly entries: readonly HistoryEntry[];
  readonly next: string | null;
  readonly complete: boolean;
}

/** The clients who share devices or addresses with a client */
export interface ClientLinks {
  readonly clientIdKey: string;
  readonly from: string;
  readonly asOf?: { readonly at: string; readonly erasedPayers: number; readonly erasedRows: number };
  readonly complete: boolean;
  readonly devices: readonly LinkedDevice[];
  readonly clients: readonly LinkedClient[];
  readonly cut: { readonly devices: number; readonly clients: number };
  readonly proposal: { readonly clients: readonly string[]; readonly refused: PredictedRefusals };
}

/** What is known of a client */
export interface ClientView {
  readonly clientIdKey: string;
  readonly ruleVersion: string;
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly isBot: boolean;
  readonly signals: readonly string[];
  readonly firstSeenAt: string | null;
  readonly lastVerdictAt: string | null;
  readonly decisionCount: number;
  readonly ladder: Ladder;
  readonly outcomes: {
    readonly paidCount: number;
    readonly unpaidCount: number;
    readonly lastPaidAt: string | null;
    readonly lastUnpaidAt: string | null;
  };
  readonly binding: Binding | null;
  readonly override: Override | null;
  readonly facts: Readonly<Record<string, number | boolean | string | null>>;
  readonly nextVerdict: NextVerdict;
  readonly decisions: readonly Decision[];
  readonly unread?: readonly {
    readonly from: string;
    readonly to: string;
    readonly decisions: number;
    readonly why?: 'away' | 'damaged' | 'noRoom' | 'tooMany';
  }[];
}

/** A fact compared with a value */
export interface Comparison {
  readonly kind: 'comparison';
  readonly passed: boolean;
  readonly at: Place;
  readonly fact: string;
  readonly operator:
    | 'equal'
    | 'notEqual'
    | 'lessThan'
    | 'lessThanInclusive'
    | 'greaterThan'
    | 'greaterThanInclusive'
    | 'in'
    | 'notIn'
    | 'multipleOf'
    | 'notMultipleOf'
    | 'known';
  readonly expected: number | boolean | string | null | readonly (number | boolean | string)[];
  readonly list?: string;
  readonly otherFact?: string;
  readonly seen: number | boolean | string | null;
}

/** A group of conditions of which all must hold, or any one */
export interface ConditionGroup {
  readonly kind: 'all' | 'any';
  readonly passed: boolean;
  readonly at: Place;
  readonly conditions: readonly ConditionTrace[];
}

/** A condition as the analyst wrote it, with the values of its facts */
export type ConditionTrace = ConditionGroup | NegatedCondition | NamedCondition | Comparison;

/** A report about an order */
export interface DatedReport {
  readonly outcome: 'PAID' | 'UNPAID';
  readonly cause: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED' | null;
  readonly occurredAt: string;
  readonly undated?: boolean;
  readonly amount?: string;
}

/** One answered verdict with all that explains it */
export interface Decision {
  readonly decisionId: string;
  readonly seq: number;
  readonly at: string;
  readonly platform: string;
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly requestId: string;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly arm: 'active' | 'candidate';
  readonly draw?: {
    readonly version: string;
    readonly percent: number;
    readonly since: string;
    readonly objective?: string;
  };
  readonly verdict: VerdictCommand;
  readonly waitSeconds?: number;
  readonly ladder?: string;
  readonly waitFloorMs?: number;
  readonly stickyRequisiteRef?: string;
  readonly reason: string;
  readonly isBot: boolean;
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly rule: string;
  readonly signals: readonly string[];
  readonly flags?: readonly string[];
  readonly facts: Readonly<Record<string, number | boolean | string | null>>;
  readonly holdout?: readonly { readonly rule: string; readonly share: number; readonly heldOut: boolean }[];
  readonly ladderBefore: Ladder;
  readonly ladderAfter: Ladder;
}

/** A payer was erased: remove earlier events with this subject from your copies */
export interface ErasureEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'erasure';
  readonly subject?: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: { readonly kind: 'erasure'; readonly at: string };
}

/** What happened to the clients of a platform */
export interface EventPage {
  readonly events: readonly PlatformEvent[];
  readonly next: string;
}

/** Why a decision was made, and whether its rule set still gives the same answer */
export interface Explanation {
  readonly decision: Decision;
  readonly rules: RulesTrace | null;
  readonly ladder: {
    readonly before: Ladder & { readonly words: string };
    readonly after: Ladder & { readonly words: string };
  };
  readonly sharedLists: readonly string[];
  readonly reproduced: boolean;
  readonly differences: readonly {
    readonly member: string;
    readonly recorded: unknown;
    readonly rerun: unknown;
  }[];
  readonly verification: string;
  readonly payerText: string;
  readonly integratorText: string;
}

/** Decisions, newest first */
export interface FoundDecisions {
  readonly decisions: readonly Decision[];
  readonly next: string | null;
  readonly lookedAt: {
    readonly decisions: number;
    readonly backTo: string | null;
    readonly complete: boolean;
    readonly upTo?: string;
    readonly unread?: readonly {
      readonly from: string;
      readonly to: string;
      readonly decisions: number;
      readonly why?: 'away' | 'damaged' | 'noRoom' | 'tooMany';
    }[];
  };
  readonly outcomes:
    | readonly (CurrentOutcome & {
        readonly clientIdKey: string;
        readonly orderRef: string;
        readonly turnedAway?: boolean;
      })[]
    | null;
}

/** The records whose names contain the searched text */
export interface FoundRecords {
  readonly payers: readonly { readonly clientIdKey: string; readonly lastAt: string }[];
  readonly orders: readonly {
    readonly orderRef: string;
    readonly clientIdKey: string;
    readonly lastAt: string;
    readonly verdict: VerdictCommand | null;
  }[];
  readonly decisions: readonly {
    readonly decisionId: string;
    readonly requestId: string;
    readonly clientIdKey: string;
    readonly orderRef: string;
    readonly verdict: VerdictCommand;
    readonly at: string;
  }[];
  readonly devices: readonly {
    readonly kind: 'fingerprint' | 'ip';
    readonly value: string;
    readonly clients: number;
    readonly payers: readonly { readonly clientIdKey: string; readonly lastAt: string }[];
  }[];
  readonly listEntries: readonly {
    readonly list: string;
    readonly kind: ListKind;
    readonly value: string;
    readonly reason: string;
    readonly hasEnded: boolean;
  }[];
  readonly cut: readonly ('payers' | 'orders' | 'decisions' | 'devices' | 'listEntries')[];
  readonly leftOut: readonly ('payers' | 'orders' | 'decisions' | 'devices' | 'listEntries')[];
  readonly lookedAt: {
    readonly backTo: string | null;
    readonly hasOlder: boolean;
    readonly complete: boolean;
    readonly upTo?: string;
    readonly unread?: readonly {
      readonly from: string;
      readonly to: string;
      readonly decisions: number;
      readonly why?: 'away' | 'damaged' | 'noRoom' | 'tooMany';
    }[];
  };
}

/** Events were lost before the feed had them; they may be of this or another platform */
export interface GapEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'gap';
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: {
    readonly kind: 'gap';
    readonly from: string;
    readonly to: string;
    readonly entries: number;
  };
}

/** Issue a new requisite */
export interface GetNewAnswer {
  readonly verdict: 'GET_NEW';
  readonly reason: string;
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

/** Show the bound requisite, do not issue a new one */
export interface GetSameStickyAnswer {
  readonly verdict: 'GET_SAME_STICKY';
  readonly stickyRequisiteRef: string;
  readonly reason: string;
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

/** A binding was set or lifted */
export interface HistoryBinding {
  readonly kind: 'binding';
  readonly at: string;
  readonly binding: Binding | null;
}

/** One thing that happened to a client; `kind` says which members it has */
export type HistoryEntry =
  | HistoryScore
  | HistoryVerdict
  | HistoryOutcome
  | HistoryBinding
  | HistoryOverride
  | HistoryWaitEnded;

/** An outcome was reported. It changed the counts, or corrected an earlier outcome */
export interface HistoryOutcome extends CurrentOutcome {
  readonly kind: 'outcome';
  readonly at: string;
  readonly orderRef: string;
  readonly amount?: string;
  readonly report?: DatedReport;
  readonly turnedAway?: boolean;
}

/** An override was set or lifted */
export interface HistoryOverride {
  readonly kind: 'override';
  readonly at: string;
  readonly override: Override | null;
}

/** A score was requested */
export interface HistoryScore {
  readonly kind: 'score';
  readonly at: string;
  readonly request: {
    readonly sellPointKey: string;
    readonly method: string;
    readonly amount: string;
    readonly currency: string | null;
    readonly jsOk: boolean | null;
    readonly honeypotTriggered: boolean;
    readonly fingerprintPresent: boolean;
    readonly ipPresent: boolean;
    readonly userAgentPresent: boolean;
    readonly userAgentIsAutomated: boolean;
    readonly userAgentIsApp: boolean;
  };
  readonly ruleVersion: string;
  readonly answer: ScoreAnswer;
}

/** A verdict was requested */
export interface HistoryVerdict {
  readonly kind: 'verdict';
  readonly at: string;
  readonly decision: Decision;
}

/** A person ended a wait before its time */
export interface HistoryWaitEnded {
  readonly kind: 'waitEnded';
  readonly at: string;
  readonly decisionId: string;
  readonly reason: string;
  readonly by: string;
}

/** A client was bound to a requisite, or unbound */
export interface KeptBindingChange extends HistoryBinding {
  readonly platform: string;
  readonly clientIdKey: string;
}

/** What became of an order, as it was reported */
export interface KeptOutcome {
  readonly kind: 'outcome';
  readonly at: string;
  readonly platform: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly order: CurrentOutcome;
  readonly report?: {
    readonly outcome: 'PAID' | 'UNPAID';
    readonly cause: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED' | null;
    readonly occurredAt: string;
    readonly undated?: boolean;
    readonly amount?: string;
  };
  readonly amount?: string;
  readonly settledAmount?: string;
  readonly turnedAway?: boolean;
}

/** A person set or lifted an override */
export interface KeptOverrideChange extends HistoryOverride {
  readonly platform: string;
  readonly clientIdKey: string;
  readonly who: string;
}

/** One answered score request */
export interface KeptScore {
  readonly kind: 'score';
  readonly at: string;
  readonly platform: string;
  readonly clientIdKey: string;
  readonly request: {
    readonly sellPointKey: string;
    readonly method: string;
    readonly amount: string;
    readonly currency: string | null;
    readonly fingerprint: string | null;
    readonly ip: string | null;
    readonly networks?: readonly string[];
    readonly former?: {
      readonly fingerprint: string | null;
      readonly ip: string | null;
      readonly attributes?: Readonly<Record<string, number | boolean | string | null>>;
    };
    readonly jsOk: boolean | null;
    readonly honeypotTriggered: boolean;
    readonly userAgentPresent: boolean;
    readonly userAgentIsAutomated: boolean;
    readonly userAgentIsApp: boolean;
    readonly attributes?: Readonly<Record<string, number | boolean | string | null>>;
  };
  readonly ruleVersion: string;
  readonly holdout?: readonly { readonly rule: string; readonly share: number; readonly heldOut: boolean }[];
  readonly answer: ScoreAnswer;
}

/** Where a client stands on the cooldown ladder */
export interface Ladder {
  readonly level: number;
  readonly attemptOpen: boolean;
  readonly waitUntil: string | null;
}

/** A client that is linked to the one asked about */
export interface LinkedClient {
  readonly clientIdKey: string;
  readonly tie: 'self' | 'device' | 'addresses' | 'address';
  readonly devices: readonly string[];
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  readonly orders: LinkedOrders;
  readonly money: Readonly<Record<string, LinkedMoney>>;
  readonly verdicts: {
    readonly GET_NEW: number;
    readonly GET_SAME_STICKY: number;
    readonly WAIT: number;
    readonly BLOCK: number;
  };
  readonly cut: boolean;
  readonly override: 'BLOCKED' | 'TRUSTED' | null;
  readonly lists: readonly string[];
  readonly proposed: boolean;
}

/** A device, or an address */
export interface LinkedDevice {
  readonly kind: 'fingerprint' | 'ip';
  readonly value: string;
  readonly ofClient: boolean;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly clients: number;
  readonly followed: boolean;
  readonly lists: readonly string[];
  readonly refused: PredictedRefusals | null;
}

/** Amounts of orders, by what became of the orders */
export interface LinkedMoney {
  readonly paid: number;
  readonly reversed: number;
  readonly unpaid: number;
}

/** Numbers of orders by what became of them. Orders whose last outcome is technical are left out */
export interface LinkedOrders extends LinkedMoney {
  readonly turnedAway: number;
  readonly unknown: number;
}

export interface ListChangeLine {
  /** The value to put on the list or to remove */
  readonly value: string;
  /** True: remove the value from the list */
  readonly remove?: boolean | undefined;
  /** Why; required unless the value is removed */
  readonly reason?: string | undefined;
  /** A date and time (RFC 3339), like "2026-11-21T10:00:00Z" */
  readonly expiresAt?: string | undefined;
}

/** Entries of a shared list */
export interface ListEntries {
  readonly list: string;
  readonly kind: ListKind;
  readonly attribute?: string;
  readonly total: number;
  readonly entries: readonly ListEntry[];
  readonly coveredBy?: {
    readonly value: string;
    readonly reason: string;
    readonly who: string;
    readonly addedAt: string;
    readonly expiresAt: string | null;
    readonly hasEnded: boolean;
    readonly change: number;
    readonly remark?: string;
  };
  readonly next: string | null;
}

/** One entry of a shared list */
export interface ListEntry {
  readonly value: string;
  readonly reason: string;
  readonly who: string;
  readonly addedAt: string;
  readonly expiresAt: string | null;
  readonly hasEnded: boolean;
  readonly change: number;
  readonly remark?: string;
}

export type ListLineResult =
  | {
      readonly line: number;
      readonly value: string;
      readonly result: 'added' | 'changed' | 'unchanged' | 'removed' | 'absent';
    }
  | RefusedLine;

/** What a removal did */
export interface ListRemovalResult {
  readonly removed: boolean;
}

/** A change that waits for approval */
export interface MadeProposal {
  readonly proposalId: string;
  readonly expiresAt: string;
  readonly key?: string;
}

/** A condition that is referred to by its name */
export interface NamedCondition {
  readonly kind: 'reference';
  readonly name: string;
  readonly passed: boolean;
  readonly at: Place;
  readonly condition: ConditionTrace;
}

/** A condition that holds if the condition inside it does not hold */
export interface NegatedCondition {
  readonly kind: 'not';
  readonly passed: boolean;
  readonly at: Place;
  readonly condition: ConditionTrace;
}

export interface NewBinding {
  /** Reference to the bound requisite */
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  /** The only method that the binding fits; absent: all */
  readonly method?: string | undefined;
  /** A date and time (RFC 3339), like "2026-11-21T10:00:00Z" */
  readonly expiresAt?: string | undefined;
}

export interface NewList {
  /** The kind of the entries of the list */
  readonly kind: ListKind;
  /** With kind attribute: the name of the attribute whose values the list has */
  readonly attribute?: string | undefined;
}

export interface NewListEntry {
  /** The reason, for whoever reads it later */
  readonly reason: string;
  /** A date and time (RFC 3339), like "2026-11-21T10:00:00Z" */
  readonly expiresAt?: string | undefined;
}

export interface NewOverride {
  /** The group that the client is put into. BLOCKED: refused until it is lifted or ends; TRUSTED: let through, whatever the signals say */
  readonly group: 'BLOCKED' | 'TRUSTED';
  /** The reason, for whoever reads it later */
  readonly reason: string;
  /** A date and time (RFC 3339), like "2026-11-21T10:00:00Z" */
  readonly expiresAt?: string | undefined;
}

/** The answer that the next request of a client would get, as far as is known now */
export interface NextVerdict {
  readonly asked: {
    readonly like: 'lastVerdict' | 'ordinary';
    readonly amount: string;
    readonly currency: string;
    readonly method: string;
    readonly sellPointKey: string;
  };
  readonly now: {
    readonly at: string;
    readonly verdict: VerdictCommand;
    readonly waitSeconds?: number;
    readonly rule: string;
    readonly reason: string;
  };
  readonly afterWait: {
    readonly at: string;
    readonly verdict: VerdictCommand;
    readonly waitSeconds?: number;
    readonly rule: string;
    readonly reason: string;
  } | null;
}

/** One node, as it reports itself */
export interface NodeReport {
  readonly nodeId: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: string;
  readonly seenAt: string;
  readonly revision: number;
  readonly active: VersionWithDigest;
  readonly versions: readonly {
    readonly version: string;
    readonly digest: string;
    readonly released: boolean;
  }[];
  readonly refused: readonly { readonly version: string; readonly problems: readonly string[] }[];
  readonly trouble: string | null;
  readonly hasStaleLists: boolean;
}

/** An outcome was reported; it may repeat what was known */
export interface OutcomeEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'outcome';
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: HistoryOutcome & { readonly clientIdKey: string };
}

export type OutcomeLineResult = (OutcomeResult & { readonly line: number }) | RefusedLine;

export interface OutcomeReport {
  /** Stable identifier of the client */
  readonly clientIdKey: string;
  /** Caller's order identifier, opaque to the service */
  readonly orderRef: string;
  /** The final result of the order. PAID: the money arrived; UNPAID: it did not, or was taken back */
  readonly outcome: 'PAID' | 'UNPAID';
  /** Why it is unpaid. DECLINED: the payment was refused; EXPIRED: the payer let the time run out; CANCELLED: the payer gave up; TECHNICAL: nobody knows, and it counts neither way; REVERSED: it was paid and taken back, whole or in part */
  readonly cause?: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED' | undefined;
  /** A date and time (RFC 3339), like "2026-11-21T10:00:00Z" */
  readonly occurredAt?: string | undefined;
  /** With PAID: the total captured for the order so far; absent: the amount asked for. With REVERSED: the total taken back so far; absent: everything. At most as many decimals as ISO 4217 gives the currency. A JSON string, not a number */
  readonly amount?: string | undefined;
  /** Currency of the amount; absent: that of the order, or else the platform's */
  readonly currency?: string | undefined;
}

/** A report, and what it did */
export interface OutcomeResult {
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly result: OutcomeEffect;
  readonly askedBy?: 'anotherClient';
}

/** A group that a person gave to a client. It takes precedence over the rules */
export interface Override {
  readonly group: 'BLOCKED' | 'TRUSTED';
  readonly reason: string;
  readonly by: string;
  readonly at: string;
  readonly expiresAt: string | null;
}

/** An override was set or lifted */
export interface OverrideEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'override';
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: HistoryOverride & { readonly clientIdKey: string };
}

/** What happened, as a CloudEvent 1.0; `type` says what its data are */
export type PlatformEvent =
  | VerdictEvent
  | OutcomeEvent
  | BindingEvent
  | OverrideEvent
  | WaitEndedEvent
  | ErasureEvent
  | GapEvent;

/** The clients whom a block would refuse, those of them who have paid so far, and how much they paid */
export interface PredictedRefusals {
  readonly clients: number;
  readonly payers: number;
  readonly orders: number;
  readonly money: Readonly<Record<string, number>>;
}

/** A change that somebody else approves or rejects */
export interface Proposal {
  readonly proposalId: string;
  readonly what: 'rollout' | 'release' | 'override' | 'key';
  readonly subject: string;
  readonly lines: readonly string[];
  readonly versions: { readonly before: string; readonly after: string } | null;
  readonly draft: { readonly platform: string; readonly revision: number } | null;
  readonly proposedBy: string;
  readonly proposedAt: string;
  readonly expiresAt: string;
  readonly state: 'open' | 'approved' | 'failed' | 'rejected' | 'expired' | 'replaced';
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly note: string | null;
}

/** A line that was refused; the other lines are processed */
export interface RefusedLine {
  readonly line: number;
  readonly error: string;
  readonly code: string;
  readonly detail: string;
  readonly errors?: readonly PointedDetail[];
  readonly retryable: boolean;
}

export interface RollbackRequest {
  /** The candidate to roll back; absent: all candidates */
  readonly version?: string | undefined;
  /** The reason, which the history keeps */
  readonly reason: string;
  /** The revision that you looked at: the change is refused if the rollout has another one by now. Absent: any revision */
  readonly revision?: number | undefined;
}

/** The active version, and the candidates on trial */
export interface Rollout {
  readonly revision: number;
  readonly active: VersionWithDigest;
  readonly candidates: readonly {
    readonly version: string;
    readonly digest: string;
    readonly percent: number;
    readonly slices: readonly { readonly from: number; readonly to: number }[];
    readonly mode: 'shadow' | 'canary';
    readonly trial: string;
    readonly since: string;
    readonly stageSince: string;
    readonly guardPoints: number | null;
    readonly objective?: string;
  }[];
  readonly ended: readonly {
    readonly version: string;
    readonly digest: string;
    readonly percent: number;
    readonly slices: readonly { readonly from: number; readonly to: number }[];
  }[];
  readonly history: readonly {
    readonly at: string;
    readonly who: string;
    readonly action: 'start' | 'shadow' | 'canary' | 'active' | 'rollback' | 'guard' | 'repair';
    readonly from: string | null;
    readonly to: string;
    readonly digest: string;
    readonly percent?: number;
    readonly also?: readonly { readonly version: string; readonly percent: number }[];
    readonly reason: string;
    readonly acceptedDifference?: string;
    readonly emergency?: boolean;
  }[];
}

export interface RolloutRequest {
  /** The rule set, like p2.v11 */
  readonly version: string;
  /** What the version does from then on. shadow: decides on copies of requests, and is only compared; canary: decides for `percent` of the clients; active: decides for all */
  readonly mode: 'shadow' | 'canary' | 'active';
  readonly percent?: number | undefined;
  /** The guard, in percentage points: a canary that is worse than the active version by more than this is rolled back automatically */
  readonly guard?: number | undefined;
  /** True: the version may decide for more than 20 % even if it answers very differently from the active version. False: such a change is refused, with figures */
  readonly acceptDifference?: boolean | undefined;
  /** Further candidates beside `version`, in the same draw: no client is in two of them */
  readonly also?:
    | readonly {
        /** Another candidate */ readonly version: string;
        readonly percent: number;
      }[]
    | undefined;
  /** True: one person alone makes a formerly active version active again; the history shows it, and an alert is raised */
  readonly emergency?: boolean | undefined;
  /** The margin: what remains of each unit of money of a payment that is not reversed */
  readonly margin?: number | undefined;
  /** The cost of each payment that is reversed, in addition to its amount */
  readonly reversalCost?: number | undefined;
  /** The cost of each requisite that was shown and not paid */
  readonly requisiteCost?: number | undefined;
  readonly currency?: string | null | undefined;
  /** The rates of other currencies, by their codes. Figures of value leave out amounts without a rate, and say so */
  readonly rates?: Readonly<Record<string, number>> | undefined;
  /** How many days after its first request the actions of a client count */
  readonly windowDays?: number | undefined;
  readonly reversalDays?: number | null | undefined;
  readonly cap?: number | null | undefined;
  /** The reason, which the history keeps */
  readonly reason: string;
  /** The revision that you looked at: the change is refused if the rollout has another one by now. Absent: any revision */
  readonly revision?: number | undefined;
}

/** The rollout and the fleet */
export interface RolloutStatus {
  readonly rollout: Rollout | null;
  readonly unreadable: boolean;
  readonly nodes: readonly NodeReport[] | null;
  readonly trials: readonly TrialCounts[];
  readonly previous: VersionWithDigest | null;
}

/** How the rules came to a verdict */
export interface RulesTrace {
  readonly groups: {
    readonly group: ClientGroup;
    readonly rule: string;
    readonly why: string;
    readonly rules: readonly RuleTrace[];
  };
  readonly signals: {
    readonly isBot: boolean;
    readonly weight: number;
    readonly threshold: number;
    readonly why: string;
    readonly exempt: ConditionTrace | null;
    readonly rules: readonly RuleTrace[];
  };
  readonly verdicts: {
    readonly verdict: VerdictCommand;
    readonly rule: string;
    readonly why: string;
    readonly rules: readonly RuleTrace[];
  };
  readonly flags: {
    readonly raised: readonly string[];
    readonly why: string;
    readonly rules: readonly RuleTrace[];
  };
}

/** One rule, with the values of the facts that it asked for */
export interface RuleTrace {
  readonly name: string;
  readonly description: string;
  readonly priority: number;
  readonly at: Place;
  readonly gives: string | number;
  readonly asked: boolean;
  readonly matched: boolean;
  readonly heldOut?: boolean;
  readonly outweighedBy?: string;
  readonly condition: ConditionTrace;
}

/** The answer to a score request (interface, section 2.2) */
export interface ScoreAnswer {
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly isBot: boolean;
  readonly preferredAcceptorKey?: readonly string[];
  readonly payLimitValue?: readonly string[];
}

export interface ScoreRequest {
  /** Stable identifier of the point of sale */
  readonly sellPointKey: string;
  /** Stable identifier of the client */
  readonly clientIdKey: string;
  /** Amount as a JSON string with a decimal number, like "250.00" */
  readonly amountRequested: string;
  /** Selected or preferred payment method */
  readonly selectedMethodKey: string;
  /** ISO 4217 code; the platform's currency when absent */
  readonly toPayCurrency?: string | undefined;
  /** Caller's stable browser or device fingerprint */
  readonly fingerprint?: string | undefined;
  /** Client IP as the caller sees it */
  readonly ip?: string | undefined;
  /** Client User-Agent */
  readonly userAgent?: string | undefined;
  readonly clientHints?:
    | {
        /** The page executed JavaScript */ readonly jsOk?: boolean | undefined;
        /** A trap field was filled in */
        readonly honeypotTriggered?: boolean | undefined;
      }
    | undefined;
  /** Optional, and not part of the common interface: other facts that the platform knows about the payer, by name, for rules that ask for them */
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** A shared list */
export interface SharedList {
  readonly list: string;
  readonly kind: ListKind;
  readonly attribute?: string;
  readonly entries: number;
  readonly ended: number;
  readonly changedAt: string;
  readonly ofInstallation: boolean;
}

/** The shared lists as this node has them */
export interface SharedLists {
  readonly lists: readonly SharedList[];
  readonly next: string | null;
  readonly ageMs: number | null;
  readonly isStale: boolean;
}

/** What is still left of an erased client */
export interface TracesLeft {
  readonly traces: string;
}

/** Figures of the trial of a candidate */
export interface TrialCounts {
  readonly version: string;
  readonly trial: string;
  readonly arms: { readonly active: TrialArmCounts; readonly candidate: TrialArmCounts };
  readonly earliest: string | null;
  readonly shares: readonly {
    readonly name: 'BLOCK' | 'WAIT' | 'bot flag' | 'paid';
    readonly active: { readonly value: number; readonly low: number; readonly high: number } | null;
    readonly candidate: { readonly value: number; readonly low: number; readonly high: number } | null;
  }[];
  readonly breach: string | null;
  readonly gains: readonly string[];
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    readonly differences: readonly {
      readonly change: string;
      readonly count: number;
      readonly sampleOrders: readonly string[];
    }[];
  };
  readonly candidateErrors: number;
}

/** The answer to a verdict request (interface, section 2.4): one of four commands; `verdict` says which */
export type VerdictAnswer = GetNewAnswer | GetSameStickyAnswer | WaitAnswer | BlockAnswer;

/** A verdict was answered */
export interface VerdictEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'verdict';
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: HistoryVerdict & { readonly clientIdKey: string };
}

export interface VerdictRequest {
  /** Stable identifier of the point of sale */
  readonly sellPointKey: string;
  /** Stable identifier of the client */
  readonly clientIdKey: string;
  /** Method for which the requisite is requested */
  readonly method: string;
  /** Amount as a JSON string with a decimal number, like "250.00" */
  readonly amountRequested: string;
  /** Caller's order identifier, opaque to the service */
  readonly orderRef: string;
  /** ISO 4217 code; the platform's currency when absent */
  readonly toPayCurrency?: string | undefined;
  /** Optional, and not part of the common interface: other facts that the platform knows about the payer, by name, for rules that ask for them */
  readonly attributes?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** An instruction, not an error: wait, then ask again */
export interface WaitAnswer {
  readonly verdict: 'WAIT';
  readonly waitSeconds: number;
  readonly reason: string;
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

/** A person ended a wait before its time */
export interface WaitEndedEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: 'waitEnded';
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: HistoryWaitEnded & { readonly clientIdKey: string };
}

export interface DecisionQuery {
  /** Only decisions about this order of the caller */
  readonly orderRef?: string | undefined;
  /** Only decisions about this client; together with orderRef: only those about that order */
  readonly clientIdKey?: string | undefined;
  /** Only decisions with this verdict */
  readonly verdict?: VerdictCommand | undefined;
  /** Only the decision of this request, by its X-Request-Id */
  readonly requestId?: string | undefined;
  /** Only decisions by this rule, or by "otherwise"; compared exactly */
  readonly rule?: string | undefined;
  /** Only decisions of this rule set, like p2.v10 */
  readonly ruleVersion?: string | undefined;
  /** Only decisions about clients of this group */
  readonly clientGroup?: ClientGroup | undefined;
  /** Only decisions in which this bot signal matched; compared exactly */
  readonly signal?: string | undefined;
  /** Only decisions with this flag of flags.yaml; compared exactly */
  readonly flag?: string | undefined;
  /** Only decisions at this point of sale; compared exactly */
  readonly sellPointKey?: string | undefined;
  /** Only decisions about this payment method; compared exactly */
  readonly method?: string | undefined;
  /** Only decisions of the active version, or of those on trial */
  readonly arm?: 'active' | 'candidate' | undefined;
  /** Only decisions about at least this amount, in any currency */
  readonly amountMin?: string | undefined;
  /** Only decisions about at most this amount, in any currency */
  readonly amountMax?: string | undefined;
  /** Only decisions whose order has this outcome; not allowed together with orderRef or clientIdKey */
  readonly outcome?: 'PAID' | 'UNPAID' | 'UNKNOWN' | undefined;
  /** Only decisions from this time on; RFC 3339 */
  readonly from?: Date | string | undefined;
  /** Only decisions before this time; RFC 3339 */
  readonly to?: Date | string | undefined;
  /** The `next` of the previous answer; absent: from the beginning */
  readonly after?: string | undefined;
  /** The most entries to list; 50 when absent */
  readonly limit?: number | undefined;
  /** Add the outcomes that were reported for the listed orders */
  readonly include?: 'outcomes' | undefined;
}

export interface FindQuery {
  /** The most entries to list; 10 when absent */
  readonly limit?: number | undefined;
}

export interface LinksQuery {
  /** How many days to look back; 60 when absent */
  readonly days?: number | undefined;
  /** 1: clients who share a device or address with this one; 2: also clients who share one with those; 2 when absent */
  readonly depth?: 1 | 2 | undefined;
  /** Show what was known at this time, and look back `days` from it; absent: now; RFC 3339 */
  readonly asOf?: Date | string | undefined;
  /** The most entries to list; 50 when absent */
  readonly limit?: number | undefined;
}

export interface ListEntryQuery {
  /** Only the entry for this value */
  readonly value?: string | undefined;
  /** The `next` of the previous answer; absent: from the beginning */
  readonly after?: string | undefined;
  /** The most entries to list; 100 when absent */
  readonly limit?: number | undefined;
}

export interface PageQuery {
  /** The `next` of the previous answer; absent: from the beginning */
  readonly after?: string | undefined;
  /** The most entries to list; 100 when absent */
  readonly limit?: number | undefined;
}
