import { expect } from 'chai';
import type { RuleDiff } from '../../../src/analysis/diff/rule-diff.ts';
import type { Explanation, RulesAccount } from '../../../src/analysis/explain/explain.ts';
import type { OutcomeEffect } from '../../../src/client/changes.ts';
import type { PlatformName } from '../../../src/client/client-key.ts';
import type { VerdictAnswer } from '../../../src/decision/decision.ts';
import type { VerdictAnswerSchema } from '../../../src/http/caller/verdict.ts';
import type { RulesAccountSchema, RuleTraceSchema } from '../../../src/http/openapi/rules-account-shapes.ts';
import type { ClientHistorySchema, viewOfHistory } from '../../../src/http/platform/client/client-history.ts';
import type { ClientSchema, viewOfClient } from '../../../src/http/platform/client/client-view.ts';
import type { DecisionListSchema } from '../../../src/http/platform/decisions/decisions.ts';
import type { ExplanationSchema } from '../../../src/http/platform/decisions/explanation.ts';
import type { LastHourSchema } from '../../../src/http/platform/last-hour.ts';
import type { OutcomeResultSchema } from '../../../src/http/platform/outcomes/outcomes.ts';
import type { RuleDiffSchema } from '../../../src/http/platform/rules/rule-diff.ts';
import type { Static } from '../../../src/json-schema.ts';
import type { LastHourView } from '../../../src/metrics/last-hour.ts';
import type { RuleTrace } from '../../../src/rules/evaluate/trace.ts';
import type { RuleVersion } from '../../../src/rules/rule-set.ts';
import type { FoundDecisions } from '../../../src/state/decision-search.ts';

/** A type as JSON carries it: brands and readonly do not travel. */
type Plain<T> = T extends PlatformName | RuleVersion
  ? string
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [Name in keyof T]: Plain<T[Name]> }
      : T;

type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : false) : false;

/** Facts by label are always there once a decision is made; the view's type does not say so. */
type ClientView = Omit<ReturnType<typeof viewOfClient>, 'facts'>;

// The compiler refuses this file when a schema and the type of the code part ways.
const SHAPES: {
  readonly verdictAnswer: Static<typeof VerdictAnswerSchema> extends VerdictAnswer ? true : false;
  readonly outcomeEffect: Same<Static<typeof OutcomeResultSchema>['result'], OutcomeEffect>;
  readonly client: Same<Omit<Static<typeof ClientSchema>, 'facts'>, ClientView>;
  readonly history: Same<Static<typeof ClientHistorySchema>, ReturnType<typeof viewOfHistory>>;
  readonly ruleTrace: Same<Static<typeof RuleTraceSchema>, RuleTrace>;
  readonly explanation: Same<Static<typeof ExplanationSchema>, Explanation>;
  readonly foundDecisions: Same<Omit<Static<typeof DecisionListSchema>, 'outcomes'>, FoundDecisions>;
  readonly rulesAccount: Same<Static<typeof RulesAccountSchema>, RulesAccount>;
  readonly lastHour: Same<Static<typeof LastHourSchema>, LastHourView>;
  readonly ruleDiff: Same<Static<typeof RuleDiffSchema>, RuleDiff>;
} = {
  verdictAnswer: true,
  outcomeEffect: true,
  client: true,
  history: true,
  ruleTrace: true,
  explanation: true,
  foundDecisions: true,
  rulesAccount: true,
  lastHour: true,
  ruleDiff: true,
};

// What the comparison must be able to see.
const DIFFERENT: {
  readonly missing: Same<{ a: string }, { a: string; b: number }>;
  readonly optional: Same<{ a?: string }, { a: string }>;
  readonly other: Same<{ a: 'x' | 'y' }, { a: 'x' }>;
} = { missing: false, optional: false, other: false };

describe('the shapes in the API documents', () => {
  it('are the types of the code', () => {
    expect(Object.values(SHAPES)).not.to.include(false);
    expect(Object.values(DIFFERENT)).not.to.include(true);
  });
});
