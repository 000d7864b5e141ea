import { type RuleSet, sharedListsOf } from '../../rules/rule-set.ts';
import { Aftermath, AnswerTable } from '../backtest/aftermath.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import { HeldOutTally } from '../backtest/comparison.ts';
import { inputsOf } from '../backtest/input.ts';
import { Lives, type OutcomeAssumption } from '../backtest/lives.ts';
import type { HeldOutCount } from '../shown.ts';
import type { Evidence } from '../source/evidence.ts';
import { makeInputView } from '../source/input-view.ts';
import { immatureOrders, reversalsOf, type StoppedPayments, stoppedPaymentsOf } from '../source/reversals.ts';
import type { PartName, TimePart, TradeOff } from './sweep-report.ts';
import { type AddedEffect, addedEffects, clientSums, timePart, tradeOffs } from './trade-off.ts';

export interface Trial {
  /** They are tried side by side, on the same inputs. */
  readonly ruleSets: readonly RuleSet[];
  /** The version in whose currency requests without one were recorded. */
  readonly present: RuleSet;
  readonly outcomes: OutcomeAssumption;
  /** Epoch ms; orders that were first asked for before it are the earlier part. */
  readonly splitAt: number;
  /** Each rule set adds something to the one before it, and the result says what. */
  readonly growing?: true;
  /** Payments that may yet be reversed are neither paid nor unpaid. */
  readonly onlyMature?: true;
  readonly onProgress?: OnProgress;
  readonly signal?: AbortSignal;
}

export interface TrialResult {
  readonly parts: Readonly<Record<PartName, TimePart>>;
  /** In the order of the rule sets. */
  readonly tradeOffs: readonly Readonly<Record<PartName, TradeOff>>[];
  /** In the order of the rule sets: what each adds in the later part to the one before it; empty unless they grow. */
  readonly added: readonly AddedEffect[];
  /** In the order of the rule sets: whom each held out of a rule that matched, as in live traffic. */
  readonly heldOut: readonly (readonly HeldOutCount[])[];
  /** In the order of the rule sets: which payments each would have stopped. */
  readonly stopped: readonly StoppedPayments[];
  /** Shared lists that the present rules ask about and that nobody was on, because inputs do not tell. */
  readonly emptyLists: readonly string[];
}

/** Replays all inputs with several rule sets and tells what each did to the orders of two parts of the time. */
export async function tryRuleSets(evidence: Evidence, trial: Trial): Promise<TrialResult> {
  const { duck } = evidence;
  const sides = trial.ruleSets.length;
  const table = await AnswerTable.create(duck, sides);
  const heldOut = await liveThrough(evidence, trial, table);
  table.close();
  await Aftermath.join(duck, table, sides);
  const reversals = await reversalsOf(evidence);
  if (trial.onlyMature === true)
    await duck.run(
      `UPDATE answered_orders SET fate = 'IMMATURE' WHERE order_key IN ${immatureOrders(reversals)}`,
    );
  const earlier = await clientSums(duck, 'earlier', trial.splitAt, sides);
  const later = await clientSums(duck, 'later', trial.splitAt, sides);
  const afterwards = tradeOffs(later);
  return {
    parts: {
      earlier: await timePart(duck, 'earlier', trial.splitAt),
      later: await timePart(duck, 'later', trial.splitAt),
    },
    tradeOffs: tradeOffs(earlier).flatMap((before, side) => {
      const after = afterwards[side];
      return after === undefined ? [] : [{ earlier: before, later: after }];
    }),
    added: trial.growing === true ? addedEffects(later) : [],
    heldOut,
    stopped: await Array.fromAsync(trial.ruleSets, (_, side) => stoppedPaymentsOf(duck, reversals, side)),
    emptyLists: sharedListsOf(trial.present),
  };
}

async function liveThrough(
  evidence: Evidence,
  { ruleSets, present, outcomes, onProgress, signal }: Trial,
  table: AnswerTable,
): Promise<TrialResult['heldOut']> {
  const lives = new Lives(
    ruleSets.map((rules) => ({ rulesOf: () => rules, outcomes })),
    () => present,
    evidence.holdoutDraw,
  );
  const tallies = ruleSets.map((rules) => new HeldOutTally(rules));
  await makeInputView(evidence, [...ruleSets, present]);
  await lives.liveAll(
    inputsOf(evidence.duck),
    (request, answers) => {
      table.add(request, answers);
      for (const [side, tally] of tallies.entries())
        tally.note(answers[side]?.heldOut ?? [], request.clientHash);
    },
    () => {
      signal?.throwIfAborted();
      onProgress?.(table.rows, evidence.span.decisions);
    },
  );
  return tallies.map((tally) => tally.counts());
}

/** When half of all orders had been asked for, epoch ms: what is found before it is shown after it. */
export async function halfOfOrders({ duck }: Evidence): Promise<number> {
  const [row = {}] = await duck.rows(
    'SELECT epoch_ms(quantile_disc(first_at, 0.5))::DOUBLE AS split_at FROM orders',
  );
  return Number(row['split_at'] ?? 0);
}
