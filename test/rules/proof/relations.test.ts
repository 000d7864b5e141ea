import { expect } from 'chai';
import fc from 'fast-check';
import { Simulation } from '../../../src/authoring/simulation.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { paymentScore } from '../../../src/client/payment-score.ts';
import { scoreRequest, verdictRequest } from '../../../src/decision/requests.ts';
import { FACTS } from '../../../src/facts/catalogue.ts';
import type { FactValue } from '../../../src/facts/fact.ts';
import type { FactRef } from '../../../src/rules/condition.ts';
import { matcher } from '../../../src/rules/matcher.ts';
import { knowledgeOf, type Moment, type Relation } from '../../../src/rules/proof/relations.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';

const WINDOWED = [...FACTS].filter(([, { kind }]) => kind === 'windowed').map(([name]) => name);
const PLACEHOLDERS = WINDOWED.flatMap((name) => ['1m', '10m', '2h'].map((window) => `{${name}(${window})}`));

/** The released rules, with every counting fact over several windows. */
const RULES: RuleSet = edited({
  'verdicts.yaml': swap('No reason to hold the payer back.', PLACEHOLDERS.join(' ')),
});

type Values = ReadonlyMap<string, FactValue>;

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
      const scores = relation.smoothings.map((smoothing) => paymentScore(paid, final, smoothing));
      return scores.includes(number(values, relation.score));
    }
    case 'weight':
      return true;
    default:
      return relation satisfies never;
  }
}

/** What is known at `moment` and yet does not hold for the facts of a decision. */
function broken(facts: Readonly<Record<string, FactValue>>, moment: Moment): readonly string[] {
  const byLabel = new Map(Object.entries(facts));
  const values = RULES.facts.map(({ label }) => byLabel.get(label) ?? false);
  const { conditions, relations, definitions } = knowledgeOf(RULES, moment);
  const defined = definitions.flatMap((definition) =>
    definition.of.name === 'botWeight' ? [] : definition.conditions,
  );
  return [
    ...[...conditions, ...defined].filter((condition) => !matcher(condition)(values)),
    ...relations.filter((relation) => !relationHolds(relation, byLabel)),
  ].map((item) => JSON.stringify(item));
}

const few = (...texts: readonly string[]) => fc.constantFrom(...texts);
const client = few('payer-1', 'payer-2');
const step = fc.record({
  client,
  afterSeconds: fc.constantFrom(0, 1, 20, 31, 301, 1801, 7200, 86_399, 86_400, 700_000),
  action: fc.oneof(
    fc.record({
      kind: fc.constant('score' as const),
      fingerprint: fc.option(few('device-1', 'device-2'), { nil: undefined }),
      ip: fc.option(few('10.0.0.1', '10.0.0.2'), { nil: undefined }),
      userAgent: fc.option(few('curl/8.0', 'Mozilla/5.0 Firefox/140.0'), { nil: undefined }),
      jsOk: fc.option(fc.boolean(), { nil: undefined }),
      honeypotTriggered: fc.boolean(),
    }),
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('verdict' as const),
        method: few('card', 'transfer'),
        amount: few('10', '20.5'),
        orderRef: few('a', 'b', 'c'),
      }),
    },
    fc.record({
      kind: fc.constant('outcome' as const),
      orderRef: few('a', 'b', 'c', 'd', 'e'),
      outcome: fc.constantFrom('PAID', 'UNPAID'),
      cause: fc.constantFrom(null, 'DECLINED', 'TECHNICAL'),
    }),
    fc.record({
      kind: fc.constant('binding' as const),
      bound: fc.boolean(),
      method: fc.constantFrom(null, 'card'),
    }),
    fc.record({ kind: fc.constant('override' as const), group: fc.constantFrom(null, 'BLOCKED', 'TRUSTED') }),
  ),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The fact values at each verdict of a simulated life. */
function live(steps: readonly Step[]): readonly Readonly<Record<string, FactValue>>[] {
  const simulation = new Simulation(RULES, platformName('sandbox'));
  let now = Date.UTC(2026, 0, 1);
  return steps.flatMap(({ client: clientIdKey, afterSeconds, action }) => {
    now += afterSeconds * 1000;
    const seen = act(simulation, clientIdKey, action, now);
    return seen === null ? [] : [seen];
  });
}

function act(
  simulation: Simulation,
  clientIdKey: string,
  action: Step['action'],
  now: number,
): Readonly<Record<string, FactValue>> | null {
  switch (action.kind) {
    case 'score': {
      const { fingerprint, ip, userAgent, jsOk, honeypotTriggered } = action;
      const body = {
        clientIdKey,
        sellPointKey: 'shop-1',
        amountRequested: '10',
        selectedMethodKey: 'card',
        ...(fingerprint === undefined ? {} : { fingerprint }),
        ...(ip === undefined ? {} : { ip }),
        ...(userAgent === undefined ? {} : { userAgent }),
        clientHints: { honeypotTriggered, ...(jsOk === undefined ? {} : { jsOk }) },
      };
      simulation.score(
        clientIdKey,
        scoreRequest(body, (kind, text) => `${kind}-${text}`),
        now,
      );
      return null;
    }
    case 'verdict': {
      const { method, amount, orderRef } = action;
      const body = { clientIdKey, sellPointKey: 'shop-1', method, amountRequested: amount, orderRef };
      return simulation.verdict(clientIdKey, verdictRequest(body, 'request', 'active'), now).facts;
    }
    case 'outcome': {
      const { orderRef, outcome, cause } = action;
      // A payment has no cause.
      const report = { outcome, cause: outcome === 'PAID' ? null : cause, occurredAt: now };
      simulation.outcome(clientIdKey, orderRef, report, now);
      return null;
    }
    case 'binding': {
      const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: action.method, expiresAt: null };
      simulation.bind(clientIdKey, action.bound ? binding : null, now);
      return null;
    }
    case 'override': {
      const { group } = action;
      const override = group === null ? null : { group, reason: 'r', by: 'b', at: now, expiresAt: null };
      simulation.override(clientIdKey, override, now);
      return null;
    }
    default:
      return action satisfies never;
  }
}

describe('the relations of facts', () => {
  it('hold at every verdict of every simulated life', () => {
    const property = fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      const problems = live(steps).flatMap((facts) => [
        ...broken(facts, 'a verdict'),
        ...broken(facts, 'a known client'),
        ...broken(facts, 'any request'),
      ]);
      expect(problems).to.deep.equal([]);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('are not so weak that anything would hold', () => {
    const [facts] = live([
      {
        client: 'payer-1',
        afterSeconds: 0,
        action: { kind: 'verdict', method: 'card', amount: '10', orderRef: 'a' },
      },
    ]);
    expect(broken({ ...facts, finalCount: 7 }, 'any request')).to.have.lengthOf(1);
    expect(broken({ ...facts, clientGroup: 'TRUSTED' }, 'any request')).to.have.lengthOf(1);
  });
});
