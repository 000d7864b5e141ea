import type { ClientGroup, ScoreAnswer } from './scoring-client.ts';

/** What the platform listener tells. Times are milliseconds since 1970. */

export type VerdictCommand = 'GET_NEW' | 'GET_SAME_STICKY' | 'WAIT' | 'BLOCK';

export type FactValue = number | boolean | string;

/** Where a client stands on the cooldown ladder. */
export interface Ladder {
  readonly level: number;
  readonly attemptOpen: boolean;
  readonly waitUntil: number | null;
}

/** One answered verdict with all that explains it. */
export interface Decision {
  readonly decisionId: string;
  readonly seq: number;
  readonly at: number;
  readonly platform: string;
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly requestId: string;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly arm: 'active' | 'candidate';
  readonly verdict: VerdictCommand;
  readonly waitSeconds?: number;
  readonly stickyRequisiteRef?: string;
  readonly reason: string;
  readonly isBot: boolean;
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly rule: string;
  readonly signals: readonly string[];
  readonly facts: Readonly<Record<string, FactValue>>;
  readonly ladderBefore: Ladder;
  readonly ladderAfter: Ladder;
}

export interface Binding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  readonly method: string | null;
  readonly expiresAt: number | null;
}

export interface Override {
  readonly group: 'BLOCKED' | 'TRUSTED';
  readonly reason: string;
  readonly by: string;
  readonly at: number;
  readonly expiresAt: number | null;
}

/** What is known of a client. */
export interface ClientView {
  readonly clientIdKey: string;
  readonly ruleVersion: string;
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly isBot: boolean;
  readonly signals: readonly string[];
  readonly firstSeenAt: number | null;
  readonly lastVerdictAt: number | null;
  readonly decisionCount: number;
  readonly ladder: Ladder;
  readonly outcomes: {
    readonly paidCount: number;
    readonly unpaidCount: number;
    readonly lastPaidAt: number | null;
    readonly lastUnpaidAt: number | null;
  };
  readonly binding: Binding | null;
  readonly override: Override | null;
  readonly facts: Readonly<Record<string, FactValue>>;
  readonly decisions: readonly Decision[];
}

/** What a bounded look back found. */
export interface FoundDecisions {
  /** Newest first. */
  readonly decisions: readonly Decision[];
  readonly lookedAt: {
    /** How many decisions were compared with the query. */
    readonly decisions: number;
    /** When the oldest of them was made, epoch ms; null when there was none. */
    readonly backTo: number | null;
    /** False: there may be more before `backTo`. */
    readonly complete: boolean;
  };
}

/** One thing that happened to a client, told apart by `kind`. */
export type HistoryEntry =
  | {
      readonly kind: 'score';
      readonly at: number;
      readonly request: {
        readonly sellPointKey: string;
        readonly method: string;
        readonly amount: string;
        /** Null: the platform's. */
        readonly currency: string | null;
        /** Null when the caller did not say. */
        readonly jsOk: boolean | null;
        readonly honeypotTriggered: boolean;
        readonly fingerprintPresent: boolean;
        readonly ipPresent: boolean;
        readonly userAgentPresent: boolean;
        readonly userAgentIsAutomated: boolean;
      };
      readonly ruleVersion: string;
      readonly answer: ScoreAnswer;
    }
  | { readonly kind: 'verdict'; readonly at: number; readonly decision: Decision }
  | {
      readonly kind: 'outcome';
      readonly at: number;
      readonly orderRef: string;
      readonly outcome: 'PAID' | 'UNPAID';
      readonly cause: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | 'TECHNICAL' | 'REVERSED' | null;
      readonly occurredAt: number;
    }
  /** Null: it was lifted. */
  | { readonly kind: 'binding'; readonly at: number; readonly binding: Binding | null }
  | { readonly kind: 'override'; readonly at: number; readonly override: Override | null };

/** What happened to a client. */
export interface ClientHistory {
  readonly clientIdKey: string;
  /** Newest first. */
  readonly entries: readonly HistoryEntry[];
  /** False: older entries exist, or existed and are not kept any more. */
  readonly complete: boolean;
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface ConditionBasis {
  readonly passed: boolean;
  readonly at: Place;
}

/** A condition as the analyst wrote it, with the values it saw. */
export type ConditionTrace =
  | (ConditionBasis & { readonly kind: 'all' | 'any'; readonly conditions: readonly ConditionTrace[] })
  | (ConditionBasis & { readonly kind: 'not'; readonly condition: ConditionTrace })
  | (ConditionBasis & {
      readonly kind: 'reference';
      readonly name: string;
      readonly condition: ConditionTrace;
    })
  | (ConditionBasis & {
      readonly kind: 'comparison';
      readonly fact: string;
      readonly operator: string;
      readonly expected: FactValue | readonly FactValue[];
      readonly seen: FactValue;
    });

/** One rule with what it saw. */
export interface RuleTrace {
  readonly name: string;
  readonly description: string;
  readonly priority: number;
  readonly at: Place;
  readonly gives: string | number;
  readonly asked: boolean;
  readonly matched: boolean;
  readonly condition: ConditionTrace;
}

/** Why a decision fell as it did, and whether its rule set still says the same. */
export interface Explanation {
  readonly decision: Decision;
  readonly rules: {
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
      readonly rules: readonly RuleTrace[];
    };
    readonly verdicts: {
      readonly verdict: VerdictCommand;
      readonly rule: string;
      readonly why: string;
      readonly rules: readonly RuleTrace[];
    };
  } | null;
  readonly ladder: {
    readonly before: Ladder & { readonly words: string };
    readonly after: Ladder & { readonly words: string };
  };
  readonly reproduced: boolean;
  readonly differences: readonly {
    readonly member: string;
    readonly recorded: unknown;
    readonly rerun: unknown;
  }[];
  readonly verification: string;
}

interface ArmCounts {
  readonly verdicts: number;
  readonly blocks: number;
  readonly waits: number;
  readonly bots: number;
}

/** What was seen of a trial since it began. */
export interface TrialCounts {
  readonly trial: string;
  readonly arms: { readonly active: ArmCounts; readonly candidate: ArmCounts };
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

/** One node, as it reports itself. */
export interface NodeReport {
  readonly nodeId: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly revision: number;
  readonly versions: readonly {
    readonly version: string;
    readonly digest: string;
    readonly released: boolean;
  }[];
  readonly refused: readonly { readonly version: string; readonly problems: readonly string[] }[];
  readonly trouble: string | null;
  readonly counts: TrialCounts | null;
}

/** Which version decides. */
export interface Rollout {
  readonly revision: number;
  readonly active: { readonly version: string; readonly digest: string };
  readonly candidate: {
    readonly version: string;
    readonly digest: string;
    readonly mode: 'shadow' | 'canary';
    readonly percent: number;
    readonly trial: string;
    readonly since: number;
    readonly guardPoints: number | null;
  } | null;
  readonly history: readonly {
    readonly at: number;
    readonly who: string;
    readonly action: 'start' | 'shadow' | 'canary' | 'active' | 'rollback' | 'guard';
    readonly from: string | null;
    readonly to: string;
    readonly digest: string;
    readonly percent?: number;
    readonly reason: string;
  }[];
}

export interface RolloutStatus {
  readonly rollout: Rollout | null;
  readonly nodes: readonly NodeReport[];
  readonly trial: TrialCounts | null;
}

/** A changed rollout, and which nodes follow it. */
export interface Following {
  readonly rollout: Rollout;
  readonly following: readonly NodeReport[];
  readonly lagging: readonly NodeReport[];
}
