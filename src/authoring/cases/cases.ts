import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Decision } from '../../decision/decision.ts';
import { scoreRequest, verdictRequest } from '../../decision/requests.ts';
import { type RuleSetTrace, traceRuleSet } from '../../rules/evaluate/trace.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { location, type Problem, ProblemSchema, sortProblems } from '../../rules/problem.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { count, list, type Shape, shape, word } from '../../shapes.ts';
import { PLAIN } from '../explain/explanation-text.ts';
import { Simulation } from '../simulation.ts';
import { type Coverage, CoverageMeter, CoverageSchema } from './coverage.ts';
import { failureLines } from './expectations.ts';
import { CASE_PSEUDONYM, parseCases } from './parse-cases.ts';
import type { Action, CaseFailure, Expectation, RuleCase, UnmetExpectation } from './rule-case.ts';

export interface CaseReport {
  /** Problems of the case files themselves; then no case was run. */
  readonly problems: readonly Problem[];
  readonly passed: number;
  readonly failures: readonly CaseFailure[];
  readonly coverage: Coverage;
}

/** Runs the cases of a rule set in virtual time, each on a platform of its own. */
export function runCases(rules: RuleSet, files: RuleFiles): CaseReport {
  const problems: Problem[] = [];
  const cases = parseCases(rules, files, problems);
  const meter = new CoverageMeter(rules, files);
  if (problems.length > 0) {
    return { problems: sortProblems(problems), passed: 0, failures: [], coverage: meter.result() };
  }
  const failures = cases.map((ruleCase) => runCase(meter, ruleCase)).filter((failure) => failure !== null);
  return { problems: [], passed: cases.length - failures.length, failures, coverage: meter.result() };
}

/** The rules as the failing step saw them; null when it asked none. */
export async function traceFailure(
  rules: RuleSet,
  { values }: Pick<CaseFailure, 'values'>,
): Promise<RuleSetTrace | null> {
  return values === null ? null : traceRuleSet(rules, values);
}

/** The first step that fails ends its case: what follows would only be a consequence. */
function runCase(
  meter: CoverageMeter,
  { name, platform, lists, heldOut, startsAt, steps }: RuleCase,
): CaseFailure | null {
  const simulation = new Simulation(meter.watched, platform, lists);
  simulation.holdOut(meter.holdingOut(heldOut));
  let now = startsAt;
  for (const [index, step] of steps.entries()) {
    now += step.afterMs;
    let seen: Readonly<Record<string, unknown>> = {};
    let clientIdKey = step.clientIdKey;
    for (let time = 0; time < step.times; time++) {
      if (time > 0) now += step.everyMs;
      clientIdKey = step.clientIdKey.replaceAll('{n}', String(time + 1));
      seen = act(simulation, clientIdKey, step.action, now);
    }
    const differences = step.expect.map((expected) => unmet(expected, seen)).filter((one) => one !== null);
    if (differences.length === 0) continue;
    const { kind } = step.action;
    return {
      caseName: name,
      platform,
      at: step.at,
      step: index + 1,
      kind,
      clientIdKey,
      times: step.times,
      elapsedMs: now - startsAt,
      differences,
      values: kind === 'score' || kind === 'verdict' ? meter.lastValues : null,
    };
  }
  return null;
}

/** Performs one action and returns what a case can expect of it, by member. */
function act(
  simulation: Simulation,
  clientIdKey: string,
  action: Action,
  now: number,
): Readonly<Record<string, unknown>> {
  switch (action.kind) {
    case 'score': {
      const { answer, signals } = simulation.score(
        clientIdKey,
        scoreRequest(action.body, CASE_PSEUDONYM),
        now,
      );
      return { ...answer, signals };
    }
    case 'verdict':
      return verdictMembers(
        simulation.verdict(clientIdKey, verdictRequest(action.body, 'case', 'active'), now),
      );
    case 'outcome': {
      const { orderRef, outcome, cause, agoMs } = action;
      const report = { outcome, cause, occurredAt: now - agoMs };
      return { effect: simulation.outcome(clientIdKey, orderRef, report, now) };
    }
    case 'binding': {
      simulation.bind(clientIdKey, dated(action.binding, now), now);
      return {};
    }
    case 'override': {
      const override = dated(action.override, now);
      const full = override === null ? null : { ...override, reason: 'case', by: 'case', at: now };
      simulation.override(clientIdKey, full, now);
      return {};
    }
    default:
      return action satisfies never;
  }
}

function verdictMembers(decision: Decision): Readonly<Record<string, unknown>> {
  return { ...decision, heldOut: (decision.holdout ?? []).map(({ rule }) => rule) };
}

/** A case says how long something lasts; the client's state says until when. */
function dated<T extends { readonly expiresAfterMs: number | null }>(
  item: T | null,
  now: number,
): (Omit<T, 'expiresAfterMs'> & { readonly expiresAt: number | null }) | null {
  if (item === null) return null;
  const { expiresAfterMs, ...rest } = item;
  return { ...rest, expiresAt: expiresAfterMs === null ? null : now + expiresAfterMs };
}

function unmet(
  { member, value, at }: Expectation,
  answer: Readonly<Record<string, unknown>>,
): UnmetExpectation | null {
  const seen = answer[member] ?? null;
  return isDeepStrictEqual(inOrder(member, seen), inOrder(member, value))
    ? null
    : { member, expected: value, seen, at };
}

/** Signals have no order of their own, so a case may name them in any. */
function inOrder(member: string, value: unknown): unknown {
  return member === 'signals' && Array.isArray(value) ? value.toSorted() : value;
}

const ToldFailureSchema = shape('A case that failed', {
  caseName: word('Of the case'),
  /** Of the step that failed. */
  at: location,
  lines: list(word('For people'), 'What was expected and seen, and the rules of that step with their values'),
});

export const RuleCoverageSchema = shape('What the cases of the version say', {
  problems: list(ProblemSchema, 'In the order of reading'),
  passed: count('Cases'),
  failed: count('Cases'),
  failures: list(ToldFailureSchema, 'The first twenty of them'),
  coverage: CoverageSchema,
});

export type RuleCoverage = Shape<typeof RuleCoverageSchema>;

const COVERAGES_KEPT_MAX = 20;

const FAILURES_TOLD_MAX = 20;

/** The results of cases, computed once for a digest: a run takes some tens of milliseconds. */
export class RuleCoverages {
  readonly #kept = new LRUCache<string, Promise<RuleCoverage>>({ max: COVERAGES_KEPT_MAX });

  of(ruleSet: RuleSet, files: RuleFiles): Promise<RuleCoverage> {
    const known = this.#kept.get(ruleSet.digest);
    if (known !== undefined) return known;
    const coverage = coverageOf(ruleSet, files);
    this.#kept.set(ruleSet.digest, coverage);
    coverage.catch(() => this.#kept.delete(ruleSet.digest));
    return coverage;
  }
}

async function coverageOf(ruleSet: RuleSet, files: RuleFiles): Promise<RuleCoverage> {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  const told = failures.slice(0, FAILURES_TOLD_MAX).map(async (failure) => {
    const trace = await traceFailure(ruleSet, failure);
    const [, ...lines] = failureLines(failure, trace, ruleSet, '', PLAIN);
    return { caseName: failure.caseName, at: failure.at, lines };
  });
  return { problems, passed, failed: failures.length, failures: await Promise.all(told), coverage };
}
