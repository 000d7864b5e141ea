import {
  type ArmTotals,
  differencesOf,
  type Metric,
  recommendationOf,
} from '../../../../src/evidence/experiment/recommendation.ts';
import { type Moments, NO_MOMENTS } from '../../../../src/statistics/confidence-sequence.ts';
import { seeded } from '../../../../test/simulation/seeded-random.ts';

/**
 * Experiments on clients whose values are drawn from a known population, by the estimator alone: no service, no
 * vetoes. Amounts are heavy, and a payer has up to 200 orders.
 */

/** Of a client: its lasting money, and its reversals. */
interface Values {
  readonly amount: number;
  readonly reversals: number;
}

type Draw = () => number;

const ORDERS_MAX = 200;
const POPULATION = 200_000;

function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** How much a few payers and a few orders have of all money. */
export interface Weight {
  /** The smaller, the more orders the busiest payers have. */
  readonly orders: number;
  /** Of the logarithms of amounts. */
  readonly amounts: number;
}

export const HEAVY: Weight = { orders: 1.5, amounts: 1.2 };
export const LIGHT: Weight = { orders: 4, amounts: 0.5 };

/** Two of five never pay; some of the others order again and again, and a few take it back. */
function clientOf(draw: Draw, weight: Weight): Values {
  if (draw() < 0.4) return { amount: 0, reversals: 0 };
  const orders = Math.min(ORDERS_MAX, Math.floor((1 - draw()) ** (-1 / weight.orders)));
  const [usual, takesBack] = [Math.exp(3 + 0.5 * normal(draw)), draw() < 0.03];
  let [amount, reversals] = [0, 0];
  for (let order = 0; order < orders; order++) {
    if (draw() < 0.2) continue;
    if (takesBack && draw() < 0.5) reversals += 1;
    else amount += usual * Math.exp(weight.amounts * normal(draw));
  }
  return { amount, reversals };
}

/** Everybody, capped at the 99.9 % point of others like them. */
function population(weight: Weight): readonly Values[] {
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

/** The metrics of which intervals are looked at, by what a client of the candidate has beside one of the active version. */
const METRICS = {
  value: ({ amount, reversals }: Values) => amount - REVERSAL_COST * reversals,
  amount: ({ amount }: Values) => amount,
  reversals: ({ reversals }: Values) => reversals,
} as const satisfies Partial<Record<Metric, (values: Values) => number>>;

type Looked = keyof typeof METRICS;
const LOOKED: readonly Looked[] = ['value', 'amount', 'reversals'];

class DrawnArm {
  readonly #version: string;
  readonly #share: number;
  clients = 0;
  readonly #sums = new Map<Metric, { seen: number; sum: number; size: number; squares: number }>();

  constructor(version: string, share: number) {
    this.#version = version;
    this.#share = share;
    for (const metric of LOOKED) this.#sums.set(metric, { seen: 0, sum: 0, size: 0, squares: 0 });
  }

  add(values: Values, times: number): void {
    this.clients += 1;
    for (const metric of LOOKED) {
      const sums = this.#sums.get(metric);
      const value = METRICS[metric](values) * times;
      if (sums === undefined || value === 0) continue;
      sums.seen += 1;
      sums.sum += value;
      sums.size += Math.abs(value);
      sums.squares += value ** 2;
    }
  }

  get totals(): ArmTotals {
    const { clients } = this;
    const totals = [...this.#sums].map(([metric, sums]): [Metric, Moments] => [
      metric,
      { ...NO_MOMENTS, ...sums, clients },
    ]);
    return {
      version: this.#version,
      share: this.#share,
      clients,
      unknown: 0,
      unreported: null,
      totals: new Map(totals),
    };
  }
}

export interface DrawnPlan {
  readonly draws: number;
  readonly clients: number;
  readonly looks: number;
  /** Of the candidate, 0 to 1. */
  readonly share: number;
  /** How many times the value of a client of the candidate is that of another. */
  readonly effect: number;
  /** Stop once so many clients have come as the first look that said something of the value named. */
  readonly untilPrinted?: true;
}

/** What a series of experiments came to. */
export class DrawnResult {
  /** Experiments in which something was recommended at any look; of those, the candidate. */
  recommended = 0;
  candidate = 0;
  /** Experiments in which the value had an interval, and those in which it had the truth at all looks. */
  spoke = 0;
  covered = 0;

  add({ told, spoke, missed }: DrawnExperiment): void {
    this.recommended += Number(told !== null);
    this.candidate += Number(told === 'candidate');
    this.spoke += Number(spoke);
    this.covered += Number(spoke && !missed);
  }
}

export class DrawnExperiments {
  readonly #population: readonly Values[];
  readonly #mean: number;

  constructor(weight: Weight) {
    this.#population = population(weight);
    this.#mean = this.#population.reduce((sum, one) => sum + METRICS.value(one), 0) / this.#population.length;
  }

  run({ draws, ...plan }: DrawnPlan): DrawnResult {
    const result = new DrawnResult();
    for (let seed = 0; seed < draws; seed++) result.add(this.#one(plan, seeded(100 + seed)));
    return result;
  }

  #one(
    { clients, looks, share, effect, untilPrinted }: Omit<DrawnPlan, 'draws'>,
    draw: Draw,
  ): DrawnExperiment {
    const one = new DrawnExperiment(share, (effect - 1) * this.#mean);
    const step = Math.ceil(clients / looks);
    let until = clients;
    for (let client = 1; client <= until; client++) {
      const values = this.#population[Math.floor(draw() * this.#population.length)];
      const isCandidate = draw() < share;
      if (values !== undefined) one.add(values, isCandidate, isCandidate ? effect : 1);
      if (client % step > 0 && client < until) continue;
      const before = one.clientsNamed;
      one.look(client);
      if (untilPrinted && before === null) until = Math.min(until, one.clientsNamed ?? until);
    }
    return one;
  }
}

/** One experiment, looked at again and again. */
class DrawnExperiment {
  /** The first recommendation. */
  told: string | null = null;
  spoke = false;
  missed = false;
  /** How many clients the first look named that said anything of the value. */
  clientsNamed: number | null = null;
  readonly #active: DrawnArm;
  readonly #candidate: DrawnArm;
  readonly #truth: number;

  constructor(share: number, truth: number) {
    this.#active = new DrawnArm('active', 1 - share);
    this.#candidate = new DrawnArm('candidate', share);
    this.#truth = truth;
  }

  add(values: Values, isCandidate: boolean, times: number): void {
    (isCandidate ? this.#candidate : this.#active).add(values, times);
  }

  look(clients: number): void {
    const [active, candidate] = [this.#active.totals, this.#candidate.totals];
    const value = differencesOf(active, [candidate]).find(({ metric }) => metric === 'value');
    if (value !== undefined) {
      this.spoke = true;
      this.missed ||= this.#truth < value.low || value.high < this.#truth;
      if (value.clientsToGo !== null) this.clientsNamed ??= clients + value.clientsToGo;
    }
    const { version, takeBack } = recommendationOf(active, [candidate]);
    this.told ??= version ?? takeBack[0] ?? null;
  }
}
