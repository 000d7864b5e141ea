import { expect } from 'chai';
import { serviceOfSuite } from '../../../service/running-service.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

describeOnStores('what a payer would be answered next', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  async function next(clientIdKey: string) {
    const { nextVerdict } = (await shop.client(clientIdKey)).body;
    const { now, afterWait } = nextVerdict;
    return [now, afterWait].map((one) => one && [one.verdict, one.rule].join(' '));
  }

  it('is what the payer is then answered, and asking for it changes nothing', async () => {
    const asked = { clientIdKey: 'foretold', orderRef: 'foretold-1', amountRequested: '25.00' };
    await shop.verdict(asked);
    service.clock.moveSeconds(1);
    const before = (await shop.client('foretold')).body;
    expect(before.nextVerdict.asked).to.deep.include({ like: 'lastVerdict', amount: '25', currency: 'EUR' });
    expect(before.nextVerdict.now).to.deep.include({ rule: 'attempt-unpaid', waitSeconds: 30 });
    expect((await shop.client('foretold')).body).to.deep.equal(before);
    const { body } = await shop.verdict(asked);
    const { verdict, waitSeconds, reason } = body;
    expect(before.nextVerdict.now).to.deep.include({ verdict, waitSeconds, reason });
  });

  it('is BLOCK for somebody who was flagged while a wait is due', async () => {
    await shop.verdict({ clientIdKey: 'flagged', orderRef: 'flagged-1' });
    await shop.verdict({ clientIdKey: 'flagged', orderRef: 'flagged-1' });
    expect(await next('flagged')).to.deep.equal(['WAIT asked-too-early', 'GET_NEW wait-served']);
    await shop.override('flagged', 'BLOCKED', { reason: 'a stolen card' });
    expect(await next('flagged')).to.deep.equal(['BLOCK client-blocked', 'BLOCK client-blocked']);
  });

  it('is known of a payer for whom only a score was asked', async () => {
    await shop.score({ clientIdKey: 'only-scored' });
    const { nextVerdict } = (await shop.client('only-scored')).body;
    expect(nextVerdict.asked.like).to.equal('ordinary');
    expect(nextVerdict.now).to.deep.include({ verdict: 'GET_NEW', rule: 'otherwise' });
  });
});
