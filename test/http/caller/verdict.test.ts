import { expect } from 'chai';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

describeOnStores('POST /v1/client/verdict', (store) => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService({ store: store() });
    shop = await service.tenant();
  });
  after(() => service?.stop());

  describe('the cooldown ladder (interface, table 3.2)', () => {
    it('row 1: grants the first request without a wait', async () => {
      const { status, body } = await shop.verdict({ clientIdKey: 'row-1' });
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        verdict: 'GET_NEW',
        reason: 'No reason to hold the payer back.',
        ruleVersion: 'p2.v10',
        isBot: false,
      });
    });

    it('rows 2 to 4: an attempt that stays unpaid leads to a wait of tens of seconds, minutes, tens of minutes', async () => {
      const ask = () => shop.verdict({ clientIdKey: 'row-2-4' });
      const waits: unknown[] = [];
      for (let level = 1; level <= 3; level++) {
        expect((await ask()).body.verdict).to.equal('GET_NEW');
        service.clock.moveSeconds(1);
        const { waitSeconds } = (await ask()).body;
        waits.push(waitSeconds);
        service.clock.moveSeconds(waitSeconds ?? 0);
      }
      expect(waits).to.deep.equal([30, 300, 1800]);
    });

    it('row 2: answers WAIT with waitSeconds when the first attempt did not reach payment', async () => {
      await shop.verdict({ clientIdKey: 'row-2' });
      expect((await shop.verdict({ clientIdKey: 'row-2' })).body).to.deep.equal({
        verdict: 'WAIT',
        waitSeconds: 30,
        reason: 'The previous attempt did not reach payment; wait 30 s, cooldown level 1.',
        ruleVersion: 'p2.v10',
        isBot: false,
      });
    });

    it('row 5: a request before waitSeconds elapsed climbs to the next level with a longer wait', async () => {
      const ask = () => shop.verdict({ clientIdKey: 'row-5' });
      await ask();
      await ask();
      service.clock.moveSeconds(29);
      expect((await ask()).body).to.deep.include({
        verdict: 'WAIT',
        waitSeconds: 300,
        reason: 'Asked 1 s before the wait was over; wait 300 s, cooldown level 2.',
      });
      expect((await ask()).body.waitSeconds).to.equal(1800);
      expect((await ask()).body.waitSeconds, 'the top level repeats').to.equal(1800);
    });

    it('row 5: a request exactly when waitSeconds elapsed is not early', async () => {
      const ask = () => shop.verdict({ clientIdKey: 'row-5-exact' });
      await ask();
      service.clock.moveSeconds((await ask()).body.waitSeconds ?? 0);
      expect((await ask()).body).to.deep.include({
        verdict: 'GET_NEW',
        reason: 'The wait of cooldown level 1 was served.',
      });
    });

    for (const level of [1, 2, 3]) {
      it(`row 6: a payment at level ${level} makes the next request a first one`, async () => {
        const clientIdKey = `row-6-${level}`;
        const ask = () => shop.verdict({ clientIdKey });
        for (let requests = 0; requests <= level; requests++) await ask();
        await shop.outcome(clientIdKey, 'order-1', 'PAID');
        expect((await ask()).body.verdict).to.equal('GET_NEW');
        expect((await ask()).body.waitSeconds).to.equal(30);
      });

      it(`row 7: a day of absence at level ${level} makes the next request a first one`, async () => {
        const ask = () => shop.verdict({ clientIdKey: `row-7-${level}` });
        for (let requests = 0; requests <= level; requests++) await ask();
        service.clock.moveSeconds(24 * 3600);
        expect((await ask()).body.verdict).to.equal('GET_NEW');
        expect((await ask()).body.waitSeconds).to.equal(30);
      });
    }

    it('row 7: a second less than a day keeps the level', async () => {
      const ask = () => shop.verdict({ clientIdKey: 'row-7-short' });
      await ask();
      await ask();
      service.clock.moveSeconds(24 * 3600 - 1);
      expect((await ask()).body.verdict).to.equal('GET_NEW');
      expect((await ask()).body.waitSeconds).to.equal(300);
    });

    it("uses the platform's own levels: sandbox has shorter ones", async () => {
      const sandbox = await service.tenant('sandbox');
      const waits: unknown[] = [];
      for (let request = 0; request < 4; request++) waits.push((await sandbox.verdict()).body.waitSeconds);
      expect(waits).to.deep.equal([undefined, 10, 60, 600]);
    });

    it('rounds seconds up, so that nobody who waits waitSeconds is early', async () => {
      const ask = () => shop.verdict({ clientIdKey: 'fraction' });
      await ask();
      await ask();
      service.clock.moveSeconds(29.5);
      expect((await ask()).body.reason).to.match(/^Asked 1 s before|^Asked 0\.5 s before/);
    });

    it('applies to each client separately, at all points of sale', async () => {
      await shop.verdict({ clientIdKey: 'everywhere', sellPointKey: 'shop-1' });
      const elsewhere = await shop.verdict({ clientIdKey: 'everywhere', sellPointKey: 'shop-2' });
      expect(elsewhere.body.verdict).to.equal('WAIT');
      expect((await shop.verdict({ clientIdKey: 'somebody-else' })).body.verdict).to.equal('GET_NEW');
    });
  });

  describe('the answer (interface, 2.4)', () => {
    it('carries stickyRequisiteRef with GET_SAME_STICKY and with nothing else', async () => {
      await shop.bind('bound');
      expect((await shop.verdict({ clientIdKey: 'bound' })).body).to.deep.equal({
        verdict: 'GET_SAME_STICKY',
        stickyRequisiteRef: 'requisite-7',
        reason: 'The client is bound to a requisite.',
        ruleVersion: 'p2.v10',
        isBot: false,
      });
      const wait = await shop.verdict({ clientIdKey: 'bound' });
      expect(wait.body).to.have.all.keys('verdict', 'waitSeconds', 'reason', 'ruleVersion', 'isBot');
    });

    it('carries neither optional member with BLOCK', async () => {
      await shop.override('blocked', 'BLOCKED');
      expect((await shop.verdict({ clientIdKey: 'blocked' })).body).to.deep.equal({
        verdict: 'BLOCK',
        reason: 'The client is blocked.',
        ruleVersion: 'p2.v10',
        isBot: false,
      });
    });

    it('blocks a bot and says so', async () => {
      await shop.verdict({ clientIdKey: 'bot' });
      await shop.score({ clientIdKey: 'bot', clientHints: { honeypotTriggered: true } });
      expect((await shop.verdict({ clientIdKey: 'bot' })).body).to.deep.include({
        verdict: 'BLOCK',
        isBot: true,
      });
    });

    it('names its decision record in X-Decision-Id', async () => {
      const { headers } = await shop.verdict({ clientIdKey: 'named', orderRef: 'order-named' });
      const decisionId = headers.get('X-Decision-Id');
      const [decision] = await shop.decisions({ orderRef: 'order-named' });
      expect(decision?.decisionId).to.equal(decisionId);
      expect(decision).to.deep.include({
        seq: 1,
        platform: 'shop',
        sellPointKey: 'shop-1',
        clientIdKey: 'named',
        orderRef: 'order-named',
        requestId: headers.get('X-Request-Id'),
        ruleVersion: 'p2.v10',
        arm: 'active',
        verdict: 'GET_NEW',
        rule: 'otherwise',
        isBot: false,
        clientGroup: 'NEW',
        paymentScore: '0.5000',
        at: service.clock.now(),
      });
    });

    it('is JSON with status 200', async () => {
      const { status, headers } = await shop.verdict({ clientIdKey: 'json' });
      expect(status).to.equal(200);
      expect(headers.get('Content-Type')).to.equal('application/json; charset=utf-8');
    });
  });

  it('counts every request of a client, whatever it asks for', async () => {
    await shop.verdict({ clientIdKey: 'counted', method: 'card' });
    await shop.verdict({ clientIdKey: 'counted', method: 'transfer', amountRequested: '7' });
    expect((await shop.client('counted')).body.decisionCount).to.equal(2);
  });

  it('ignores members that the interface does not name', async () => {
    const { status } = await shop.verdict({
      clientIdKey: 'more',
      fingerprint: 7,
      note: { any: ['thing'] },
    });
    expect(status).to.equal(200);
  });
});
