import { expect } from 'chai';
import { Tenant } from '../../service/tenant.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's keys", (tab) => {
  it('are issued for what is ticked, shown once, and revoked', async () => {
    await tab.openOwn(tab.seeded.key, '#/settings/keys', NARROW);
    const { page } = tab;
    await page.getByLabel('outcomes', { exact: true }).check();
    await page.getByLabel('Days').selectOption('30');
    await tab.button('Issue it …').click();
    await page.getByRole('heading', { name: 'Issue a key for outcomes?' }).waitFor();
    await tab.button('Issue it').click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    expect((await new Tenant(tab.seeded, key).ask('GET', 'session')).status).to.equal(200);
    await tab.expectNoFindings();
    await page.reload();
    const row = page.getByRole('row', { name: key.slice(3, 15) });
    await row.waitFor();
    expect(await page.getByText(key).count()).to.equal(0);
    await row.getByRole('button', { name: 'Revoke …' }).click();
    await tab.button('Revoke it').click();
    await row.getByText('revoked').waitFor();
    expect((await new Tenant(tab.seeded, key).ask('GET', 'session')).status).to.equal(401);
  });

  it('of another platform are not shown', async () => {
    const bank = await tab.seeded.keyOf('bank', 'keys');
    await tab.openOwn(bank, '#/settings/keys');
    const { page } = tab;
    await page.getByRole('heading', { name: '1 key', exact: true }).waitFor();
    expect(await page.getByRole('region', { name: 'Keys' }).textContent()).to.include('bank');
  });

  it('are no part of Settings without the grant', async () => {
    await tab.openOwn(await tab.seeded.keyFor('lists:read'), '#/settings/lists');
    await tab.page.getByRole('heading', { name: 'Lists', level: 1 }).waitFor();
    expect(await tab.page.getByRole('link', { name: 'Keys' }).count()).to.equal(0);
  });
});
