import type { ClientGroup } from '../../client/client-group.ts';
import type { Verdict } from '../../rules/rule-set.ts';

/** What one rule set says to one recorded request. */
export interface BacktestAnswer {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly clientGroup: ClientGroup;
  readonly isBot: boolean;
  /** Of the ladder, with WAIT; otherwise 0. */
  readonly level: number;
  /** Only where the rule sets lived through the journal themselves; otherwise null. */
  readonly waitSeconds: number | null;
}

/** Decisions by verdict of the base (rows) and of the candidate (columns); every cell is there. */
export type Transitions = Readonly<Record<Verdict, Readonly<Record<Verdict, number>>>>;

/** Decisions that went from one verdict to another, for one pair of rules. */
export interface VerdictChange {
  readonly from: Verdict;
  readonly to: Verdict;
  /** The rule of the base, or `otherwise`. */
  readonly fromRule: string;
  readonly toRule: string;
  readonly count: number;
  /** The first orderRefs it happened to, at most three. */
  readonly samples: readonly string[];
}

export interface BotChanges {
  /** Decisions with the flag under the base and under the candidate. */
  readonly base: number;
  readonly candidate: number;
  /** Decisions that only the candidate flags, and that only the base flags. */
  readonly gained: number;
  readonly lost: number;
}

export interface GroupChange {
  readonly from: ClientGroup;
  readonly to: ClientGroup;
  readonly count: number;
}

/** WAIT under both, but of another length. */
export interface WaitChanges {
  readonly longer: number;
  readonly shorter: number;
}

const SAMPLES_MAX = 3;

/** Counts where two rule sets agree and where they do not. */
export class Comparison {
  compared = 0;
  changed = 0;
  readonly #transitions: Record<Verdict, Record<Verdict, number>> = {
    GET_NEW: emptyRow(),
    GET_SAME_STICKY: emptyRow(),
    WAIT: emptyRow(),
    BLOCK: emptyRow(),
  };
  readonly #changes = new Map<string, { change: Omit<VerdictChange, 'count' | 'samples'>; refs: Refs }>();
  readonly #groups = new Map<string, { from: ClientGroup; to: ClientGroup; count: number }>();
  readonly #bots = { base: 0, candidate: 0, gained: 0, lost: 0 };
  readonly #waits = { longer: 0, shorter: 0 };

  add(orderRef: string, base: BacktestAnswer, candidate: BacktestAnswer): void {
    this.compared++;
    this.#transitions[base.verdict][candidate.verdict]++;
    if (base.verdict !== candidate.verdict) this.#addChange(orderRef, base, candidate);
    if (base.clientGroup !== candidate.clientGroup) this.#addGroup(base.clientGroup, candidate.clientGroup);
    if (base.isBot || candidate.isBot) this.#addBot(base.isBot, candidate.isBot);
    const longerBy = (candidate.waitSeconds ?? 0) - (base.waitSeconds ?? 0);
    if (base.verdict === 'WAIT' && candidate.verdict === 'WAIT' && longerBy !== 0) {
      this.#waits[longerBy > 0 ? 'longer' : 'shorter']++;
    }
  }

  get transitions(): Transitions {
    return this.#transitions;
  }

  get bots(): BotChanges {
    return this.#bots;
  }

  get waits(): WaitChanges {
    return this.#waits;
  }

  /** Most frequent first. */
  changes(): readonly VerdictChange[] {
    return [...this.#changes.values()]
      .map(({ change, refs }) => ({ ...change, ...refs }))
      .toSorted((a, b) => b.count - a.count);
  }

  groups(): readonly GroupChange[] {
    return [...this.#groups.values()].toSorted((a, b) => b.count - a.count);
  }

  #addChange(orderRef: string, base: BacktestAnswer, candidate: BacktestAnswer): void {
    this.changed++;
    const key = `${base.verdict} ${base.rule} ${candidate.verdict} ${candidate.rule}`;
    const { refs } = this.#changes.get(key) ?? this.#newChange(key, base, candidate);
    refs.count++;
    if (refs.samples.length < SAMPLES_MAX && !refs.samples.includes(orderRef)) refs.samples.push(orderRef);
  }

  #newChange(key: string, base: BacktestAnswer, candidate: BacktestAnswer) {
    const change = {
      from: base.verdict,
      to: candidate.verdict,
      fromRule: base.rule,
      toRule: candidate.rule,
    };
    const made = { change, refs: { count: 0, samples: [] } };
    this.#changes.set(key, made);
    return made;
  }

  #addGroup(from: ClientGroup, to: ClientGroup): void {
    const known = this.#groups.get(`${from} ${to}`);
    if (known === undefined) this.#groups.set(`${from} ${to}`, { from, to, count: 1 });
    else known.count++;
  }

  #addBot(base: boolean, candidate: boolean): void {
    if (base) this.#bots.base++;
    if (candidate) this.#bots.candidate++;
    if (candidate && !base) this.#bots.gained++;
    if (base && !candidate) this.#bots.lost++;
  }
}

interface Refs {
  count: number;
  readonly samples: string[];
}

function emptyRow(): Record<Verdict, number> {
  return { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };
}
