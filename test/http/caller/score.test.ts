import { expect } from 'chai';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

describeOnStores('POST /v1/client/score', (store) => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService({ store: store() });
    shop = await service.tenant();
  });
  after(() => service?.stop());

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

  it('does not make a client known: the first verdict after many scores is a first request', async () => {
    for (let repeat = 0; repeat < 4; repeat++) await shop.score({ clientIdKey: 'only-scored' });
    expect((await shop.score({ clientIdKey: 'only-scored' })).body.clientGroup).to.equal('NEW');
    expect((await shop.verdict({ clientIdKey: 'only-scored' })).body.verdict).to.equal('GET_NEW');
  });

  it('counts the share of paid outcomes with smoothing, in 4 decimals', async () => {
    const clientIdKey = 'history';
    const scores: string[] = [];
    for (const [index, outcome] of (['PAID', 'PAID', 'UNPAID', 'PAID'] as const).entries()) {
      await shop.outcome(clientIdKey, `order-${index}`, outcome);
      scores.push((await shop.score({ clientIdKey })).body.paymentScore);
    }
    // (paid + 0.2) / (final + 0.4)
    expect(scores).to.deep.equal(['0.8571', '0.9167', '0.6471', '0.7273']);
  });

  it('gives a blocked client without outcomes the neutral score', async () => {
    await shop.override('blocked', 'BLOCKED');
    expect((await shop.score({ clientIdKey: 'blocked' })).body).to.deep.equal({
      clientGroup: 'BLOCKED',
      paymentScore: '0.5000',
      isBot: false,
    });
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

  it('leaves out preferredAcceptorKey when a bound client is in another group', async () => {
    await shop.bind('bound-and-trusted');
    await shop.override('bound-and-trusted', 'TRUSTED');
    const { body } = await shop.score({ clientIdKey: 'bound-and-trusted' });
    expect(body).to.have.all.keys('clientGroup', 'paymentScore', 'isBot');
    expect(body.clientGroup).to.equal('TRUSTED');
  });

  it('reaches PAYING, TRUSTED and BLOCKED by history', async () => {
    const group = async (clientIdKey: string) => (await shop.score({ clientIdKey })).body.clientGroup;
    await shop.outcome('payer', 'order-1', 'PAID');
    expect(await group('payer')).to.equal('PAYING');
    await shop.outcome('payer', 'order-2', 'PAID');
    await shop.outcome('payer', 'order-3', 'PAID');
    expect(await group('payer')).to.equal('TRUSTED');
    for (let order = 0; order < 4; order++) await shop.outcome('leaver', `order-${order}`, 'UNPAID');
    expect(await group('leaver')).to.equal('BLOCKED');
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

  it('keeps the clients of two platforms apart', async () => {
    const other = await service.tenant('other');
    await shop.outcome('shared-name', 'order-1', 'PAID');
    expect((await other.score({ clientIdKey: 'shared-name' })).body.clientGroup).to.equal('NEW');
  });
});
