import { type DrawnHoldout, mapHoldoutShares } from '#decision/holdout.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import { listSharedListNames, type RuleSet } from '#decision/rules/rule-set.ts';
import { AnswerCodec, compareAnswers } from '#history/evidence/comparison.ts';
import type { HeldOutCount } from '#history/evidence/presentation.ts';
import type { Evidence } from '#history/evidence/source/evidence.ts';
import { countPreventedPayments, readReversals } from '#history/evidence/source/reversals.ts';
import { createInputView } from '#history/evidence/source/shared-devices.ts';
import type { BacktestCandidate, BacktestReport, WaitChanges } from './backtest-report.ts';
import { readInputsByClient } from './input.ts';
import {
  computeCandidateEffects,
  computeParetoFrontMembership,
  countOrdersOfHistoryPart,
  createAnswersTable,
  isClosedBySql,
  isOpenedBySql,
  joinOutcomes,
  readMedianOrderTime,
  readOrderSumsWhere,
} from './order-outcomes.ts';
import { type ChooseRulesOfRequest, type ReplayAnswer, SideBySideReplays } from './replay.ts';

/** A rule set to try: the version itself, or one of its variations. */
export interface TriedRuleSet {
  readonly rules: RuleSet;
  /** The values of the varied constants, by their paths. */
  readonly values: Readonly<Record<string, string>>;
}

interface BacktestAsk {
  /** The rule sets to try. The unchanged version comes first. */
  readonly tried: readonly [TriedRuleSet, ...TriedRuleSet[]];
  /** The base of the comparison. Null if the base is the versions that decided then. */
  readonly against: RuleSet | null;
  readonly rulesOf: ChooseRulesOfRequest;
  readonly onProgress?: (done: number, of: number) => void;
}

/**
 * Replays all inputs with a base and some candidates, and compares their effects on the orders. Memory does not grow
 * with the length of the history, because only the clients that a rule holds out are remembered.
 */
export async function runBacktest(evidence: Evidence, asked: BacktestAsk): Promise<BacktestReport> {
  const ask = rehashAskedRules(evidence, asked);
  const { tried, against } = ask;
  const { duck, span } = evidence;
  const [{ rules: version }] = tried;
  const sides = tried.length + 1;
  const codes = new AnswerCodec();
  const { noted, reproduced, lists, undecidable } = await replay(evidence, ask, codes);
  await joinOutcomes(duck, sides);
  const splitAt = await readMedianOrderTime(duck);
  const reversals = await readReversals(evidence);
  const earlier = await computeCandidateEffects(duck, 'earlier', splitAt, sides);
  const later = await computeCandidateEffects(duck, 'later', splitAt, sides);
  const [earlierFront, laterFront] = [
    computeParetoFrontMembership(earlier),
    computeParetoFrontMembership(later),
  ];
  const sideAgainstBase = (side: number) =>
    compareAnswers(
      duck,
      `(SELECT client_hash, order_key, "at", answer_0 AS base, answer_${side} AS candidate FROM answers)`,
      codes,
    );
  const candidates: BacktestCandidate[] = [];
  for (const [place, { values }] of tried.entries()) {
    const side = place + 1;
    const [before, after, notes] = [earlier[place], later[place], noted[side]];
    if (before === undefined || after === undefined || notes === undefined) continue;
    const { changed, changedShare } = await sideAgainstBase(side);
    candidates.push({
      values,
      present: place === 0,
      changed,
      changedShare,
      opened: await readOrderSumsWhere(duck, isOpenedBySql(side)),
      closed: await readOrderSumsWhere(duck, isClosedBySql(side)),
      closedPayments: await countPreventedPayments(duck, reversals, isClosedBySql(side)),
      earlier: before,
      later: after,
      onFront: { earlier: earlierFront[place] === true, later: laterFront[place] === true },
      waits: notes.waits,
      heldOut: notes.heldOut.counts(),
    });
  }
  const { compared, transitions, changes } = await sideAgainstBase(1);
  return {
    kind: 'backtest',
    version: version.version,
    digest: version.digest,
    against: against?.version ?? null,
    ...span,
    versions: [
      ...new Set((await evidence.readDecidingRules()).map(({ ruleVersion }) => ruleVersion)),
    ].toSorted(),
    compared,
    reproduced,
    undecidable,
    splitAt,
    parts: {
      earlier: await countOrdersOfHistoryPart(duck, 'earlier', splitAt),
      later: await countOrdersOfHistoryPart(duck, 'later', splitAt),
    },
    reversals,
    emptyLists: lists,
    heldOut: noted[0]?.heldOut.counts() ?? [],
    candidates,
    transitions,
    changes,
  };
}

/**
 * Rehashes the constants of all rule sets under the secrets with which the evidence keeps pseudonyms. The same rule
 * set gives the same object.
 */
function rehashAskedRules({ attributeHmacs }: Evidence, ask: BacktestAsk): BacktestAsk {
  const made = new Map<RuleSet, RuleSet>();
  const under = (rules: RuleSet) =>
    made.getOrInsertComputed(rules, () => compileWithOtherHmacs(rules, attributeHmacs));
  const triedUnder = ({ rules, values }: TriedRuleSet) => ({ rules: under(rules), values });
  const [first, ...others] = ask.tried;
  return {
    ...ask,
    tried: [triedUnder(first), ...others.map(triedUnder)],
    against: ask.against === null ? null : under(ask.against),
    rulesOf: (decided) => under(ask.rulesOf(decided)),
  };
}

/**
 * What is noted about each side (the base or a candidate) during the replay, because the comparison of answers does
 * not show it.
 */
interface Noted {
  readonly heldOut: HeldOutTally;
  readonly waits: WaitChanges;
}

interface Replayed extends Pick<BacktestReport, 'reproduced' | 'undecidable'> {
  readonly noted: readonly Noted[];
  readonly lists: readonly string[];
}

async function replay(
  evidence: Evidence,
  { tried, against, rulesOf, onProgress }: BacktestAsk,
  codes: AnswerCodec,
): Promise<Replayed> {
  const candidates = tried.map(({ rules }) => rules);
  const decided = new Set(candidates);
  const rulesThen: ChooseRulesOfRequest = (asked) => {
    const rules = against ?? rulesOf(asked);
    decided.add(rules);
    return rules;
  };
  const bases = against === null ? (await evidence.readDecidingRules()).map(rulesOf) : [against];
  const sides = [rulesThen, ...candidates.map((rules) => () => rules)];
  const noted = [against, ...candidates].map((rules) => ({
    heldOut: new HeldOutTally(rules),
    waits: { longer: 0, shorter: 0, onAnotherLadder: 0 },
  }));
  const replays = new SideBySideReplays(sides, rulesThen, evidence.holdoutDraw);
  const appender = await createAnswersTable(evidence.duck, sides.length);
  let [rows, reproduced, undecidable] = [0, 0, 0];
  const missing = new Set<string>();
  await createInputView(evidence, [...candidates, ...bases]);
  await replays.replayAll(
    readInputsByClient(evidence.duck),
    (request, answers) => {
      rows++;
      const incomparable = answers.flatMap((answer) => answer.incomparable);
      if (incomparable.length > 0) {
        undecidable++;
        for (const { label } of incomparable) missing.add(label);
        return;
      }
      appender.add(
        request.clientHash,
        request.orderKey,
        request.at,
        ...answers.map((one) => codes.codeOf(one)),
      );
      const [base] = answers;
      if (base?.verdict === request.verdict) reproduced++;
      for (const [side, { heldOut, waits }] of noted.entries()) {
        const answer = answers[side];
        heldOut.note(answer?.heldOut ?? [], request.clientHash);
        noteWait(waits, base, answer);
      }
    },
    () => onProgress?.(rows, evidence.span.decisions),
  );
  appender.close();
  return {
    noted,
    reproduced,
    undecidable: { count: undecidable, facts: [...missing].toSorted() },
    lists: [...new Set([...decided].flatMap(listSharedListNames))],
  };
}

type Counts<T> = { -readonly [Name in keyof T]: T[Name] };

function noteWait(
  waits: Counts<WaitChanges>,
  base: ReplayAnswer | undefined,
  answer: ReplayAnswer | undefined,
): void {
  if (base?.verdict !== 'WAIT' || answer?.verdict !== 'WAIT') return;
  const longerBy = (answer.waitSeconds ?? 0) - (base.waitSeconds ?? 0);
  if (longerBy === 0) return;
  waits[longerBy > 0 ? 'longer' : 'shorter']++;
  if (base.level === answer.level) waits.onAnotherLadder++;
}

/**
 * Counts the decisions and clients that one side's rules held out. A rule with a holdout is listed even if it skipped
 * nobody.
 */
class HeldOutTally {
  readonly #rules = new Map<string, { readonly share: number; decisions: number; clients: Set<bigint> }>();

  constructor(rules: RuleSet | null) {
    for (const [rule, share] of rules === null ? [] : mapHoldoutShares(rules)) this.#of({ rule, share });
  }

  note(heldOut: readonly DrawnHoldout[], clientHash: bigint): void {
    for (const one of heldOut) {
      const count = this.#of(one);
      count.decisions++;
      count.clients.add(clientHash);
    }
  }

  counts(): readonly HeldOutCount[] {
    return [...this.#rules].map(([rule, { share, decisions, clients }]) => ({
      rule,
      share,
      decisions,
      clients: clients.size,
    }));
  }

  #of({ rule, share }: Pick<DrawnHoldout, 'rule' | 'share'>) {
    return this.#rules.getOrInsertComputed(rule, () => ({ share, decisions: 0, clients: new Set<bigint>() }));
  }
}
