import { expect } from 'chai';
import type { Explanation } from '../../src/analysis/explain/explain.ts';
import type { PlatformName } from '../../src/client/client-key.ts';
import type { Binding, Override } from '../../src/client/client-state.ts';
import type { OutcomeEffect } from '../../src/client/outcomes.ts';
import type { Decision, ScoreAnswer, VerdictAnswer } from '../../src/decision/decision.ts';
import type { ScoreBody, VerdictBody } from '../../src/decision/requests.ts';
import type { viewOfHistory } from '../../src/http/platform/client/client-history.ts';
import type { viewOfClient } from '../../src/http/platform/client/client-view.ts';
import type { FollowReport, RolloutStatus } from '../../src/rollout/change-rollout.ts';
import type { OperatorName } from '../../src/rules/operators.ts';
import type { RuleVersion } from '../../src/rules/rule-set.ts';
import type * as library from '../../src/sdk/client.ts';
import type { FoundDecisions } from '../../src/state/decision-search.ts';

/** A type as JSON carries it: brands and readonly do not travel, and operators are words. */
type Plain<T> = T extends PlatformName | RuleVersion | OperatorName
  ? string
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [Name in keyof T]: Plain<T[Name]> }
      : T;

/** Optional members that also take undefined, without it: JSON leaves such a member out. */
type Sent<T> = T extends object ? { readonly [Name in keyof T]: Sent<Exclude<T[Name], undefined>> } : T;

type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : false) : false;

// The compiler refuses this file when the library and the service part ways.
const SHAPES: {
  readonly scoreRequest: Same<Sent<library.ScoreRequest>, ScoreBody>;
  readonly scoreAnswer: Same<library.ScoreAnswer, ScoreAnswer>;
  readonly verdictRequest: Same<Sent<library.VerdictRequest>, VerdictBody>;
  readonly verdicts: Same<library.VerdictAnswer['verdict'], VerdictAnswer['verdict']>;
  readonly verdictMembers: Same<library.VerdictAnswer extends VerdictAnswer ? true : false, true>;
  readonly decision: Same<library.Decision, Decision>;
  readonly binding: Same<library.Binding, Binding>;
  readonly override: Same<library.Override, Override>;
  readonly outcomeEffect: Same<library.OutcomeEffect, OutcomeEffect>;
  readonly client: Same<Omit<library.ClientView, 'facts'>, Omit<ReturnType<typeof viewOfClient>, 'facts'>>;
  readonly foundDecisions: Same<library.FoundDecisions, FoundDecisions>;
  readonly history: Same<library.ClientHistory, ReturnType<typeof viewOfHistory>>;
  readonly explanation: Same<library.Explanation, Explanation>;
  readonly rolloutStatus: Same<library.RolloutStatus, RolloutStatus>;
  readonly following: Same<library.Following, FollowReport>;
} = {
  scoreRequest: true,
  scoreAnswer: true,
  verdictRequest: true,
  verdicts: true,
  verdictMembers: true,
  decision: true,
  binding: true,
  override: true,
  outcomeEffect: true,
  client: true,
  foundDecisions: true,
  history: true,
  explanation: true,
  rolloutStatus: true,
  following: true,
};

describe("the client library's shapes", () => {
  it('are the types of the service', () => {
    expect(Object.values(SHAPES)).not.to.include(false);
  });
});
