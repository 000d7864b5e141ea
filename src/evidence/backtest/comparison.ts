import { type Duck, numbersOf, textOf } from '../../archive/duck.ts';
import { type DrawnHoldout, holdoutShares } from '../../decision/holdout.ts';
import { byVerdict, type RuleSet, VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import { clusteredInterval, type Estimate } from '../../statistics/intervals.ts';
import { plus } from '../../statistics/sums.ts';
import { type HeldOutCount, NO_ORDERS, type OrderCounts, type VerdictMix } from '../shown.ts';
import type { AnswerComparison, WaitChanges } from './backtest-report.ts';
import type { LifeAnswer } from './lives.ts';

type Transitions = AnswerComparison['transitions'];
type DecisionCount = Transitions[Verdict][Verdict];
type VerdictChange = AnswerComparison['changes'][number];
type GroupChange = AnswerComparison['groups'][number];

const NONE: DecisionCount = { decisions: 0, ...NO_ORDERS };

/** Where two sides agree and differ, from how often each pair of answers was given. */
export function compare(pairs: readonly AnsweredPair[], examples: Examples): AnswerComparison {
  const where = (holds: (pair: AnsweredPair) => boolean) => total(pairs.filter(holds)).decisions;
  return {
    compared: total(pairs).decisions,
    changed: where(({ base, candidate }) => base.verdict !== candidate.verdict),
    transitions: transitionsOf(pairs),
    changes: changesOf(pairs, examples),
    bots: {
      base: where(({ base }) => base.isBot),
      candidate: where(({ candidate }) => candidate.isBot),
      gained: where(({ base, candidate }) => candidate.isBot && !base.isBot),
      lost: where(({ base, candidate }) => base.isBot && !candidate.isBot),
    },
    groups: groupsOf(pairs),
  };
}

function transitionsOf(pairs: readonly AnsweredPair[]): Transitions {
  const cell = (from: Verdict, to: Verdict) =>
    total(pairs.filter(({ base, candidate }) => base.verdict === from && candidate.verdict === to));
  return byVerdict((from) => byVerdict((to) => cell(from, to)));
}

function changesOf(pairs: readonly AnsweredPair[], examples: Examples): readonly VerdictChange[] {
  const changed = pairs.filter(({ base, candidate }) => base.verdict !== candidate.verdict);
  const alike = Map.groupBy(changed, ({ base, candidate }) => changeName(base, candidate));
  return [...alike]
    .flatMap(([name, [first, ...others]]) => {
      if (first === undefined) return [];
      const { base, candidate } = first;
      const { decisions, ...orders } = total([first, ...others]);
      const rules = { fromRule: base.rule, toRule: candidate.rule };
      const samples = examples.of(name);
      return [{ from: base.verdict, to: candidate.verdict, ...rules, count: decisions, ...orders, samples }];
    })
    .toSorted((a, b) => b.count - a.count);
}

function groupsOf(pairs: readonly AnsweredPair[]): readonly GroupChange[] {
  const moved = pairs.filter(({ base, candidate }) => base.clientGroup !== candidate.clientGroup);
  const alike = Map.groupBy(moved, ({ base, candidate }) => `${base.clientGroup} ${candidate.clientGroup}`);
  return [...alike.values()]
    .flatMap(([first, ...others]) => {
      if (first === undefined) return [];
      const count = total([first, ...others]).decisions;
      return [{ from: first.base.clientGroup, to: first.candidate.clientGroup, count }];
    })
    .toSorted((a, b) => b.count - a.count);
}

function total(pairs: readonly AnsweredPair[]): DecisionCount {
  return pairs.reduce((sum, { decisions, orders }) => plus(sum, { decisions, ...orders }), NONE);
}

type Change = Pick<LifeAnswer, 'verdict' | 'rule'>;

function changeName(base: Change, candidate: Change): string {
  return `${base.verdict} ${base.rule} ${candidate.verdict} ${candidate.rule}`;
}

const SAMPLES_MAX = 3;

/** The first orders that each change affected, and how waits changed: counting pairs does not show these. */
export class Examples {
  readonly #samples = new Map<string, readonly Sample[]>();
  readonly #waits = { longer: 0, shorter: 0, onAnotherLadder: 0 };

  /** What two sides answered to a request at `at` (epoch ms); they come in any order. */
  note(
    base: LifeAnswer | undefined,
    candidate: LifeAnswer | undefined,
    at: number,
    orderRef: () => string,
  ): void {
    if (base === undefined || candidate === undefined) return;
    if (base.verdict !== candidate.verdict) this.#sample(changeName(base, candidate), at, orderRef);
    const longerBy = (candidate.waitSeconds ?? 0) - (base.waitSeconds ?? 0);
    if (base.verdict === 'WAIT' && candidate.verdict === 'WAIT' && longerBy !== 0) {
      this.#waits[longerBy > 0 ? 'longer' : 'shorter']++;
      if (base.level === candidate.level) this.#waits.onAnotherLadder++;
    }
  }

  of(change: string): readonly string[] {
    return (this.#samples.get(change) ?? []).map(({ orderRef }) => orderRef);
  }

  get waits(): WaitChanges {
    return this.#waits;
  }

  #sample(change: string, at: number, orderRefOf: () => string): void {
    const known = this.#samples.get(change) ?? [];
    if (known.length === SAMPLES_MAX && at > (known.at(-1)?.at ?? 0)) return;
    const orderRef = orderRefOf();
    const since = Math.min(
      at,
      ...known.filter((other) => other.orderRef === orderRef).map((other) => other.at),
    );
    const others = known.filter((other) => other.orderRef !== orderRef);
    const inTime = [...others, { at: since, orderRef }].toSorted(
      (a, b) => a.at - b.at || (a.orderRef < b.orderRef ? -1 : 1),
    );
    this.#samples.set(change, inTime.slice(0, SAMPLES_MAX));
  }
}

interface Sample {
  /** When it first happened to the order, epoch ms. */
  readonly at: number;
  readonly orderRef: string;
}

/** Decisions about one cluster of clients that two sides answered with these verdicts. */
export interface ClusterVerdicts {
  readonly cluster: number;
  readonly base: Verdict;
  readonly candidate: Verdict;
  readonly decisions: number;
}

/** Shares of the decisions, with intervals that take a client's decisions together. */
interface DecisionShares {
  /** Decisions whose verdict changes. */
  readonly changedShare: Estimate | null;
  readonly mix: { readonly base: VerdictMix; readonly candidate: VerdictMix };
}

export function decisionShares(rows: readonly ClusterVerdicts[]): DecisionShares {
  const clusters = [...Map.groupBy(rows, ({ cluster }) => cluster).values()];
  const share = (holds: (row: ClusterVerdicts) => boolean) =>
    clusteredInterval(clusters.map((some) => ({ part: sumOf(some.filter(holds)), whole: sumOf(some) })));
  return {
    changedShare: share(({ base, candidate }) => base !== candidate),
    mix: {
      base: byVerdict((verdict) => share(({ base }) => base === verdict)),
      candidate: byVerdict((verdict) => share(({ candidate }) => candidate === verdict)),
    },
  };
}

/** The verdict with this number, as the codes of answers hold it. */
export function verdictAt(place: number): Verdict {
  return VERDICTS[place] ?? 'GET_NEW';
}

function sumOf(rows: readonly ClusterVerdicts[]): number {
  return rows.reduce((sum, { decisions }) => sum + decisions, 0);
}

/** Counts whom the rules of one side held out. A rule that could hold out but skipped nobody is listed, too. */
export class HeldOutTally {
  readonly #rules = new Map<string, { readonly share: number; decisions: number; clients: Set<bigint> }>();

  constructor(rules: RuleSet | null) {
    for (const [rule, share] of rules === null ? [] : holdoutShares(rules)) this.#of({ rule, share });
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

/** The same of both sides of a comparison. */
export class HeldOutTallies {
  readonly #base: HeldOutTally;
  readonly #candidate: HeldOutTally;

  constructor(base: RuleSet | null, candidate: RuleSet) {
    this.#base = new HeldOutTally(base);
    this.#candidate = new HeldOutTally(candidate);
  }

  note(base: LifeAnswer | undefined, candidate: LifeAnswer | undefined, clientHash: bigint): void {
    this.#base.note(base?.heldOut ?? [], clientHash);
    this.#candidate.note(candidate?.heldOut ?? [], clientHash);
  }

  counts(): { readonly base: readonly HeldOutCount[]; readonly candidate: readonly HeldOutCount[] } {
    return { base: this.#base.counts(), candidate: this.#candidate.counts() };
  }
}

/** Whom the recorded decisions held out. */
export async function recordedHoldouts(duck: Duck): Promise<readonly HeldOutCount[]> {
  const rows = await duck.rows(`
    SELECT rule, any_value(share) AS share, count(*) AS decisions, count(DISTINCT client_hash) AS clients
    FROM (SELECT unnest(holdout_rule) AS rule, unnest(holdout_share)::DOUBLE AS share,
        unnest(holdout_held_out) AS held_out, client_hash FROM decisions WHERE holdout_rule IS NOT NULL)
    WHERE held_out GROUP BY rule ORDER BY rule`);
  return rows.map((row) => ({
    rule: textOf(row['rule']) ?? '',
    ...numbersOf(row, { share: 0, decisions: 0, clients: 0 }),
  }));
}

/** Decisions that two sides answered in these ways. */
export interface AnsweredPair {
  readonly base: CodedAnswer;
  readonly candidate: CodedAnswer;
  readonly decisions: number;
  /** The decisions by what became of their orders, without technical failures. */
  readonly orders: OrderCounts;
}

export type CodedAnswer = Pick<LifeAnswer, 'verdict' | 'rule' | 'clientGroup' | 'isBot' | 'level'>;
