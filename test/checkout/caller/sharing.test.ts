import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

interface Shown {
  readonly fingerprint?: string;
  readonly ip?: string;
}

describeOnStores('payers who share a device or an address', (store) => {
  const { service } = serviceOfSuite(() => ({ store: store() }));

  async function payOrders(shop: Tenant, clientIdKey: string, orders: number): Promise<void> {
    for (let order = 1; order <= orders; order++)
      expect((await shop.outcome(clientIdKey, `paid-${order}`, 'PAID')).status).to.equal(200);
  }

  /** What a payer is answered who shows these to a score and asks for a verdict then. */
  async function ask(shop: Tenant, clientIdKey: string, shown: Shown, orderRef = 'order-1') {
    const { clientGroup } = (await shop.score({ clientIdKey, ...shown })).body;
    const { verdict, isBot } = (await shop.verdict({ clientIdKey, orderRef })).body;
    return `${clientGroup} ${verdict}${isBot ? ' bot' : ''}`;
  }

  it('are let through behind a carrier, where 34 of them have four paid orders each', async () => {
    const shop = await service.tenant();
    const ip = '203.0.113.62';
    for (let payer = 1; payer <= 34; payer++) await payOrders(shop, `payer-${payer}`, 4);
    for (let payer = 1; payer <= 34; payer++)
      expect(await ask(shop, `payer-${payer}`, { ip }), `payer ${payer}`).to.equal('TRUSTED GET_NEW');
    expect(await ask(shop, 'new', { ip })).to.equal('NEW GET_NEW');
  });

  it('are let through with phones of one model, where both have ten paid orders', async () => {
    const shop = await service.tenant();
    const fingerprint = 'model-1';
    for (const payer of ['ann', 'bob']) await payOrders(shop, payer, 10);
    for (const orderRef of ['order-1', 'order-2']) {
      for (const payer of ['ann', 'bob'])
        expect(await ask(shop, payer, { fingerprint }, orderRef)).to.equal('TRUSTED GET_NEW');
      for (const payer of ['ann', 'bob']) await shop.outcome(payer, orderRef, 'PAID');
    }
  });

  it('are a ring where six new ones use one device', async () => {
    const shop = await service.tenant();
    const fingerprint = 'ring-device';
    expect(await ask(shop, 'ring-1', { fingerprint })).to.equal('NEW GET_NEW');
    for (let member = 2; member <= 6; member++)
      expect(await ask(shop, `ring-${member}`, { fingerprint })).to.equal('NEW BLOCK bot');
    const paid = await shop.outcome('ring-1', 'order-1', 'PAID');
    expect(paid.status).to.equal(200);
    for (let member = 2; member <= 6; member++)
      expect(await ask(shop, `ring-${member}`, { fingerprint }, 'order-2')).to.equal('NEW BLOCK bot');
    expect(await ask(shop, 'ring-1', { fingerprint }, 'order-2')).to.equal('PAYING GET_NEW');
  });

  it('are no ring any more from the payment of one of two on', async () => {
    const shop = await service.tenant();
    const fingerprint = 'couple-device';
    await ask(shop, 'cid', { fingerprint });
    expect(await ask(shop, 'dan', { fingerprint })).to.equal('NEW BLOCK bot');
    await shop.outcome('cid', 'order-1', 'PAID');
    expect(await ask(shop, 'dan', { fingerprint }, 'order-2')).to.equal('NEW GET_NEW');
  });
});
