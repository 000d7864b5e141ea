import { type FactValue, NEVER_SECONDS } from '../../facts/fact.ts';
import type { Comparison, Condition, FactRef } from '../../rules/condition.ts';
import { compare } from '../../rules/proof/facts-by-name.ts';
import type { Reasoner } from '../../rules/proof/reasoner.ts';
import { OF_EVERY_REQUEST } from '../../rules/proof/relations.ts';

/** Values by the labels of their facts. */
export type PayerFacts = ReadonlyMap<string, FactValue>;

/** A first request of a payer who was scored before, on a device that nobody else uses; by names of facts. */
const ORDINARY: Readonly<Record<string, FactValue>> = {
  lastOutcome: 'NONE',
  paymentScore: 0.5,
  secondsSinceLastPaid: NEVER_SECONDS,
  secondsSinceLastUnpaid: NEVER_SECONDS,
  secondsSinceLastVerdict: NEVER_SECONDS,
  overrideGroup: 'NONE',
  ...Object.fromEntries(['verdicts', ...OF_EVERY_REQUEST].map((name) => [name, 1])),
  distinctFingerprints: 1,
  distinctIps: 1,
  clientsOnFingerprint: 1,
  clientsOnIp: 1,
  scoredBefore: true,
  jsOk: true,
  userAgentPresent: true,
  fingerprintPresent: true,
  amount: 50,
  attemptedAmount: 50,
  platform: 'demo',
  hourOfDay: 12,
  method: 'card',
  sellPointKey: 'shop-1',
};

/** Finds payers who are as ordinary as a question allows, by asking what facts can hold together. */
export class OrdinaryPayer {
  readonly #asked: readonly FactRef[];
  readonly #reasoner: Reasoner;
  /** By label, that the fact is as of an ordinary payer. */
  readonly #wishes: ReadonlyMap<string, Comparison>;
  #ordinary: PayerFacts = new Map();

  /** `asked` are the facts that matter, those that rules compare. */
  constructor(asked: readonly FactRef[], currency: string, reasoner: Reasoner) {
    this.#asked = asked;
    this.#reasoner = reasoner;
    this.#wishes = new Map(
      asked.map((ref) => [
        ref.label,
        compare(ref, 'equal', ref.name === 'currency' ? currency : ordinary(ref)),
      ]),
    );
    reasoner.prepare([...this.#wishes.values()]);
  }

  /** Must be done before the others. Yields after every step. */
  *settle(): Generator<void> {
    this.#ordinary = yield* this.nearest([], []);
  }

  /** The facts of a payer for whom all of `must` hold and none of `mustNot`, with few that are not ordinary. */
  *nearest(must: readonly Condition[], mustNot: readonly Condition[]): Generator<void, PayerFacts> {
    const kept = [...must];
    const refused: Condition[] = [];
    let facts: PayerFacts = new Map();
    for (const [label, wish] of this.#wishes) {
      // What the last payer found has already needs no question.
      if (facts.get(label) === wish.value) {
        kept.push(wish);
        continue;
      }
      yield;
      const answer = this.#reasoner.find([...kept, wish], mustNot);
      if (answer.kind === 'witness') facts = answer.facts;
      (answer.kind === 'witness' ? kept : refused).push(wish);
    }
    // Once more with all of them, so that none of the facts is left out.
    const last = this.#reasoner.find(kept, [...mustNot, ...refused]);
    return last.kind === 'witness' ? last.facts : facts;
  }

  /** The facts in which a payer is not ordinary, among those that rules compare. */
  unlike(facts: PayerFacts): Readonly<Record<string, FactValue>> {
    const unlike = this.#asked.flatMap(({ label }) => {
      const value = facts.get(label);
      return value === undefined || value === this.#ordinary.get(label) ? [] : [[label, value] as const];
    });
    return Object.fromEntries(unlike);
  }
}

function ordinary({ name, fact: { domain } }: FactRef): FactValue {
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
