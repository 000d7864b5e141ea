import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const FIRST = { verdict: 'GET_NEW', reason: 'No reason to hold the payer back.' };
const UNPAID = 'The previous attempt did not reach payment;';
const DAY = 24 * 3600;

function wait(waitSeconds: number, reason: string) {
  return { verdict: 'WAIT', waitSeconds, reason };
}

/** Table 3.2 of the interface: what a payer is answered who asks again after so many seconds, or pays before that. */
const ROWS: readonly (readonly [row: string, ...steps: (readonly [number | 'PAID', object])[]])[] = [
  [
    'rows 1 to 4',
    [0, FIRST],
    [1, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
    [30, { verdict: 'GET_NEW', reason: 'The wait of cooldown level 1 was served.' }],
    [1, wait(300, `${UNPAID} wait 300 s, cooldown level 2.`)],
    [300, { verdict: 'GET_NEW', reason: 'The wait of cooldown level 2 was served.' }],
    [1, wait(1800, `${UNPAID} wait 1800 s, cooldown level 3.`)],
  ],
  [
    'row 5',
    [0, FIRST],
    [0, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
    [29, wait(300, 'Asked 1 s before the wait was over; wait 300 s, cooldown level 2.')],
    [299.5, wait(1800, 'Asked 1 s before the wait was over; wait 1800 s, cooldown level 3.')],
    [0, wait(1800, 'Asked 1800 s before the wait was over; wait 1800 s, cooldown level 3.')],
  ],
  [
    'row 6',
    [0, FIRST],
    [0, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
    ['PAID', FIRST],
    [0, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
  ],
  [
    'row 7',
    [0, FIRST],
    [0, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
    [DAY - 1, { verdict: 'GET_NEW', reason: 'The wait of cooldown level 1 was served.' }],
    [DAY, FIRST],
    [0, wait(30, `${UNPAID} wait 30 s, cooldown level 1.`)],
  ],
];

describeOnStores('POST /v1/client/verdict', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  it('follows the cooldown ladder (interface, table 3.2)', async () => {
    for (const [clientIdKey, ...steps] of ROWS) {
      for (const [index, [after, answer]] of steps.entries()) {
        if (after === 'PAID') await shop.outcome(clientIdKey, 'order-1', 'PAID');
        else service.clock.moveSeconds(after);
        const { status, body } = await shop.verdict({ clientIdKey });
        const expected = { ...answer, ruleVersion: 'p2.v10', isBot: false };
        expect([status, body], `${clientIdKey}, step ${index + 1}`).to.deep.equal([200, expected]);
      }
    }
  });

  it("uses the platform's own levels: sandbox has shorter ones", async () => {
    const sandbox = await service.tenant('sandbox');
    const waits: unknown[] = [];
    for (let request = 0; request < 4; request++) waits.push((await sandbox.verdict()).body.waitSeconds);
    expect(waits).to.deep.equal([undefined, 10, 60, 600]);
  });

  it('counts every request of a client, at all points of sale, whatever it asks for', async () => {
    const ask = (more: object) => shop.verdict({ clientIdKey: 'everywhere', ...more });
    await ask({ sellPointKey: 'shop-1', method: 'card' });
    const elsewhere = await ask({ sellPointKey: 'shop-2', method: 'transfer', amountRequested: '7' });
    expect(elsewhere.body.verdict).to.equal('WAIT');
    expect((await shop.client('everywhere')).body.decisionCount).to.equal(2);
    expect((await shop.verdict({ clientIdKey: 'somebody-else' })).body.verdict).to.equal('GET_NEW');
  });

  it('carries stickyRequisiteRef with GET_SAME_STICKY and with nothing else', async () => {
    await shop.bind('bound');
    expect((await shop.verdict({ clientIdKey: 'bound' })).body).to.deep.equal({
      verdict: 'GET_SAME_STICKY',
      stickyRequisiteRef: 'requisite-7',
      reason: 'The client is bound to a requisite.',
      ruleVersion: 'p2.v10',
      isBot: false,
    });
    const { body } = await shop.verdict({ clientIdKey: 'bound' });
    expect(body).to.have.all.keys('verdict', 'waitSeconds', 'reason', 'ruleVersion', 'isBot');
  });

  it('carries neither optional member with BLOCK, and says that a bot is one', async () => {
    await shop.override('blocked', 'BLOCKED');
    const block = { verdict: 'BLOCK', reason: 'The client is blocked.', ruleVersion: 'p2.v10', isBot: false };
    expect((await shop.verdict({ clientIdKey: 'blocked' })).body).to.deep.equal(block);
    await shop.verdict({ clientIdKey: 'bot' });
    await shop.score({ clientIdKey: 'bot', clientHints: { honeypotTriggered: true } });
    const { body } = await shop.verdict({ clientIdKey: 'bot' });
    expect(body).to.deep.include({ verdict: 'BLOCK', isBot: true });
  });

  it('is JSON, and names its decision record in X-Decision-Id', async () => {
    // What the interface does not name is ignored.
    const more = { fingerprint: 7, note: { any: ['thing'] } };
    const { headers } = await shop.verdict({ clientIdKey: 'named', orderRef: 'order-named', ...more });
    expect(headers.get('Content-Type')).to.equal('application/json; charset=utf-8');
    const [decision] = await shop.decisions({ orderRef: 'order-named' });
    expect(decision).to.deep.include({
      decisionId: headers.get('X-Decision-Id'),
      requestId: headers.get('X-Request-Id'),
      seq: 1,
      platform: 'shop',
      sellPointKey: 'shop-1',
      clientIdKey: 'named',
      orderRef: 'order-named',
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
});
