import { runCases } from '../../analysis/cases/cases.ts';
import { prove } from '../../analysis/prove.ts';
import { draftOf } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type RuleSet, sharedListsOf } from '../../rules/rule-set.ts';
import { shareUpperBound } from '../../statistics/share-interval.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import { OUTCOME_ASSUMPTIONS, type OutcomeAssumption } from '../backtest/lives.ts';
import type { Evidence, EvidenceSpan } from '../source/evidence.ts';
import { makeInputView } from '../source/input-view.ts';
import type { PartName, TimePart, TradeOff } from '../sweep/trade-off.ts';
import { halfOfOrders, type TrialResult, tryRuleSets } from '../sweep/trial.ts';
import { caseFile, type ExampleCase, exampleCase } from './example-case.ts';
import { type LearningOrders, learningOrders } from './known-orders.ts';
import { type FoundRule, findRules, ruleText } from './rule-search.ts';
import { freeNames, freePriorities, type NamedRule, withRules } from './suggested-rule.ts';

/** One rule that is suggested, with what it adds to the rules before it. */
export interface SuggestedRule {
  readonly name: string;
  /** `distinctFingerprints(1h) >= 3`. */
  readonly conditions: string;
  /** Orders of the later part that it blocks and that were not blocked without it. */
  readonly later: { readonly unpaid: number; readonly paid: number };
}

/** A rule that was found and is not suggested. */
export interface RejectedRule {
  readonly conditions: string;
  readonly reason: string;
}

/** What the version and the suggestion do to the orders of the later part. */
export interface SuggestedEffect {
  readonly outcomes: OutcomeAssumption;
  readonly present: TradeOff;
  readonly suggested: TradeOff;
}

/** What `rules suggest --json` prints. */
export interface Suggestion {
  readonly version: string;
  readonly budget: number;
  readonly span: EvidenceSpan;
  /** Epoch ms: half of the orders were first asked for before it. */
  readonly splitAt: number;
  readonly parts: Readonly<Record<PartName, TimePart>>;
  readonly rules: readonly SuggestedRule[];
  readonly rejected: readonly RejectedRule[];
  readonly effects: readonly SuggestedEffect[];
  /** Why nothing is suggested; null when something is. */
  readonly nothing: string | null;
  /** Shared lists that its rules ask about and that nobody was on, because inputs do not tell. */
  readonly emptyLists: readonly string[];
}

export interface SuggestAsk {
  readonly version: string;
  /** Of a sound version. */
  readonly files: RuleFiles;
  /** Share of the paid orders that may be refused besides those that the version refuses, 0 to 1. */
  readonly budget: number;
  readonly onProgress?: OnProgress;
  /** Ends the work early, with the signal's reason thrown. */
  readonly signal?: AbortSignal;
}

export interface Suggested {
  readonly suggestion: Suggestion;
  /** The version with the suggested rules and a case for each; null when nothing is suggested. */
  readonly files: RuleFiles | null;
}

/**
 * Rules that would block more unpaid orders, found on the earlier half of the orders within a budget of paid ones
 * and shown on the later half. Every rule comes with a case after a payer who was seen; the version's own cases hold.
 */
export async function suggest(evidence: Evidence, ask: SuggestAsk): Promise<Suggested> {
  const { version, files, budget } = ask;
  const present = soundDraft(version, files);
  const splitAt = await halfOfOrders(evidence);
  await makeInputView(evidence);
  const learned = await learningOrders(evidence, present, splitAt, ask.signal);
  const { found, candidates, rejected } = await findFitting(evidence, ask, present, learned);
  const prefixes = candidates.map((_, place) => candidates.slice(0, place + 1));
  const ruleSets = [present, ...prefixes.map((some) => soundDraft(version, drafted(files, some)))];
  const trials = await tryBoth(evidence, ask, present, ruleSets, splitAt);
  const [granted] = trials;
  const kept = granted === undefined ? 0 : longestWithin(granted.result, budget);
  const chosen = candidates.slice(0, kept);
  const nothing = granted === undefined ? null : whyNothing(found, candidates, granted.result, kept, budget);
  const rules = chosen.map(({ named }, place) => ({
    name: named.name,
    conditions: ruleText(named.rule),
    later: addedBy(granted?.result, place + 1),
  }));
  const suggestion: Suggestion = {
    version,
    budget,
    span: evidence.span,
    splitAt,
    parts: granted?.result.parts ?? { earlier: NO_ORDERS, later: NO_ORDERS },
    rules,
    rejected,
    effects: trials.flatMap(({ outcomes, result }) => effectOf(outcomes, result, kept)),
    nothing,
    emptyLists: sharedListsOf(present),
  };
  const described = chosen.map((one, place) => ({
    ...one,
    named: describedBy(one.named, rules[place], splitAt),
  }));
  return { suggestion, files: nothing === null ? drafted(files, described) : null };
}

const NO_ORDERS: TimePart = { from: null, to: null, orders: { paid: 0, unpaid: 0, unknown: 0 } };

interface Candidate {
  readonly named: NamedRule;
  readonly example: ExampleCase;
}

interface Fitting {
  readonly found: readonly FoundRule[];
  readonly candidates: readonly Candidate[];
  readonly rejected: readonly RejectedRule[];
}

/** How often the search begins anew because something that it found does not fit. */
const SEARCHES_MAX = 12;

async function findFitting(
  evidence: Evidence,
  ask: SuggestAsk,
  present: RuleSet,
  learned: LearningOrders,
): Promise<Fitting> {
  const rejected: RejectedRule[] = [];
  const banned: FoundRule[] = [];
  for (let search = 1; ; search++) {
    const found = findRules(learned.orders, { budget: ask.budget, banned });
    const fitting = await withCases(evidence, ask, present, learned, found);
    rejected.push(...fitting.rejected);
    const fits = new Set(fitting.candidates.map(({ named }) => named.rule));
    banned.push(...found.filter((rule) => !fits.has(rule)));
    if (fitting.rejected.length === 0 || search === SEARCHES_MAX)
      return { found, candidates: fitting.candidates, rejected };
  }
}

/** Examples that are tried before a rule is given up. */
const EXAMPLES_MAX = 12;

/** The rules for which a case can be made and which agree with the version's own cases. */
async function withCases(
  { duck }: Evidence,
  { version, files, signal }: SuggestAsk,
  present: RuleSet,
  { orders, places }: LearningOrders,
  found: readonly FoundRule[],
): Promise<{ readonly candidates: readonly Candidate[]; readonly rejected: readonly RejectedRule[] }> {
  const candidates: Candidate[] = [];
  const rejected: RejectedRule[] = [];
  const [names, priorities] = [freeNames(present, found.length), freePriorities(present, found.length)];
  for (const [place, rule] of found.entries()) {
    signal?.throwIfAborted();
    const name = names[place] ?? '';
    const named: NamedRule = { name, priority: priorities[place] ?? 0, description: ruleText(rule), rule };
    const alone = withRules(files, [named]);
    const reason = whatIsWrong(version, files, alone);
    const matched = rule.matched.filter((order) => orders.paid[order] === 0).slice(0, EXAMPLES_MAX);
    const examples = matched.flatMap((order) => places[order] ?? []);
    const example = reason === null ? await firstExample(duck, version, alone, examples, name) : null;
    if (example !== null) candidates.push({ named, example });
    else
      rejected.push({
        conditions: ruleText(rule),
        reason: reason ?? 'no short history of a single payer shows it, so there is no case for it',
      });
  }
  return { candidates, rejected };
}

/** Why a rule does not fit into the version; null when it does. */
function whatIsWrong(version: string, before: RuleFiles, after: RuleFiles): string | null {
  const draft = draftOf(version, after);
  if (!draft.ok) return draft.problems.map(({ message }) => message).join('; ');
  const [failure] = runCases(draft.ruleSet, after).failures;
  if (failure !== undefined) return `it contradicts the case "${failure.caseName}"`;
  const known = new Set(prove(soundDraft(version, before), before).findings.map(({ message }) => message));
  const finding = prove(draft.ruleSet, after).findings.find(({ message }) => !known.has(message));
  return finding === undefined ? null : finding.message;
}

async function firstExample(
  duck: Evidence['duck'],
  version: string,
  files: RuleFiles,
  places: LearningOrders['places'],
  rule: string,
): Promise<ExampleCase | null> {
  const cases: ExampleCase[] = [];
  for (const place of places) {
    const example = await exampleCase(duck, place, rule);
    if (example !== null) cases.push(example);
  }
  const shortestFirst = cases.toSorted((a, b) => a.steps - b.steps);
  return shortestFirst.find((example) => passes(version, withCaseFile(files, [example]))) ?? null;
}

function passes(version: string, files: RuleFiles): boolean {
  const { problems, failures } = runCases(soundDraft(version, files), files);
  return problems.length === 0 && failures.length === 0;
}

function withCaseFile(files: RuleFiles, cases: readonly ExampleCase[]): RuleFiles {
  let name = 'cases/suggested.yaml';
  for (let number = 2; files.has(name); number++) name = `cases/suggested-${number}.yaml`;
  return new Map([...files, [name, caseFile(cases)]]);
}

function drafted(files: RuleFiles, candidates: readonly Candidate[]): RuleFiles {
  const rules = withRules(
    files,
    candidates.map(({ named }) => named),
  );
  return withCaseFile(
    rules,
    candidates.map(({ example }) => example),
  );
}

interface AssumedTrial {
  readonly outcomes: OutcomeAssumption;
  readonly result: TrialResult;
}

/** Granted first. */
async function tryBoth(
  evidence: Evidence,
  { onProgress, signal }: SuggestAsk,
  present: RuleSet,
  ruleSets: readonly RuleSet[],
  splitAt: number,
): Promise<readonly AssumedTrial[]> {
  const trials: AssumedTrial[] = [];
  const all = OUTCOME_ASSUMPTIONS.length * evidence.span.decisions;
  for (const [place, outcomes] of OUTCOME_ASSUMPTIONS.entries()) {
    const before = place * evidence.span.decisions;
    const result = await tryRuleSets(evidence, {
      ruleSets,
      present,
      outcomes,
      splitAt,
      onProgress: (done) => onProgress?.(before + done, all),
      ...(signal === undefined ? {} : { signal }),
    });
    trials.push({ outcomes, result });
  }
  return trials;
}

/** How many of the rules, from the first on, keep to the budget when the earlier part is lived through with them. */
function longestWithin({ tradeOffs, parts }: TrialResult, budget: number): number {
  const before = tradeOffs[0]?.earlier.paidRefused.orders ?? 0;
  const paid = parts.earlier.orders.paid;
  return tradeOffs.findLastIndex(
    ({ earlier }, side) =>
      side === 0 || shareUpperBound(Math.max(0, earlier.paidRefused.orders - before), paid) <= budget,
  );
}

function addedBy(result: TrialResult | undefined, side: number): SuggestedRule['later'] {
  const [before, after] = [result?.tradeOffs[side - 1]?.later, result?.tradeOffs[side]?.later];
  if (before === undefined || after === undefined) return { unpaid: 0, paid: 0 };
  return {
    unpaid: after.unpaidBlocked.orders - before.unpaidBlocked.orders,
    paid: after.paidRefused.orders - before.paidRefused.orders,
  };
}

/** Null when what is kept holds on the later part. */
function whyNothing(
  found: readonly FoundRule[],
  candidates: readonly Candidate[],
  { tradeOffs, parts }: TrialResult,
  kept: number,
  budget: number,
): string | null {
  if (found.length === 0)
    return 'No rule stops enough more unpaid orders of the earlier part within the budget.';
  if (candidates.length === 0) return 'What was found does not fit into the version.';
  const [before, after] = [tradeOffs[0]?.later, tradeOffs[kept]?.later];
  if (kept === 0 || before === undefined || after === undefined)
    return 'What was found does not keep to the budget when the earlier part is lived through with it.';
  const refused = after.paidRefused.orders - before.paidRefused.orders;
  if (refused > budget * parts.later.orders.paid)
    return `What was found does not hold: of ${parts.later.orders.paid} paid orders of the later part it refuses ${refused} more, over the budget.`;
  if (after.unpaidBlocked.orders <= before.unpaidBlocked.orders)
    return 'What was found does not hold: it blocks no more unpaid orders of the later part.';
  return null;
}

function effectOf(
  outcomes: OutcomeAssumption,
  { tradeOffs }: TrialResult,
  kept: number,
): readonly SuggestedEffect[] {
  const [present, suggested] = [tradeOffs[0]?.later, tradeOffs[kept]?.later];
  return present === undefined || suggested === undefined ? [] : [{ outcomes, present, suggested }];
}

function describedBy(named: NamedRule, rule: SuggestedRule | undefined, splitAt: number): NamedRule {
  const { unpaid, paid } = rule?.later ?? { unpaid: 0, paid: 0 };
  const day = new Date(splitAt).toISOString().slice(0, 10);
  return {
    ...named,
    description: `Found on orders before ${day}. Of the orders since then it would have blocked ${unpaid} unpaid and ${paid} paid ones more.`,
  };
}

function soundDraft(version: string, files: RuleFiles): RuleSet {
  const draft = draftOf(version, files);
  if (draft.ok) return draft.ruleSet;
  throw new Error(`${version} is not sound: ${draft.problems.map(({ message }) => message).join('; ')}`);
}
