import { expect } from 'chai';
import type { OrderCounts } from '../../../src/evidence/presentation.ts';
import { report } from '../../../src/evidence/report/report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import type { MovableClock } from '../../service/movable-clock.ts';
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
        for (let n = 0; n < CLIENTS; n++) await liveChain(shop, service.clock, n);
      } finally {
        await service.stop();
      }
    });
  });

  /** Four unpaid orders, one that was asked for before them, and two that only held-out clients may try to pay. */
  async function liveChain(shop: Tenant, clock: MovableClock, n: number): Promise<void> {
    const clientIdKey = `payer-${n}`;
    await shop.verdict({ clientIdKey, orderRef: `before-${n}` });
    await shop.outcome(clientIdKey, `before-${n}`, 'PAID');
    clock.moveSeconds(60);
    for (const order of ['a', 'b', 'c', 'd']) await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
    // For every second one the draw is first recorded by a score.
    if (n % 2 === 0) await shop.score({ clientIdKey });
    const { body } = await shop.verdict({ clientIdKey, orderRef: `e-${n}` });
    if (body['verdict'] === 'BLOCK') {
      await shop.verdict({ clientIdKey, orderRef: `f-${n}` });
      return;
    }
    const outcome = n % 4 < 2 ? 'PAID' : 'UNPAID';
    held[outcome]++;
    await shop.outcome(clientIdKey, `e-${n}`, outcome);
    await shop.verdict({ clientIdKey, orderRef: `f-${n}` });
    if (outcome === 'PAID') await shop.outcome(clientIdKey, `f-${n}`, outcome);
  }

  const figures = (place: EvidencePlace) =>
    withEvidence(all(place), async (evidence) => {
      const { rules: found } = await report(evidence, { rules, by: null });
      const { holdout, net } = found.find(({ name }) => name === 'blocked-by-unpaid-chain') ?? {};
      return { holdout, net };
    });

  it('gives all orders of both sides from their draw on, turned away or not, and says that they are too few', async () => {
    const { PAID: paid, UNPAID: unpaid } = held;
    const others = CLIENTS - paid - unpaid;
    expect(others).to.be.within(1, CLIENTS - 1);
    const side = (clients: number, orders: Partial<OrderCounts>) => ({
      ...{ clients, paidShare: null },
      orders: { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0, ...orders },
    });
    // An order from before the draw counts for nobody. Who did not pay waits before the next one.
    expect(await figures(lived.archive)).to.deep.equal({
      holdout: {
        share: 0.5,
        ...side(paid + unpaid, { paid: 2 * paid, unpaid, turnedAway: unpaid }),
        others: side(others, { turnedAway: 2 * others }),
      },
      net: null,
    });
  });

  it('is the same from the exported journal', async () => {
    expect(await figures(lived.journal)).to.deep.equal(await figures(lived.archive));
  });
});
