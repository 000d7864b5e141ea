import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { Type } from '#base/json-schema.ts';
import { count, list, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { selectSkippedHoldouts } from '#decision/holdout.ts';
import { addDeclaredAttributes, toScoreRequest, toVerdictRequest } from '#decision/requests.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import { type RuleSetTrace, traceRuleSet } from '#decision/rules/evaluate/trace.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import {
  locationSchema,
  type RuleProblem,
  RuleProblemSchema,
  sortProblems,
} from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { editYaml, findNamedItemIndex } from '#decision/rules/text/edited-text.ts';
import { Simulation } from '#decision/simulation.ts';
import { CASE_HMACS, deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import { PLAIN_PAINT } from '#workbench/authoring/explain/explanation-text.ts';
import { type Coverage, CoverageMeter, CoverageSchema } from './coverage.ts';
import {
  type CaseAction,
  type CaseFailure,
  type Expectation,
  formatFailureLines,
  type RuleCase,
  type UnmetExpectation,
} from './expectations.ts';
import { parseCases } from './parse-cases.ts';

export interface CasesRunResult {
  /** Problems of the case files. If there are any, no case was run. */
  readonly problems: readonly RuleProblem[];
  readonly passed: number;
  readonly failures: readonly CaseFailure[];
  readonly coverage: Coverage;
}

/** Runs the cases of a rule set in virtual time. Each case runs on a platform of its own. */
export function runCases(ruleSet: RuleSet, files: RuleFiles): CasesRunResult {
  const rules = compileWithOtherHmacs(ruleSet, CASE_HMACS);
  const problems: RuleProblem[] = [];
  const cases = parseCases(rules, files, problems);
  const meter = new CoverageMeter(rules, files);
  if (problems.length > 0) {
    return { problems: sortProblems(problems), passed: 0, failures: [], coverage: meter.getCoverage() };
  }
  const failures = cases.map((ruleCase) => runCase(meter, ruleCase)).filter((failure) => failure !== null);
  return { problems: [], passed: cases.length - failures.length, failures, coverage: meter.getCoverage() };
}

/** Traces the rules over the values that the failing step saw. Returns null if no rules were evaluated in the step. */
export async function traceFailure(
  rules: RuleSet,
  { values }: Pick<CaseFailure, 'values'>,
): Promise<RuleSetTrace | null> {
  return values === null ? null : traceRuleSet(compileWithOtherHmacs(rules, CASE_HMACS), values);
}

/** Runs a case. The first step that fails ends it, because later failures would only be consequences. */
function runCase(
  meter: CoverageMeter,
  { name, platform, lists, heldOut, startsAt, steps }: RuleCase,
): CaseFailure | null {
  const simulation = new Simulation(meter.watchedRules, platform, lists);
  simulation.holdOut(meter.createHoldOutTest(heldOut));
  let now = startsAt;
  for (const [index, step] of steps.entries()) {
    now += step.afterMs;
    let seen: Readonly<Record<string, unknown>> = {};
    let clientIdKey = step.clientIdKey;
    for (let time = 0; time < step.times; time++) {
      if (time > 0) now += step.everyMs;
      clientIdKey = step.clientIdKey.replaceAll('{n}', String(time + 1));
      seen = performAction(simulation, clientIdKey, step.action, now);
    }
    const differences = step.expect
      .map((expected) => findUnmet(expected, seen))
      .filter((one) => one !== null);
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

/** Performs one action. Returns the members that a case can expect. */
function performAction(
  simulation: Simulation,
  clientIdKey: string,
  action: CaseAction,
  now: number,
): Readonly<Record<string, unknown>> {
  switch (action.kind) {
    case 'score': {
      const { answer, signals } = simulation.score(
        clientIdKey,
        addDeclaredAttributes(
          toScoreRequest({ ...action.body, clientIdKey }, deriveCasePseudonym),
          simulation.rules,
          action.body.attributes,
          { pseudonym: deriveCasePseudonym },
        ),
        now,
      );
      return { ...answer, signals };
    }
    case 'verdict': {
      const decision = simulation.verdict(
        clientIdKey,
        addDeclaredAttributes(
          toVerdictRequest({ ...action.body, clientIdKey }, 'case', 'active'),
          simulation.rules,
          action.body.attributes,
          { pseudonym: deriveCasePseudonym },
        ),
        now,
      );
      const { flags = [] } = decision;
      return { ...decision, flags, heldOut: selectSkippedHoldouts(decision.holdout).map(({ rule }) => rule) };
    }
    case 'outcome': {
      const { orderRef, outcome, cause, agoMs, money } = action;
      const occurredAt = agoMs === null ? null : now - agoMs;
      const report = { outcome, cause, occurredAt, ...(money === null ? {} : { amount: money }) };
      return { effect: simulation.outcome(clientIdKey, orderRef, report, now) };
    }
    case 'binding': {
      simulation.bind(clientIdKey, setEnd(action.binding, now), now);
      return {};
    }
    case 'override': {
      const override = setEnd(action.override, now);
      const full = override === null ? null : { ...override, reason: 'case', by: 'case', at: now };
      simulation.override(clientIdKey, full, now);
      return {};
    }
    default:
      return action satisfies never;
  }
}

/** Converts the duration that a case states to the end that the client's state has. */
function setEnd<T extends { readonly expiresAfterMs: number | null }>(
  item: T | null,
  now: number,
): (Omit<T, 'expiresAfterMs'> & { readonly expiresAt: number | null }) | null {
  if (item === null) return null;
  const { expiresAfterMs, ...rest } = item;
  return { ...rest, expiresAt: expiresAfterMs === null ? null : now + expiresAfterMs };
}

function findUnmet(
  { member, value, at }: Expectation,
  answer: Readonly<Record<string, unknown>>,
): UnmetExpectation | null {
  const seen = answer[member] ?? null;
  return isDeepStrictEqual(sortUnordered(member, seen), sortUnordered(member, value))
    ? null
    : { member, expected: value, seen, at };
}

/** Sorts signals and flags, because they have no sequence of their own and a case may name them in any sequence. */
function sortUnordered(member: string, value: unknown): unknown {
  return (member === 'signals' || member === 'flags') && Array.isArray(value) ? value.toSorted() : value;
}

const ToldFailureSchema = shape('A case that failed', {
  caseName: plainText('The name of the case'),
  /** The location of the failing step. */
  at: locationSchema,
  lines: list(
    plainText('For people'),
    'What was expected and seen, and the rules of that step with their values',
  ),
});

export const CaseResultsSchema = shape('What the cases of the version say', {
  problems: list(RuleProblemSchema, 'The problems, in the sequence of reading'),
  passed: count('Cases'),
  failed: count('Cases'),
  failures: list(ToldFailureSchema, 'The first twenty of them'),
  coverage: CoverageSchema,
});

export type CaseResults = ValueOf<typeof CaseResultsSchema>;

const RESULTS_KEPT_MAX = 20;

const FAILURES_TOLD_MAX = 20;

const keptResults = new LRUCache<string, CaseResults, readonly [RuleSet, RuleFiles]>({
  max: RESULTS_KEPT_MAX,
  fetchMethod: (_digest, _stale, { context: [ruleSet, files] }) => summarizeCases(ruleSet, files),
});

/**
 * Returns the results of the cases. The cases are run once for each digest, because a run takes some tens of
 * milliseconds.
 */
export function runCasesOncePerDigest(ruleSet: RuleSet, files: RuleFiles): Promise<CaseResults> {
  return keptResults.forceFetch(ruleSet.digest, { context: [ruleSet, files] });
}

async function summarizeCases(ruleSet: RuleSet, files: RuleFiles): Promise<CaseResults> {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  const told = failures.slice(0, FAILURES_TOLD_MAX).map(async (failure) => {
    const trace = await traceFailure(ruleSet, failure);
    const [, ...lines] = formatFailureLines(failure, trace, ruleSet, '', PLAIN_PAINT);
    return { caseName: failure.caseName, at: failure.at, lines };
  });
  return { problems, passed, failed: failures.length, failures: await Promise.all(told), coverage };
}

export const ChangedLineSchema = shape('A line of a case file', {
  file: plainText('Like cases/ladder.yaml', 'cases/ladder.yaml'),
  line: count('From 1'),
  before: Type.String({ description: 'As it is' }),
  after: Type.String({ description: 'As it would be' }),
});

type ChangedLine = ValueOf<typeof ChangedLineSchema>;

export interface UpdatedCases {
  /** The texts of the case files that change, by path. Comments and layout are kept. */
  readonly files: RuleFiles;
  readonly lines: readonly ChangedLine[];
  /** How many cases change. */
  readonly written: number;
  /** Cases that stay unchanged, because they differ in more than the length of a wait. */
  readonly left: readonly CaseFailure[];
}

/**
 * Writes the lengths of waits that the rules give now into the cases: into `waitSeconds`, and into the numbers within
 * `reason`. A case in which a verdict or a rule differs is not changed, because a person must decide about it.
 */
export function updateCaseWaits(rules: RuleSet, files: RuleFiles): UpdatedCases {
  const left = new Map<string, CaseFailure>();
  // If a case differs in anything but the length of a wait, everything is done again without that case.
  for (;;) {
    const found = rewriteUntilStuck(rules, files, left);
    const { stuck, written } = found;
    if (stuck.length === 0) return { ...listChanges(files, found.files), written, left: [...left.values()] };
    for (const failure of stuck) left.set(formatCaseKey(failure), failure);
  }
}

function rewriteUntilStuck(rules: RuleSet, files: RuleFiles, left: ReadonlyMap<string, CaseFailure>) {
  const done = new Set<string>();
  const cases = new Set<string>();
  let now = files;
  for (;;) {
    const failures = runCases(rules, now).failures.filter((failure) => !left.has(formatCaseKey(failure)));
    // A step that fails again after it was rewritten would fail for ever.
    const stuck = failures.filter((failure) => !isLengthOnly(failure) || done.has(formatStepKey(failure)));
    if (stuck.length > 0 || failures.length === 0) return { files: now, stuck, written: cases.size };
    for (const failure of failures) {
      done.add(formatStepKey(failure));
      cases.add(formatCaseKey(failure));
      now = rewriteLength(now, failure);
    }
  }
}

function isLengthOnly({ differences }: CaseFailure): boolean {
  return differences.every(({ member, expected, seen }) => {
    if (member === 'waitSeconds') return typeof expected === 'number' && typeof seen === 'number';
    return member === 'reason' && removeNumbers(expected) === removeNumbers(seen);
  });
}

/** Returns a reason without its seconds and levels. */
function removeNumbers(reason: unknown): string {
  return String(reason).replaceAll(/\d+/g, '#');
}

function rewriteLength(files: RuleFiles, { caseName, at, step, differences }: CaseFailure): RuleFiles {
  const text = files.get(at.file) ?? '';
  const place = findNamedItemIndex(text, 'cases', caseName);
  const edits = differences.flatMap(({ member, seen }) =>
    typeof seen === 'number' || typeof seen === 'string'
      ? [{ path: ['cases', place, 'steps', step - 1, 'expect', member], value: seen }]
      : [],
  );
  return new Map([...files, [at.file, editYaml(text, edits)]]);
}

function listChanges(before: RuleFiles, after: RuleFiles): Pick<UpdatedCases, 'files' | 'lines'> {
  const files = new Map([...after].filter(([file, text]) => before.get(file) !== text));
  const lines = [...files].flatMap(([file, text]) => {
    const was = (before.get(file) ?? '').split('\n');
    return text.split('\n').flatMap((line, place) => {
      const old = was[place] ?? '';
      return old === line ? [] : [{ file, line: place + 1, before: old, after: line }];
    });
  });
  return { files, lines };
}

function formatCaseKey({ caseName, at }: CaseFailure): string {
  return JSON.stringify([at.file, caseName]);
}

function formatStepKey(failure: CaseFailure): string {
  return `${formatCaseKey(failure)} ${failure.step}`;
}
