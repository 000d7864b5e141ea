import { expect } from 'chai';
import fc from 'fast-check';
import { parseDuration } from '#base/duration.ts';
import type { Decision } from '#decision/decision.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { type Fact, NO_SIGHTINGS, type NullableFactValue } from '#decision/facts/fact.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { computePaymentScore } from '#decision/payer/payment-score.ts';
import type { VerdictRequest } from '#decision/requests.ts';
import type { FactRef } from '#decision/rules/condition.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { type AssumedRequestKind, collectKnowledge, type Relation } from '#decision/rules/proof/knowledge.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Simulation } from '#decision/simulation.ts';
import { declaring } from '../../../rule-fixtures/declared-attributes.ts';
import { anyLife, type Life } from '../../../rule-fixtures/random-life.ts';
import { NOW } from '../../../rule-fixtures/random-states.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../../../rule-fixtures/verdict-request.ts';

/** Some windows that the fact may be counted over and that random lives make a difference to; none of a fact without. */
function windowsFor(fact: Fact): readonly string[] {
  if (fact.kind !== 'windowed') return [];
  const days = fact.wholeDaysAboveMs === undefined ? [] : ['24h', '2d', '30d'];
  return ['1m', '10m', '2h', ...days].filter(
    (window) => (fact.windowRefusal?.(parseDuration(window) ?? 0) ?? null) === null,
  );
}

function placeholder(name: string, fact: Fact, window: string): string {
  const isOfAttribute = fact.kind === 'windowed' && fact.ofAttribute !== undefined;
  return isOfAttribute ? `{${name}(card ${window})}` : `{${name}(${window})}`;
}

const ON_DEMAND = [...FACTS].filter(([, fact]) => fact.kind === 'plain' && fact.onDemand === true);
const PLACEHOLDERS = [
  ...[...FACTS].flatMap(([name, fact]) => windowsFor(fact).map((window) => placeholder(name, fact, window))),
  ...ON_DEMAND.map(([name]) => `{${name}}`),
];

/** The released rules, with every counting fact over several windows, and those that are read on demand. */
const RULES: RuleSet = edited({
  'ruleset.yaml': declaring('{ card: { type: text, pseudonym: true } }'),
  'verdicts.yaml': swap('No reason to hold the payer back.', PLACEHOLDERS.join(' ')),
});

type Values = ReadonlyMap<string, NullableFactValue>;

function number(values: Values, { label }: FactRef): number {
  return Number(values.get(label));
}

function relationHolds(relation: Relation, values: Values): boolean {
  switch (relation.kind) {
    case 'sum': {
      const [a, b] = relation.parts;
      return number(values, a) + number(values, b) === number(values, relation.total);
    }
    case 'at most':
      return number(values, relation.lesser) + relation.by <= number(values, relation.greater);
    case 'payment score': {
      const paid = number(values, relation.paid);
      const final = paid + number(values, relation.unpaid);
      const scores = relation.smoothings.map((smoothing) => computePaymentScore(paid, final, smoothing));
      return scores.includes(number(values, relation.score));
    }
    case 'weight':
      return true;
    default:
      return relation satisfies never;
  }
}

/** What is known at `moment` and yet does not hold for the facts of a decision. */
function broken(
  facts: Readonly<Record<string, NullableFactValue>>,
  moment: AssumedRequestKind,
): readonly string[] {
  const byLabel = new Map(Object.entries(facts));
  const values = RULES.facts.map(({ label }) => byLabel.get(label) ?? null);
  const { conditions, relations, definitions } = collectKnowledge(RULES, moment);
  const defined = definitions.flatMap((definition) =>
    definition.defined.name === 'botWeight' ? [] : definition.conditions,
  );
  return [
    ...[...conditions, ...defined].filter((condition) => !createMatcher(condition)(values)),
    ...relations.filter((relation) => !relationHolds(relation, byLabel)),
  ].map((item) => JSON.stringify(item));
}

/** The request with a card that goes with its order; with none for some orders. */
function withCard(request: VerdictRequest): VerdictRequest {
  const { orderRef } = request;
  return /[1-3]$/.test(orderRef) ? { ...request, attributes: { card: `hmac:${orderRef}` } } : request;
}

/** The fact values at each verdict of a simulated life, whose happenings two clients with the same devices share. */
function simulated(happenings: Life['happenings']): readonly Decision['facts'][] {
  const simulation = new Simulation(RULES, toPlatformName('sandbox'));
  let now = NOW;
  return happenings.flatMap((happened, number) => {
    const clientIdKey = `payer-${number % 2}`;
    now += happened.gapMs;
    switch (happened.kind) {
      case 'score':
        simulation.score(clientIdKey, happened.request, now);
        return [];
      case 'verdict':
        return [simulation.verdict(clientIdKey, withCard(happened.request), now).facts];
      case 'outcome':
        simulation.outcome(clientIdKey, happened.order, { ...happened.outcome, occurredAt: now }, now);
        return [];
      case 'binding': {
        const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: happened.method, expiresAt: null };
        simulation.bind(clientIdKey, happened.bound ? binding : null, now);
        return [];
      }
      case 'override': {
        const { group } = happened;
        const override = group === null ? null : { group, reason: 'r', by: 'b', at: now, expiresAt: null };
        simulation.override(clientIdKey, override, now);
        return [];
      }
      default:
        return happened satisfies never;
    }
  });
}

describe('the relations of facts', () => {
  it('hold at every verdict of every simulated life', () => {
    const property = fc.property(anyLife, ({ happenings }) => {
      const problems = simulated(happenings).flatMap((facts) => [
        ...broken(facts, 'a verdict'),
        ...broken(facts, 'a known client'),
        ...broken(facts, 'any request'),
      ]);
      expect(problems).to.deep.equal([]);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('are not so weak that anything would hold', () => {
    const asked = { kind: 'verdict', gapMs: 0, request: REQUEST, sightings: NO_SIGHTINGS } as const;
    const [facts] = simulated([asked]);
    expect(broken({ ...facts, finalCount: 7 }, 'any request')).to.have.lengthOf(1);
    expect(broken({ ...facts, clientGroup: 'TRUSTED' }, 'any request')).to.have.lengthOf(1);
  });
});
