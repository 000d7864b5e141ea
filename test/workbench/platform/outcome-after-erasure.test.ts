import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';

describe('an outcome of a payer who was erased', () => {
  const { shop } = serviceOfSuite();

  const report = async (clientIdKey: string, occurredAt?: string) => {
    const told = { clientIdKey, orderRef: `${clientIdKey}-1`, outcome: 'PAID', occurredAt };
    const { status, body } = await shop.ask<{ result?: string }>('POST', 'outcomes', told);
    return [status, body.result];
  };
  const erase = async (clientIdKey: string) => {
    await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
    expect((await shop.ask('DELETE', `client?clientIdKey=${clientIdKey}`)).status).to.equal(204);
  };
  const momentIn = (ms: number) => new Date(Date.now() + ms).toISOString();

  it('makes no payer when it is of before the erasure, or has no date, and is counted', async () => {
    await erase('gone');
    expect(await report('gone', momentIn(-60_000))).to.deep.equal([200, 'unknownPayer']);
    expect(await report('gone')).to.deep.equal([200, 'unknownPayer']);
    expect((await shop.client('gone')).status).to.equal(404);
    const metrics = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    expect(metrics).to.match(/scoring_outcomes_total\{outcome="PAID",effect="unknownPayer"\} 2/);
  });

  it('makes a payer when it is of after the erasure', async () => {
    await erase('again');
    expect(await report('again', momentIn(60_000))).to.deep.equal([200, 'recorded']);
    expect((await shop.client('again')).body.outcomes).to.deep.include({ paidCount: 1 });
  });

  it('is taken when the payer came back, and of a payer who was never erased', async () => {
    await erase('back');
    await shop.verdict({ clientIdKey: 'back', orderRef: 'back-1' });
    expect(await report('back')).to.deep.equal([200, 'recorded']);
    expect(await report('imported', momentIn(-60_000))).to.deep.equal([200, 'recorded']);
  });
});
