import { soundDraft } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type RuleSet, sharedListsOf } from '../../rules/rule-set.ts';
import { shareUpperBound } from '../../statistics/intervals.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import { OUTCOME_ASSUMPTIONS, type OutcomeAssumption } from '../backtest/lives.ts';
import { NO_ORDERS } from '../shown.ts';
import type { Evidence } from '../source/evidence.ts';
import { reversalsOf } from '../source/reversals.ts';
import { makeInputView } from '../source/shared-devices.ts';
import type { PartName, TimePart, TradeOff } from '../sweep/sweep-report.ts';
import { halfOfOrders, type TrialResult, tryRuleSets } from '../sweep/trial.ts';
import { type FittingAsk, fittingChanges, type ProposedChange, withCases, withChanges } from './fitting.ts';
import { editsOf, learningOrders, ruleText } from './rule-search.ts';
import type { RejectedChange, SuggestedChange, SuggestedEffect, Suggestion } from './suggestion.ts';

interface SuggestAsk {
  readonly version: string;
  /** Of a sound version. */
  readonly files: RuleFiles;
  /** Share of the paid orders that may be refused besides those that the version refuses, 0 to 1. */
  readonly budget: number;
  readonly onProgress?: OnProgress;
  /** Ends the work early, with the signal's reason thrown. */
  readonly signal?: AbortSignal;
}

/**
 * Rules and other constants that would block more unpaid orders, found on the earlier half of the orders within a
 * budget of paid ones and shown on the later half. Payments that may yet be reversed count neither way. Every change comes with a case after a payer who was seen; the
 * version's own cases hold, but for those that pin a constant which is changed.
 */
export async function suggest(evidence: Evidence, ask: SuggestAsk): Promise<Suggestion> {
  const { version, files, budget } = ask;
  const present = soundDraft(version, files);
  const splitAt = await halfOfOrders(evidence);
  await makeInputView(evidence, [present]);
  const reversals = await reversalsOf(evidence);
  const learned = await learningOrders(evidence, present, splitAt, reversals, ask.signal);
  const edits = editsOf(version, files, learned.orders, learned.values);
  const fitting = { ...ask, present, learned, edits };
  const found = await keepingToBudget(evidence, ask, fitting, splitAt);
  const isAllYoung = reversals.seen > 0 && reversals.maturityDays === null;
  const nothing = isAllYoung
    ? NOTHING_MATURE
    : (found.nothing ?? whyNotLater(found.trials, found.chosen.length, budget));
  const [granted] = found.trials;
  const changes = found.chosen.map((one, place) => suggested(one, granted?.result, place + 1));
  return {
    kind: 'suggestion',
    version,
    budget,
    span: evidence.span,
    splitAt,
    parts: granted?.result.parts ?? { earlier: NO_TIME, later: NO_TIME },
    changes,
    rejected: found.rejected,
    effects: found.trials.flatMap((trial) => effectOf(trial, found.chosen.length)),
    nothing,
    heldOut: granted?.result.heldOut[0] ?? [],
    stopped: nothing === null ? (granted?.result.stopped[found.chosen.length] ?? null) : null,
    reversals,
    emptyLists: sharedListsOf(present),
    files: nothing === null ? drafted(files, found.chosen, changes, splitAt) : null,
  };
}

const NO_TIME: TimePart = { from: null, to: null, orders: NO_ORDERS };

interface WithinBudget {
  readonly chosen: readonly ProposedChange[];
  readonly trials: readonly AssumedTrial[];
  readonly rejected: readonly RejectedChange[];
  /** Why nothing was chosen. */
  readonly nothing: string | null;
}

/** The parts of the budget that the search tries in turn when its result overshoots. */
const NARROWER = [1 / 2, 1 / 4, 1 / 8] as const;

/**
 * The changes that keep to the budget when the earlier part is replayed with them. A refusal changes what follows, so
 * that more paid orders may be refused than the search counted: then it searches again with a smaller budget.
 */
async function keepingToBudget(
  evidence: Evidence,
  ask: SuggestAsk,
  fitting: FittingAsk,
  splitAt: number,
): Promise<WithinBudget> {
  const tries = 1 + NARROWER.length;
  const { onProgress = () => {} } = ask;
  const told = (nth: number): SuggestAsk => ({ ...ask, onProgress: progressOfTry(onProgress, nth, tries) });
  const first = await attempt(evidence, told(0), fitting, splitAt, ask.budget);
  const rejected = [...first.rejected];
  let tried = first;
  for (const [place, part] of NARROWER.entries()) {
    // When nothing fitted into a larger budget, nothing fits into a smaller one.
    if (tried.kept > 0 || tried.candidates.length === 0) break;
    tried = await attempt(evidence, told(place + 1), fitting, splitAt, part * ask.budget);
    rejected.push(...tried.rejected.filter((one) => !rejected.some(({ change }) => change === one.change)));
  }
  const { candidates, kept, trials } = tried;
  if (kept > 0) return { chosen: candidates.slice(0, kept), trials, rejected, nothing: null };
  const why = first.found ? NOTHING_FITS : NOTHING_FOUND;
  const nothing = first.candidates.length > 0 ? OVER_BUDGET : why;
  return { chosen: [], trials, rejected, nothing };
}

/** Reports the progress of the nth try as part of all tries, so that it never runs backwards. */
export function progressOfTry(tell: OnProgress, nth: number, tries: number): OnProgress {
  return (done, of) => tell(nth * of + done, tries * of);
}

/** The result of a search within a budget, and how much of it keeps to the whole budget. */
async function attempt(
  evidence: Evidence,
  { version, files, budget, onProgress, signal }: SuggestAsk,
  fitting: FittingAsk,
  splitAt: number,
  spend: number,
) {
  const found = await fittingChanges(evidence.duck, fitting, spend);
  const changes = found.candidates.map(({ change }) => change);
  const growing = changes.map((_, place) => changes.slice(0, place + 1));
  const trials = await tryUnderBoth(evidence, {
    ruleSets: [fitting.present, ...growing.map((some) => soundDraft(version, withChanges(files, some)))],
    splitAt,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...found, trials, kept: longestWithin(trials, budget) };
}

const NOTHING_MATURE =
  'Reversals come, and nobody knows yet when a payment is safe from them: what would refuse payments cannot be judged.';
const NOTHING_FOUND = 'No change stops enough more unpaid orders of the earlier part within the budget.';
const NOTHING_FITS = 'What was found does not fit into the version.';
const OVER_BUDGET =
  'What was found does not keep to the budget when the earlier part is replayed with it, nor does what a smaller budget finds.';

function suggested(
  { change, contradicts }: ProposedChange,
  result: TrialResult | undefined,
  side: number,
): SuggestedChange {
  const later = addedBy(result, side);
  if (change.kind === 'rule')
    return { kind: 'rule', name: change.name, conditions: ruleText(change.rule), later, contradicts };
  const { constant, value } = change;
  return { kind: 'edit', path: constant.path, from: constant.text, to: value, later, contradicts };
}

function addedBy(result: TrialResult | undefined, side: number): SuggestedChange['later'] {
  const added = result?.added[side];
  if (added === undefined) return { unpaid: 0, unpaidShare: null, paid: 0, paidShare: null };
  const { unpaidBlocked, paidRefused } = added;
  return {
    unpaid: unpaidBlocked.orders,
    unpaidShare: unpaidBlocked.share,
    paid: paidRefused.orders,
    paidShare: paidRefused.share,
  };
}

function effectOf({ outcomes, result }: AssumedTrial, side: number): readonly SuggestedEffect[] {
  const [present, after] = [result.tradeOffs[0]?.later, result.tradeOffs[side]?.later];
  return present === undefined || after === undefined ? [] : [{ outcomes, present, suggested: after }];
}

/** The texts of the draft that are new or changed, by path; each rule says what it came from. */
function drafted(
  files: RuleFiles,
  chosen: readonly ProposedChange[],
  changes: readonly SuggestedChange[],
  splitAt: number,
): Readonly<Record<string, string>> {
  const day = new Date(splitAt).toISOString().slice(0, 10);
  const described = chosen.map(({ change }, place) => {
    const { unpaid, paid } = changes[place]?.later ?? { unpaid: 0, paid: 0 };
    const description = `Found on orders before ${day}. Of the orders since then it would have blocked ${unpaid} unpaid and ${paid} paid ones more.`;
    return change.kind === 'rule' ? { ...change, description } : change;
  });
  const draft = withCases(
    withChanges(files, described),
    chosen.map(({ example }) => example),
  );
  return Object.fromEntries([...draft].filter(([path, text]) => files.get(path) !== text));
}

/** The outcome of history with each of some rule sets, under one assumption about outcomes. */
interface AssumedTrial {
  readonly outcomes: OutcomeAssumption;
  readonly result: TrialResult;
}

interface Trials {
  /** The version as it is, then with one suggested change, with two, and so on. */
  readonly ruleSets: readonly [RuleSet, ...(readonly RuleSet[])];
  /** Epoch ms. */
  readonly splitAt: number;
  readonly onProgress?: OnProgress;
  readonly signal?: AbortSignal;
}

/** Replays history under both assumptions, granted first. */
async function tryUnderBoth(
  evidence: Evidence,
  { ruleSets, splitAt, onProgress, signal }: Trials,
): Promise<readonly AssumedTrial[]> {
  const trials: AssumedTrial[] = [];
  const all = OUTCOME_ASSUMPTIONS.length * evidence.span.decisions;
  for (const [place, outcomes] of OUTCOME_ASSUMPTIONS.entries()) {
    const before = place * evidence.span.decisions;
    const result = await tryRuleSets(evidence, {
      ruleSets,
      present: ruleSets[0],
      outcomes,
      splitAt,
      ...{ growing: true, onlyMature: true },
      onProgress: (done) => onProgress?.(before + done, all),
      ...(signal === undefined ? {} : { signal }),
    });
    trials.push({ outcomes, result });
  }
  return trials;
}

/**
 * How many of the changes, from the first on, keep to the budget when the earlier part is replayed with them,
 * whether or not payers who are stopped would have paid.
 */
function longestWithin(trials: readonly AssumedTrial[], budget: number): number {
  const kept = trials.map(({ result }) => {
    const paid = result.parts.earlier.orders.paid;
    return result.tradeOffs.findLastIndex(
      (_, side) =>
        side === 0 ||
        shareUpperBound(Math.max(0, added(result, 'earlier', 'paidRefused', side)), paid) <= budget,
    );
  });
  return Math.max(0, Math.min(...kept));
}

/** Why the changes up to `side` are not worth suggesting on the later part; null when they are. */
function whyNotLater(trials: readonly AssumedTrial[], side: number, budget: number): string | null {
  for (const { outcomes, result } of trials) {
    const { paid } = result.parts.later.orders;
    const refused = added(result, 'later', 'paidRefused', side);
    if (refused > budget * paid)
      return `What was found does not hold: of ${paid} paid orders of the later part it refuses ${refused} more, over the budget (outcomes: ${outcomes}).`;
  }
  const [granted] = trials;
  if (granted !== undefined && added(granted.result, 'later', 'unpaidBlocked', side) <= 0)
    return 'What was found does not hold: it blocks no more unpaid orders of the later part.';
  return null;
}

/** Orders to which the changes up to `side` do this, less those to which it is done without them. */
function added({ tradeOffs }: TrialResult, part: PartName, what: keyof TradeOff, side: number): number {
  const orders = (place: number) => tradeOffs[place]?.[part][what].orders ?? 0;
  return orders(side) - orders(0);
}
