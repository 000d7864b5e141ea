import { textOf } from '../../archive/duck.ts';
import { type RuleSet, sharedListsOf } from '../../rules/rule-set.ts';
import type { Evidence } from '../source/evidence.ts';
import { reversalsOf, stoppedPaymentsOf } from '../source/reversals.ts';
import { makeInputView } from '../source/shared-devices.ts';
import { Aftermath, AnswerTable } from './aftermath.ts';
import type { BacktestMode, BacktestReport, OrderComparison } from './backtest-report.ts';
import { compare, decisionShares, Examples, HeldOutTallies, recordedHoldouts } from './comparison.ts';
import { inputsOf } from './input.ts';
import { type LifeAnswer, Lives, type OutcomeAssumption, type RulesOfRequest } from './lives.ts';
import { Redecider, recordedAnswers, recordedDecisions } from './recorded.ts';

export type OnProgress = (done: number, all: number) => void;

export interface Backtest {
  readonly candidate: RuleSet;
  /** The base of the comparison; null for what was recorded. */
  readonly against: RuleSet | null;
  readonly mode: BacktestMode;
  /** In closed-loop: which recorded outcomes happen. */
  readonly outcomes: OutcomeAssumption;
  /** In closed-loop without `against`: the rule sets that decided then. */
  readonly rulesOf: RulesOfRequest;
  readonly onProgress?: OnProgress;
  /** Ends the work early, with the signal's reason thrown. */
  readonly signal?: AbortSignal;
}

/**
 * Compares two rule sets on history, whose length does not matter to memory: only the clients that a rule holds out
 * are remembered.
 */
export function backtest(evidence: Evidence, ask: Backtest): Promise<BacktestReport> {
  return ask.mode === 'recorded' ? recordedReport(ask, evidence) : closedLoopReport(ask, evidence);
}

const BASE = 0;
const CANDIDATE = 1;

async function recordedReport(ask: Backtest, evidence: Evidence): Promise<BacktestReport> {
  const table = await AnswerTable.create(evidence.duck, 2);
  const examples = new Examples();
  const missing = new Set<string>();
  const tallies = new HeldOutTallies(ask.against, ask.candidate);
  const undecidable = await decideAgain(ask, evidence, missing, (request, base, candidate, orderRef) => {
    table.add(request, [base, candidate]);
    examples.note(base, candidate, request.at, orderRef);
    tallies.note(base, candidate, request.clientHash);
  });
  table.close();
  const aftermath = await Aftermath.join(evidence.duck, table, 2);
  return {
    ...(await reportOf(ask, evidence, aftermath, examples)),
    assumption: null,
    unseen: await unseenSettings(ask, evidence),
    waits: null,
    otherwise: null,
    heldOut: {
      ...tallies.counts(),
      ...(ask.against === null ? { base: await recordedHoldouts(evidence.duck) } : {}),
    },
    undecidable: { count: undecidable, facts: [...missing].toSorted() },
    reproduced: null,
    emptyLists: [],
  };
}

/** Differences of the candidate from the other side that facts recorded under that side already contain. */
async function unseenSettings(
  { candidate, against, rulesOf }: Backtest,
  evidence: Evidence,
): Promise<readonly string[]> {
  const bases = against === null ? await rulesAtHand(evidence, rulesOf) : [against];
  return (['currency', 'smoothing', 'ladder'] as const).filter((name) =>
    bases.some((base) => JSON.stringify(base.settings[name]) !== JSON.stringify(candidate.settings[name])),
  );
}

/** The rule sets that decided, as far as they are at hand: nobody knows the settings of the others. */
async function rulesAtHand(evidence: Evidence, rulesOf: RulesOfRequest): Promise<readonly RuleSet[]> {
  return (await evidence.decidingRules()).flatMap((asked) => {
    try {
      return [rulesOf(asked)];
    } catch {
      return [];
    }
  });
}

type Visit = (
  request: { readonly clientHash: bigint; readonly orderKey: bigint; readonly at: number },
  base: LifeAnswer,
  candidate: LifeAnswer,
  orderRef: () => string,
) => void;

/** Returns the number of decisions whose records lack a fact. */
async function decideAgain(
  { candidate, against, onProgress, signal }: Backtest,
  { duck, span, holdoutDraw }: Evidence,
  missing: Set<string>,
  visit: Visit,
): Promise<number> {
  const redecider = new Redecider(candidate, holdoutDraw);
  const base = against === null ? null : new Redecider(against, holdoutDraw);
  const labels = redecider.labels.union(base?.labels ?? new Set<string>());
  const withClients = redecider.holdsOut || base?.holdsOut === true;
  const sql = await recordedDecisions(duck, labels, { withClients });
  const lacking = (label: string) => missing.add(label);
  let [done, undecidable] = [0, 0];
  for await (const batch of duck.batches(sql)) {
    signal?.throwIfAborted();
    const candidateAnswer = redecider.answers(batch, lacking);
    const baseAnswer = base?.answers(batch, lacking) ?? recordedAnswers(batch);
    const [clients, orders, times] = [
      batch.integers('client_hash'),
      batch.integers('order_key'),
      batch.numbers('decided_ms'),
    ];
    for (let row = 0; row < batch.rowCount; row++) {
      const [was, is] = [baseAnswer(row), candidateAnswer(row)];
      if (was === null || is === null) undecidable++;
      else {
        const request = { clientHash: clients[row] ?? 0n, orderKey: orders[row] ?? 0n, at: times[row] ?? 0 };
        visit(request, was, is, () => batch.text('order_ref', row));
      }
    }
    done += batch.rowCount;
    onProgress?.(done, span.decisions);
  }
  return undecidable;
}

async function closedLoopReport(ask: Backtest, evidence: Evidence): Promise<BacktestReport> {
  const other: OutcomeAssumption = ask.outcomes === 'all' ? 'granted' : 'all';
  const table = await AnswerTable.create(evidence.duck, 4);
  const examples = new Examples();
  const lived = await liveAgain(ask, evidence, [ask.outcomes, other], table, examples);
  table.close();
  const aftermath = await Aftermath.join(evidence.duck, table, 4);
  return {
    ...(await reportOf(ask, evidence, aftermath, examples)),
    assumption: ask.outcomes,
    unseen: [],
    waits: examples.waits,
    otherwise: {
      assumption: other,
      outcomes: await outcomesOf(aftermath, 2 + BASE, 2 + CANDIDATE),
    },
    undecidable: { count: 0, facts: [] },
    ...lived,
  };
}

/** Base and candidate under each assumption are four sides of the table. */
async function liveAgain(
  ask: Backtest,
  evidence: Evidence,
  assumptions: readonly OutcomeAssumption[],
  table: AnswerTable,
  examples: Examples,
): Promise<Pick<BacktestReport, 'heldOut' | 'reproduced' | 'emptyLists'>> {
  const { candidate, against, rulesOf, signal, onProgress } = ask;
  const decided = new Set([candidate]);
  const rulesThen: RulesOfRequest = (asked) => {
    const rules = against ?? rulesOf(asked);
    decided.add(rules);
    return rules;
  };
  const sides = assumptions.flatMap((outcomes) => [
    { rulesOf: rulesThen, outcomes },
    { rulesOf: () => candidate, outcomes },
  ]);
  const lives = new Lives(sides, rulesThen, evidence.holdoutDraw);
  const tallies = new HeldOutTallies(against, candidate);
  const baseWithAll = 2 * assumptions.indexOf('all') + BASE;
  let reproduced = 0;
  await makeInputView(evidence, await rulesToLive(ask, evidence));
  await lives.liveAll(
    inputsOf(evidence.duck),
    (request, answers) => {
      table.add(request, answers);
      examples.note(answers[BASE], answers[CANDIDATE], request.at, () => request.orderRef);
      tallies.note(answers[BASE], answers[CANDIDATE], request.clientHash);
      if (answers[baseWithAll]?.verdict === request.verdict) reproduced++;
    },
    () => {
      signal?.throwIfAborted();
      onProgress?.(table.rows, evidence.span.decisions);
    },
  );
  return {
    heldOut: tallies.counts(),
    reproduced,
    emptyLists: [...new Set([...decided].flatMap(sharedListsOf))],
  };
}

/** All rule sets that decide in a life. */
async function rulesToLive(
  { candidate, against, rulesOf }: Backtest,
  evidence: Evidence,
): Promise<readonly RuleSet[]> {
  if (against !== null) return [candidate, against];
  return [candidate, ...(await evidence.decidingRules()).map(rulesOf)];
}

type SameInBothModes = Omit<
  BacktestReport,
  'assumption' | 'unseen' | 'waits' | 'otherwise' | 'heldOut' | 'undecidable' | 'reproduced' | 'emptyLists'
>;

async function reportOf(
  { candidate, against, mode }: Backtest,
  evidence: Evidence,
  aftermath: Aftermath,
  examples: Examples,
): Promise<SameInBothModes> {
  const { duck, span } = evidence;
  const reversals = await reversalsOf(evidence);
  const deciding = await duck.rows('SELECT DISTINCT rule_version FROM decisions ORDER BY rule_version');
  return {
    kind: 'backtest',
    ruleVersion: candidate.version,
    digest: candidate.digest,
    against: against?.version ?? null,
    mode,
    journal: { ...span, ruleVersions: deciding.map((row) => textOf(row['rule_version']) ?? '') },
    ...compare(await aftermath.pairs(BASE, CANDIDATE), examples),
    ...decisionShares(await aftermath.verdicts(BASE, CANDIDATE)),
    outcomes: await outcomesOf(aftermath, BASE, CANDIDATE),
    reversals,
    stopped: {
      base: await stoppedPaymentsOf(duck, reversals, BASE),
      candidate: await stoppedPaymentsOf(duck, reversals, CANDIDATE),
    },
  };
}

async function outcomesOf(aftermath: Aftermath, base: number, candidate: number): Promise<OrderComparison> {
  return {
    all: await aftermath.orders(),
    base: await aftermath.effects(base),
    candidate: await aftermath.effects(candidate),
  };
}
