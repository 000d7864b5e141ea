import { expect } from 'chai';
import { report } from '../../../src/evidence/report/report.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { startService } from '../../service/running-service.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';
import { Workplace } from './backtest-history.ts';

describe('the amounts in a report', () => {
  it('keep fractions of a cent, and show no digits from rounding errors', async () => {
    const place = new Workplace();
    const rules = place.rules('p2.v10');
    const lived = await livedEvidence(async (store) => {
      const service = await startService({ store, rules });
      try {
        const shop = await service.tenant();
        for (const [n, amountRequested] of ['0.0001', '0.0002'].entries()) {
          const order = { clientIdKey: `payer-${n}`, orderRef: `order-${n}` };
          await shop.verdict({ ...order, amountRequested });
          service.clock.moveSeconds(1);
          await shop.outcome(order.clientIdKey, order.orderRef, 'PAID');
        }
      } finally {
        await service.stop();
      }
    });
    const found = await withEvidence(all(lived.archive), (evidence) => report(evidence, { rules, by: null }));
    place.end();
    expect(found.amount).to.deep.equal({
      EUR: { paid: 0.0003, unpaid: 0, reversed: 0, turnedAway: 0, unknown: 0 },
    });
  });
});
