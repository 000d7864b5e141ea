import type { Decision } from '../../decision/decision.ts';
import type { RuleSet, RuleVersion } from '../../rules/rule-set.ts';
import type { JournalRecord } from '../../state/store.ts';
import { JournalFileError, parseEntry, readJournalFile, timeOfScore } from '../journal-file.ts';
import { Aftermath, type LadderReport, type OutcomeReport } from './aftermath.ts';
import {
  type BacktestAnswer,
  type BotChanges,
  Comparison,
  type GroupChange,
  type Transitions,
  type VerdictChange,
  type WaitChanges,
} from './comparison.ts';
import { Redecider, recordedAnswer } from './recorded.ts';
import { RelivedJournal, type RulesOfEntry } from './relived-journal.ts';

/**
 * `recorded`: every decision is made again on the fact values that its record holds.
 * `closed-loop`: the inputs are lived through again from an empty state.
 */
export type BacktestMode = 'recorded' | 'closed-loop';

export const BACKTEST_MODES = ['recorded', 'closed-loop'] as const satisfies readonly BacktestMode[];

/**
 * What `rules backtest --json` prints; the member names are stable. The candidate is the rule set that was
 * asked about, the base is what it is compared with.
 */
export interface BacktestReport {
  /** The candidate, and the sha256 of its files. */
  readonly ruleVersion: RuleVersion;
  readonly digest: string;
  /** The base's version; null: what was recorded (in closed-loop: the versions that decided then). */
  readonly against: RuleVersion | null;
  readonly mode: BacktestMode;
  readonly journal: {
    /** Entries of all kinds, and the verdicts among them. */
    readonly records: number;
    readonly decisions: number;
    /** Of the first and the last entry, epoch ms; null when there is none. */
    readonly from: number | null;
    readonly to: number | null;
    /** The versions that decided then. */
    readonly ruleVersions: readonly string[];
    /** The last line was incomplete and left out. */
    readonly torn: boolean;
  };
  /** Decisions answered by both, and those of them whose verdict differs. */
  readonly compared: number;
  readonly changed: number;
  /** Verdict of the base, then of the candidate: `transitions.WAIT.BLOCK`. */
  readonly transitions: Transitions;
  /** By verdicts and rules, most frequent first; the counts add up to `changed`. */
  readonly changes: readonly VerdictChange[];
  readonly bots: BotChanges;
  readonly groups: readonly GroupChange[];
  /** WAIT under both, of another length; null in recorded mode, which has no time of its own. */
  readonly waits: WaitChanges | null;
  readonly outcomes: OutcomeReport;
  readonly ladder: LadderReport;
  /** Decisions whose records lack a fact that a rule set asks, and the labels of these facts. */
  readonly undecidable: { readonly count: number; readonly facts: readonly string[] };
  /**
   * In closed-loop: verdicts of the base that equal the recorded ones. Fewer than `compared` means that
   * the journal does not begin at the beginning, or that the base is another rule set; null when recorded.
   */
  readonly reproduced: number | null;
}

export interface Backtest {
  readonly path: string;
  readonly candidate: RuleSet;
  /** The base of the comparison; null for what was recorded. */
  readonly against: RuleSet | null;
  readonly mode: BacktestMode;
  /** In closed-loop without `against`: the rule sets that decided then. */
  readonly rulesOf: RulesOfEntry;
  readonly onProgress?: (bytesRead: number, bytes: number) => void;
}

/**
 * Compares two rule sets on an exported journal (DESIGN, section 3). Reads the file once. Memory: constant
 * in recorded mode; in closed-loop it grows with the number of clients and devices.
 * Throws JournalFileError when the file is not a journal.
 */
export function backtest(ask: Backtest): BacktestReport {
  const run = ask.mode === 'recorded' ? new RecordedRun(ask) : new ClosedLoopRun(ask);
  try {
    const { lines, torn } = readJournalFile(ask.path, (text, line) => run.read(text, line), ask.onProgress);
    if (torn && lines === 0)
      throw new JournalFileError(1, 'the file has no complete line; this is not a journal');
    return run.report(torn);
  } finally {
    run.aftermath.close();
  }
}

/** What both modes count alike. */
abstract class Run {
  readonly aftermath = new Aftermath();
  protected readonly comparison = new Comparison();
  protected readonly ask: Backtest;
  readonly #ruleVersions = new Set<string>();
  #records = 0;
  #decisions = 0;
  #from: number | null = null;
  #to: number | null = null;

  constructor(ask: Backtest) {
    this.ask = ask;
  }

  abstract read(text: string, line: number): void;

  report(torn: boolean): BacktestReport {
    const { candidate, against, mode } = this.ask;
    const { comparison } = this;
    return {
      ruleVersion: candidate.version,
      digest: candidate.digest,
      against: against?.version ?? null,
      mode,
      journal: {
        records: this.#records,
        decisions: this.#decisions,
        from: this.#from,
        to: this.#to,
        ruleVersions: [...this.#ruleVersions].toSorted(),
        torn,
      },
      compared: comparison.compared,
      changed: comparison.changed,
      transitions: comparison.transitions,
      changes: comparison.changes(),
      bots: comparison.bots,
      groups: comparison.groups(),
      waits: null,
      ...this.aftermath.report(),
      undecidable: { count: 0, facts: [] },
      reproduced: null,
    };
  }

  protected note(at: number): void {
    this.#records++;
    this.#from ??= at;
    this.#to = at;
  }

  protected noteDecision({ ruleVersion }: Decision): void {
    this.#decisions++;
    this.#ruleVersions.add(ruleVersion);
  }

  protected compare(decision: Decision, base: BacktestAnswer, candidate: BacktestAnswer): void {
    const { platform, clientIdKey, orderRef } = decision;
    this.comparison.add(orderRef, base, candidate);
    this.aftermath.decision(platform, clientIdKey, orderRef, base, candidate);
  }
}

class RecordedRun extends Run {
  readonly #candidate: Redecider;
  readonly #against: Redecider | null;
  #undecidable = 0;
  readonly #missing = new Set<string>();

  constructor(ask: Backtest) {
    super(ask);
    this.#candidate = new Redecider(ask.candidate);
    this.#against = ask.against === null ? null : new Redecider(ask.against);
  }

  read(text: string, line: number): void {
    const scoredAt = timeOfScore(text);
    if (scoredAt === null) this.#entry(parseEntry(text, line));
    else this.note(scoredAt);
  }

  override report(torn: boolean): BacktestReport {
    const undecidable = { count: this.#undecidable, facts: [...this.#missing].toSorted() };
    return { ...super.report(torn), undecidable };
  }

  #entry(entry: JournalRecord): void {
    this.note(entry.at);
    if (entry.kind === 'verdict') this.#verdict(entry.decision);
    else if (entry.kind === 'outcome') {
      this.aftermath.outcome(entry.platform, entry.clientIdKey, entry.orderRef, entry.order);
    }
  }

  #verdict(decision: Decision): void {
    this.noteDecision(decision);
    const candidate = this.#candidate.answer(decision);
    const base = this.#against === null ? recordedAnswer(decision) : this.#against.answer(decision);
    if (candidate !== null && base !== null) {
      this.compare(decision, base, candidate);
      return;
    }
    this.#undecidable++;
    for (const redecider of [this.#candidate, this.#against]) {
      for (const label of redecider?.missing(decision) ?? []) this.#missing.add(label);
    }
  }
}

class ClosedLoopRun extends Run {
  readonly #candidate: RelivedJournal;
  readonly #base: RelivedJournal;
  #reproduced = 0;

  constructor(ask: Backtest) {
    super(ask);
    const { candidate, against, rulesOf } = ask;
    const rulesThen = against === null ? rulesOf : () => against;
    this.#candidate = new RelivedJournal(candidate, rulesThen);
    this.#base = new RelivedJournal(against ?? candidate, rulesThen, rulesThen);
  }

  read(text: string, line: number): void {
    const entry = parseEntry(text, line);
    this.note(entry.at);
    const base = this.#base.live(entry);
    const candidate = this.#candidate.live(entry);
    if (entry.kind === 'outcome') {
      this.aftermath.outcome(entry.platform, entry.clientIdKey, entry.orderRef, entry.order);
    }
    if (entry.kind !== 'verdict' || base === null || candidate === null) return;
    this.noteDecision(entry.decision);
    if (base.verdict === entry.decision.verdict) this.#reproduced++;
    this.compare(entry.decision, base, candidate);
  }

  override report(torn: boolean): BacktestReport {
    return { ...super.report(torn), waits: this.comparison.waits, reproduced: this.#reproduced };
  }
}
