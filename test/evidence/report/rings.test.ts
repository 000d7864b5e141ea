import { expect } from 'chai';
import { report } from '../../../src/evidence/report/report.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { clusteredInterval } from '../../../src/statistics/intervals.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { startService } from '../../service/running-service.ts';
import { all, livedEvidence } from '../source/lived-evidence.ts';

const RINGS = 12;
const PAYERS = 4;

describe('the interval of a rule about shared devices', () => {
  it('counts those who share one as one, since they pay together or not at all', async () => {
    const rules = edited({
      'bot-signals.yaml': swap(
        'operator: greaterThanInclusive, value: 2 }\n    event: { type: signal, params: { weight: 4 } }',
        'operator: greaterThanInclusive, value: 2 }\n    event: { type: signal, params: { weight: 1 } }',
      ),
    });
    const lived = await livedEvidence(async (store) => {
      const service = await startService({ store, rules });
      const shop = await service.tenant();
      for (let payer = 0; payer < RINGS * PAYERS; payer++) {
        const ring = Math.floor(payer / PAYERS);
        const clientIdKey = `payer-${payer}`;
        await shop.score({ clientIdKey, fingerprint: `ring-${ring}` });
        await shop.verdict({ clientIdKey, orderRef: `order-${payer}` });
        await shop.outcome(clientIdKey, `order-${payer}`, ring % 3 === 0 ? 'UNPAID' : 'PAID');
      }
      await service.stop();
    });
    const found = await withEvidence(all(lived.archive), (evidence) => report(evidence, { rules, by: null }));
    const signal = found.rules.find(({ name }) => name === 'shared-fingerprint');
    // The first of a ring shares its device with nobody yet.
    const whole = PAYERS - 1;
    const rings = Array.from({ length: RINGS }, (_, ring) => ({ part: ring % 3 === 0 ? whole : 0, whole }));
    expect(signal?.orders.paid).to.equal((RINGS * whole * 2) / 3);
    expect(signal?.unpaidShare).to.deep.equal(clusteredInterval(rings));
  });
});
