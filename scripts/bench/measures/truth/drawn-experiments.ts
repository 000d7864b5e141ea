import {
  type ArmTotals,
  computeDifferences,
  type Metric,
  recommendVersion,
} from '#history/evidence/experiment/recommendation.ts';
import type { ValueSums } from '#history/statistics/confidence-sequence.ts';
import { seeded } from '../../../../test/simulation/seeded-random.ts';

/**
 * Experiments with clients whose values are drawn from a known population. Only the estimator is run, without the
 * service and without vetoes. A few amounts are very large, and a payer has up to 200 orders.
 */

/** The values of a client: the money that the client paid and did not take back, and the number of reversals. */
interface Values {
  readonly amount: number;
  readonly reversals: number;
}

type Draw = () => number;

const ORDERS_MAX = 200;
const POPULATION = 200_000;

/** Draws from the standard normal distribution. */
export function drawNormal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** How unequal payers and orders are. */
interface Inequality {
  /** The smaller this is, the more orders the busiest payers have. */
  readonly orders: number;
  /** The standard deviation of the logarithms of amounts. */
  readonly amounts: number;
}

/** Drawn payers of whom a few have most of the orders, and whose amounts differ much. */
export const UNEQUAL_PAYERS: Inequality = { orders: 1.5, amounts: 1.2 };
/** Drawn payers with about as many orders as each other, and with similar amounts. */
export const SIMILAR_PAYERS: Inequality = { orders: 4, amounts: 0.5 };

/** Draws a client. Two of five never pay. Some of the others order again and again, and a few take payments back. */
function clientOf(draw: Draw, weight: Inequality): Values {
  if (draw() < 0.4) return { amount: 0, reversals: 0 };
  const orders = Math.min(ORDERS_MAX, Math.floor((1 - draw()) ** (-1 / weight.orders)));
  const [usual, takesBack] = [Math.exp(3 + 0.5 * drawNormal(draw)), draw() < 0.03];
  let [amount, reversals] = [0, 0];
  for (let order = 0; order < orders; order++) {
    if (draw() < 0.2) continue;
    if (takesBack && draw() < 0.5) reversals += 1;
    else amount += usual * Math.exp(weight.amounts * drawNormal(draw));
  }
  return { amount, reversals };
}

/** Draws a population. Amounts are capped at the 99.9 % point of other clients of the same kind. */
function population(weight: Inequality): readonly Values[] {
  const [before, draw] = [seeded(1), seeded(2)];
  const amounts = Array.from({ length: POPULATION / 10 }, () => clientOf(before, weight).amount).toSorted(
    (a, b) => a - b,
  );
  const cap = amounts[Math.floor(0.999 * amounts.length)] ?? 0;
  return Array.from({ length: POPULATION }, () => {
    const one = clientOf(draw, weight);
    return { ...one, amount: Math.min(cap, one.amount) };
  });
}

const REVERSAL_COST = 15;

/**
 * The metrics whose intervals are checked, each computed from the values of one client. The intervals are about the
 * difference between a client of the candidate and one of the active version.
 */
const METRICS = {
  value: ({ amount, reversals }: Values) => amount - REVERSAL_COST * reversals,
  amount: ({ amount }: Values) => amount,
  reversals: ({ reversals }: Values) => reversals,
} as const satisfies Partial<Record<Metric, (values: Values) => number>>;

type Looked = keyof typeof METRICS;
const LOOKED: readonly Looked[] = ['value', 'amount', 'reversals'];

/** One arm: the number of its clients, and for each metric the sums that an estimate needs. */
class DrawnArm {
  clients = 0;
  readonly #sums = new Map(LOOKED.map((metric) => [metric, { seen: 0, sum: 0, size: 0, squares: 0 }]));

  add(values: Values, times: number): void {
    this.clients += 1;
    for (const [metric, sums] of this.#sums) {
      const value = METRICS[metric](values) * times;
      if (value === 0) continue;
      sums.seen += 1;
      sums.sum += value;
      sums.size += Math.abs(value);
      sums.squares += value ** 2;
    }
  }

  totals(version: string, share: number): ArmTotals {
    const { clients } = this;
    const totals = new Map<Metric, ValueSums>();
    for (const [metric, sums] of this.#sums) totals.set(metric, { ...sums, clients });
    return { version, share, clients, unknown: 0, unreported: null, totals };
  }
}

interface DrawnPlan {
  readonly draws: number;
  readonly clients: number;
  readonly looks: number;
  /** The candidate's share of the clients, from 0 to 1. */
  readonly share: number;
  /** The value of a client of the candidate, as a multiple of that of other clients. */
  readonly effect: number;
  /** True to stop at the number of clients that the first estimate with an interval of the value says are needed. */
  readonly untilPrinted?: true;
}

/** The result of one experiment. */
export interface DrawnResult {
  /**
   * The version that was recommended first: the candidate or the active version. Null if no estimate recommended one.
   */
  recommended: string | null;
  /** Whether an estimate had an interval of the value. */
  hasInterval: boolean;
  /** Whether such an interval missed the truth. */
  missedTruth: boolean;
  /** The number of clients that the first estimate with an interval of the value said are needed. */
  clientsNamed: number | null;
}

export class DrawnExperiments {
  readonly #population: readonly Values[];
  readonly #mean: number;

  constructor(weight: Inequality) {
    this.#population = population(weight);
    this.#mean = this.#population.reduce((sum, one) => sum + METRICS.value(one), 0) / this.#population.length;
  }

  run({ draws, ...plan }: DrawnPlan): readonly DrawnResult[] {
    return Array.from({ length: draws }, (_, seed) => this.#one(plan, seeded(100 + seed)));
  }

  #somebody(draw: Draw): Values {
    const values = this.#population[Math.floor(draw() * this.#population.length)];
    if (values === undefined) throw new Error('the population is empty');
    return values;
  }

  /** Runs one experiment, and estimates the result several times on the way. */
  #one({ clients, looks, share, effect, untilPrinted }: Omit<DrawnPlan, 'draws'>, draw: Draw): DrawnResult {
    const [active, candidate] = [new DrawnArm(), new DrawnArm()];
    const found: DrawnResult = {
      recommended: null,
      hasInterval: false,
      missedTruth: false,
      clientsNamed: null,
    };
    const step = Math.ceil(clients / looks);
    let until = clients;
    for (let client = 1; client <= until; client++) {
      const values = this.#somebody(draw);
      if (draw() < share) candidate.add(values, effect);
      else active.add(values, 1);
      if (client % step > 0 && client < until) continue;
      const wasNamed = found.clientsNamed !== null;
      const arms = [active.totals('active', 1 - share), candidate.totals('candidate', share)] as const;
      look(found, arms, (effect - 1) * this.#mean);
      if (untilPrinted && !wasNamed) until = Math.min(until, found.clientsNamed ?? until);
    }
    return found;
  }
}

function look(found: DrawnResult, [active, candidate]: readonly [ArmTotals, ArmTotals], truth: number): void {
  const value = computeDifferences(active, [candidate]).find(({ metric }) => metric === 'value');
  if (value !== undefined) {
    found.hasInterval = true;
    found.missedTruth ||= truth < value.low || value.high < truth;
    if (value.clientsToGo !== null)
      found.clientsNamed ??= active.clients + candidate.clients + value.clientsToGo;
  }
  const { version, takeBack } = recommendVersion(active, [candidate]);
  found.recommended ??= version ?? takeBack[0] ?? null;
}
