import type { PlatformName } from '../../client/client-key.ts';
import type { OverrideGroup } from '../../client/client-state.ts';
import type { Outcome, OutcomeCause } from '../../client/order.ts';
import type { ScoreBody, VerdictBody } from '../../decision/requests.ts';
import type { SharedLists } from '../../decision/shared-lists.ts';
import type { FactValue } from '../../facts/fact.ts';
import type { Location } from '../../rules/problem.ts';

/** A test of a rule set: what one or more payers do, and what the rules must answer. */
export interface RuleCase {
  readonly name: string;
  readonly platform: PlatformName;
  /** The shared lists, as they are from the first step to the last. */
  readonly lists: SharedLists;
  /** The rules that its clients are held out of, like `groups/blocked-by-unpaid-chain`. */
  readonly heldOut: readonly string[];
  /** Epoch ms; its steps tell what time passes. */
  readonly startsAt: number;
  readonly steps: readonly CaseStep[];
  readonly at: Location;
}

/** Something that happens `afterMs` after the step before it. */
export interface CaseStep {
  readonly afterMs: number;
  /** `{n}` in it stands for the number of the time, so that one step can be taken by many clients. */
  readonly clientIdKey: string;
  readonly action: Action;
  /** How often the action happens, `everyMs` apart; expectations are about the last time. */
  readonly times: number;
  readonly everyMs: number;
  readonly expect: readonly Expectation[];
  readonly at: Location;
}

export type Action =
  | { readonly kind: 'score'; readonly body: ScoreBody }
  | { readonly kind: 'verdict'; readonly body: VerdictBody }
  | {
      readonly kind: 'outcome';
      readonly orderRef: string;
      readonly outcome: Outcome;
      readonly cause: OutcomeCause | null;
      /** How long before its report the order became final. */
      readonly agoMs: number;
    }
  | { readonly kind: 'binding'; readonly binding: CaseBinding | null }
  | { readonly kind: 'override'; readonly override: CaseOverride | null };

export interface CaseBinding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  readonly method: string | null;
  /** Null lasts for the whole case. */
  readonly expiresAfterMs: number | null;
}

export interface CaseOverride {
  readonly group: OverrideGroup;
  /** Null lasts for the whole case. */
  readonly expiresAfterMs: number | null;
}

/** What a step of a case can do. */
export const STEP_KINDS = ['score', 'verdict', 'outcome', 'binding', 'override'] as const;

export type StepKind = (typeof STEP_KINDS)[number];

/** One member that the answer must have with this value; null means that it must not be there. */
export interface Expectation {
  readonly member: string;
  readonly value: unknown;
  readonly at: Location;
}

/** A step that did not go as its case expects. */
export interface CaseFailure {
  readonly caseName: string;
  readonly platform: PlatformName;
  /** Of the step. */
  readonly at: Location;
  /** From 1. */
  readonly step: number;
  readonly kind: StepKind;
  readonly clientIdKey: string;
  /** How often the step acted; the expectations are about the last time. */
  readonly times: number;
  /** Since the case began. */
  readonly elapsedMs: number;
  readonly differences: readonly UnmetExpectation[];
  /** What the rules saw, for `traceFailure`; null when the step asks no rules. */
  readonly values: readonly FactValue[] | null;
}

export interface UnmetExpectation {
  readonly member: string;
  /** Null means absent, here and in `seen`. */
  readonly expected: unknown;
  readonly seen: unknown;
  readonly at: Location;
}
