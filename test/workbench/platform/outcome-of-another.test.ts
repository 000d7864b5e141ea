import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';

describe('an outcome of an order that another client asked for', () => {
  const { service, shop } = serviceOfSuite();

  const report = async (clientIdKey: string, orderRef: string) => {
    const { status, body } = await shop.ask('POST', 'outcomes', { clientIdKey, orderRef, outcome: 'PAID' });
    return { status, body };
  };
  const counted = async () => {
    const text = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    return Number(/^scoring_outcomes_of_another_client_total (\d+)/m.exec(text)?.[1] ?? 0);
  };

  it('counts, and its answer says so without naming the other', async () => {
    await shop.verdict({ clientIdKey: 'guest-77', orderRef: 'o-1' });
    const before = await counted();
    for (const result of ['recorded', 'unchanged']) {
      expect(await report('user-5', 'o-1')).to.deep.equal({
        status: 200,
        body: { clientIdKey: 'user-5', orderRef: 'o-1', result, askedBy: 'anotherClient' },
      });
    }
    expect((await shop.client('user-5')).body.outcomes).to.deep.include({ paidCount: 1 });
    expect((await shop.client('guest-77')).body.outcomes).to.deep.include({ paidCount: 0 });
    expect(await counted()).to.equal(before + 2);
  });

  it('says so of a client who asked for other orders, too', async () => {
    await shop.verdict({ clientIdKey: 'guest-78', orderRef: 'o-2' });
    await shop.verdict({ clientIdKey: 'user-6', orderRef: 'o-3' });
    expect((await report('user-6', 'o-2')).body).to.deep.include({ askedBy: 'anotherClient' });
  });

  it('says nothing where the client asked, too, where nobody did, and of another platform', async () => {
    for (const clientIdKey of ['both-1', 'both-2']) await shop.verdict({ clientIdKey, orderRef: 'o-4' });
    const other = await service.tenant('another-shop');
    await other.verdict({ clientIdKey: 'far', orderRef: 'o-5' });
    for (const [clientIdKey, orderRef] of [
      ['both-1', 'o-4'],
      ['imported', 'o-of-last-year'],
      ['near', 'o-5'],
    ] as const)
      expect((await report(clientIdKey, orderRef)).body).to.deep.equal({
        clientIdKey,
        orderRef,
        result: 'recorded',
      });
  });

  it('says so of a line of many', async () => {
    await shop.verdict({ clientIdKey: 'guest-79', orderRef: 'o-6' });
    const lines = ['guest-79', 'user-7'].map((clientIdKey) =>
      JSON.stringify({ clientIdKey, orderRef: 'o-6', outcome: 'PAID' }),
    );
    const response = await fetch(`${shop.platformUrl}/v1/platform/outcomes`, {
      method: 'POST',
      headers: { 'X-KA-Access-Key': shop.key, 'Content-Type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    const told = (await response.text()).trim().split('\n');
    expect(told.map((line) => JSON.parse(line))).to.deep.equal([
      { line: 1, clientIdKey: 'guest-79', orderRef: 'o-6', result: 'recorded' },
      { line: 2, clientIdKey: 'user-7', orderRef: 'o-6', result: 'recorded', askedBy: 'anotherClient' },
    ]);
  });
});
