import type { ClientKey } from '../client/client-key.ts';
import type { StageMark } from '../client/client-state.ts';
import type { Arm, Decision, Draw } from '../decision/decision.ts';
import type { RuleSet, RuleVersion } from '../rules/rule-set.ts';

/** The rule sets of one request: chosen once, kept to its end. */
export interface RuleChoice {
  readonly rules: RuleSet;
  readonly arm: Arm;
  /** While several versions decide; recorded with the decision, whichever version gives it. */
  readonly draw?: Draw;
  /** Of the candidate arm: the active rules, which step in when the candidate throws. */
  readonly fallback?: RuleSet;
  /** Decides the same verdict on a copy, to be compared. */
  readonly shadow?: RuleSet;
}

/** The windows that any rule set of the request may ask the sharing counters for. */
export function sharingWindowsMs({ rules, fallback, shadow }: RuleChoice): RuleSet['sharingWindowsMs'] {
  if (fallback === undefined && shadow === undefined) return rules.sharingWindowsMs;
  const all = [rules, fallback, shadow].filter((one) => one !== undefined).map((one) => one.sharingWindowsMs);
  const union = (kind: keyof RuleSet['sharingWindowsMs']) => [
    ...new Set(all.flatMap((windows) => windows[kind])),
  ];
  return { fingerprint: union('fingerprint'), ip: union('ip') };
}

/** A verdict that was given. */
export interface VerdictSeen {
  readonly decision: Decision;
  /** The shadow's verdict; null: the shadow threw. */
  readonly shadowed: Decision | null | undefined;
  /** What the client was answered in a stage before. */
  readonly stageBefore: StageMark | null;
}

/** When a client's newest outcomes of either kind were, epoch ms. */
export interface NewestOutcomes {
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
}

/** What an outcome changed in what is known of its client. */
export interface OutcomeSeen {
  readonly client: ClientKey;
  readonly before: NewestOutcomes;
  readonly after: NewestOutcomes;
  /** Epoch ms. */
  readonly lastVerdictAt: number | null;
}

/** Chooses the rule sets of a request, and learns what they decided. */
export interface RuleSource {
  choose(client: ClientKey): RuleChoice;
  /** Without `isRecorded` its caller was refused, and nobody knows yet whether the store recorded it. */
  observe(verdict: VerdictSeen, isRecorded: boolean): void;
  /** What became of an order of a client was reported. */
  observeOutcome(outcome: OutcomeSeen): void;
  /** The candidate threw, and the active rules decided. */
  candidateFailed(version: RuleVersion, error: unknown): void;
  /** The loaded rule set behind a decision; null when it is not on this node. */
  ruleSetOf(version: string, digest: string): RuleSet | null;
}

/** One rule set for everybody, without counts: for replays and tests. */
export function fixedRules(rules: RuleSet): RuleSource {
  return {
    choose: () => ({ rules, arm: 'active' }),
    observe: () => {},
    observeOutcome: () => {},
    candidateFailed: () => {},
    ruleSetOf: (version, digest) => (rules.version === version && rules.digest === digest ? rules : null),
  };
}
