import type { Verdict } from '../../rules/rule-set.ts';
import type { AnsweredPair } from './aftermath.ts';
import type { AnswerComparison, WaitChanges } from './backtest-report.ts';
import type { LifeAnswer } from './lives.ts';

type Transitions = AnswerComparison['transitions'];
type DecisionCount = Transitions[Verdict][Verdict];
type VerdictChange = AnswerComparison['changes'][number];
type GroupChange = AnswerComparison['groups'][number];

const NONE: DecisionCount = { decisions: 0, paid: 0, unpaid: 0, unknown: 0 };

/** Where two sides agree and where they do not, out of how often each pair of answers was given. */
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
  const row = (from: Verdict) => ({
    GET_NEW: cell(from, 'GET_NEW'),
    GET_SAME_STICKY: cell(from, 'GET_SAME_STICKY'),
    WAIT: cell(from, 'WAIT'),
    BLOCK: cell(from, 'BLOCK'),
  });
  return {
    GET_NEW: row('GET_NEW'),
    GET_SAME_STICKY: row('GET_SAME_STICKY'),
    WAIT: row('WAIT'),
    BLOCK: row('BLOCK'),
  };
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
  return pairs.reduce(
    (sum, { decisions, orders }) => ({
      decisions: sum.decisions + decisions,
      paid: sum.paid + orders.paid,
      unpaid: sum.unpaid + orders.unpaid,
      unknown: sum.unknown + orders.unknown,
    }),
    NONE,
  );
}

type Change = Pick<LifeAnswer, 'verdict' | 'rule'>;

function changeName(base: Change, candidate: Change): string {
  return `${base.verdict} ${base.rule} ${candidate.verdict} ${candidate.rule}`;
}

const SAMPLES_MAX = 3;

/** The first orders that changes happened to, and how waits changed: what counting pairs cannot tell. */
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
