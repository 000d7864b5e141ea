import { expect } from 'chai';
import { until } from '../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page Ask", (tab) => {
  it('makes a form of what each question leaves open, and shows the notes and tables of its answer', async () => {
    await tab.open('#/rules/p2.v10/ask?days=7');
    const { page } = tab;
    await page.getByLabel('question').selectOption('drift');
    await tab.button('Ask').click();
    const answers = page.getByRole('region', { name: 'Answers and outcomes' });
    await answers.waitFor({ timeout: 120_000 });
    expect(await answers.getByRole('row', { name: /^GET_NEW/ }).textContent()).to.match(
      /^\s*GET_NEW(\s*\d+\.\d % \(\d+\.\d to \d+\.\d\)){2}\s*$/,
    );
    expect(await tab.axeFindings()).to.deep.equal([]);
  });

  it('keeps what came of a question at an address that can be passed on', async () => {
    await tab.open('#/rules/p2.v11/ask?kind=backtest&against=p2.v10&days=7');
    const { page } = tab;
    await tab.button('Ask').click();
    await page.getByText(/ of [\d,]+ verdicts change/).waitFor({ timeout: 120_000 });
    const row = page.getByRole('region', { name: 'Questions of late' }).getByRole('row', { name: /p2\.v11/ });
    await row.getByText('done').waitFor();
    await row.getByRole('link').click();
    await page.waitForURL(/#\/rules\/p2\.v1[01]\/ask\/[0-9a-f-]{13}$/);
    await page.getByText(/ of [\d,]+ verdicts change/).waitFor();
    await page.getByRole('link', { name: '← All questions' }).waitFor();
  });

  it('says what is wrong with values that cannot be tried', async () => {
    await tab.open('#/rules/p2.v10/ask?kind=backtest&vary=ladder.levels[0]=soon&days=7&asked=yes');
    await tab.page.getByText('This could not be worked out').waitFor({ timeout: 120_000 });
    await tab.page.getByText(/^ladder\.levels\[0\]=soon is no sound rule set: ladder\.yaml:/).waitFor();
  });

  it('can be cancelled, also by who saw it under way when it had just ended', async () => {
    await tab.open('#/rules/p2.v11/ask?kind=backtest&against=p2.v10&days=30');
    const { page } = tab;
    const job = /\/evidence\/[0-9a-f-]{13}$/;
    let isHeld = true;
    let path = '';
    await page.route(job, async (route) => {
      path = `evidence/${route.request().url().split('/').at(-1)}`;
      if (route.request().method() === 'DELETE' || !isHeld) return route.continue();
      const response = await route.fetch();
      const { job } = await response.json();
      return route.fulfill({ response, json: { job: { ...job, state: 'running' }, result: null } });
    });
    await tab.button('Ask').click();
    await tab.button('Cancel').waitFor();
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
    await tab.openOwn(await tab.seeded.keyFor('decisions'), '#/rules/p2.v11/ask');
    await tab.page.getByText('This session may not see this page').waitFor();
  });
});
