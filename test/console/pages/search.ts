/// <reference lib="dom" />
import { expect } from 'chai';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's search", (tab) => {
  const search = () => tab.page.getByRole('combobox', { name: 'Order, payer, decision, rule or version' });
  const group = (name: string) => tab.page.getByRole('group', { name }).getByRole('option');

  it('is opened by a slash anywhere but in a field, and leads to an order', async () => {
    await tab.open('#/decisions');
    const { page } = tab;
    await page.getByLabel('orderRef').focus();
    await page.keyboard.press('/');
    expect(await page.getByLabel('orderRef').inputValue()).to.equal('/');
    expect(await search().count()).to.equal(0);
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).click();
    await page.keyboard.press('/');
    await search().waitFor();
    await page.keyboard.type(' order-ivan-3 ');
    await group('Orders').getByText('order-ivan-3').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/decisions\?orderRef=order-ivan-3$/);
    expect(await search().count()).to.equal(0);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('finds a payer and a decision by their whole names', async () => {
    const { body } = await tab.shop.ask<{ decisions: { decisionId: string }[] }>(
      'GET',
      'decisions?clientIdKey=impatient-ivan',
    );
    const decisionId = body.decisions[0]?.decisionId ?? '';
    await tab.open('#/today');
    const { page } = tab;
    await tab.button(/^Search/).click();
    await search().fill('impatient-iva');
    await page.getByText('Nothing of this name is kept.').waitFor();
    await search().fill('impatient-ivan');
    await group('Payers').click();
    await page.waitForURL(/#\/payers\/impatient-ivan$/);
    await tab.button(/^Search/).click();
    await search().fill(decisionId);
    await group('Decisions').click();
    await page.getByRole('heading', { name: 'Rule by rule' }).waitFor();
  });

  it('finds rules and versions by a part of their names, and leads by a rule to its line', async () => {
    await tab.open('#/rollouts');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Rollouts', level: 1 }).click();
    await page.keyboard.press('/');
    await search().fill('p2.v1');
    await group('Versions').first().waitFor();
    expect(await group('Versions').count()).to.be.at.least(2);
    await search().fill('unpaid');
    await group('Rules').getByText('attempt-unpaid').waitFor();
    const selected = () => page.getByRole('option', { selected: true }).getAttribute('id');
    expect(await selected()).to.equal('hit-0');
    await page.keyboard.press('ArrowUp');
    expect(await selected()).to.equal(`hit-${(await page.getByRole('option').count()) - 1}`);
    expect(await search().getAttribute('aria-activedescendant')).to.equal(await selected());
    await group('Rules').getByText('attempt-unpaid').click();
    await page.getByRole('link', { name: /^verdicts\.yaml:\d+$/ }).click();
    await page.locator('tr.chosen').getByText('- name: attempt-unpaid').waitFor();
    expect(await page.locator('tr.chosen').isVisible()).to.equal(true);
  });

  it('is closed by Escape, and gives the focus back; axe finds nothing in it', async () => {
    for (const look of [NARROW, { ...NARROW, colorScheme: 'light', forcedColors: 'active' }] as const) {
      await tab.open('#/rules', look);
      await tab.button(/^Search/).focus();
      await tab.page.keyboard.press('/');
      await search().fill('unpaid');
      await group('Rules').first().waitFor();
      await tab.expectNoFindings();
      await tab.page.keyboard.press('Escape');
      await search().waitFor({ state: 'detached' });
      expect(await tab.page.evaluate('document.activeElement.className')).to.equal('search-open');
      await tab.leave();
    }
  });

  it('looks for no order or payer with a key that may see none', async () => {
    await tab.openOwn(await tab.seeded.keyFor('rules'), '#/rules');
    await tab.button(/^Search/).click();
    await search().fill('order-ivan-3');
    await tab.page.getByText('Nothing of this name is kept.').waitFor();
  });
});
