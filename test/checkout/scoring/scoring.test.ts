import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { RateLimitRefused, TooManyWaiting } from '#checkout/scoring/client-updates.ts';
import type { Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { type Answer, untilTaken } from '../../service/http-call.ts';
import { MovableClock, START_MS } from '../../service/movable-clock.ts';
import { verdictBody } from '../../service/request-bodies.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { scoringService } from '../../service/scoring-service.ts';
import { Tenant } from '../../service/tenant.ts';
import { entriesAbout } from '../../state/read-journal.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const PLATFORM = toPlatformName('shop');

/** Checks that every decision has its own number, and begins on the ladder where the one before ended. */
function expectUnbrokenChain(newestFirst: readonly Decision[], length: number): void {
  const decisions = newestFirst.toReversed();
  expect(decisions.map(({ seq }) => seq)).to.deep.equal(Array.from({ length }, (_, index) => index + 1));
  for (const [index, { ladderBefore, at }] of decisions.entries()) {
    const before = decisions[index - 1];
    if (before === undefined) continue;
    expect(ladderBefore).to.deep.equal(before.ladderAfter);
    expect(at).to.be.at.least(before.at);
  }
}

function failureOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => null,
    (error: unknown) => error,
  );
}

function countStatus(answers: readonly Answer[], status: number): number {
  return answers.filter((answer) => answer.status === status).length;
}

describeOnStores('the service', (store) => {
  let first: RunningService;
  let second: RunningService;
  let shop: Tenant;
  let elsewhere: Tenant;
  let clock: MovableClock;
  const composed = () => scoringService(first.store, clock.now);
  before(async () => {
    clock = new MovableClock();
    first = await startService({ store: store(), clock });
    second = await startService({ store: store(), clock });
    shop = await first.tenant();
    elsewhere = new Tenant(second.application, shop.key);
  });
  after(async () => {
    await first?.stop();
    await second?.stop();
  });

  it('takes one step for each of 50 parallel verdicts of one client at two services', async () => {
    const clientIdKey = 'contested';
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        untilTaken(() =>
          (index % 2 === 0 ? shop : elsewhere).verdict({ clientIdKey, orderRef: `contested-${index}` }),
        ),
      ),
    );
    expect(countStatus(answers, 200)).to.equal(50);
    expect(answers.filter(({ body }) => body.verdict === 'GET_NEW')).to.have.length(1);
    expectUnbrokenChain(await shop.decisions({ clientIdKey }), 50);
    const orders = (await shop.decisions({ clientIdKey })).map(({ orderRef }) => orderRef);
    expect(new Set(orders).size).to.equal(50);
  });

  it('loses no outcome among verdicts and other outcomes of the same client', async () => {
    const clientIdKey = 'busy';
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const tenant = index % 2 === 0 ? shop : elsewhere;
        await Promise.all([
          tenant.outcome(clientIdKey, `elsewhere-${index}`, index % 4 === 0 ? 'UNPAID' : 'PAID'),
          tenant.verdict({ clientIdKey, orderRef: `busy-${index}` }),
          tenant.score({ clientIdKey }),
        ]);
      }),
    );
    const { body } = await elsewhere.client(clientIdKey);
    expect(body.outcomes).to.deep.include({ paidCount: 15, unpaidCount: 5 });
    expect(body.decisionCount).to.equal(20);
  });

  it('says what each report did, and keeps in the journal a report that does not hold', async () => {
    const clientIdKey = randomUUID();
    const report = (outcome: 'PAID' | 'UNPAID', cause: 'REVERSED' | null, second: number) => ({
      outcome,
      cause,
      occurredAt: START_MS - 1000 + second,
    });
    const reversed = report('UNPAID', 'REVERSED', 3);
    const told = [
      reversed,
      report('PAID', null, 1),
      reversed,
      report('UNPAID', 'REVERSED', 4),
      report('PAID', null, 5),
    ];
    const service = composed();
    const effects: string[] = [];
    for (const one of told)
      effects.push((await service.outcome(PLATFORM, { clientIdKey, orderRef: 'order-1', ...one })).effect);
    expect(effects).to.deep.equal(['recorded', 'stale', 'unchanged', 'unchanged', 'superseded']);
    const entries = await entriesAbout(store(), clientKey(PLATFORM, clientIdKey));
    const journaled = entries.map((entry) =>
      entry.kind === 'outcome' ? [entry.order, entry.report] : entry.kind,
    );
    const [first, stale, , repeat, last] = told;
    expect(journaled).to.deep.equal([
      [first, undefined],
      [first, stale],
      [first, repeat],
      [last, undefined],
    ]);
  });

  it('leaves nothing behind when a missing binding or override is lifted', async () => {
    const clientIdKey = randomUUID();
    const service = composed();
    await service.setBinding(PLATFORM, clientIdKey, null);
    expect(await service.setOverride(PLATFORM, clientIdKey, null, 'key 1')).to.deep.equal({
      before: null,
      after: null,
    });
    expect((await shop.client(clientIdKey)).status).to.equal(404);
    expect(await entriesAbout(store(), clientKey(PLATFORM, clientIdKey))).to.deep.equal([]);
  });

  it('takes one step for one Idempotency-Key sent to two services at once', async () => {
    const members = { clientIdKey: 'twofold' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? shop : elsewhere).verdict(members, { 'Idempotency-Key': 'twofold' }),
      ),
    );
    expect(countStatus(answers, 200)).to.equal(20);
    expect(new Set(answers.map(({ headers }) => headers.get('X-Decision-Id'))).size).to.equal(1);
    expect((await shop.client('twofold')).body.decisionCount).to.equal(1);
  });

  it('refuses requests of one client when 200 are waiting, and records just those that it answered', async () => {
    const service = composed();
    const body = verdictBody({ clientIdKey: 'flooded' });
    const context = { requestId: 'flood', idempotencyKey: null };
    const answers = await Promise.allSettled(
      Array.from({ length: 300 }, () => service.verdict(PLATFORM, body, context)),
    );
    const refusals = answers.filter((answer) => answer.status === 'rejected');
    expect(refusals.length, 'more when the machine is too slow for the deadline').to.be.within(100, 299);
    for (const { reason } of refusals) expect(reason).to.be.instanceOf(TooManyWaiting);
    const { body: view } = await shop.client('flooded');
    expect(view.decisionCount).to.equal(300 - refusals.length);
  });

  it('changes nothing for a request that the rate limit refuses while it is read', async () => {
    const service = composed();
    const payer = { sellPointKey: 'shop-1', clientIdKey: 'turned-away', amountRequested: '25.00' };
    const asked = { ...payer, method: 'card', orderRef: 'order-1' };
    const admitted = Promise.resolve(false);
    const context = { requestId: 'away', idempotencyKey: 'away', admitted };
    const refusals = await Promise.all([
      failureOf(service.verdict(PLATFORM, asked, context)),
      failureOf(service.verdict(PLATFORM, asked, { ...context, idempotencyKey: null })),
      failureOf(service.score(PLATFORM, { ...payer, selectedMethodKey: 'card' }, admitted)),
    ]);
    for (const refusal of refusals) expect(refusal).to.be.instanceOf(RateLimitRefused);
    const { state } = await first.store.load(clientKey(PLATFORM, 'turned-away'));
    expect(state).to.deep.equal(UNKNOWN_CLIENT_STATE);
    expect(await first.store.claimIdempotencyKey(PLATFORM, 'away', 'unclaimed')).to.equal('unclaimed');
  });

  it('never runs time backwards for a client where clocks differ a little', async () => {
    const clientIdKey = 'clock-set-back';
    await shop.verdict({ clientIdKey });
    await shop.verdict({ clientIdKey });
    clock.moveSeconds(-2);
    const { body } = await shop.verdict({ clientIdKey });
    clock.moveSeconds(2);
    expect(body).to.deep.include({ verdict: 'WAIT', waitSeconds: 300 });
    const moments = (await shop.decisions({ clientIdKey })).map(({ at }) => at);
    expect(moments).to.deep.equal([clock.now(), clock.now(), clock.now()]);
    expect(clock.now()).to.be.at.least(START_MS);
  });

  for (const [ahead, seconds] of [
    ['two days', 2 * 24 * 3600],
    ['an hour', 3600],
  ] as const)
    it(`counts what is left of a wait from now when a clock that was ${ahead} ahead comes back`, async () => {
      const clientIdKey = `ahead-by-${seconds}`;
      clock.moveSeconds(seconds);
      await shop.verdict({ clientIdKey });
      await shop.verdict({ clientIdKey });
      clock.moveSeconds(10 - seconds);
      const shown = Object(Object((await shop.client(clientIdKey)).body).facts);
      expect(shown.waitRemainingSeconds).to.equal(30);
      const early = await shop.verdict({ clientIdKey });
      expect(early.body).to.deep.include({ verdict: 'WAIT', waitSeconds: 300 });
      expect((await shop.decisions({ clientIdKey })).map(({ at }) => at)).to.include(clock.now());
      clock.moveSeconds(300);
      expect((await shop.verdict({ clientIdKey })).body.verdict).to.equal('GET_NEW');
    });

  it('never scores or shows a client at a time before its last record where clocks differ a little', async () => {
    const clientIdKey = 'seen-later';
    const script = { fingerprint: 'device-7', jsOk: false };
    await shop.score({ clientIdKey, ...script });
    await shop.verdict({ clientIdKey });
    await shop.verdict({ clientIdKey });
    await shop.override(clientIdKey, 'BLOCKED', { expiresAt: new Date(clock.now() + 60_000).toISOString() });
    const look = async () => ({
      score: (await shop.score({ clientIdKey, ...script })).body,
      client: (await shop.client(clientIdKey)).body,
      lastAt: (await first.store.load(clientKey(PLATFORM, clientIdKey))).state.lastAt,
    });
    const before = await look();
    clock.moveSeconds(-2);
    const behind = await look();
    clock.moveSeconds(2);
    expect(behind).to.deep.equal(before);
    expect(before.lastAt).to.equal(clock.now());
  });
});
