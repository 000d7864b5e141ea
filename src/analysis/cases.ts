import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Pseudonym, scoreRequest, verdictRequest } from '../decision/bodies.ts';
import type { RuleFiles } from '../rules/parse.ts';
import type { Location, Problem } from '../rules/problem.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { type Action, parseCases, type RuleCase, type Step } from './parse-cases.ts';
import { Simulation } from './simulation.ts';

/** A step that did not go as the case expects. */
export interface CaseFailure {
  readonly caseName: string;
  readonly at: Location;
  readonly message: string;
}

export interface CaseReport {
  /** What is wrong with the case files themselves; nothing was run then. */
  readonly problems: readonly Problem[];
  readonly passed: number;
  readonly failures: readonly CaseFailure[];
}

/** When every case begins; cases tell only what time passes. */
const BEGIN = Date.UTC(2026, 0, 1);

/** Nothing is stored, so no secret is needed. */
const pseudonym: Pseudonym = (kind, text) => hash('sha256', `${kind} ${text}`, 'base64url').slice(0, 22);

/** Runs the cases of a rule set in virtual time, each on a platform of its own. */
export function runCases(rules: RuleSet, files: RuleFiles): CaseReport {
  const problems: Problem[] = [];
  const cases = parseCases(files, problems);
  if (problems.length > 0) return { problems, passed: 0, failures: [] };
  const failures = cases.map((ruleCase) => runCase(rules, ruleCase)).filter((failure) => failure !== null);
  return { problems: [], passed: cases.length - failures.length, failures };
}

/** The first step that fails ends its case: what follows would only be a consequence. */
function runCase(rules: RuleSet, { name, platform, steps }: RuleCase): CaseFailure | null {
  const simulation = new Simulation(rules, platform);
  let now = BEGIN;
  for (const [index, step] of steps.entries()) {
    now += step.afterMs;
    let seen: Readonly<Record<string, unknown>> = {};
    for (let time = 0; time < step.times; time++) {
      if (time > 0) now += step.everyMs;
      seen = act(simulation, step.clientIdKey, step.action, now);
    }
    const failure = compare(name, index, step, seen);
    if (failure !== null) return failure;
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
      const { answer, signals } = simulation.score(clientIdKey, scoreRequest(action.body, pseudonym), now);
      return { ...answer, signals };
    }
    case 'verdict':
      return { ...simulation.verdict(clientIdKey, verdictRequest(action.body, 'case', 'active'), now) };
    case 'outcome': {
      const { orderRef, outcome, cause } = action;
      return { effect: simulation.outcome(clientIdKey, orderRef, { outcome, cause, occurredAt: now }, now) };
    }
    case 'binding': {
      const { binding } = action;
      simulation.bind(clientIdKey, binding === null ? null : { ...binding, expiresAt: null }, now);
      return {};
    }
    case 'override': {
      const { group } = action;
      const override =
        group === null ? null : { group, reason: 'case', by: 'case', at: now, expiresAt: null };
      simulation.override(clientIdKey, override, now);
      return {};
    }
    default:
      return action satisfies never;
  }
}

function compare(
  caseName: string,
  index: number,
  step: Step,
  seen: Readonly<Record<string, unknown>>,
): CaseFailure | null {
  for (const { member, value, at } of step.expect) {
    const actual = seen[member] ?? null;
    if (isDeepStrictEqual(actual, value)) continue;
    const message = `step ${index + 1} (${step.action.kind}): ${member} should be ${JSON.stringify(value)} and is ${JSON.stringify(actual)}`;
    return { caseName, at, message };
  }
  return null;
}
