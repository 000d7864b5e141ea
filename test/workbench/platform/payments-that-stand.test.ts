import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';

interface OutcomeAnswer {
  readonly result?: string;
  readonly detail?: string;
  readonly errors?: readonly object[];
}

describe('a payment that the platform reported', () => {
  const { shop } = serviceOfSuite();

  /** Reports of one payer, and what each was answered. */
  const report = async (clientIdKey: string, ...reports: readonly object[]) => {
    const results: (string | undefined)[] = [];
    for (const told of reports) {
      const body = JSON.stringify({ clientIdKey, orderRef: `${clientIdKey}-1`, ...told });
      const answer = await shop.ask<OutcomeAnswer>('POST', 'outcomes', body);
      results.push(answer.body.result ?? answer.body.detail);
    }
    return results;
  };

  const DECLINED = { outcome: 'UNPAID', cause: 'DECLINED' };
  const EXPIRED = { outcome: 'UNPAID', cause: 'EXPIRED' };
  const REVERSED = { outcome: 'UNPAID', cause: 'REVERSED' };
  const PAID = { outcome: 'PAID' };

  it('stands when a late report of the failure before it is delivered again', async () => {
    await shop.verdict({ clientIdKey: 'late', orderRef: 'late-1' });
    expect(await report('late', DECLINED, PAID, DECLINED)).to.deep.equal([
      'recorded',
      'superseded',
      'outweighed',
    ]);
    expect((await shop.client('late')).body).to.deep.include({
      clientGroup: 'PAYING',
      paymentScore: '0.8571',
    });
  });

  it('stands when four abandoned sessions are reported after the payment of their orders', async () => {
    for (const order of ['a', 'b', 'c', 'd']) {
      const ofOrder = { orderRef: `sessions-${order}` };
      const results = await report('sessions', { ...ofOrder, ...PAID }, { ...ofOrder, ...EXPIRED });
      expect(results).to.deep.equal(['recorded', 'outweighed']);
    }
    const { clientGroup, outcomes } = (await shop.client('sessions')).body;
    expect(clientGroup).not.to.equal('BLOCKED');
    expect(outcomes).to.deep.include({ paidCount: 4, unpaidCount: 0 });
  });

  it('is counted as outweighed by the metric when a failure comes after it', async () => {
    await report('metric', PAID, EXPIRED);
    const metrics = await (await fetch(`${shop.platformUrl}/metrics`)).text();
    expect(metrics).to.match(/scoring_outcomes_total\{outcome="UNPAID",effect="outweighed"\} \d/);
  });

  it('is of what was captured, less what was taken back', async () => {
    await shop.verdict({ clientIdKey: 'part', orderRef: 'part-1', amountRequested: '100.00' });
    const results = await report(
      'part',
      { ...PAID, amount: '80.00' },
      { ...REVERSED, amount: '30.00' },
      { ...REVERSED, amount: '30.00' },
    );
    expect(results).to.deep.equal(['recorded', 'superseded', 'unchanged']);
    const { body } = await shop.ask<{ entries: readonly object[] }>('GET', 'client/history?clientIdKey=part');
    expect(body.entries[0]).to.deep.include({ outcome: 'PAID', amount: '50 EUR' });
    expect(body.entries[1]).to.deep.include({ outcome: 'PAID', amount: '80 EUR' });
    expect(await report('part', { ...REVERSED, amount: '80.00' })).to.deep.equal(['superseded']);
    expect((await shop.client('part')).body.outcomes).to.deep.include({ paidCount: 0, unpaidCount: 1 });
  });

  it('is shown in the history with the failures that it outweighs', async () => {
    await report('shown', PAID, DECLINED);
    const { body } = await shop.ask<{ entries: readonly { report?: object }[] }>(
      'GET',
      'client/history?clientIdKey=shown',
    );
    expect(body.entries.map(({ report: told }) => told ?? null)).to.have.lengthOf(2);
    expect(body.entries[0]?.report).to.deep.include({ outcome: 'UNPAID', cause: 'DECLINED' });
  });

  for (const [what, told, detail] of [
    [
      'an amount of a failure',
      { ...EXPIRED, amount: '5' },
      '/amount goes only with PAID, and with UNPAID of cause REVERSED.',
    ],
    ['a currency without an amount', { ...PAID, currency: 'EUR' }, '/currency goes only with an amount.'],
    [
      'a payment of nothing',
      { ...PAID, amount: '0.00' },
      '/amount must be above 0; report the amount captured, or leave it out.',
    ],
    [
      'more digits than the currency has',
      { ...PAID, amount: '5.001', currency: 'EUR' },
      '/amount has 3 digits after the point; EUR has at most 2.',
    ],
    [
      "more digits than the platform's currency has",
      { ...PAID, amount: '5.001' },
      '/amount has 3 digits after the point; EUR has at most 2.',
    ],
  ] as const)
    it(`is refused with ${what}, and nothing is recorded`, async () => {
      const clientIdKey = `refused ${what}`;
      expect(await report(clientIdKey, told)).to.deep.equal([detail]);
      expect((await shop.client(clientIdKey)).status).to.equal(404);
    });

  it('may be in a currency outside ISO 4217 with up to 18 digits after the point', async () => {
    const tiny = { ...PAID, amount: '0.000000000000000001', currency: 'USDT' };
    expect(await report('tiny', tiny)).to.deep.equal(['recorded']);
  });
});
