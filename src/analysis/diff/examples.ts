import { setImmediate as pause } from 'node:timers/promises';
import type { ClientGroup } from '../../client/client-group.ts';
import { conclude, verdictRule } from '../../decision/assess.ts';
import type { FactValue } from '../../facts/fact.ts';
import { Reasoner, type WorkLimits } from '../../rules/proof/reasoner.ts';
import type { RuleSet, Verdict } from '../../rules/rule-set.ts';
import { type BothVersions, layOver } from './both-versions.ts';
import { OrdinaryPayer } from './ordinary-payer.ts';
import { type WayToDiffer, waysToDiffer, wayText } from './ways-to-differ.ts';

/** What a rule set says to a payer with these facts. */
export interface ExampleAnswer {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly clientGroup: ClientGroup;
  readonly isBot: boolean;
}

/** A payer whom two rule sets answer differently. */
export interface DiffExample {
  /** By label, only what rules ask and the difference needs; all others are as of an ordinary first request. */
  readonly facts: Readonly<Record<string, FactValue>>;
  readonly before: ExampleAnswer;
  readonly after: ExampleAnswer;
}

const EXAMPLES_MAX = 10;

const SEARCH_LIMITS: WorkLimits = { questionStepsMax: 100_000, totalStepsMax: 5_000_000 };

/**
 * Payers whom two rule sets answer with another verdict, group or bot flag, one for each way of differing, the
 * simplest first. It is a proof where `searched` is true: nobody else is answered differently at once.
 */
export function diffExamples(before: RuleSet, after: RuleSet): DiffExamples {
  const search = new ExampleSearch(before, after);
  for (const _asked of search.run());
  return search.found();
}

export interface DiffExamples {
  readonly examples: readonly DiffExample[];
  /** False when time or work was up before every way of differing was decided. */
  readonly searched: boolean;
}

/** How long requests may wait behind a search that runs beside them. */
const SLICE_MS = 2;

/**
 * The same search beside other work, for at most `limitMs`: it pauses every few milliseconds, so that
 * requests are answered meanwhile.
 */
export async function diffExamplesWithin(
  before: RuleSet,
  after: RuleSet,
  limitMs: number,
): Promise<DiffExamples> {
  const end = performance.now() + limitMs;
  const search = new ExampleSearch(before, after);
  let sliceEnd = performance.now() + SLICE_MS;
  for (const _asked of search.run()) {
    const now = performance.now();
    if (now >= end) return { ...search.found(), searched: false };
    if (now < sliceEnd) continue;
    await pause();
    sliceEnd = performance.now() + SLICE_MS;
  }
  return search.found();
}

class ExampleSearch {
  readonly #before: RuleSet;
  readonly #after: RuleSet;
  readonly #both: BothVersions;
  readonly #reasoner: Reasoner;
  readonly #payer: OrdinaryPayer;
  /** By the ways in which their payers are answered differently. */
  readonly #found = new Map<string, DiffExample>();
  readonly #shown = new Set<string>();
  #undecided = false;

  constructor(before: RuleSet, after: RuleSet) {
    this.#before = before;
    this.#after = after;
    this.#both = layOver(before, after);
    this.#reasoner = new Reasoner(this.#both.knowledge, SEARCH_LIMITS);
    this.#payer = new OrdinaryPayer(this.#both.asked, before.settings.currency, this.#reasoner);
  }

  /** Yields after every step, so that the caller may pause or stop. */
  *run(): Generator<void> {
    const questions = [...waysToDiffer(this.#both)];
    this.#reasoner.prepare(questions.flatMap(({ must, mustNot }) => [...must, ...mustNot]));
    yield* this.#payer.settle();
    for (const question of questions) {
      yield;
      if (this.#shown.has(question.way)) continue;
      const { kind } = this.#reasoner.find(question.must, question.mustNot);
      if (kind === 'undecided') this.#undecided = true;
      if (kind === 'witness') yield* this.#show(question);
    }
  }

  found(): DiffExamples {
    const examples = [...this.#found.values()]
      .toSorted((a, b) => Object.keys(a.facts).length - Object.keys(b.facts).length)
      .slice(0, EXAMPLES_MAX);
    return { examples, searched: !this.#undecided };
  }

  *#show({ must, mustNot }: WayToDiffer): Generator<void> {
    const facts = yield* this.#payer.nearest(must, mustNot);
    const before = answer(this.#before, (label) => facts.get(label));
    const after = answer(this.#after, (label) => facts.get(this.#both.labelAfter(label)));
    const ways = waysOf(before, after);
    for (const way of ways) this.#shown.add(way);
    if (ways.length > 0)
      this.#found.set(ways.join('; '), { facts: this.#payer.unlike(facts), before, after });
  }
}

/** What the rules say, asked as live requests ask them. */
function answer(rules: RuleSet, factOf: (label: string) => FactValue | undefined): ExampleAnswer {
  const values = rules.facts.map(({ label }) => factOf(label) ?? false);
  const { values: concluded, clientGroup, isBot } = conclude(rules, values, false);
  const { rule, params } = verdictRule(rules, concluded);
  return { verdict: params.verdict, rule, clientGroup, isBot };
}

/** How two answers differ, as `waysToDiffer` names it. */
function waysOf(before: ExampleAnswer, after: ExampleAnswer): readonly string[] {
  return [
    ...(before.verdict === after.verdict ? [] : [wayText('verdict', before.rule, after.rule)]),
    ...(before.clientGroup === after.clientGroup
      ? []
      : [wayText('group', before.clientGroup, after.clientGroup)]),
    ...(before.isBot === after.isBot ? [] : [wayText('bot', String(before.isBot), String(after.isBot))]),
  ];
}
