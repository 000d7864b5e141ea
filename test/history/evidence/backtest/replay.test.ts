import { expect } from 'chai';
import fc from 'fast-check';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { NO_HOLDOUTS } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { OrderStage } from '#decision/payer/order.ts';
import { Simulation } from '#decision/simulation.ts';
import type { ReplayInput, VerdictInput } from '#history/evidence/backtest/input.ts';
import { SideBySideReplays } from '#history/evidence/backtest/replay.ts';
import { DeviceTracker } from '#history/evidence/source/shared-devices.ts';
import { getRecordedOrderStage } from '#state/journal.ts';
import { currentRules } from '../../../service/current-rules.ts';

const PLATFORM = toPlatformName('demo');
const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 6, 1);

const RULES = currentRules();

function asked(at: number, clientIdKey: string, orderRef: string): VerdictInput {
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
    sightings: NO_SIGHTINGS,
  };
}

function outcome(
  at: number,
  clientIdKey: string,
  orderRef: string,
  paid: boolean,
  orderStage: OrderStage = 'notAsked',
) {
  const report = { outcome: paid ? 'PAID' : 'UNPAID', cause: null, occurredAt: at } as const;
  const told = { kind: 'outcome', at, platform: PLATFORM, clientIdKey, clientHash: 0n } as const;
  return { ...told, orderRef, report, orderStage } satisfies ReplayInput;
}

function score(at: number, clientIdKey: string, device: string) {
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
    userAgentIsApp: false,
  };
  const scored = { kind: 'score', at, platform: PLATFORM, clientIdKey, clientHash: 0n, request } as const;
  return scored satisfies ReplayInput;
}

function verdicts(inputs: readonly ReplayInput[], side: number = 0, sides: number = 1) {
  const replays = new SideBySideReplays(
    Array.from({ length: sides }, () => () => RULES),
    () => RULES,
    NO_HOLDOUTS,
  );
  return inputs.flatMap((input) => {
    const answers = replays.replay(input);
    return answers === null ? [] : [answers[side]?.verdict];
  });
}

describe('replays side by side', () => {
  const daily = (later: OrderStage) =>
    Array.from({ length: 13 }, (_, day) => START + day * 25 * HOUR_MS).flatMap((at, day) => [
      asked(at, 'bob', `order-${day}`),
      outcome(at + 60_000, 'bob', `order-${day}`, day > 3, day > 3 ? later : 'granted'),
    ]);
  const blocked = (inputs: readonly ReplayInput[]) =>
    verdicts(inputs).filter((answer) => answer === 'BLOCK').length;

  it('leave out what became of orders that they do not grant, but for payments that needed no grant', () => {
    // An order every 25 hours: the fifth is blocked for the chain of four unpaid ones. Where blocked orders have no
    // outcome, the chain lapses a week after the fourth, and the eleventh is granted; otherwise the fifth is paid.
    expect([blocked(daily('granted')), blocked(daily('turnedAway'))]).to.deep.equal([6, 1]);
  });

  it('include an outcome of an order without a request', () => {
    const before = ['a', 'b', 'c', 'd'].map((order, place) => outcome(START + place, 'ann', order, false));
    expect(verdicts([...before, asked(START + 60_000, 'ann', 'e')])).to.deep.equal(['BLOCK']);
  });

  it('answer like a simulation, whatever happens and how many there are', () => {
    const step = fc.record({
      client: fc.constantFrom('ann', 'bob', 'cid'),
      device: fc.constantFrom('x', 'y'),
      order: fc.constantFrom('1', '2', '3'),
      kind: fc.constantFrom('score', 'verdict', 'verdict', 'paid', 'unpaid'),
      afterMs: fc.constantFrom(0, 1_000, 40_000, 400_000, 30 * HOUR_MS),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const history = withSightings(recordedBySimulation(steps));
        const recorded = byClient(history).flatMap((input) =>
          input.kind === 'verdict' ? [input.verdict] : [],
        );
        const one = verdicts(byClient(history));
        expect(one).to.deep.equal(recorded);
        expect(verdicts(byClient(history), 1, 2)).to.deep.equal(one);
      }),
      { numRuns: 50 },
    );
  });
});

/** By client, and in order for each client. */
function byClient<T extends { readonly clientIdKey: string }>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => a.clientIdKey.localeCompare(b.clientIdKey));
}

const DECIDED = { wasBlocked: false, attributes: undefined };

function withSightings(inputs: readonly ReplayInput[]): readonly ReplayInput[] {
  const devices = new DeviceTracker(RULES.sharing);
  const number = ({ clientIdKey }: ReplayInput) => BigInt(['ann', 'bob', 'cid'].indexOf(clientIdKey));
  return inputs.map((input) => {
    if (input.kind === 'score')
      devices.addScore(number(input), input.request.fingerprint, input.request.ip, input.at);
    if (input.kind === 'outcome') {
      const report = { ...input.report, orderRef: input.orderRef };
      devices.addOutcome(input.platform, number(input), report, input.orderStage, input.at);
    }
    if (input.kind !== 'verdict') return input;
    return { ...input, sightings: devices.addVerdict(input.platform, number(input), input.at, DECIDED) };
  });
}

interface Step {
  readonly client: string;
  readonly device: string;
  readonly order: string;
  readonly kind: string;
  readonly afterMs: number;
}

/** The history of steps that a simulation lives through: verdicts are recorded as it gave them, reports as it knew the order. */
function recordedBySimulation(steps: readonly Step[]): readonly ReplayInput[] {
  const simulation = new Simulation(RULES, PLATFORM);
  const granted = new Map<string, boolean>();
  let at = START;
  return steps.map(({ client, device, order, kind, afterMs }): ReplayInput => {
    at += afterMs;
    const orderOfClient = `${client} ${order}`;
    if (kind === 'score') {
      const scored = score(at, client, device);
      simulation.score(client, scored.request, at);
      return scored;
    }
    if (kind === 'verdict') {
      const request = asked(at, client, order);
      const lived = { ...request, currency: null, requestId: 'r', arm: 'active' } as const;
      const { verdict } = simulation.verdict(client, lived, at);
      granted.set(orderOfClient, isAttempt(verdict) || granted.get(orderOfClient) === true);
      return { ...request, verdict };
    }
    const orderStage = getRecordedOrderStage(granted.get(orderOfClient) === false ? true : undefined);
    const reported = outcome(at, client, order, kind === 'paid', orderStage);
    simulation.outcome(client, order, reported.report, at);
    return reported;
  });
}
