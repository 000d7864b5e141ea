import { expect } from 'chai';
import { Audit } from '../../src/access/audit.ts';
import type { FirstStepsView } from '../../src/service/first-steps.ts';
import { beginFirstSteps } from '../../src/service/first-steps.ts';
import { type RunningService, startService } from './running-service.ts';
import type { DecisionList, Tenant } from './tenant.ts';

const REFUSED =
  'Traffic is made up once, on the platform demo of a store with fewer than 20 decisions that no other platform uses. Start the service on an empty DATA_DIR.';

async function stands(tenant: Tenant): Promise<string> {
  return (await tenant.ask<FirstStepsView>('GET', 'first-steps')).body.traffic;
}

async function expectRefused(tenant: Tenant): Promise<void> {
  const { status, body } = await tenant.ask('POST', 'first-steps');
  expect([status, body.detail]).to.deep.equal([409, REFUSED]);
}

describe('the first steps of a store', () => {
  let service: RunningService;
  let demo: Tenant;
  before(async () => {
    service = await startService();
    demo = await service.tenant('demo');
  });
  after(() => service.stop());

  it('are offered only where the first start printed a key', async () => {
    expect(await stands(demo)).to.equal('none');
    await expectRefused(demo);
  });

  it('make a day of decisions of all kinds that ends now, once however often they are asked for', async () => {
    await beginFirstSteps(service.store.registers);
    await demo.verdict({ clientIdKey: 'tried by hand' });
    expect(await stands(demo)).to.equal('possible');
    const asked = await Promise.all(
      Array.from({ length: 3 }, () => demo.ask<FirstStepsView>('POST', 'first-steps')),
    );
    expect(asked.map(({ status }) => status).toSorted()).to.deep.equal([200, 409, 409]);
    const { body } = await demo.ask<FirstStepsView>('GET', 'first-steps');
    expect(body.ruleVersion).to.equal('p2.v10');
    const verdictOf = async (decisionId: string | null) =>
      (await demo.ask<{ verdict: string }>('GET', `decisions/${decisionId}`)).body.verdict;
    expect([await verdictOf(body.waiting), await verdictOf(body.blocked)]).to.deep.equal(['WAIT', 'BLOCK']);
    const { decisions } = (await demo.ask<DecisionList>('GET', 'decisions?limit=100')).body;
    const now = service.clock.now();
    expect(decisions).to.have.length(100);
    expect(Math.max(...decisions.map(({ at }) => at))).to.be.within(now - 3_600_000, now);
    expect(Math.min(...decisions.map(({ at }) => at))).to.be.within(now - 86_400_000, now);
    await expectRefused(demo);
  });

  it('are noted with the person who asked for them', async () => {
    const { entries } = await new Audit(service.store.auditLog, service.clock.now).read(null, 1000);
    const noted = entries.filter(({ action }) => action === 'made-up traffic');
    expect(noted.map(({ who, platform, after }) => ({ who, platform, after }))).to.deep.equal([
      { who: `key ${demo.key.split('_')[1]}`, platform: 'demo', after: { payments: 124 } },
    ]);
  });

  it('are not offered on another platform, nor beside another platform', async () => {
    expect(await stands(demo)).to.equal('made');
    const shop = await service.tenant('shop');
    expect([await stands(shop), await stands(demo)]).to.deep.equal(['none', 'none']);
    await expectRefused(shop);
  });
});

describe('a store with real traffic on the platform demo', () => {
  it('gets no made-up traffic', async () => {
    const service = await startService();
    await beginFirstSteps(service.store.registers);
    const demo = await service.tenant('demo');
    for (let payer = 0; payer < 20; payer += 1) await demo.verdict({ clientIdKey: `real-${payer}` });
    expect(await stands(demo)).to.equal('used');
    await expectRefused(demo);
    await service.stop();
  });
});
