import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { type ConsoleTab, describeConsole, NARROW } from '../console-tab.ts';

function verdictRules({ page }: ConsoleTab): Locator {
  return page.getByRole('region', { name: 'Rules of verdicts.yaml', exact: true });
}

async function expectSorted(head: Locator, way: 'ascending' | 'descending'): Promise<void> {
  await head.and(head.page().locator(`[aria-sort=${way}]`)).waitFor({ timeout: 120_000 });
}

describeConsole("the console's page Evidence", (tab) => {
  it('is worked out on the time that its address names, in UTC', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    // By then the page has asked about the time that it begins with.
    await verdictRules(tab).waitFor();
    await tab.page.getByLabel('or from').fill('2026-01-01T00:00');
    const asked = tab.page.waitForRequest('**/platform/evidence');
    await tab.button('Show').click();
    await tab.page.waitForURL(/#\/rules\/p2\.v10\/evidence\?from=2026-01-01T00%3A00Z$/);
    expect((await asked).postDataJSON()).to.include({ from: '2026-01-01T00:00:00.000Z' });
    const ask = await tab.page.getByRole('link', { name: 'Ask', exact: true }).getAttribute('href');
    expect(ask).to.equal('#/rules/p2.v10/ask?from=2026-01-01T00%3A00Z');
  });

  it('counts each rule on outcomes, with orders as paid, unpaid, turned away and unknown, and opens to what is behind it', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    const { page } = tab;
    const row = verdictRules(tab).getByRole('row', { name: /attempt-unpaid/ });
    await row.getByRole('img', { name: /^\d+ paid, \d+ unpaid, \d+ turned away, \d+ unknown$/ }).waitFor();
    expect(await row.textContent()).to.match(/\d+\.\d % \(\d+\.\d to \d+\.\d\)/);
    await row.getByRole('button', { name: 'attempt-unpaid' }).press('Enter');
    await page.getByRole('link', { name: 'attempt-unpaid week by week' }).waitFor();
    await page
      .getByRole('region', { name: 'Money by verdict rule of attempt-unpaid' })
      .getByText('EUR')
      .waitFor();
    await page.getByRole('link', { name: 'unpaid', exact: true }).click();
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).waitFor();
    await page
      .getByRole('status')
      .filter({
        hasText:
          /^(All [1-9]\d* that fit|[1-9]\d* that fit, of all \d+ that are kept)(, up to .* not archived yet or cannot be read)?$/,
      })
      .waitFor();
  });

  it('gives each rule an address: its text, its weeks, what it cost, and its newest decisions', async () => {
    await tab.open('#/find?orderRef=order-ivan-3', NARROW);
    const { page } = tab;
    await page.getByRole('link', { name: 'What it is worth' }).first().click();
    await page.waitForURL(/#\/rules\/p2\.v10\/evidence\/verdicts\/wait-served$/);
    await page
      .getByRole('region', { name: /^verdicts\.yaml:\d+$/ })
      .getByText('- name: wait-served')
      .waitFor();
    await tab.visit('#/rules/p2.v10/evidence/verdicts/attempt-unpaid?days=7');
    await page.getByRole('region', { name: 'By week of attempt-unpaid' }).getByText('%').first().waitFor();
    await page.getByRole('region', { name: 'Money by verdict rule of attempt-unpaid' }).waitFor();
    await page.getByRole('region', { name: 'Decisions' }).getByText('WAIT').first().waitFor();
    expect(await page.getByText('attempt-unpaid week by week').count()).to.equal(0);
    await tab.expectNoFindings();
    await page.getByRole('link', { name: '← All rules of p2.v10' }).click();
    await page.waitForURL(/#\/rules\/p2\.v10\/evidence\?days=7$/);
  });

  it('says of a rule that matched nothing that it did not', async () => {
    await tab.open('#/rules/p2.v10/evidence/verdicts/no-such-rule');
    await tab.page.getByText('It matched nothing').waitFor();
  });

  it('begins with money, and sorts a table by its heads, also with the keyboard, at an address that keeps it', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    const { page } = tab;
    const table = page.getByRole('region', { name: 'Money by verdict rule', exact: true });
    const head = table.getByRole('columnheader', { name: 'asked', exact: true });
    const asked = async () => {
      const cells = await table.locator('tbody tr td:nth-child(4)').allTextContents();
      return cells.map((text) => Number(text.replaceAll(',', '')));
    };
    await head.getByRole('button').press('Enter');
    await expectSorted(head, 'descending');
    const down = (await asked()).toSorted((a, b) => b - a);
    expect(await asked()).to.deep.equal(down);
    await head.getByRole('button').press('Enter');
    await expectSorted(head, 'ascending');
    expect(await asked()).to.deep.equal(down.toReversed());
    await page.reload();
    await expectSorted(head, 'ascending');
    expect(await asked()).to.deep.equal(down.toReversed());
    await head.getByRole('button').click();
    await table.locator('th[aria-sort]').waitFor({ state: 'detached' });
  });

  it('parts money by what is chosen, and keeps it in the address', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    await tab.page.getByLabel('parted by').selectOption('level of the ladder');
    const table = tab.page.getByRole('region', { name: 'Money by level', exact: true });
    await table.getByRole('row', { name: /^0 EUR/ }).waitFor({ timeout: 120_000 });
    expect(tab.page.url()).to.match(/evidence\?days=30&by=level$/);
  });

  it('shows what always comes later than it is asked for again', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    // A job is asked for again every second.
    await page.route('**/v1/platform/evidence/*', async (route) => {
      if (route.request().method() === 'GET') await sleep(2_500);
      await route.continue();
    });
    await tab.visit('#/rules/p2.v10/evidence');
    await verdictRules(tab)
      .getByRole('row', { name: /attempt-unpaid/ })
      .waitFor({ timeout: 120_000 });
    await page.unroute('**/v1/platform/evidence/*');
  });

  it('asks another version about the same decisions, at an address that can be passed on', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    await tab.page.getByRole('combobox', { name: 'Version' }).selectOption('p2.v11');
    await tab.page.getByRole('heading', { name: 'Evidence p2.v11', level: 1 }).waitFor();
    await tab.page.getByLabel('on decisions of').selectOption('7');
    await tab.button('Show').click();
    await tab.page.getByText('p2.v11 is asked about the facts that they recorded').waitFor();
    expect(tab.page.url()).to.match(/#\/rules\/p2\.v11\/evidence\?days=7$/);
  });
});

describeConsole("the console's page Evidence, of the past", (tab) => {
  it('shows what was known in a minute that is named', async () => {
    await tab.open('#/rules/p2.v10/evidence');
    await tab.page.getByLabel('as known at').fill('2020-01-01T10:00');
    await tab.button('Show').click();
    await tab.page
      .getByText(/^As known at 20(19-12-31|20-01-0[12])T\d\d:\d\d:59Z\.$/)
      .waitFor({ timeout: 120_000 });
    await tab.page.getByText('There is no decision within this time.').waitFor();
    expect(tab.page.url()).to.match(/[?&]asOf=20\d\d-\d\d-\d\dT/);
  });
});
