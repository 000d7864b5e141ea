import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import { UNKNOWN_CLIENT } from '../../src/client/client-state.ts';
import { decideVerdict } from '../../src/decision/decide.ts';
import type { Decision } from '../../src/decision/decision.ts';
import { NO_SIGHTINGS } from '../../src/facts/fact.ts';
import { LastHour, lastHourOf } from '../../src/metrics/last-hour.ts';
import { clientKey } from '../client/client-keys.ts';
import { currentRules } from '../service/current-rules.ts';
import { MovableClock, START_MS } from '../service/movable-clock.ts';

function decision(platform = 'shop', changes: Partial<Decision> = {}): Decision {
  const request = {
    sellPointKey: 's',
    method: 'card',
    amount: '1',
    currency: null,
    orderRef: 'o',
    requestId: 'r',
    arm: 'active',
  } as const;
  const client = clientKey(platformName(platform), 'payer');
  const made = decideVerdict(
    currentRules(),
    { client, state: UNKNOWN_CLIENT, sightings: NO_SIGHTINGS, now: START_MS },
    request,
  );
  return { ...made.decision, ...changes };
}

describe('the last hour', () => {
  let clock: MovableClock;
  let hour: LastHour;
  const shop = platformName('shop');
  beforeEach(() => {
    clock = new MovableClock();
    hour = new LastHour(clock.now);
  });

  it('of several processes is the sum of theirs, minute by minute, with the percentiles of all', () => {
    const other = new LastHour(clock.now);
    for (let n = 0; n < 9; n++) hour.request('verdict', 200, 0.001);
    other.request('verdict', 503, 1);
    hour.verdict(decision());
    other.verdict(
      decision('shop', { verdict: 'WAIT', ladderAfter: { ...decision().ladderAfter, level: 2 } }),
    );
    const first = hour.minutes(shop);
    clock.moveSeconds(60);
    other.request('verdict', 200, 0.001);
    const { verdicts, requests } = lastHourOf([first, other.minutes(shop)]);
    expect(requests.at(-1)).to.deep.include({ at: START_MS, requests: 10, failed: 1 });
    expect(requests.at(-1)?.latencyMs?.p50).to.be.below(2);
    expect(requests.at(-1)?.latencyMs?.p99).to.be.above(900);
    expect(verdicts.at(-1)?.verdicts).to.deep.include({ GET_NEW: 1, WAIT: 1 });
    expect(verdicts.at(-1)?.waits).to.deep.equal({ 2: 1 });
  });

  it('has sixty minutes, the current one last, also when nothing happened', () => {
    const { verdicts, requests } = hour.view(shop);
    expect(verdicts.length).to.equal(60);
    expect(requests.length).to.equal(60);
    expect(verdicts.at(-1)?.at).to.equal(START_MS);
    expect(verdicts[0]?.at).to.equal(START_MS - 59 * 60_000);
    expect(requests.at(-1)).to.deep.equal({
      at: START_MS,
      requests: 0,
      refused: 0,
      failed: 0,
      latencyMs: null,
    });
  });

  it('counts verdicts, groups, bots and waits by level in their minute', () => {
    hour.verdict(decision());
    clock.moveSeconds(60);
    const ladderAfter = { level: 2, attemptOpen: false, waitUntil: START_MS };
    hour.verdict(decision('shop', { verdict: 'WAIT', isBot: true, ladderAfter }));
    const [before, now] = hour.view(shop).verdicts.slice(-2);
    expect(before?.verdicts).to.deep.equal({ GET_NEW: 1, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 });
    expect(now?.verdicts.WAIT).to.equal(1);
    expect(now?.bots).to.equal(1);
    expect(now?.waits).to.deep.equal({ 2: 1 });
    expect(now?.groups.NEW).to.equal(1);
  });

  it('keeps the platforms apart', () => {
    hour.verdict(decision('other'));
    expect(hour.view(shop).verdicts.at(-1)?.verdicts.GET_NEW).to.equal(0);
    expect(hour.view(platformName('other')).verdicts.at(-1)?.verdicts.GET_NEW).to.equal(1);
  });

  it('forgets what is more than an hour ago', () => {
    hour.verdict(decision());
    clock.moveSeconds(59 * 60);
    expect(hour.view(shop).verdicts[0]?.verdicts.GET_NEW).to.equal(1);
    clock.moveSeconds(60);
    const all = hour.view(shop).verdicts.map(({ verdicts }) => verdicts.GET_NEW);
    expect(Math.max(...all)).to.equal(0);
    hour.verdict(decision());
    expect(hour.view(shop).verdicts.at(-1)?.verdicts.GET_NEW).to.equal(1);
  });

  it('counts refusals and failures, and gives latency within 25 %', () => {
    for (let time = 0; time < 98; time++) hour.request('verdict', 200, 0.001);
    hour.request('score', 400, 0.001);
    hour.request('verdict', 503, 0.3);
    const minute = hour.view(shop).requests.at(-1);
    expect(minute).to.include({ requests: 100, refused: 1, failed: 1 });
    expect(minute?.latencyMs?.p50).to.be.within(1, 1.25);
    expect(minute?.latencyMs?.p99).to.be.within(1, 1.25);
    hour.request('verdict', 200, 0.3);
    expect(hour.view(shop).requests.at(-1)?.latencyMs?.p99).to.be.within(300, 375);
  });

  it('leaves out requests without a decision: scrapes, health checks, the console', () => {
    for (const operation of ['metrics', 'livez', 'console', 'none']) hour.request(operation, 200, 1);
    expect(hour.view(shop).requests.at(-1)?.requests).to.equal(0);
  });

  it('has a bounded size however many platforms there are', () => {
    for (let number = 0; number < 250; number++) hour.verdict(decision(`p-${number}`));
    const counted = Array.from({ length: 250 }, (_, number) =>
      hour.view(platformName(`p-${number}`)).verdicts.at(-1),
    ).filter((minute) => minute?.verdicts.GET_NEW === 1);
    expect(counted.length).to.equal(200);
  });
});
