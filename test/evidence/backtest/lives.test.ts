import { expect } from 'chai';
import fc from 'fast-check';
import { Simulation } from '../../../src/analysis/simulation.ts';
import { platformName } from '../../../src/client/client-key.ts';
import type { AskedInput, Input } from '../../../src/evidence/backtest/input.ts';
import { Lives, type OutcomeAssumption } from '../../../src/evidence/backtest/lives.ts';
import { loadRuleSet } from '../../../src/rules/folder/rule-folder.ts';

const PLATFORM = platformName('demo');
const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 6, 1);

function releasedRules() {
  const loaded = loadRuleSet(`${import.meta.dirname}/../../../rules/p2.v10`);
  if (!loaded.ok) throw new Error('p2.v10 is not sound');
  return loaded.ruleSet;
}

const RULES = releasedRules();

function asked(at: number, clientIdKey: string, orderRef: string): AskedInput {
  return {
    kind: 'verdict',
    at,
    platform: PLATFORM,
    clientIdKey,
    sellPointKey: 'shop-1',
    method: 'card',
    amount: '10.5',
    currency: 'EUR',
    orderRef,
    ruleVersion: 'p2.v10',
    digest: RULES.digest,
    verdict: 'GET_NEW',
    clientHash: 0n,
    orderKey: 0n,
  };
}

function outcome(at: number, clientIdKey: string, orderRef: string, paid: boolean): Input {
  const order = { outcome: paid ? 'PAID' : 'UNPAID', cause: null, occurredAt: at } as const;
  return { kind: 'outcome', at, platform: PLATFORM, clientIdKey, orderRef, order };
}

function score(at: number, clientIdKey: string, device: string): Input {
  const request = {
    sellPointKey: 'shop-1',
    method: 'card',
    amount: '10.5',
    currency: null,
    fingerprint: device,
    ip: `ip of ${device}`,
    jsOk: true,
    honeypotTriggered: false,
    userAgentPresent: true,
    userAgentIsAutomated: false,
  };
  return { kind: 'score', at, platform: PLATFORM, clientIdKey, request };
}

function verdicts(inputs: readonly Input[], ...assumptions: readonly OutcomeAssumption[]) {
  const lives = new Lives(
    assumptions.map((outcomes) => ({ rulesOf: () => RULES, outcomes })),
    () => RULES,
  );
  return inputs.flatMap((input) => {
    const answers = lives.live(input);
    return answers === null ? [] : [answers.map(({ verdict }) => verdict)];
  });
}

describe('lives side by side', () => {
  it('let outcomes of orders that were not granted happen only where all are assumed', () => {
    // An unpaid order every 25 hours: the fifth is blocked for the chain of four. Where blocked orders have no
    // outcome, the chain lapses a week after the fourth, and the eleventh is granted.
    const inputs = Array.from({ length: 13 }, (_, day) => START + day * 25 * HOUR_MS).flatMap((at, day) => [
      asked(at, 'bob', `order-${day}`),
      outcome(at + 60_000, 'bob', `order-${day}`, false),
    ]);
    const seen = verdicts(inputs, 'granted', 'all');
    const blocked = (life: number) => seen.filter((answers) => answers[life] === 'BLOCK').length;
    expect([blocked(0), blocked(1)]).to.deep.equal([8, 9]);
  });

  it('let an outcome happen of an order that no request asked for', () => {
    const before = ['a', 'b', 'c', 'd'].map((order, place) => outcome(START + place, 'ann', order, false));
    expect(verdicts([...before, asked(START + 60_000, 'ann', 'e')], 'granted')).to.deep.equal([['BLOCK']]);
  });

  it('answer as a life of its own does, whatever happens', () => {
    const step = fc.record({
      client: fc.constantFrom('ann', 'bob', 'cid'),
      device: fc.constantFrom('x', 'y'),
      order: fc.constantFrom('1', '2', '3'),
      kind: fc.constantFrom('score', 'verdict', 'verdict', 'paid', 'unpaid'),
      afterMs: fc.constantFrom(0, 1_000, 40_000, 400_000, 30 * HOUR_MS),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let at = START;
        const inputs = steps.map(({ client, device, order, kind, afterMs }): Input => {
          at += afterMs;
          if (kind === 'score') return score(at, client, device);
          return kind === 'verdict' ? asked(at, client, order) : outcome(at, client, order, kind === 'paid');
        });
        const [one, both] = [verdicts(inputs, 'all'), verdicts(inputs, 'granted', 'all')];
        expect(both.map((answers) => answers[1])).to.deep.equal(one.map((answers) => answers[0]));
        expect(one.flat()).to.deep.equal(inSimulation(inputs));
      }),
      { numRuns: 50 },
    );
  });
});

function inSimulation(inputs: readonly Input[]): readonly string[] {
  const simulation = new Simulation(RULES, PLATFORM);
  return inputs.flatMap((input) => {
    switch (input.kind) {
      case 'score':
        simulation.score(input.clientIdKey, input.request, input.at);
        return [];
      case 'verdict':
        return simulation.verdict(
          input.clientIdKey,
          { ...input, currency: null, requestId: 'r', arm: 'active' },
          input.at,
        ).verdict;
      case 'outcome':
        simulation.outcome(input.clientIdKey, input.orderRef, input.order, input.at);
        return [];
      default:
        return [];
    }
  });
}
