import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { backtestResult } from '../../../scripts/screenshots/backtest-result.ts';
import type { BacktestReport } from '../../../src/evidence/backtest/backtest-report.ts';
import { readable } from '../../../src/evidence/result.ts';
import { VERDICTS } from '../../../src/rules/rule-set.ts';
import { scoring } from '../../cli/scoring.ts';
import { addVersion, BLOCK_OTHERWISE, rulesDirectory } from '../../rollout/rule-folders.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page Backtest", (tab) => {
  it('opens the result of a backtest in the browser alone', async () => {
    await tab.open('#/rules/p2.v11/backtest');
    const file = tab.page.getByLabel('Result file');
    const sent: string[] = [];
    tab.page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(request.url());
    });
    const upload = (text: string) =>
      file.setInputFiles({ name: 'result.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await upload('{');
    await tab.page.getByRole('alert').getByText('result.json is not JSON.').waitFor();
    await upload('{"a": 1}');
    await tab.page
      .getByRole('alert')
      .getByText('result.json is no result of a backtest: it lacks ruleVersion')
      .waitFor();
    await upload(JSON.stringify(backtestResult()));
    await tab.page.getByRole('heading', { name: 'p2.v11 against what was recorded' }).waitFor();
    expect(await tab.page.locator('.matrix .cell-many').allTextContents()).to.deep.equal(['1,234']);
    expect(sent).to.deep.equal([]);
    expect(tab.strayRequests).to.deep.equal([]);
  });

  it('shows the notes and tables that the command printed', async () => {
    await tab.open('#/rules/p2.v11/backtest');
    const upload = (result: object) =>
      tab.page.getByLabel('Result file').setInputFiles({
        name: 'result.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify(result)),
      });
    await upload(readable({ ...backtestResult(), emptyLists: ['blocked-devices'] }));
    await tab.page.getByText('nobody is on the shared list "blocked-devices"').waitFor();
    const ladder = tab.page
      .getByRole('region', { name: /^Cooldown ladder/ })
      .locator('tbody tr')
      .first();
    expect(await ladder.getByRole('cell').allTextContents()).to.deep.equal([
      ...['1', '1,800', '1,400', '610', '43.6 % (41.0 to 46.2)', '220', '15.7 % (13.9 to 17.7)'],
    ]);
  });

  describe('opens what the backtest command really printed', () => {
    const folder = temporaryDirectory();
    const rulesDir = rulesDirectory();
    const journal = join(folder, 'journal.ndjson');
    const run = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await scoring(args, {
        ...tab.seeded.environment,
        RULES_DIR: rulesDir,
      });
      expect(exitCode, stderr).to.equal(0);
      return stdout;
    };
    before(() => {
      addVersion(rulesDir, 'p2.v13', [BLOCK_OTHERWISE], { draft: true });
      return run('journal', 'export', '--output', journal);
    });

    for (const mode of ['recorded', 'closed-loop'] as const) {
      it(`in mode ${mode}, with the same figures`, async () => {
        const printed = await run(
          ...['rules', 'backtest', 'p2.v13', '--mode', mode, '--journal', journal, '--json'],
        );
        const report: BacktestReport = JSON.parse(printed);
        expect(report.compared).to.be.above(300);
        expect(report.changed).to.be.above(0);
        const file = join(folder, `${mode}.json`);
        writeFileSync(file, printed);
        await tab.open('#/rules/p2.v11/backtest');
        await tab.page.getByLabel('Result file').setInputFiles(file);
        await tab.page.getByRole('heading', { name: 'p2.v13 against what was recorded' }).waitFor();
        const english = (value: number) => value.toLocaleString('en');
        expect(await tab.page.locator('.matrix td.num').allTextContents()).to.deep.equal(
          VERDICTS.flatMap((from) => VERDICTS.map((to) => english(report.transitions[from][to].decisions))),
        );
        const figure = (name: string) =>
          tab.page
            .locator('.figures div', { has: tab.page.getByText(name, { exact: true }) })
            .locator('dd')
            .textContent();
        expect(await figure('mode')).to.equal(mode);
        expect(await figure('compared')).to.equal(english(report.compared));
        expect(await figure('changed')).to.match(new RegExp(`^${english(report.changed)} `));
        const changes = tab.page.getByRole('region', { name: 'Changes by rule' }).locator('tbody tr');
        expect(await changes.locator('td:first-child').allTextContents()).to.deep.equal(
          report.changes.map((change) => english(change.count)),
        );
        const waits = tab.page
          .getByRole('region', { name: /^Cooldown ladder/ })
          .locator('tbody td:nth-child(3)');
        expect(await waits.allTextContents()).to.deep.equal(
          [...report.ladder.base, ...report.ladder.candidate].map((level) => english(level.waits)),
        );
        expect(await tab.axeFindings()).to.deep.equal([]);
        expect(tab.complaints).to.deep.equal([]);
      });
    }
  });
});

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
