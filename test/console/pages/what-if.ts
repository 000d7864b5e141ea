import { expect } from 'chai';
import type { Route } from 'playwright-core';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's page What if", (tab) => {
  it('starts from a client and its last request, and asks two versions at once', async () => {
    await tab.open('#/rules/p2.v11/what-if/impatient-ivan');
    const { page } = tab;
    await page.getByRole('heading', { name: /^p2\.v10 .*WAIT 1800 s/ }).waitFor();
    await page.getByRole('heading', { name: /^p2\.v11 .*WAIT 1800 s/ }).waitFor();
    await page.getByText('p2.v11 and p2.v10 answer alike.').waitFor();
    expect(await page.getByLabel('orderRef').inputValue()).to.equal('order-ivan-4');
    expect(await page.getByLabel('amountRequested').inputValue()).to.equal('25');
    await tab.expectNoFindings();
  });

  it('shows the facts that decide about verdict and group, with what they are now; others are added', async () => {
    await tab.open('#/rules/p2.v11/what-if/impatient-ivan');
    const { page } = tab;
    const supposed = page.getByRole('group', { name: 'Suppose otherwise' });
    // The list of other facts is a label's text, too, so fields are found by their names.
    const own = (label: string) => supposed.locator(`[name="fact:${label}"]`);
    await own('unpaidChain').waitFor();
    expect(await own('unpaidChain').getAttribute('placeholder')).to.equal('now 1');
    expect(await own('honeypotTriggered').count()).to.equal(0);
    expect(await own('paidCount').count()).to.equal(1);
    await supposed.getByLabel('Another fact').selectOption('honeypotTriggered');
    await own('honeypotTriggered').selectOption('true');
    await tab.button('Ask').click();
    await page.getByRole('heading', { name: /^p2\.v10 .*BLOCK/ }).waitFor();
  });

  it('tells two versions apart by a fact that is supposed otherwise', async () => {
    await tab.open('#/rules/p2.v11/what-if/impatient-ivan');
    const { page } = tab;
    await page.getByLabel('waitRemainingSeconds').fill('1');
    await tab.button('Ask').click();
    await page.getByRole('heading', { name: /^p2\.v11 .*GET_NEW/ }).waitFor();
    await page.getByText('p2.v11 and p2.v10 differ in: verdict, wait, rule.').waitFor();
    await tab.expectNoFindings();
  });

  it('shows no answer that comes after the answer to a later question', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    const isOvertaken = Promise.withResolvers<void>();
    const late = Promise.withResolvers<void>();
    const hold = async (route: Route) => {
      await isOvertaken.promise;
      await route.fulfill({ response: await route.fetch() });
      late.resolve();
    };
    await page.route('**/rules/what-if', hold, { times: 1 });
    await tab.visit('#/rules/p2.v11/what-if/impatient-ivan');
    await page.getByLabel('Beside it').selectOption('');
    await tab.button('Ask').click();
    await page.getByRole('heading', { name: /^p2\.v11 .*WAIT 1800 s/ }).waitFor();
    isOvertaken.resolve();
    await late.promise;
    // Long enough for the page to draw what came.
    await page.evaluate('new Promise((drawn) => setTimeout(drawn, 250))');
    expect(await page.getByRole('heading', { name: /^p2\.v10 / }).count()).to.equal(0);
  });

  it('answers a name that nobody knows as a first request', async () => {
    await tab.open('#/rules/p2.v11/what-if');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Lately seen' }).waitFor();
    await page.getByLabel('clientIdKey').fill('never-seen');
    await tab.button('Start from this client').click();
    await page.getByText('nobody knows this client').waitFor();
    await page.getByRole('heading', { name: /^p2\.v10 .*GET_NEW/ }).waitFor();
  });
});
