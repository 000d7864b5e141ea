import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { until } from '../../../servers/until.ts';
import { type ConsoleTab, describeConsole } from '../console-tab.ts';
import { discardDrafts } from '../discard-drafts.ts';

function verdictRules({ page }: ConsoleTab): Locator {
  return page.getByRole('region', { name: 'Rules of verdicts.yaml', exact: true });
}

async function expectSorted(head: Locator, way: 'ascending' | 'descending'): Promise<void> {
  await head.and(head.page().locator(`[aria-sort=${way}]`)).waitFor({ timeout: 120_000 });
}

describeConsole("the console's page Results", (tab) => {
  const workedOut = async (hash: string) => {
    await tab.open(hash);
    await tab.button('Run').click();
    await tab.page.getByText(/^Results .*run by/).waitFor({ timeout: 120_000 });
    return tab.page;
  };

  it('tells what came of each rule’s orders, and its net value where known, in three clicks, rules first', async () => {
    await tab.open('#/');
    const { page } = tab;
    // The tab may remember a version that another test has removed since.
    await page.reload();
    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page
      .getByRole('row', { name: /^p2\.v10 / })
      .getByRole('link', { name: 'results' })
      .click();
    await tab.button('Run').click();
    const table = verdictRules(tab);
    await table.getByRole('columnheader', { name: 'net value' }).waitFor({ timeout: 120_000 });
    await table
      .getByRole('row', { name: /attempt-unpaid/ })
      .getByText('not known: needs a holdout')
      .waitFor();
    const names = await page.getByRole('main').getByRole('region').allTextContents();
    expect(names[0]).to.include('rule');
    await tab.expectNoFindings();
  });

  it('is worked out on the time that its address names, only when somebody asks, and kept at that address', async () => {
    await tab.open('#/rules/p2.v10/results?from=2026-01-01T00:00Z');
    const { page } = tab;
    await page.getByText('No results yet').waitFor();
    const asked = page.waitForRequest((one) => one.method() === 'POST' && one.url().endsWith('/evidence'));
    await tab.button('Run').click();
    expect((await asked).postDataJSON()).to.include({ from: '2026-01-01T00:00:00.000Z' });
    await verdictRules(tab).waitFor({ timeout: 120_000 });
    const address = page.url();
    await tab.visit('#/nowhere');
    await page.goto(address);
    await verdictRules(tab).waitFor();
    await page.getByRole('link', { name: 'week', exact: true }).click();
    await page.waitForURL(/results\?.*span=week/);
  });

  it('opens each rule to what is behind it: its text, its slices, its money and its decisions', async () => {
    const page = await workedOut('#/rules/p2.v10/results');
    const row = verdictRules(tab).getByRole('row', { name: /attempt-unpaid/ });
    await row.getByRole('img', { name: /^\d+ paid, \d+ unpaid, \d+ turned away, \d+ unknown$/ }).waitFor();
    expect(await row.textContent()).to.match(/\d+\.\d % \(\d+\.\d to \d+\.\d\)/);
    await row.getByRole('button', { name: 'attempt-unpaid' }).press('Enter');
    await page
      .getByRole('region', { name: 'Money by verdict rule of attempt-unpaid' })
      .getByText('EUR')
      .waitFor();
    await page.getByRole('link', { name: 'Text of the rule' }).waitFor();
    await page.getByRole('link', { name: 'unpaid', exact: true }).click();
    await page.waitForURL(/outcome=UNPAID/);
  });

  it('gives each rule an address, to which a decision leads, and says of one that matched nothing that it did not', async () => {
    await workedOut('#/rules/p2.v10/results');
    await tab.visit('#/rules/p2.v10/results?rule=verdicts/attempt-unpaid');
    const { page } = tab;
    await page.getByRole('link', { name: 'Text of the rule' }).waitFor();
    await page.getByRole('region', { name: 'By day of attempt-unpaid' }).getByText('%').first().waitFor();
    await tab.visit('#/rules/p2.v10/results?rule=verdicts/no-such-rule');
    await page.getByText('No match').waitFor();
  });

  it('tells beside the rules what came of flagged orders, each flag leading to its decisions', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    const share = { value: 0.4, low: 0.3, high: 0.5 };
    const rows = [
      ['large-first-order', 103, 60, 40, 1, 2, 25, 15, share, 4],
      ['(no flag)', null, 270, 30, 0, 0, 10, 20, { value: 0.1, low: 0.07, high: 0.14 }, null],
    ];
    await page.route('**/v1/platform/evidence/*', async (route) => {
      const response = await route.fetch();
      const job = await response.json();
      if (job.result) {
        const kinds = ['text', ...new Array(7).fill('count'), 'share', 'ratio'];
        const columns = kinds.map((kind, place) => ({ name: `c${place}`, kind }));
        job.result.tables.push({ name: 'flags', title: 'flags.yaml', columns, rows });
      }
      await route.fulfill({ response, json: job });
    });
    await tab.visit('#/rules/p2.v10/results?span=week');
    await tab.button('Run').click();
    const flags = page.getByRole('region', { name: 'flags.yaml', exact: true });
    const flag = flags.getByRole('row', {
      name: /^large-first-order 103 .*40\.0 % \(30\.0 to 50\.0\) 4\.00/,
    });
    await flag.waitFor({ timeout: 120_000 });
    expect(
      await flags
        .getByRole('row', { name: /no flag/ })
        .getByRole('link')
        .count(),
    ).to.equal(0);
    await flag.getByRole('link', { name: 'large-first-order' }).click();
    await page.waitForURL(/#\/find\?flag=large-first-order/);
  });

  it('sorts a table by its heads, also with the keyboard, at an address that keeps it', async () => {
    const page = await workedOut('#/rules/p2.v10/results');
    const table = page.getByRole('region', { name: 'Money by verdict rule', exact: true });
    const head = table.getByRole('columnheader', { name: 'asked', exact: true });
    const asked = async () => {
      const cells = await table.locator('tbody tr td:nth-child(4)').allTextContents();
      return cells.map((text) => Number(text.replaceAll(',', '')));
    };
    await page.getByText('Money by verdict rule', { exact: true }).click();
    await head.getByRole('button').press('Enter');
    await expectSorted(head, 'descending');
    const down = (await asked()).toSorted((a, b) => b - a);
    expect(await asked()).to.deep.equal(down);
    await head.getByRole('button').press('Enter');
    await expectSorted(head, 'ascending');
    expect(await asked()).to.deep.equal(down.toReversed());
    await page.reload();
    await page.getByText('Money by verdict rule', { exact: true }).click();
    await expectSorted(head, 'ascending');
    expect(await asked()).to.deep.equal(down.toReversed());
    await head.getByRole('button').click();
    await table.locator('th[aria-sort]').waitFor({ state: 'detached' });
  });

  it('shows what always comes later than it is asked for again', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    // A job is asked for again every second.
    await page.route('**/v1/platform/evidence/*', async (route) => {
      if (route.request().method() === 'GET') await sleep(2_500);
      await route.continue();
    });
    await tab.visit('#/rules/p2.v10/results?span=quarter');
    await tab.button('Run').click();
    await verdictRules(tab)
      .getByRole('row', { name: /attempt-unpaid/ })
      .waitFor({ timeout: 120_000 });
  });

  it('makes a form of what each question leaves open, and shows the notes and tables of its answer', async () => {
    await tab.open('#/rules/p2.v10/results?span=week');
    const { page } = tab;
    await page.getByRole('combobox', { name: 'question' }).selectOption('drift');
    await page.getByLabel('split').waitFor();
    await tab.button('Run').click();
    const answers = page.getByRole('region', { name: 'Answers and outcomes' });
    await answers.waitFor({ timeout: 120_000 });
    expect(await answers.getByRole('row', { name: /^GET_NEW/ }).textContent()).to.match(
      /^\s*GET_NEW(\s*\d+\.\d % \(\d+\.\d to \d+\.\d\)){2}\s*$/,
    );
    expect(await tab.axeFindings()).to.deep.equal([]);
  });

  it('leads from what was asked of late to what came of it', async () => {
    await tab.open('#/rules/p2.v11/results?kind=backtest&against=p2.v10&span=week');
    const { page } = tab;
    await tab.button('Run').click();
    await page.getByText(/ of [\d,]+ verdicts change/).waitFor({ timeout: 120_000 });
    await tab.visit('#/rules/p2.v10/results');
    await page.getByText('Latest runs', { exact: true }).click();
    const late = page.getByRole('region', { name: 'Latest runs' });
    const row = late.getByRole('row', { name: /backtest.*p2\.v11/ }).first();
    await row.getByText('done').waitFor();
    await row.getByRole('link').click();
    await page.getByText(/ of [\d,]+ verdicts change/).waitFor();
  });

  it('marks what was worked out of an earlier state of a draft', async () => {
    const version = 'p2.v16';
    const { body } = await tab.shop.ask<{ files: { path: string; text: string }[] }>(
      'GET',
      'rules/versions/p2.v11',
    );
    const files = Object.fromEntries(
      body.files.map(({ path, text }) => [path, text.replaceAll('p2.v11', version)]),
    );
    const draft = `rules/drafts/${version}`;
    const kept = await tab.shop.ask<{ revision: number }>('PUT', draft, { from: 'p2.v11', files });
    expect(kept.status).to.equal(200);
    const page = await workedOut(`#/rules/${version}/results?kind=backtest&against=p2.v10&span=week`);
    const mark = page.getByText('of an earlier state of the draft');
    await page.getByText('Latest runs', { exact: true }).click();
    const row = page
      .getByRole('region', { name: 'Latest runs' })
      .getByRole('row', { name: new RegExp(version) });
    await row.getByText('done').waitFor();
    expect(await mark.count()).to.equal(0);
    const changed = { ...files, 'ladder.yaml': `${files['ladder.yaml']}# changed\n` };
    const asRead = { 'If-Match': `"${kept.body.revision}"` };
    expect((await tab.shop.ask('PUT', draft, { from: 'p2.v11', files: changed }, asRead)).status).to.equal(
      200,
    );
    await page.reload();
    await page.getByText(/^Results .*run by .* of an earlier state of the draft/).waitFor();
    await page.getByText('Latest runs', { exact: true }).click();
    await row.getByText('of an earlier state of the draft').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await discardDrafts(tab.shop);
  });

  it('says what is wrong with values that cannot be tried', async () => {
    await tab.open('#/rules/p2.v10/results?kind=backtest&vary=ladder.levels[0]=soon&span=week');
    await tab.button('Run').click();
    await tab.page.getByText('The run failed').waitFor({ timeout: 120_000 });
    await tab.page
      .getByText(/^ladder\.levels\[0\]=soon gives a rule set with problems: ladder\.yaml:/)
      .waitFor();
  });

  it('can be cancelled, also by who saw it under way when it had just ended', async () => {
    await tab.open('#/rules/p2.v11/results?kind=backtest&against=p2.v10&span=quarter');
    const { page } = tab;
    const job = /\/evidence\/[0-9a-f-]{13}$/;
    let isHeld = true;
    let path = '';
    await page.route('**/v1/platform/evidence', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const response = await route.fetch();
      path = `evidence/${(await response.json()).jobId}`;
      return route.fulfill({ response });
    });
    await page.route(job, async (route) => {
      const isOther = !route.request().url().endsWith(path);
      if (isOther || route.request().method() === 'DELETE' || !isHeld) return route.continue();
      const response = await route.fetch();
      const { job } = await response.json();
      return route.fulfill({ response, json: { job: { ...job, state: 'running' }, result: null } });
    });
    await tab.button('Run').click();
    await tab.button('Cancel').waitFor();
    const isDone = async () => {
      // What an earlier test left under way may be cancelled, too, before this one's job has its name.
      if (path === '') return false;
      const { body } = await tab.shop.ask<{ job: { state: string } }>('GET', path);
      return body.job.state === 'done';
    };
    await until('the job has ended', isDone, 120_000);
    await tab.button('Cancel').click();
    await until('it is forgotten', async () => (await tab.shop.ask('GET', path)).status === 404);
    isHeld = false;
    await page.getByText('It has no results.').waitFor();
  });

  it('is not offered to a key that may not see rules', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('decisions'), '#/rules/p2.v11/results');
    await tab.page.getByText('This session may not see this page').waitFor();
  });
});
