import { type Duck, numberOf, numbersOf, quote, quoteName, textOf } from '../../archive/duck.ts';
import { type RuleSet, sharedListsOf } from '../../rules/rule-set.ts';
import {
  bootstrapInterval,
  bootstrapIntervals,
  type ClusterCount,
  clusteredInterval,
  type Estimate,
} from '../../statistics/intervals.ts';
import { Aftermath, AnswerTable, byOutcome } from '../backtest/aftermath.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import { HeldOutTally } from '../backtest/comparison.ts';
import { inputsOf } from '../backtest/input.ts';
import { Lives, type OutcomeAssumption } from '../backtest/lives.ts';
import { type HeldOutCount, NO_ORDERS } from '../shown.ts';
import type { Evidence } from '../source/evidence.ts';
import { immatureOrders, reversalsOf, type StoppedPayments, stoppedPaymentsOf } from '../source/reversals.ts';
import { makeInputView } from '../source/shared-devices.ts';
import type { Effect, PartName, TimePart, TradeOff } from './sweep-report.ts';

interface Trial {
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
  /** In the order of the rule sets: how many orders that were turned away each would have granted. */
  readonly opened: readonly number[];
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
    opened: await openedOrders(duck, sides),
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

const EFFECTS = {
  unpaidStopped: ['UNPAID', (side: number) => `NOT granted_${side}`],
  unpaidBlocked: ['UNPAID', (side: number) => `blocked_${side}`],
  paidRefused: ['PAID', (side: number) => `blocked_${side}`],
  paidHeldBack: ['PAID', (side: number) => `waited_${side} AND NOT blocked_${side}`],
} as const satisfies Record<keyof TradeOff, readonly [string, (side: number) => string]>;

/** SQL: the orders of one part; an order belongs to the part in which it was first asked for. */
function inPart(part: PartName, splitAt: number): string {
  return part === 'earlier' ? `first_at < ${splitAt}` : `first_at >= ${splitAt}`;
}

/** The orders of a part, out of the table `answered_orders` that Aftermath makes. */
async function timePart(duck: Duck, part: PartName, splitAt: number): Promise<TimePart> {
  const [row = {}] = await duck.rows(
    `SELECT min(first_at) AS first, max(first_at) AS last, ${byOutcome('count(*)')}
     FROM answered_orders WHERE ${inPart(part, splitAt)}`,
  );
  return { from: numberOf(row['first']), to: numberOf(row['last']), orders: numbersOf(row, NO_ORDERS) };
}

async function openedOrders(duck: Duck, sides: number): Promise<readonly number[]> {
  const counts = Array.from(
    { length: sides },
    (_, side) => `count(*) FILTER (fate = 'TURNED_AWAY' AND granted_${side}) AS opened_${side}`,
  );
  const [row = {}] = await duck.rows(`SELECT ${counts.join(', ')} FROM answered_orders`);
  return counts.map((_, side) => numberOf(row[`opened_${side}`]) ?? 0);
}

/** What each side did to the orders of a part, with intervals by client. */
function tradeOffs(sums: ClientSums): readonly TradeOff[] {
  return Array.from({ length: sums.sides }, (_, side) => ({
    unpaidStopped: effectOf(sums, 'unpaidStopped', side),
    unpaidBlocked: effectOf(sums, 'unpaidBlocked', side),
    paidRefused: effectOf(sums, 'paidRefused', side),
    paidHeldBack: effectOf(sums, 'paidHeldBack', side),
  }));
}

/** What a rule set does to orders that the one before it did not do to them. */
interface AddedEffect {
  readonly unpaidBlocked: AddedOrders;
  readonly paidRefused: AddedOrders;
}

interface AddedOrders {
  /** Below 0 where the one before it did it to more of them. */
  readonly orders: number;
  /** Of all unpaid, or paid, orders of the part, with its interval by client; null without such orders. */
  readonly share: Estimate | null;
}

/** What each side adds to the side before it in a part; the first one adds all that it does. */
function addedEffects(sums: ClientSums): readonly AddedEffect[] {
  return Array.from({ length: sums.sides }, (_, side) => ({
    unpaidBlocked: addedOrders(sums, 'unpaidBlocked', side),
    paidRefused: addedOrders(sums, 'paidRefused', side),
  }));
}

function addedOrders({ clients, columns }: ClientSums, name: keyof TradeOff, side: number): AddedOrders {
  const column = (of: string) => columns.get(of) ?? new Float64Array(clients);
  const [before, after, all] = [
    column(`${name}_${side - 1}`),
    column(`${name}_${side}`),
    column(EFFECTS[name][0]),
  ];
  const added = after.map((orders, client) => orders - (before[client] ?? 0));
  // Where each of two rule sets blocks what the other does not, there is no share of successes.
  const share = added.some((count) => count < 0)
    ? bootstrapInterval(clients, (drawn) => totalShare(added, all, drawn))
    : clusteredInterval(countsOf(added, all));
  return { orders: sumOf(added), share };
}

/** Sums by client: the column `NAME_SIDE` of orders, and `NAME_SIDE_CUR` of money, one value a client. */
interface ClientSums {
  readonly sides: number;
  readonly clients: number;
  readonly currencies: readonly string[];
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/** What each side did to the orders of each client in a part, out of the same table. */
async function clientSums(duck: Duck, part: PartName, splitAt: number, sides: number): Promise<ClientSums> {
  const where = inPart(part, splitAt);
  const known = await duck.rows('SELECT DISTINCT currency FROM answered_orders WHERE currency IS NOT NULL');
  const currencies = known.map((row) => textOf(row['currency']) ?? '').toSorted();
  const sums = sumsOf(sides, currencies);
  const [counted = {}] = await duck.rows(
    `SELECT count(DISTINCT client_hash) AS clients FROM answered_orders WHERE ${where}`,
  );
  const { clients } = numbersOf(counted, { clients: 0 });
  const columns = new Map(sums.map(([name]) => [name, new Float64Array(clients)]));
  const select = sums.map(([name, sql]) => `coalesce(${sql}, 0)::DOUBLE AS ${quoteName(name)}`);
  const sql = `SELECT ${select.join(', ')} FROM answered_orders WHERE ${where} GROUP BY client_hash ORDER BY client_hash`;
  let client = 0;
  for await (const batch of duck.batches(sql)) {
    for (const [name, column] of columns)
      for (const [row, value] of batch.numbers(name).entries()) column[client + row] = value ?? 0;
    client += batch.rowCount;
  }
  return { sides, clients, currencies, columns };
}

function sumsOf(sides: number, currencies: readonly string[]): readonly (readonly [string, string])[] {
  const sums: (readonly [string, string])[] = [
    ['PAID', `count(*) FILTER (fate = 'PAID')`],
    ['UNPAID', `count(*) FILTER (fate = 'UNPAID')`],
  ];
  for (let side = 0; side < sides; side++)
    for (const [name, [fate, holds]] of Object.entries(EFFECTS)) {
      const which = `fate = '${fate}' AND ${holds(side)}`;
      sums.push([`${name}_${side}`, `count(*) FILTER (${which})`]);
      for (const [place, currency] of currencies.entries())
        sums.push([
          `${name}_${side}_${place}`,
          `sum(amount) FILTER (${which} AND currency = ${quote(currency)})`,
        ]);
    }
  return sums;
}

function effectOf({ clients, currencies, columns }: ClientSums, name: keyof TradeOff, side: number): Effect {
  const column = (of: string) => columns.get(of) ?? new Float64Array(clients);
  const [orders, all] = [column(`${name}_${side}`), column(EFFECTS[name][0])];
  const money = currencies.map((_, place) => column(`${name}_${side}_${place}`));
  const amounts = bootstrapIntervals(clients, (drawn) => money.map((sums) => total(sums, drawn)));
  const amount = currencies.flatMap((currency, place): [string, Estimate][] => {
    const estimate = amounts[place];
    return estimate === null || estimate === undefined ? [] : [[currency, estimate]];
  });
  return {
    orders: sumOf(orders),
    share: clusteredInterval(countsOf(orders, all)),
    amount: Object.fromEntries(amount),
  };
}

function* countsOf(orders: Float64Array, all: Float64Array): Generator<ClusterCount> {
  for (const [client, part] of orders.entries()) yield { part, whole: all[client] ?? 0 };
}

function sumOf(column: Float64Array): number {
  return column.reduce((sum, value) => sum + value, 0);
}

function totalShare(orders: Float64Array, all: Float64Array, drawn: Uint32Array): number | null {
  const whole = total(all, drawn);
  return whole === 0 ? null : total(orders, drawn) / whole;
}

function total(column: Float64Array, drawn: Uint32Array): number {
  let sum = 0;
  for (let client = 0; client < column.length; client++) sum += (column[client] ?? 0) * (drawn[client] ?? 0);
  return sum;
}

/**
 * The trade-offs that no other one beats: none stops more unpaid orders, refuses fewer paid ones and holds fewer paid
 * ones back, in at least one of these more.
 */
export function paretoFront(all: readonly TradeOff[]): readonly boolean[] {
  const costs = all.map(({ unpaidStopped, paidRefused, paidHeldBack }) => [
    -unpaidStopped.orders,
    paidRefused.orders,
    paidHeldBack.orders,
  ]);
  return costs.map((one) => !costs.some((other) => isBetter(other, one)));
}

function isBetter(one: readonly number[], other: readonly number[]): boolean {
  const differences = one.map((cost, place) => cost - (other[place] ?? 0));
  return (
    differences.every((difference) => difference <= 0) && differences.some((difference) => difference < 0)
  );
}
