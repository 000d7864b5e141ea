import { expect } from 'chai';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { Tenant } from '../../service/tenant.ts';
import { OwnConsole } from './own-console.ts';

/** Enough for two hundred in each arm. */
const PAYERS = 500;
const AT_ONCE = 20;

describeWithServer('chromium', 'an experiment in the console', function () {
  this.timeout(300_000);
  let own: OwnConsole;
  before(async () => {
    own = await OwnConsole.start();
  });
  after(() => own?.stop());

  it('shows how the difference went, as a band over time and as a table, by any metric', async () => {
    const { seeded } = own;
    const [shop, operator] = [new Tenant(seeded, seeded.key), new Tenant(seeded, seeded.operatorKey)];
    await operator.ask('POST', 'rules/rollback', { reason: 'enough seen' });
    const canary = {
      version: 'p2.v11',
      mode: 'canary',
      percent: 50,
      acceptDifference: true,
      reason: 'waits',
    };
    expect((await operator.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    const payers = Array.from({ length: PAYERS }, (_, payer) => payer);
    for (let first = 0; first < PAYERS; first += AT_ONCE)
      await Promise.all(payers.slice(first, first + AT_ONCE).map((payer) => pays(shop, payer)));
    await seeded.ship();

    const { page, complaints } = await own.open('#/rollouts', seeded.operatorKey);
    await page.getByRole('button', { name: 'Work it out' }).click();
    const chart = page.locator('figure', { hasText: 'paid: p2.v11' });
    await chart.getByText('paid: p2.v11 as a table').click();
    const rows = page.getByRole('region', { name: 'paid: p2.v11 by time' }).getByRole('row');
    const cells = (await rows.nth(1).getByRole('cell').allTextContents()).slice(1).map(Number);
    const [from = Number.NaN, to = Number.NaN, difference = Number.NaN] = cells;
    expect(from).to.be.below(difference);
    expect(difference).to.be.below(to);
    expect(await rows.count()).to.be.within(2, 31);
    await page.getByRole('combobox', { name: 'Of' }).selectOption('money.EUR.paid');
    await page.getByRole('heading', { name: 'money.EUR.paid: p2.v11' }).waitFor();
    expect(complaints).to.deep.equal([]);
  });
});

/** Two of three payers pay what they ask for. */
async function pays(shop: Tenant, payer: number): Promise<void> {
  const name = `trial-${payer}`;
  expect((await shop.verdict({ clientIdKey: name, orderRef: name })).status).to.equal(200);
  expect((await shop.outcome(name, name, payer % 3 === 0 ? 'UNPAID' : 'PAID')).status).to.equal(200);
}
