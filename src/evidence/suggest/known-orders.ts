import { FACTS } from '../../facts/catalogue.ts';
import type { FactValue } from '../../facts/fact.ts';
import { COOLDOWN_FACTS } from '../../facts/history.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { type AskedInput, inputsOf } from '../backtest/input.ts';
import { type LivedAnswer, Lives } from '../backtest/lives.ts';
import type { Evidence } from '../source/evidence.ts';
import { immatureOrders, type Reversals } from '../source/reversals.ts';
import { blockingRule, type Feature, type KnownOrders } from './rule-search.ts';

/** Which orders the indexes of KnownOrders stand for. */
export interface OrderPlace {
  readonly clientHash: bigint;
  /** When it was first asked for, epoch ms. */
  readonly at: number;
}

export interface LearningOrders {
  readonly orders: KnownOrders;
  /** What the rules saw of each, in the order of the version's facts. */
  readonly values: readonly (readonly FactValue[])[];
  readonly places: readonly OrderPlace[];
}

/** A search reads every order many times; of more orders it takes an even sample. */
const ORDERS_MAX = 50_000;

/**
 * The answers themselves cause these: a rule about payers who were told to wait would block those whom the ladder
 * already holds.
 */
const MADE_BY_ANSWERS: readonly string[] = [...Object.keys(COOLDOWN_FACTS), 'attempts', 'earlyRequests'];

/**
 * Facts that a suggested rule may ask: numbers and flags about what the payer did and showed. Money needs a
 * currency beside it, texts and dates invite rules about single days or shops, and what a person or a rule
 * concluded is nothing new. How many payers share a device would need all of them in the rule's case.
 */
function isAskable(name: string): boolean {
  const fact = MADE_BY_ANSWERS.includes(name) ? undefined : FACTS.get(name);
  if (fact === undefined || (fact.kind !== 'plain' && fact.kind !== 'windowed')) return false;
  if (fact.kind === 'windowed' && fact.sharing !== null) return false;
  if (fact.unit === 'currency units' || name.toLowerCase().includes('amount') || name === 'isNewClient')
    return false;
  return fact.domain.type === 'number' || fact.domain.type === 'boolean';
}

/**
 * The orders before `splitAt` whose outcome is known for good, not one that may yet be reversed, with what the rules saw when each was first asked for, in a life
 * in which only granted orders get an outcome. The view `inputs` must be there.
 */
export async function learningOrders(
  evidence: Evidence,
  rules: RuleSet,
  splitAt: number,
  reversals: Reversals,
  signal?: AbortSignal,
): Promise<LearningOrders> {
  const gathered = new Gathered(rules, await knownFates(evidence, splitAt, reversals));
  const lives = new Lives([{ rulesOf: () => rules, outcomes: 'granted' }], () => rules, evidence.holdoutDraw);
  await lives.liveAll(
    inputsOf(evidence.duck, `"at" < ${splitAt}`),
    (request, [answer]) => {
      if (answer !== undefined) gathered.add(request, answer);
    },
    () => signal?.throwIfAborted(),
  );
  return gathered.result();
}

/** Whether orders of the earlier part were paid, by their keys. */
async function knownFates(
  { duck }: Evidence,
  splitAt: number,
  reversals: Reversals,
): Promise<Map<bigint, boolean>> {
  const earlier = `fate IN ('PAID', 'UNPAID') AND epoch_ms(first_at) < ${splitAt} AND order_key NOT IN ${immatureOrders(reversals)}`;
  const [counted = {}] = await duck.rows(`SELECT count(*) AS orders FROM orders WHERE ${earlier}`);
  const every = Math.max(1, Math.ceil(Number(counted['orders'] ?? 0) / ORDERS_MAX));
  const fates = new Map<bigint, boolean>();
  const sql = `SELECT order_key, fate = 'PAID' AS paid FROM orders WHERE ${earlier} AND order_key % ${every} = 0`;
  for await (const batch of duck.batches(sql)) {
    const [keys, paid] = [batch.integers('order_key'), batch.flags('paid')];
    for (const [row, key] of keys.entries()) if (key !== null) fates.set(key, paid[row] === true);
  }
  return fates;
}

class Gathered {
  readonly #rules: RuleSet;
  readonly #columns: readonly { readonly label: string; readonly index: number; readonly values: number[] }[];
  readonly #fates: Map<bigint, boolean>;
  readonly #paid: number[] = [];
  readonly #blocked: number[] = [];
  readonly #places: OrderPlace[] = [];
  readonly #values: (readonly FactValue[])[] = [];

  constructor(rules: RuleSet, fates: Map<bigint, boolean>) {
    this.#rules = rules;
    this.#fates = fates;
    this.#columns = rules.facts
      .filter(({ name }) => isAskable(name))
      .map(({ label, index }) => ({ label, index, values: [] }));
  }

  add({ orderKey, clientHash, at }: AskedInput, answer: LivedAnswer): void {
    const { values } = answer;
    const paid = this.#fates.get(orderKey);
    if (paid === undefined) return;
    // Later decisions about the order do not count.
    this.#fates.delete(orderKey);
    for (const column of this.#columns) column.values.push(numberIn(values[column.index]));
    this.#paid.push(paid ? 1 : 0);
    this.#blocked.push(this.#isBlocked(answer) ? 1 : 0);
    this.#places.push({ clientHash, at });
    this.#values.push(values);
  }

  /** Also where only a holdout lets the order through: to find those orders again would end the holdout. */
  #isBlocked({ verdict, heldOut, values }: LivedAnswer): boolean {
    return verdict === 'BLOCK' || (heldOut.length > 0 && blockingRule(this.#rules, values) !== null);
  }

  result(): LearningOrders {
    const features = this.#columns.map(
      ({ label, values }): Feature => ({
        label,
        isFlag: FACTS.get(label.split('(')[0] ?? '')?.domain.type === 'boolean',
        values: Float64Array.from(values),
      }),
    );
    return {
      orders: {
        features,
        paid: Uint8Array.from(this.#paid),
        blocked: Uint8Array.from(this.#blocked),
      },
      places: this.#places,
      values: this.#values,
    };
  }
}

function numberIn(value: FactValue | undefined): number {
  return typeof value === 'boolean' ? Number(value) : Number(value ?? 0);
}
