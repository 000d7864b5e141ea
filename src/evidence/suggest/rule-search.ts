import { conclude, verdictRule } from '../../decision/assess.ts';
import { FACTS } from '../../facts/catalogue.ts';
import type { FactValue } from '../../facts/fact.ts';
import { COOLDOWN_FACTS } from '../../facts/history.ts';
import { type Constant, constantsOf, withConstants } from '../../rules/folder/constant.ts';
import { draftOf } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { type AskedInput, inputsOf } from '../backtest/input.ts';
import { type LivedAnswer, Lives } from '../backtest/lives.ts';
import type { Evidence } from '../source/evidence.ts';
import { immatureOrders, type Reversals } from '../source/reversals.ts';

/** One fact of many orders; flags are 0 and 1. */
export interface Feature {
  /** `verdicts(1h)`. */
  readonly label: string;
  readonly isFlag: boolean;
  readonly values: Float64Array;
}

/** Orders whose outcome is known, by what was known of them when they were first asked for. */
export interface KnownOrders {
  readonly features: readonly Feature[];
  /** 1 is paid, 0 is unpaid. */
  readonly paid: Uint8Array;
  /** 1: blocked already. */
  readonly blocked: Uint8Array;
}

export interface FoundCondition {
  readonly label: string;
  readonly isFlag: boolean;
  readonly operator: 'greaterThanInclusive' | 'lessThanInclusive' | 'equal';
  readonly value: number;
}

/** Conditions that must all hold, and the orders that only they would block. */
export interface FoundRule {
  readonly kind: 'rule';
  readonly conditions: readonly FoundCondition[];
  readonly unpaid: number;
  readonly paid: number;
  /** Places of the orders, of those that were not blocked before. */
  readonly matched: readonly number[];
}

const CONDITIONS_MAX = 3;
const BEAM = 24;
const THRESHOLDS_MAX = 24;

/** A change must stop this many more unpaid orders, and this share of them: fewer may be chance. */
const UNPAID_MIN = 15;
const UNPAID_SHARE_MIN = 0.01;

/** A further condition must be worth this much more. */
const GAIN_MIN = 1.2;

/** Unpaid orders that a rule or an edit must block besides those that are blocked already. */
function unpaidMin({ paid, blocked }: Pick<KnownOrders, 'paid' | 'blocked'>): number {
  let open = 0;
  for (const [order, isBlocked] of blocked.entries()) if (isBlocked === 0 && paid[order] === 0) open++;
  return Math.max(UNPAID_MIN, UNPAID_SHARE_MIN * open);
}

/** Whether it has all conditions of the other. */
export function saysAllOf(rule: FoundRule, other: FoundRule): boolean {
  const conditions = new Set(rule.conditions.map(conditionText));
  return other.conditions.every((condition) => conditions.has(conditionText(condition)));
}

interface Grown extends FoundRule {
  readonly worth: number;
}

/** The allowed conjunction of a beam search that blocks the most unpaid orders that are not blocked yet. */
export function bestRule(
  orders: KnownOrders,
  conditions: readonly FoundCondition[],
  isAllowed: (rule: FoundRule) => boolean,
): FoundRule | null {
  const open = [...orders.blocked.keys()].filter((order) => orders.blocked[order] === 0);
  const least = unpaidMin(orders);
  const values = new Map(orders.features.map((feature) => [feature.label, feature.values]));
  let beam: readonly Grown[] = [
    { kind: 'rule', conditions: [], unpaid: 0, paid: 0, matched: open, worth: 0 },
  ];
  let best: FoundRule | null = null;
  for (let length = 1; length <= CONDITIONS_MAX; length++) {
    const grown = beam.flatMap((rule) => grow(rule, conditions, values, orders, least));
    const fitting = grown.filter(isAllowed).toSorted((a, b) => b.unpaid - a.unpaid);
    const [first] = fitting;
    if (first !== undefined && first.unpaid > (best?.unpaid ?? 0) * GAIN_MIN) best = first;
    beam = grown.toSorted((a, b) => b.worth - a.worth).slice(0, BEAM);
  }
  return best;
}

function grow(
  rule: FoundRule,
  conditions: readonly FoundCondition[],
  values: ReadonlyMap<string, Float64Array>,
  { paid }: KnownOrders,
  least: number,
): readonly Grown[] {
  const used = new Set(rule.conditions.map(({ label, operator }) => `${label} ${operator}`));
  return conditions.flatMap((condition) => {
    if (used.has(`${condition.label} ${condition.operator}`)) return [];
    const column = values.get(condition.label);
    if (column === undefined) return [];
    const matched = rule.matched.filter((order) => holds(condition, column[order] ?? Number.NaN));
    const paidCount = matched.reduce((sum, order) => sum + (paid[order] ?? 0), 0);
    const unpaid = matched.length - paidCount;
    if (unpaid < least || matched.length === rule.matched.length) return [];
    // A paid order outweighs some unpaid ones; the root keeps rare paid orders from ruling out every large
    // rule.
    const worth = unpaid / (paidCount + 1) ** 0.7;
    return [
      { kind: 'rule', conditions: [...rule.conditions, condition], unpaid, paid: paidCount, matched, worth },
    ];
  });
}

function holds({ operator, value }: FoundCondition, seen: number): boolean {
  switch (operator) {
    case 'greaterThanInclusive':
      return seen >= value;
    case 'lessThanInclusive':
      return seen <= value;
    case 'equal':
      return seen === value;
    default:
      return operator satisfies never;
  }
}

/** `distinctFingerprints(1h) >= 3 and paidCount <= 0`. */
export function ruleText({ conditions }: Pick<FoundRule, 'conditions'>): string {
  return conditions.map(conditionText).join(' and ');
}

function conditionText({ label, operator, value, isFlag }: FoundCondition): string {
  const signs = { greaterThanInclusive: '>=', lessThanInclusive: '<=', equal: '=' } as const;
  return `${label} ${signs[operator]} ${isFlag ? value === 1 : value}`;
}

/** Every flag both ways, and every number from below and above at values that part the orders. */
export function conditionsOf(features: readonly Feature[]): readonly FoundCondition[] {
  return features.flatMap(({ label, isFlag, values }): readonly FoundCondition[] => {
    if (isFlag) return [0, 1].map((value) => ({ label, isFlag, operator: 'equal' as const, value }));
    return thresholds(values).flatMap((value) => [
      { label, isFlag, operator: 'greaterThanInclusive' as const, value },
      { label, isFlag, operator: 'lessThanInclusive' as const, value },
    ]);
  });
}

/** All different values when they are few, otherwise quantiles of them, in both cases as they were seen. */
function thresholds(values: Float64Array): readonly number[] {
  const different = [...new Set(values)].toSorted((a, b) => a - b);
  if (different.length <= THRESHOLDS_MAX) return different;
  const sorted = values.toSorted();
  const places = Array.from({ length: THRESHOLDS_MAX }, (_, n) =>
    Math.round(((n + 0.5) / THRESHOLDS_MAX) * (sorted.length - 1)),
  );
  return [...new Set(places.map((place) => sorted[place] ?? 0))];
}

/** A constant of the version with another value, and the orders that it would block besides. */
export interface Edit {
  readonly kind: 'edit';
  readonly constant: Constant;
  readonly value: string;
  /** Places of orders that the version did not block. */
  readonly matched: readonly number[];
}

/** The same with what it adds to the changes before it. */
export interface FoundEdit extends Edit {
  readonly unpaid: number;
  readonly paid: number;
}

/** Thresholds and weights of these files choose who is blocked; the ladder and the smoothing do not. */
const FILES: readonly string[] = ['groups.yaml', 'bot-signals.yaml', 'verdicts.yaml'];

/**
 * Every constant of a rule near its present value, as far as this blocks enough unpaid orders more and lets none
 * through that is blocked now. `values` are what the rules saw when each order was first asked for.
 */
export function editsOf(
  version: string,
  files: RuleFiles,
  orders: KnownOrders,
  values: readonly (readonly FactValue[])[],
): readonly Edit[] {
  const present = draftOf(version, files);
  if (!present.ok) return [];
  const labels = labelsOf(present.ruleSet);
  const least = unpaidMin(orders);
  return constantsOf(files)
    .filter(({ at }) => FILES.includes(at.file))
    .flatMap((constant) => nearby(constant.text).map((value) => ({ constant, value })))
    .flatMap(({ constant, value }): readonly Edit[] => {
      const edited = draftOf(version, withConstants(files, [[constant, value]]));
      // It does not take values that were read for other facts.
      if (!edited.ok || labelsOf(edited.ruleSet) !== labels) return [];
      const matched = newlyBlocked(edited.ruleSet, orders, values);
      if (matched === null || matched.filter((order) => orders.paid[order] === 0).length < least) return [];
      return [{ kind: 'edit', constant, value, matched }];
    });
}

/** At most one edit for each constant; the constants in `taken` have theirs. */
export function bestEdit(
  { paid, blocked }: KnownOrders,
  edits: readonly Edit[],
  taken: readonly { readonly kind: string; readonly constant?: Constant }[],
  isAllowed: (edit: FoundEdit) => boolean,
): FoundEdit | null {
  const least = unpaidMin({ paid, blocked });
  const paths = new Set(taken.map(({ constant }) => constant?.path));
  let best: FoundEdit | null = null;
  for (const edit of edits) {
    if (paths.has(edit.constant.path)) continue;
    const matched = edit.matched.filter((order) => blocked[order] === 0);
    const paidCount = matched.reduce((sum, order) => sum + (paid[order] ?? 0), 0);
    const found = { ...edit, matched, paid: paidCount, unpaid: matched.length - paidCount };
    if (found.unpaid >= least && found.unpaid > (best?.unpaid ?? 0) && isAllowed(found)) best = found;
  }
  return best;
}

/** `groups.blocked-by-unpaid-chain.unpaidChain: 4 -> 3`. */
export function editText({ constant, value }: Pick<Edit, 'constant' | 'value'>): string {
  return `${constant.path}: ${constant.text} -> ${value}`;
}

/** The rule that gives the verdict on values, and whether it is BLOCK. */
export function blockingRule(rules: RuleSet, values: readonly FactValue[]): string | null {
  const { rule, params } = verdictRule(rules, conclude(rules, values, false).values);
  return params.verdict === 'BLOCK' ? rule : null;
}

/** Null when an order that is blocked now would not be. */
function newlyBlocked(
  rules: RuleSet,
  { blocked }: KnownOrders,
  values: readonly (readonly FactValue[])[],
): readonly number[] | null {
  const matched: number[] = [];
  for (const [order, seen] of values.entries()) {
    const isBlocked = blockingRule(rules, seen) !== null;
    if (blocked[order] === 1 && !isBlocked) return null;
    if (blocked[order] === 0 && isBlocked) matched.push(order);
  }
  return matched;
}

function labelsOf(rules: RuleSet): string {
  return rules.facts.map(({ label }) => label).join(' ');
}

/** How many steps up and down a small whole number is tried. */
const STEPS = [-3, -2, -1, 1, 2, 3];
const SMALL_MAX = 12;
const FACTORS = [0.25, 0.5, 0.75, 1.5, 2, 4];

/** Values near a number; nothing for words and durations. */
function nearby(text: string): readonly string[] {
  if (!/^\d+(?:\.\d+)?$/.test(text)) return [];
  const number = Number(text);
  if (Number.isInteger(number) && number <= SMALL_MAX)
    return STEPS.map((step) => number + step)
      .filter((value) => value >= 0)
      .map(String);
  const tried = FACTORS.map((factor) => number * factor);
  const round = (value: number) => (Number.isInteger(number) ? Math.round(value) : Number(value.toFixed(4)));
  return [...new Set(tried.map(round))].map(String);
}

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
