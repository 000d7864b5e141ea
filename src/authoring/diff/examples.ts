import { setImmediate as pause } from 'node:timers/promises';
import { factValue } from '../../facts/fact.ts';
import { type TObject, Type } from '../../json-schema.ts';
import { factsNamed } from '../../rules/condition.ts';
import { Reasoner, type WorkLimits } from '../../rules/proof/reasoner.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { choice, list, type Shape, shape, yesNo } from '../../shapes.ts';
import {
  ANSWER_MEMBERS,
  AnswerSchema,
  ASKED_FOR,
  type AskedFor,
  type TwoAnswers,
  twoAnswers,
} from './answer.ts';
import { type BothVersions, layOver, type Place, placesOf } from './both-versions.ts';
import { OrdinaryPayer, type PayerFacts } from './ordinary-payer.ts';
import { type WayToDiffer, waysBetween, waysToDiffer } from './ways-to-differ.ts';

const DiffExampleSchema = shape('A payer whom the two answer differently', {
  request: choice(ASKED_FOR, 'What is asked for'),
  differsIn: list(choice(ANSWER_MEMBERS, 'A part of the answer'), 'Of the nine that are compared'),
  facts: Type.Record(factValue, {
    description: 'By label; those not named are as of an ordinary first request',
  }),
  before: AnswerSchema,
  after: AnswerSchema,
});

export type DiffExample = Shape<typeof DiffExampleSchema>;

/** What a search for them found. */
export const FOUND = {
  examples: list(DiffExampleSchema, 'One for each way of differing, ten at most, the simplest first'),
  searched: yesNo(
    'True: everything was tried, so without examples nobody is answered differently, now or later',
  ),
};

export type DiffExamples = Shape<TObject<typeof FOUND>>;

const EXAMPLES_MAX = 10;

const SEARCH_LIMITS: WorkLimits = { questionStepsMax: 100_000, totalStepsMax: 5_000_000 };

/**
 * Payers whom two rule sets answer differently, on any platform, one for each way of differing, the simplest first.
 * It is a proof where `searched` is true: nobody else is answered differently, now or later.
 */
export function diffExamples(before: RuleSet, after: RuleSet): DiffExamples {
  const search = new ExampleSearch(before, after);
  for (const _asked of search.run());
  return search.found();
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
  /** By the ways in which their payers are answered differently. */
  readonly #found = new Map<string, DiffExample>();
  readonly #shown = new Set<string>();
  #undecided = false;

  constructor(before: RuleSet, after: RuleSet) {
    this.#before = before;
    this.#after = after;
  }

  /** Yields after every step, so that the caller may pause or stop. */
  *run(): Generator<void> {
    for (const place of placesOf(this.#before, this.#after)) {
      const both = layOver(this.#before, this.#after, place);
      const ways = [...waysToDiffer(both)];
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

  *#ask(request: AskedFor, ways: readonly WayToDiffer[], both: BothVersions): Generator<void> {
    // Groups and signals are also concluded for a score, which may be of a client whom nobody knows.
    const knowledge = both.knowledge(request === 'verdict' ? 'a verdict' : 'any request');
    const reasoner = new Reasoner(knowledge, SEARCH_LIMITS);
    const conditions = ways.flatMap(({ must, mustNot }) => [...must, ...mustNot]);
    reasoner.prepare(conditions);
    const asked = factsNamed([...conditions, ...both.conditions]).filter(
      ({ fact }) => fact.kind !== 'concluded',
    );
    const payer = new OrdinaryPayer(asked, both.place.before.currency, reasoner);
    yield* payer.settle();
    for (const { way, must, mustNot } of ways) {
      yield;
      if (this.#shown.has(way)) continue;
      const { kind } = reasoner.find(must, mustNot);
      if (kind === 'undecided') this.#undecided = true;
      if (kind !== 'witness') continue;
      const facts = yield* payer.nearest(must, mustNot);
      const answers = this.#answers(request, facts, both);
      // A payer who was found and is answered alike shows nothing.
      if (answers.differsIn.length === 0) this.#undecided = true;
      else this.#keep({ request, facts: told(payer.unlike(facts), both.place), ...answers }, both.place);
    }
  }

  #keep(example: DiffExample, place: Place): void {
    const ways = waysBetween(example, place);
    for (const way of ways) this.#shown.add(way);
    this.#found.set(ways.join('; '), example);
  }

  #answers(request: AskedFor, facts: PayerFacts, { place, labelAfter }: BothVersions): TwoAnswers {
    return twoAnswers(
      request,
      { rules: this.#before, settings: place.before, factOf: (label) => facts.get(label) },
      { rules: this.#after, settings: place.after, factOf: (label) => facts.get(labelAfter(label)) },
    );
  }
}

function told(facts: DiffExample['facts'], { platform }: Place): DiffExample['facts'] {
  return platform === null ? facts : { platform, ...facts };
}
