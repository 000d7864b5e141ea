import type { ClientGroup } from '../client/client-group.ts';
import type { PlatformName } from '../client/client-key.ts';
import type { Ladder } from '../client/ladder.ts';
import type { FactValue } from '../facts/fact.ts';
import type { RuleVersion, Verdict } from '../rules/rule-set.ts';
import { yesNo } from '../shapes.ts';
import type { HeldOut } from './holdout.ts';

/** Which rule set of a rollout decided. */
export type Arm = 'active' | 'candidate';

export const isBot = yesNo('Bot flag');

/** The name that a decision carries as its rule when no rule matched. */
export const OTHERWISE = 'otherwise';

/**
 * One answered verdict with all that explains it; what an answer's ruleVersion and orderRef lead to.
 * Holds no fingerprint, IP or User-Agent, only what the facts say about them.
 */
export interface Decision {
  readonly decisionId: string;
  /** Number of the decision among those of this client, from 1, without gaps. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly platform: PlatformName;
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly requestId: string;
  readonly ruleVersion: RuleVersion;
  /** Digest of the rule set that decided. */
  readonly digest: string;
  readonly arm: Arm;
  readonly verdict: Verdict;
  /** Only with WAIT. */
  readonly waitSeconds?: number;
  /** The named ladder that the wait is of; absent without WAIT, and on the ladder without a name. */
  readonly ladder?: string;
  /** How long the wait before was, ms: only where the ladder alone would have given a shorter one. */
  readonly waitFloorMs?: number;
  /** Only with GET_SAME_STICKY. */
  readonly stickyRequisiteRef?: string;
  readonly reason: string;
  readonly isBot: boolean;
  readonly clientGroup: ClientGroup;
  /** 4 decimals. */
  readonly paymentScore: string;
  /** Name of the rule that gave the verdict, or `otherwise`. */
  readonly rule: string;
  /** Names of the bot signals that matched. */
  readonly signals: readonly string[];
  /** The values that the rules saw, by label: `paidCount`, `verdicts(10m)`. */
  readonly facts: Readonly<Record<string, FactValue>>;
  /** The rules that matched and were skipped, because the client is held out of them; absent when there are none. */
  readonly holdout?: readonly HeldOut[];
  readonly ladderBefore: Ladder;
  readonly ladderAfter: Ladder;
}

/** The verdict answer of the interface (section 2.4), and nothing else. */
export interface VerdictAnswer {
  readonly verdict: Verdict;
  readonly waitSeconds?: number;
  readonly stickyRequisiteRef?: string;
  readonly reason: string;
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

export function verdictAnswer(decision: Decision): VerdictAnswer {
  const { verdict, waitSeconds, stickyRequisiteRef, reason, ruleVersion, isBot } = decision;
  return {
    verdict,
    ...(waitSeconds === undefined ? {} : { waitSeconds }),
    ...(stickyRequisiteRef === undefined ? {} : { stickyRequisiteRef }),
    reason,
    ruleVersion,
    isBot,
  };
}

/** The score answer of the interface (section 2.2). */
export interface ScoreAnswer {
  readonly clientGroup: ClientGroup;
  readonly paymentScore: string;
  readonly isBot: boolean;
  /** Only for STICKY. */
  readonly preferredAcceptorKey?: readonly string[];
  /** Only when the platform enables scoring limits: items like `EUR:250.00`. */
  readonly payLimitValue?: readonly string[];
}
