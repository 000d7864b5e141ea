import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page Now", (tab) => {
  it('shows what all nodes answered over hours, days and weeks, with the rollouts of that time', async () => {
    await tab.open('#/now');
    const { page } = tab;
    await page.getByText('Of all nodes, from the archive').waitFor();
    await page.getByRole('navigation', { name: 'How far back' }).getByRole('link', { name: 'week' }).click();
    await page.getByText('verdicts in the last week').waitFor();
    const figures = await page.locator('main > .figures').textContent();
    expect(figures).to.match(/verdicts in the last week[1-9]\d\d/);
    await page.getByRole('heading', { name: 'Rollouts in this time' }).waitFor();
    await page.getByText(/shadow p2\.v11, by .*: try a longer first wait/).waitFor();
    expect(page.url()).to.match(/#\/now\?span=week$/);
  });

  it('has the same numbers as a table, with the dates of slots that are longer than minutes', async () => {
    await tab.open('#/now?span=month');
    await tab.page.getByText('Verdicts as a table').click();
    const table = tab.page.getByRole('region', { name: 'Verdicts by time' });
    expect(await table.getByRole('row').nth(1).textContent()).to.match(/\d\d-\d\d \d\d:\d\d/);
  });
});
