import { setImmediate as pause } from 'node:timers/promises';
import { type TObject, Type } from '#base/json-schema.ts';
import { choice, list, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import { type FactValue, type NullableFactValue, nullableFactValueSchema } from '#decision/facts/fact.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  listConditionFacts,
} from '#decision/rules/condition.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import { createComparison } from '#decision/rules/proof/built-conditions.ts';
import { FACTS_COUNTING_EVERY_REQUEST } from '#decision/rules/proof/knowledge.ts';
import { Reasoner, type WorkLimits } from '#decision/rules/proof/reasoner.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { CASE_HMACS } from '#workbench/authoring/case-pseudonym.ts';
import { type BothVersions, combineVersions, listPlatformScopes } from './both-versions.ts';
import {
  AnswerSchema,
  answerTwice,
  COMPARED_ANSWER_PARTS,
  listWaysAnswersDiffer,
  listWaysToDiffer,
  REQUEST_KINDS,
  type RequestKind,
  type TwoAnswers,
  type WayToDiffer,
} from './ways-to-differ.ts';

const DiffExampleSchema = shape('A payer whom the two versions answer differently', {
  request: choice(REQUEST_KINDS, 'What is asked for'),
  differsIn: list(
    choice(COMPARED_ANSWER_PARTS, 'A part of the answer'),
    'The parts in which they differ, of the nine that are compared',
  ),
  facts: Type.Record(nullableFactValueSchema, {
    description: 'By label; null: not known; those not named are as of an ordinary first request',
  }),
  before: AnswerSchema,
  after: AnswerSchema,
});

type DiffExample = ValueOf<typeof DiffExampleSchema>;

export const DIFF_EXAMPLES_MEMBERS = {
  examples: list(DiffExampleSchema, 'One for each way of differing, ten at most, the simplest first'),
  searched: yesNo('True: the search was complete, so without examples nobody is answered differently'),
};

export type DiffExamples = ValueOf<TObject<typeof DIFF_EXAMPLES_MEMBERS>>;

const EXAMPLES_MAX = 10;

const SEARCH_LIMITS: WorkLimits = { questionStepsMax: 100_000, totalStepsMax: 5_000_000 };

/**
 * Finds payers to whom two rule sets give different answers, on any platform: one for each way of differing, the
 * simplest first, at most ten. `searched` is true if the search was complete. If it was complete and found no payer,
 * nobody gets different answers, now or later.
 */
export function findDiffExamples(before: RuleSet, after: RuleSet): DiffExamples {
  const search = new ExampleSearch(before, after);
  for (const _asked of search.run());
  return search.found();
}

/** How long a search runs before it pauses for requests, in ms. */
const SLICE_MS = 2;

/**
 * Searches as `findDiffExamples` does, beside other work, for at most `limitMs`. It pauses every few milliseconds, so
 * that requests are answered in between.
 */
export async function findDiffExamplesWithin(
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
  /** The examples, by the ways in which they differ. */
  readonly #found = new Map<string, DiffExample>();
  readonly #shown = new Set<string>();
  #undecided = false;

  constructor(before: RuleSet, after: RuleSet) {
    this.#before = compileWithOtherHmacs(before, CASE_HMACS);
    this.#after = compileWithOtherHmacs(after, CASE_HMACS);
  }

  /** Searches. Yields after every step, so that the caller can pause or stop. */
  *run(): Generator<void> {
    for (const place of listPlatformScopes(this.#before, this.#after)) {
      const both = combineVersions(this.#before, this.#after, place);
      const ways = [...listWaysToDiffer(both)];
      for (const request of ['verdict', 'score'] as const) {
        const asked = ways.filter(({ askedFor }) => askedFor === request);
        if (asked.length > 0) yield* this.#ask(request, asked, both);
      }
    }
  }

  found(): DiffExamples {
    const examples = [...this.#found.values()]
      .toSorted((a, b) => Object.keys(a.facts).length - Object.keys(b.facts).length)
      .slice(0, EXAMPLES_MAX);
    return { examples, searched: !this.#undecided };
  }

  *#ask(request: RequestKind, ways: readonly WayToDiffer[], both: BothVersions): Generator<void> {
    // Groups and signals are also concluded for a score, which may be about an unknown client.
    const knowledge = both.knowledge(request === 'verdict' ? 'a verdict' : 'any request');
    const reasoner = new Reasoner(knowledge, SEARCH_LIMITS);
    const conditions = ways.flatMap(({ must, mustNot }) => [...must, ...mustNot]);
    reasoner.prepare(conditions);
    const asked = listConditionFacts([...conditions, ...both.conditions]).filter(
      ({ fact }) => fact.kind !== 'concluded',
    );
    const payer = new OrdinaryPayer(asked, both.scope.before.currency, reasoner);
    yield* payer.settle();
    for (const { way, must, mustNot } of ways) {
      yield;
      if (this.#shown.has(way)) continue;
      const { kind } = reasoner.find(must, mustNot);
      if (kind === 'undecided') this.#undecided = true;
      if (kind !== 'witness') continue;
      const facts = yield* payer.nearest(must, mustNot);
      const answers = this.#answers(request, facts, both);
      // A payer to whom both versions give the same answer shows nothing.
      if (answers.differsIn.length === 0) {
        this.#undecided = true;
        continue;
      }
      const { platform } = both.scope;
      const shown = { ...(platform === null ? {} : { platform }), ...payer.unlike(facts) };
      const ways = listWaysAnswersDiffer(answers, both.scope);
      for (const way of ways) this.#shown.add(way);
      this.#found.set(ways.join('; '), { request, facts: shown, ...answers });
    }
  }

  #answers(request: RequestKind, facts: PayerFacts, { scope, labelAfter }: BothVersions): TwoAnswers {
    return answerTwice(
      request,
      { rules: this.#before, settings: scope.before, factOf: (label) => facts.get(label) },
      { rules: this.#after, settings: scope.after, factOf: (label) => facts.get(labelAfter(label)) },
    );
  }
}

type PayerFacts = ReadonlyMap<string, NullableFactValue>;

/** Facts that have no value for an ordinary payer. */
const NOT_KNOWN: ReadonlySet<string> = new Set([
  'secondsSinceLastPaid',
  'secondsSinceLastUnpaid',
  'secondsSinceLastReversal',
  'lastCause',
  'secondsSinceLastVerdict',
]);

/** Tells whether a fact has no value for an ordinary payer. An ordinary caller sends no attributes. */
function isUnknown({ name, fact, attribute }: FactRef): boolean {
  return (attribute !== undefined && fact.absence !== undefined) || NOT_KNOWN.has(name);
}

/**
 * The values, by name of fact, for the first request of a payer who was scored before, on a device that nobody else
 * uses.
 */
const ORDINARY: Readonly<Record<string, FactValue>> = {
  lastOutcome: 'NONE',
  paymentScore: 0.5,
  overrideGroup: 'NONE',
  ...Object.fromEntries(['verdicts', ...FACTS_COUNTING_EVERY_REQUEST].map((name) => [name, 1])),
  distinctFingerprints: 1,
  distinctIps: 1,
  clientsOnFingerprint: 1,
  clientsOnIp: 1,
  verdictsOnFingerprint: 1,
  verdictsOnIp: 1,
  knownFingerprints: 1,
  knownIps: 1,
  scoredBefore: true,
  jsOk: true,
  userAgentPresent: true,
  fingerprintPresent: true,
  ipPresent: true,
  amount: 50,
  attemptedAmount: 50,
  platform: 'demo',
  hourOfDay: 12,
  method: 'card',
  sellPointKey: 'shop-1',
};

/** Finds payers who are as ordinary as a question allows, by asking which facts can hold together. */
class OrdinaryPayer {
  readonly #asked: readonly FactRef[];
  readonly #reasoner: Reasoner;
  /** The conditions that a fact has the value of an ordinary payer, by label of the fact. */
  readonly #wishes: ReadonlyMap<string, Comparison>;
  #ordinary: PayerFacts = new Map();

  /** `asked` are the facts that matter, which are those that rules compare. */
  constructor(asked: readonly FactRef[], currency: string, reasoner: Reasoner) {
    this.#asked = asked;
    this.#reasoner = reasoner;
    this.#wishes = new Map(
      asked.map((ref) => [
        ref.label,
        isUnknown(ref)
          ? createComparison(ref, 'known', false)
          : createComparison(ref, 'equal', ref.name === 'currency' ? currency : getOrdinaryValue(ref)),
      ]),
    );
    reasoner.prepare([...this.#wishes.values()]);
  }

  /** Finds the ordinary payer. Call it before the other methods. Yields after every step. */
  *settle(): Generator<void> {
    this.#ordinary = yield* this.nearest([], []);
  }

  /**
   * Finds the facts of a payer for whom all of `must` and none of `mustNot` hold, with few facts that are not
   * ordinary.
   */
  *nearest(must: readonly Condition[], mustNot: readonly Condition[]): Generator<void, PayerFacts> {
    const kept = [...must];
    const refused: Condition[] = [];
    let facts: PayerFacts = new Map();
    for (const [label, wish] of this.#wishes) {
      // Facts that the last found payer already has need no further question.
      if (facts.get(label) === (wish.operator === 'known' ? null : wish.value)) {
        kept.push(wish);
        continue;
      }
      yield;
      const answer = this.#reasoner.find([...kept, wish], mustNot);
      if (answer.kind === 'witness') facts = answer.facts;
      (answer.kind === 'witness' ? kept : refused).push(wish);
    }
    // The last question contains all wishes, so that none of the facts is missing.
    const last = this.#reasoner.find(kept, [...mustNot, ...refused]);
    return last.kind === 'witness' ? last.facts : facts;
  }

  /** Returns the facts in which a payer is not ordinary, among the facts that rules compare. */
  unlike(facts: PayerFacts): Readonly<Record<string, NullableFactValue>> {
    const unlike = this.#asked.flatMap(({ label }) => {
      const value = facts.get(label);
      return value === undefined || value === this.#ordinary.get(label) ? [] : [[label, value] as const];
    });
    return Object.fromEntries(unlike);
  }
}

function getOrdinaryValue({ name, fact: { domain } }: FactRef): FactValue {
  const known = ORDINARY[name];
  if (known !== undefined) return known;
  switch (domain.type) {
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'enum':
      return domain.values[0] ?? '';
    case 'text':
      return '';
    default:
      return domain satisfies never;
  }
}
