import { isDeepStrictEqual } from 'node:util';
import type { PlatformName } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import { scoreRequest, verdictRequest } from '../../decision/requests.ts';
import type { FactValue } from '../../facts/fact.ts';
import { type RuleSetTrace, traceRuleSet } from '../../rules/evaluate/trace.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type Location, type Problem, sortProblems } from '../../rules/problem.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { Simulation } from '../simulation.ts';
import { type Coverage, CoverageMeter } from './coverage.ts';
import type { Expectation, StepKind } from './expectations.ts';
import { CASE_PSEUDONYM, parseCases } from './parse-cases.ts';
import type { Action, RuleCase } from './rule-case.ts';

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

export interface CaseReport {
  /** What is wrong with the case files themselves; nothing was run then. */
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

/** Lets one thing happen and gives what can be expected of it, by member. */
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
