/// <reference lib="dom" />
import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

describeConsole('the platform of the console', (tab) => {
  const decided = () => tab.page.getByRole('region', { name: 'By platform' }).getByRole('row');

  it('is chosen in the head by whoever reaches all, and stands in the address', async () => {
    await tab.openOwn(tab.seeded.operatorKey, '#/today?by=platform');
    const { page } = tab;
    await decided().getByText('shop').waitFor();
    expect(new URL(page.url()).search).to.equal('?platform=*');
    await page.getByLabel('Platform', { exact: true }).selectOption('shop');
    await page.waitForURL(/platform=shop/);
    await decided().getByText('shop').waitFor();
    expect(new URL(page.url()).search).to.equal('?platform=shop');
    await tab.visit('#/rollouts');
    await page.getByText('This key may not change the rollout').waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.getByRole('heading', { name: 'Rollouts', level: 1 }).waitFor();
    expect(await second.getByLabel('Platform', { exact: true }).inputValue()).to.equal('shop');
    await tab.expectNoFindings();
  });

  it('is the one of the address that somebody signs in at, where the key reaches it', async () => {
    await tab.openSignedOut();
    const { page } = tab;
    await page.goto(`${tab.seeded.url}?platform=shop#/settings/lists`);
    await page.getByLabel('Access key').fill(tab.seeded.operatorKey);
    await tab.button('Sign in').click();
    await page.getByRole('heading', { name: 'Lists', level: 1 }).waitFor();
    expect(await page.getByLabel('Platform', { exact: true }).inputValue()).to.equal('shop');
  });

  it('of a link that the session does not reach is named, with a way to its own', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const { page } = tab;
    await page.goto(`${tab.seeded.url}?platform=bank#/find`);
    await page.getByRole('alert').getByText('has no access to the platform "bank"').waitFor();
    await page.getByRole('link', { name: 'Open the first page that this session may see' }).click();
    await page.getByRole('heading', { name: 'Today', level: 1 }).waitFor();
    expect(new URL(page.url()).search).to.equal('?platform=shop');
  });
});
