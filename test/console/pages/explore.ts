import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { until } from '../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page Explore", (tab) => {
  it('leads from the bars that are dragged over to the decisions of one value, in UTC', async () => {
    const until = new Date().toISOString();
    await tab.open(`#/explore?by=rule&verdict=WAIT&to=${until}`);
    const { page } = tab;
    const plot = await page.locator('.plot .u-over').boundingBox();
    if (plot === null) throw new Error('there is no chart');
    await page.mouse.move(plot.x + plot.width * 0.9, plot.y + 20);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width - 2, plot.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=2\d{3}-/);
    const row = page.getByRole('region', { name: 'By rule' }).getByRole('row', { name: /asked-too-early/ });
    const decisions = await row.getByRole('cell').nth(1).textContent();
    await row.getByRole('link').first().click();
    await page.waitForURL(/#\/decisions\?from=.*Z&to=.*Z&verdict=WAIT&rule=asked-too-early$/);
    await page.getByText(new RegExp(`^${decisions} that fit`)).waitFor();
    expect(Number(decisions)).to.be.above(0);
  });

  it('tells what was known at a moment that its address names, and all again without it', async () => {
    const asOf = new Date(Date.now() - 1_800_000).toISOString();
    await tab.open(`#/explore?by=verdict&asOf=${asOf}`);
    const { page } = tab;
    const known = page.getByText(/^As known at 2\d{3}-/);
    await known.waitFor();
    const decisions = async () => {
      const cells = page
        .getByRole('region', { name: 'By verdict' })
        .getByRole('row')
        .nth(1)
        .getByRole('cell');
      return Number((await cells.nth(1).textContent())?.replaceAll(',', ''));
    };
    const then = await decisions();
    expect(then).to.be.above(0);
    await page.getByRole('link', { name: 'last day' }).click();
    await page.waitForURL(({ hash }) => hash.includes(`to=${encodeURIComponent(asOf)}`));
    await page.getByLabel('As known at').fill('');
    await page.getByLabel('As known at').blur();
    await known.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'last day' }).click();
    await page.waitForURL(({ hash }) => !hash.includes('asOf') && !hash.includes(encodeURIComponent(asOf)));
    await page.getByRole('region', { name: 'By verdict' }).waitFor();
    await until('more is counted than was known then', async () => (await decisions()) > then);
    await tab.expectNoFindings();
  });

  it('prints the last week on a page, without what only a screen is for', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    await tab.visit('#/explore?by=rule');
    const { page } = tab;
    await page.getByRole('link', { name: 'last week' }).click();
    await page.getByRole('button', { name: 'Save as CSV' }).waitFor();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const lines = readFileSync(await (await saved).path(), 'utf8').split('\r\n');
    expect(lines[0]).to.match(/^from,rule,decisions,of,[A-Z]{3}$/);
    expect(lines[1]).to.match(/^20.+Z,[\w-]+,\d+,\d+,[\d.]+$/);
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)).to.have.length(1);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation').count()).to.equal(0);
    expect(await page.getByRole('button').count()).to.equal(0);
    expect(await page.getByRole('region', { name: 'By rule' }).isVisible()).to.equal(true);
  });
});
