import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page Evidence", (tab) => {
  it('counts each rule on outcomes, with orders as paid, unpaid and unknown, and opens to what is behind it', async () => {
    await tab.open('#/evidence');
    const { page } = tab;
    const row = page.getByRole('row', { name: /attempt-unpaid/ });
    await row.getByRole('img', { name: /^\d+ paid, \d+ unpaid, \d+ unknown$/ }).waitFor();
    expect(await row.textContent()).to.match(/\d+\.\d % \(\d+\.\d to \d+\.\d\)/);
    await row.getByRole('button', { name: 'attempt-unpaid' }).press('Enter');
    await page.getByText('Their client was granted a requisite later').waitFor();
    await page.getByRole('region', { name: 'Amounts of attempt-unpaid' }).getByText('EUR').waitFor();
    await page.getByRole('link', { name: 'Decisions that it gave' }).click();
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).waitFor();
  });

  it('asks another version about the same decisions, at an address that can be passed on', async () => {
    await tab.open('#/evidence');
    await tab.page.getByLabel('rules of').selectOption('p2.v11');
    await tab.page.getByLabel('on decisions of').selectOption('7');
    await tab.button('Count').click();
    await tab.page.getByText('p2.v11 is asked about the facts that they recorded').waitFor();
    expect(tab.page.url()).to.match(/#\/evidence\?version=p2\.v11&days=7$/);
  });
});
