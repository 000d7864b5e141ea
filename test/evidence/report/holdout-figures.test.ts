import { expect } from 'chai';
import { OrderTally } from '../../../src/evidence/report/order-passes.ts';
import { HeldOrders, report } from '../../../src/evidence/report/report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { clusteredShare } from '../../../src/statistics/intervals.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';

const CLIENTS = 12;

describe('the holdout in the report', () => {
  let lived: LivedEvidence;
  let rules: RuleSet;
  /** Clients who were held out, by the outcome of their order. */
  const held: Record<'PAID' | 'UNPAID', number> = { PAID: 0, UNPAID: 0 };

  before(async () => {
    rules = edited({ 'groups.yaml': swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n') });
    lived = await livedEvidence(async (store) => {
      const service = await startService({ store, rules });
      try {
        const shop = await service.tenant();
        for (let n = 0; n < CLIENTS; n++) await liveChain(shop, n);
      } finally {
        await service.stop();
      }
    });
  });

  /** Four unpaid orders, and a fifth that only held-out clients may try to pay. */
  async function liveChain(shop: Tenant, n: number): Promise<void> {
    const clientIdKey = `payer-${n}`;
    for (const order of ['a', 'b', 'c', 'd']) await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
    const { body } = await shop.verdict({ clientIdKey, orderRef: `e-${n}`, amountRequested: '10.00' });
    if (body['verdict'] !== 'GET_NEW') return;
    const outcome = n % 2 === 0 ? 'PAID' : 'UNPAID';
    held[outcome]++;
    await shop.outcome(clientIdKey, `e-${n}`, outcome);
  }

  const figures = (place: EvidencePlace) =>
    withEvidence(all(place), async (evidence) => {
      const { rules: found } = await report(evidence, { rules, by: null });
      return found.find(({ name }) => name === 'blocked-by-unpaid-chain')?.holdout;
    });

  it('gives the outcomes of orders that the rule would have refused, beside those that it did, and says that they are too few', async () => {
    const [paid, unpaid] = [held.PAID, held.UNPAID];
    expect(paid + unpaid).to.be.within(1, CLIENTS - 1);
    expect(await figures(lived.archive)).to.deep.equal({
      share: 0.5,
      orders: { paid, unpaid, turnedAway: 0, unknown: 0 },
      paidShare: null,
      amount: { EUR: { paid: 10 * paid, unpaid: 10 * unpaid, reversed: 0, turnedAway: 0, unknown: 0 } },
      others: {
        orders: { paid: 0, unpaid: 0, turnedAway: CLIENTS - paid - unpaid, unknown: 0 },
        paidShare: null,
      },
    });
  });

  it('is the same from the exported journal', async () => {
    expect(await figures(lived.journal)).to.deep.equal(await figures(lived.archive));
  });
});

describe('the refused orders of a rule, beside those of a holdout', () => {
  it('have an interval by clients, too', () => {
    const [matched, held] = [new OrderTally(), new HeldOrders(0.5)];
    const addOrders = (fate: 'PAID' | 'UNPAID', orders: number) =>
      matched.addOrders({ fate, reversed: false, currency: 'EUR', orders, amount: 0 });
    const refused = Array.from({ length: 20 }, (_, client) => ({ part: client % 2 === 0 ? 4 : 0, whole: 4 }));
    for (const [client, { part, whole }] of refused.entries()) {
      matched.clusters.add(client, part, whole - part);
      addOrders('PAID', part);
      addOrders('UNPAID', whole - part);
    }
    matched.clusters.add(20, 1, 0);
    addOrders('PAID', 1);
    held.add({ cluster: 20, currency: 'EUR', fate: 'PAID', orders: 1, amount: 0 });
    const { others } = held.besideOthers(matched);
    expect(others.orders).to.deep.equal({ paid: 40, unpaid: 40, turnedAway: 0, unknown: 0 });
    expect(others.paidShare).to.deep.equal(clusteredShare(refused));
  });
});
