import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

describeOnStores('POST /v1/client/score', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  it('gives a new client the neutral answer, and only the members of the interface', async () => {
    const { status, headers, body } = await shop.score({ clientIdKey: 'new' });
    expect(status).to.equal(200);
    expect(headers.get('Content-Type')).to.equal('application/json; charset=utf-8');
    expect(headers.has('X-Decision-Id')).to.equal(false);
    expect(body).to.deep.equal({ clientGroup: 'NEW', paymentScore: '0.5000', isBot: false });
  });

  it('takes every optional member', async () => {
    const { status, body } = await shop.score({
      clientIdKey: 'all-members',
      toPayCurrency: 'usdt',
      fingerprint: 'f-1',
      ip: '203.0.113.9',
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
      clientHints: { jsOk: true, honeypotTriggered: false, unknown: 1 },
    });
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ clientGroup: 'NEW', paymentScore: '0.5000', isBot: false });
  });

  it('never calls a new client a bot, whatever its hints show, but remembers them for its first verdict', async () => {
    const clientIdKey = 'trapped';
    const score = () => shop.score({ clientIdKey, clientHints: { jsOk: false, honeypotTriggered: true } });
    expect((await score()).body.isBot).to.equal(false);
    expect((await shop.verdict({ clientIdKey })).body).to.deep.include({ verdict: 'BLOCK', isBot: true });
    expect((await score()).body.isBot).to.equal(true);
  });

  it('is idempotent: repeated calls give the same answer and change no counter', async () => {
    const clientIdKey = 'repeated';
    await shop.verdict({ clientIdKey });
    await shop.outcome(clientIdKey, 'order-1', 'PAID');
    const first = await shop.score({ clientIdKey });
    const before = (await shop.client(clientIdKey)).body;
    for (let repeat = 0; repeat < 5; repeat++) {
      expect((await shop.score({ clientIdKey })).body).to.deep.equal(first.body);
    }
    const { body } = await shop.client(clientIdKey);
    expect(body.decisionCount).to.equal(1);
    expect(body.ladder).to.deep.equal(before.ladder);
    expect(body.outcomes).to.deep.equal(before.outcomes);
  });

  it('carries preferredAcceptorKey for a STICKY client', async () => {
    await shop.bind('bound');
    expect((await shop.score({ clientIdKey: 'bound' })).body).to.deep.equal({
      clientGroup: 'STICKY',
      paymentScore: '0.5000',
      isBot: false,
      preferredAcceptorKey: ['acceptor-1', 'acceptor-2'],
    });
  });

  it('reaches PAYING, TRUSTED and BLOCKED by history, with the smoothed share of what was paid', async () => {
    const after = async (clientIdKey: string, ...outcomes: readonly ('PAID' | 'UNPAID')[]) => {
      for (const [index, outcome] of outcomes.entries())
        await shop.outcome(clientIdKey, `order-${index}`, outcome);
      const { clientGroup, paymentScore } = (await shop.score({ clientIdKey })).body;
      return `${clientGroup} ${paymentScore}`;
    };
    // (paid + 0.2) / (final + 0.4)
    expect(await after('payer', 'PAID')).to.equal('PAYING 0.8571');
    expect(await after('regular', 'PAID', 'PAID', 'PAID')).to.equal('TRUSTED 0.9412');
    expect(await after('leaver', 'UNPAID', 'UNPAID', 'UNPAID', 'UNPAID')).to.equal('BLOCKED 0.0455');
  });

  it('carries payLimitValue only where the platform enables scoring limits', async () => {
    const sandbox = await service.tenant('sandbox');
    expect((await sandbox.score({ clientIdKey: 'limited' })).body).to.deep.equal({
      clientGroup: 'NEW',
      paymentScore: '0.5000',
      isBot: false,
      payLimitValue: ['EUR:250.00', 'USD:250.00'],
    });
    expect((await shop.score({ clientIdKey: 'limited' })).body).not.to.have.property('payLimitValue');
  });
});
