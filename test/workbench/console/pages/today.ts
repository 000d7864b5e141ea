import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { WIDE_DISPLAY } from '../../../../scripts/screenshots/browser.ts';
import { until } from '../../../servers/until.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

const STOPPED = {
  newestAt: '2026-11-20T10:00:00.000Z',
  awaitedSince: '2026-11-20T10:01:00.000Z',
  awaited: 120,
  usualMs: 1_200_000,
  stopped: true,
};

const minute = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;

describeConsole("the console's place Today", (tab) => {
  const figures = () => tab.page.locator('main > .figures');
  const values = (by: string) => tab.page.getByRole('region', { name: `By ${by}`, exact: true });

  it('shows what all nodes answered over hours, days and weeks, with what happened in that time', async () => {
    await tab.open('#/today');
    const { page } = tab;
    await page.getByRole('navigation', { name: 'Time' }).getByRole('link', { name: 'week' }).click();
    await page.waitForURL(/#\/today\?span=week$/);
    await page.getByText(/p2\.v11 shadow, by .*: try a longer first wait/).waitFor();
    expect(await figures().textContent()).to.match(/^verdicts[1-9]\d\dGET_NEW\d/);
    await figures().getByRole('link').nth(3).click();
    await page.waitForURL(/#\/find\?from=.*&to=.*&verdict=WAIT$/);
    await page.getByText(/that fit/).waitFor();
  });

  it('says what is wrong first: reports that stopped, since when, and what follows', async () => {
    await tab.open('#/today');
    const { page } = tab;
    await page.route('**/v1/platform/reporting', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, ...STOPPED } });
    });
    await page.evaluate("dispatchEvent(new Event('ask-again'))");
    const first = page.locator('main > .notice, main > .figures, main > .card').first();
    await first.getByText('Outcomes of orders are not reported any more.').waitFor();
    expect(await page.getByText('All well').count()).to.equal(0);
    expect((await first.textContent())?.replaceAll(/\s+/g, ' ')).to.match(
      /newest report came at 2026-11-20 .* the 120 orders that were granted since .* come within 20 min\. Customers/,
    );
  });

  it('sets figures against the same time a day and a week earlier', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    await page.route('**/v1/platform/explore?**from=**', async (route) => {
      const { exploration } = await (await route.fetch()).json();
      const { all } = exploration;
      all[0] = 852;
      await route.fulfill({
        json: {
          exploration: {
            ...exploration,
            values: [{ value: 'WAIT', decisions: [213], money: {}, orders: null }],
          },
        },
      });
    });
    await tab.visit('#/today');
    const changes = /WAIT[\d.]+ %[↑↓] [\d.]+ points in a day[↑↓] [\d.]+ points in a week/;
    await until('both earlier times are known', async () =>
      changes.test((await figures().textContent()) ?? ''),
    );
  });

  it('says that all is well, above the figures, where nothing is wrong', async () => {
    await tab.open('#/today');
    const said = tab.page.getByRole('status').filter({ hasText: 'All well' });
    await said.waitFor();
    expect(await said.textContent()).to.equal('All well: outcomes arrive.');
    const [above, below] = await Promise.all([said.boundingBox(), figures().boundingBox()]);
    expect(above?.y).to.be.below(below?.y ?? 0);
  });

  it('says which share left what is usual, with its rule and what to do, before all else', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    // Nine days in slots of three hours, the last two of them unlike the others.
    const slots = Array.from({ length: 66 }, (_, slot) =>
      new Date(Date.now() - (66 - slot) * 10_800_000).toISOString(),
    );
    const decisions = slots.map((_, slot) => (slot < 64 ? 10 : 60));
    const all = slots.map(() => 100);
    const contribution = {
      difference: 100,
      share: 1,
      before: { part: 20, whole: 200 },
      after: { part: 120, whole: 200 },
    };
    await page.route('**/explore?**from=**', async (route) => {
      const { exploration } = await (await route.fetch()).json();
      const isCause = route.request().url().includes('againstFrom');
      const change = {
        before: { part: 20, whole: 200 },
        after: { part: 120, whole: 200 },
        contributions: [{ ...contribution, dimension: 'rule', value: 'bot-blocked' }],
      };
      const values = [{ value: 'BLOCK', decisions, money: {}, orders: null }];
      const told = isCause ? { change } : { stepMs: 10_800_000, slots, all, values };
      await route.fulfill({ json: { exploration: { ...exploration, ...told } } });
    });
    await tab.visit('#/today');
    const wrong = page.getByRole('alert');
    await wrong.getByText('the rule bot-blocked').waitFor();
    expect((await wrong.textContent())?.replaceAll(/\s+/g, ' ')).to.include(
      'BLOCK is 60.0 % of the verdicts, 50.0 points above the same hours of the last eight days. Most of it comes from the rule bot-blocked. See what changed',
    );
    await wrong.getByRole('link', { name: 'See what changed' }).click();
    await page.waitForURL(/#\/today\?verdict=BLOCK&by=rule&span=day$/);
  });

  it('lays the time before over the chart as one line', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    await page.route('**/explore?**from=**', async (route) => {
      const { exploration } = await (await route.fetch()).json();
      const all = exploration.all.map(() => 7);
      await route.fulfill({ json: { exploration: { ...exploration, all } } });
    });
    await tab.visit('#/today');
    const legend = page.locator('figure', { hasText: 'Decisions by verdict' }).locator('.legend');
    await legend.getByText('a day earlier').waitFor();
    await tab.visit('#/today?by=signal');
    await page.locator('figure', { hasText: 'Decisions by signal' }).waitFor();
    expect(await page.locator('.legend').getByText('a day earlier').count()).to.equal(0);
  });

  it('narrows by several things at once, amounts too, each taken away by a click', async () => {
    await tab.open('#/today');
    const { page } = tab;
    await page.getByText('Filters', { exact: true }).click();
    await page.getByLabel('method', { exact: true }).fill('card');
    await page.getByLabel('amount from').fill('50');
    const asked = page.waitForRequest((one) => /explore\?.*span=day/.test(one.url()));
    await tab.button('Apply').click();
    const { searchParams } = new URL((await asked).url());
    expect([searchParams.get('method'), searchParams.get('amountMin')]).to.deep.equal(['card', '50']);
    await page.getByRole('link', { name: 'Remove the filter method card' }).click();
    await page.waitForURL(/#\/today\?amountMin=50$/);
    await figures().getByRole('link').first().click();
    await page.waitForURL(/#\/find\?from=.*&to=.*&amountMin=50$/);
  });

  it('explains a fall by what took its place, with the orders behind it a click away', async () => {
    const began = Date.now();
    await tab.shop.verdict({ clientIdKey: 'crowd', orderRef: 'crowd-0' });
    for (let order = 1; order < 250; order++)
      await tab.shop.verdict({ clientIdKey: 'crowd', orderRef: `crowd-${order}` });
    const [from, to] = [minute(began - 10 * 60_000), minute(Date.now())];
    await tab.open(`#/today?from=${from}&to=${to}&verdict=GET_NEW`);
    const { page } = tab;
    // A day earlier nothing was decided; that is no dead end.
    await page.getByText('Nothing was decided then.').waitFor();
    await page.getByRole('link', { name: 'the time before' }).click();
    await page.getByRole('heading', { name: 'Why GET_NEW fell: BLOCK took its place' }).waitFor();
    const causes = page.getByRole('region', { name: 'What contributes' }).getByRole('row');
    await causes.nth(1).waitFor();
    expect(await causes.nth(1).textContent()).to.match(/^signalfrequent-requests0/);
    // What all decisions have in common explains nothing.
    expect((await causes.allTextContents()).join()).to.not.match(/pointOfSale/);
    await causes.nth(1).getByRole('link', { name: 'frequent-requests' }).click();
    await page.waitForURL(/#\/find\?from=.*&verdict=BLOCK&signal=frequent-requests$/);
    await page.getByText(/that fit/).waitFor();
  });

  it('gives a name its colour wherever it stands', async () => {
    const colorOf = (name: string) =>
      tab.page
        .locator('.legend li', { hasText: new RegExp(`^${name} `) })
        .locator('i')
        .getAttribute('style');
    await tab.open('#/today');
    await values('verdict').waitFor();
    const wait = await colorOf('WAIT');
    await tab.visit('#/today?by=rule');
    await values('rule').waitFor();
    const rule = await colorOf('asked-too-early');
    await tab.visit('#/today?verdict=WAIT');
    await until('it is one verdict', async () => (await values('verdict').getByRole('row').count()) === 2);
    expect(await colorOf('WAIT')).to.equal(wait);
    await tab.visit('#/today?by=rule&verdict=WAIT');
    await until(
      'they are fewer',
      async () => (await tab.page.locator('.legend').textContent())?.includes('block') === false,
    );
    expect(await colorOf('asked-too-early')).to.equal(rule);
  });

  it('shows the nodes to a key of the installation, and takes a trial back by two taps and a reason', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/today', NARROW);
    const { page } = tab;
    await page.getByRole('region', { name: 'Nodes' }).getByText('follows').waitFor();
    const back = tab.button('Take p2.v11 back …');
    const box = await back.boundingBox();
    expect(box?.y).to.be.below(NARROW.height - 40);
    await tab.expectNoFindings();
    await page.route('**/rules/rollback', (route) => route.fulfill({ json: {} }));
    const asked = page.waitForRequest('**/rules/rollback');
    await back.click();
    await page.getByLabel('Reason for taking it back').fill('at night');
    await tab.button('Take p2.v11 back').click();
    expect(JSON.parse((await asked).postData() ?? '')).to.include({ version: 'p2.v11', reason: 'at night' });
  });

  it('keeps the value that is pointed at when newer ones come, and says which slot is not over', async () => {
    await tab.open('#/today?span=hour');
    const chart = tab.page.locator('figure', { hasText: 'Decisions by verdict' });
    const canvas = await chart.locator('canvas').elementHandle();
    const box = await chart.locator('.u-over').boundingBox();
    if (box === null) throw new Error('the chart is not there');
    await tab.page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
    const told = chart.locator('figcaption');
    await told.getByText(/\d\d:\d\d so far$/).waitFor();
    for (let times = 0; times < 2; times++) {
      const newer = tab.page.waitForResponse('**/explore?by=verdict&span=hour');
      // What the page asks by itself every ten seconds, it asks at once when somebody signs in again.
      await tab.page.evaluate("dispatchEvent(new Event('ask-again'))");
      await newer;
    }
    expect(await canvas?.evaluate((element) => element.isConnected)).to.equal(true);
    expect(await told.textContent()).to.match(/\d\d:\d\d so far/);
  });

  it('leads from the bars that are dragged over to the decisions of one value', async () => {
    await tab.open('#/today?by=rule&verdict=WAIT');
    const { page } = tab;
    const plot = await page.locator('.plot .u-over').boundingBox();
    if (plot === null) throw new Error('there is no chart');
    await page.mouse.move(plot.x + plot.width * 0.8, plot.y + 20);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width - 2, plot.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=2\d{3}-/);
    const row = values('rule').getByRole('row', { name: /asked-too-early/ });
    const decisions = await row.getByRole('cell').nth(1).textContent();
    await row.getByRole('link').nth(1).click();
    await page.waitForURL(/#\/find\?from=.*Z&to=.*Z&verdict=WAIT&rule=asked-too-early$/);
    await page.getByText(new RegExp(`^${decisions} that fit`)).waitFor();
    expect(Number(decisions)).to.be.above(0);
  });

  it('shows all times in one zone, the own or UTC as its address says, and keeps it at other places', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere', { ...WIDE_DISPLAY, timezoneId: 'Asia/Tokyo' });
    const { page } = tab;
    await tab.visit(`#/today?from=2026-01-01T14:03Z&to=${minute(Date.now())}`);
    await page.getByText(/^2026-01-01 23:03 – /).click();
    expect(await page.getByLabel('from', { exact: true }).inputValue()).to.equal('2026-01-01T23:03');
    await page.getByLabel('Time zone').selectOption('UTC');
    await page.getByText(/^2026-01-01 14:03 – /).click();
    expect(await page.getByLabel('from', { exact: true }).inputValue()).to.equal('2026-01-01T14:03');
    await page.getByRole('link', { name: 'Rollouts', exact: true }).click();
    await page.waitForURL(/#\/rollouts\?from=.*&to=.*&zone=UTC$/);
    await tab.visit('#/find?zone=UTC');
    await page
      .getByRole('link', { name: /^2\d{3}-/ })
      .first()
      .click();
    await page.waitForURL(/#\/find\/decision\/.*\?zone=UTC$/);
  });

  it('tells what was known at a moment that its address names, and all again without it', async () => {
    await tab.open(`#/today?asOf=${minute(Date.now() - 1_800_000)}`);
    const { page } = tab;
    const known = page.getByText(/^As known at 2\d{3}-/);
    await known.waitFor();
    const decisions = async () =>
      Number((await values('verdict').getByRole('cell').nth(1).textContent())?.replaceAll(',', ''));
    const then = await decisions();
    expect(then).to.be.above(0);
    await page.getByText('Custom, as then known').click();
    await page.getByLabel('as known at').fill('');
    await tab.button('Show').click();
    await known.waitFor({ state: 'detached' });
    await until('more is counted than was known then', async () => (await decisions()) > then);
    await tab.expectNoFindings();
  });

  it('prints the last week on a page, without what only a screen is for', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    await tab.visit('#/today?by=rule&span=week&measure=money');
    const { page } = tab;
    const saved = page.waitForEvent('download');
    await tab.button('Save as CSV').click();
    const lines = readFileSync(await (await saved).path(), 'utf8').split('\r\n');
    expect(lines[0]).to.match(/^from,rule,decisions,of,[A-Z]{3},granted,paid$/);
    expect(lines[1]).to.match(/^20.+Z,[\w-]+,\d+,\d+,[\d.]+,\d+,\d+$/);
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)).to.have.length(1);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation').count()).to.equal(0);
    expect(await page.getByRole('button').count()).to.equal(0);
    expect(await values('rule').isVisible()).to.equal(true);
  });

  it('has the numbers of the chart as a table, with the dates of slots that are longer than minutes', async () => {
    await tab.open('#/today?span=month');
    await tab.page.getByText('Decisions by verdict as a table').click();
    const table = tab.page.getByRole('region', { name: 'Decisions by verdict by time' });
    expect(await table.getByRole('row').nth(1).textContent()).to.match(/\d\d-\d\d \d\d:\d\d/);
  });
});
