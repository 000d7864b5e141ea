import { expect } from 'chai';
import { until } from '../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's backtest on the archive", (tab) => {
  it('is run from the page, followed, and kept at an address that can be passed on', async () => {
    await tab.open('#/rules/p2.v11/backtest');
    const { page } = tab;
    await page.locator('select[name=mode]').selectOption('closed-loop');
    await tab.button('Run').click();
    await page
      .getByRole('heading', { name: 'p2.v11 against what was recorded' })
      .waitFor({ timeout: 120_000 });
    const address = new URL(page.url()).hash;
    expect(address).to.match(/^#\/rules\/p2\.v11\/backtest\/[0-9a-f-]{13}$/);
    await page.getByRole('link', { name: '← All backtests' }).click();
    const row = page.getByRole('region', { name: 'Backtests of late' }).getByRole('row', { name: /p2\.v11/ });
    await row.getByText('done').waitFor();
    expect(await row.getByRole('link').getAttribute('href')).to.equal(address);
  });

  /** Lets a page run a backtest that nobody asked for before. */
  const run = async (days: string) => {
    const { page } = tab;
    await page.locator('select[name=against]').selectOption('p2.v10');
    await page.locator('select[name=days]').selectOption(days);
    await tab.button('Run').click();
  };

  it('can be cancelled', async () => {
    await tab.open('#/rules/p2.v11/backtest');
    // A node works on one thing at a time: what stands in front of it keeps it from its end.
    const front = { version: 'p2.v10', against: 'p2.v11', mode: 'closed-loop' };
    expect((await tab.shop.ask('POST', 'evidence/backtest', front)).status).to.equal(200);
    await run('7');
    await tab.button('Cancel').click();
    await tab.page.getByText('Nothing came of it.').waitFor({ timeout: 120_000 });
  });

  it('is cancelled by who saw it under way when it had just ended', async () => {
    await tab.open('#/rules/p2.v11/backtest');
    const { page } = tab;
    const job = /\/evidence\/[0-9a-f-]{13}$/;
    let isHeld = true;
    await page.route(job, async (route) => {
      if (route.request().method() === 'DELETE' || !isHeld) return route.continue();
      const response = await route.fetch();
      const { job } = await response.json();
      return route.fulfill({ response, json: { job: { ...job, state: 'running' }, result: null } });
    });
    await run('30');
    await tab.button('Cancel').waitFor();
    const path = `evidence/${new URL(page.url()).hash.replace('#/rules/p2.v11/backtest/', '')}`;
    const isDone = async () => {
      const { body } = await tab.shop.ask<{ job: { state: string } }>('GET', path);
      return body.job.state === 'done';
    };
    await until('the job has ended', isDone, 120_000);
    await tab.button('Cancel').click();
    await until('it is forgotten', async () => (await tab.shop.ask('GET', path)).status === 404);
    isHeld = false;
    await page.getByText('Nothing came of it.').waitFor();
  });

  it('is not offered to a key that may not see rules', async () => {
    await tab.openOwn(await tab.seeded.keyFor('decisions'), '#/rules/p2.v11/backtest');
    await tab.page.getByText('This session may not see this page').waitFor();
  });
});
