import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

const STOPPED = {
  ...{ newestAt: 1_795_255_200_000, awaitedSince: 1_795_255_260_000, awaited: 120 },
  ...{ usualMs: 1_200_000, stopped: true },
};

describeConsole("the console's page Now", (tab) => {
  it('shows what all nodes answered over hours, days and weeks, with the rollouts of that time', async () => {
    await tab.open('#/explore/now');
    const { page } = tab;
    await page.getByText('Of all nodes, for the platform of your key').waitFor();
    await page.getByRole('navigation', { name: 'How far back' }).getByRole('link', { name: 'week' }).click();
    await page.getByText('verdicts in the last week').waitFor();
    const figures = await page.locator('main > .figures').textContent();
    expect(figures).to.match(/verdicts in the last week[1-9]\d\d/);
    await page.getByRole('heading', { name: 'Rollouts and alerts in this time' }).waitFor();
    await page.getByText(/shadow p2\.v11, by .*: try a longer first wait/).waitFor();
    expect(page.url()).to.match(/#\/explore\/now\?span=week$/);
  });

  it('says first that reports have stopped, since when, and what follows', async () => {
    await tab.open('#/explore/now?span=day');
    const { page } = tab;
    await page.route('**/v1/platform/reporting', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, ...STOPPED } });
    });
    await page.evaluate("dispatchEvent(new Event('ask-again'))");
    await page.getByText('Nothing is reported any more').waitFor();
    const first = await page.locator('main > .notice, main > .figures, main > .card').first().textContent();
    expect(first?.replaceAll(/\s+/g, ' ')).to.match(
      /newest report came at 20\d\d-.* Of the 120 orders that were granted since .* come within 20 min\. Until/,
    );
    await page.unroute('**/v1/platform/reporting');
  });

  it('shows a span up to a time that its address names', async () => {
    await tab.open('#/explore/now?span=day&to=2020-01-01T00:00Z');
    await tab.page.getByText('No verdict in this day').waitFor();
    const end = new Date(Date.now() + 60_000).toISOString().slice(0, 16);
    await tab.page.getByLabel('up to (empty: now)').fill(end);
    await tab.button('Show').click();
    await tab.page.waitForURL(
      (url) => url.hash === `#/explore/now?span=day&to=${encodeURIComponent(`${end}Z`)}`,
    );
    await tab.page.getByText('verdicts in this day').waitFor();
  });

  it('keeps the value that is pointed at when newer ones come, and says which slot is not over', async () => {
    await tab.open('#/explore/now?span=hour');
    await tab.page.getByText('verdicts in the last hour').waitFor();
    const chart = tab.page.locator('figure', { hasText: 'Verdicts' }).first();
    const canvas = await chart.locator('canvas').elementHandle();
    const box = await chart.locator('.u-over').boundingBox();
    if (box === null) throw new Error('the chart is not there');
    await tab.page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
    const told = chart.locator('figcaption');
    await told.getByText(/\d\d:\d\d so far$/).waitFor();
    for (let times = 0; times < 2; times++) {
      const newer = tab.page.waitForResponse('**/explore?by=verdict**');
      // What the page asks by itself every ten seconds, it asks at once when somebody signs in again.
      await tab.page.evaluate("dispatchEvent(new Event('ask-again'))");
      await newer;
    }
    expect(await canvas?.evaluate((element) => element.isConnected)).to.equal(true);
    expect(await told.textContent()).to.match(/\d\d:\d\d so far$/);
  });

  it('has the same numbers as a table, with the dates of slots that are longer than minutes', async () => {
    await tab.open('#/explore/now?span=month');
    await tab.page.getByText('Verdicts as a table').click();
    const table = tab.page.getByRole('region', { name: 'Verdicts by time' });
    expect(await table.getByRole('row').nth(1).textContent()).to.match(/\d\d-\d\d \d\d:\d\d/);
  });
});
