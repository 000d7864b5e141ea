import { expect } from 'chai';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the box of the console's place Find", (tab) => {
  const box = () => tab.page.getByRole('combobox', { name: /^Payer, order, decision/ });
  const group = (name: string) => tab.page.getByRole('group', { name }).getByRole('option');

  it('is reached by a slash from anywhere but a field, and leads to an order before it is found', async () => {
    await tab.open('#/rollouts');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Rollouts', level: 1 }).click();
    await page.keyboard.press('/');
    await page.waitForURL(/#\/find$/);
    await box().and(page.locator(':focus')).waitFor();
    await page.keyboard.type('/ order-ivan-3 ');
    expect(await box().inputValue()).to.equal('/ order-ivan-3 ');
    await box().fill(' order-ivan-3 ');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/find\?orderRef=order-ivan-3$/);
    await page.getByRole('heading', { name: 'Rule by rule' }).waitFor();
  });

  it('finds a payer, a decision and a request by their whole names', async () => {
    const [decision] = await tab.shop.decisions({ clientIdKey: 'impatient-ivan' });
    await tab.open('#/find');
    const { page } = tab;
    await box().fill('impatient-iva');
    await page.getByText('Nothing of this name is kept.').waitFor();
    await box().fill('impatient-ivan');
    await group('payer').click();
    await page.waitForURL(/#\/find\/payer\/impatient-ivan$/);
    for (const name of [decision?.decisionId ?? '', decision?.requestId ?? '']) {
      await box().fill(name);
      await group('decision').click();
      await page.waitForURL(({ hash }) => hash === `#/find/decision/${decision?.decisionId}`);
      await page.getByRole('heading', { name: 'Rule by rule' }).waitFor();
      await tab.visit('#/find');
    }
  });

  it('finds a device and an address on the lists that hold them', async () => {
    for (const [list, kind, value] of [
      ['found-devices', 'fingerprint', 'device-of-a-thief'],
      ['found-addresses', 'ip', '192.0.2.77'],
    ] as const) {
      await tab.shop.ask('PUT', `lists/${list}`, { kind });
      await tab.shop.ask('PUT', `lists/${list}/entries?value=${value}`, { reason: 'a stolen card' });
      await tab.open('#/find');
      await box().fill(value);
      await group('list').getByText('a stolen card').waitFor();
      await tab.page.keyboard.press('Enter');
      await tab.page.waitForURL(({ hash }) => hash === `#/settings/lists/${list}`);
    }
  });

  it('is walked with the arrows; axe finds nothing in it', async () => {
    await tab.shop.verdict({ clientIdKey: 'twice', orderRef: 'twice' });
    for (const look of [NARROW, { ...NARROW, colorScheme: 'light', forcedColors: 'active' }] as const) {
      await tab.open('#/find', look);
      await box().fill('twice');
      await group('payer').waitFor();
      const selected = () => tab.page.locator('#hits [aria-selected=true]').getAttribute('id');
      expect(await selected()).to.equal('hit-0');
      await tab.page.keyboard.press('ArrowUp');
      expect(await selected()).to.equal('hit-1');
      expect(await box().getAttribute('aria-activedescendant')).to.equal('hit-1');
      expect(await tab.axeFindings()).to.deep.equal([]);
      await tab.leave();
    }
  });

  it('looks for no order or payer with a key that may see none', async () => {
    await tab.openOwn(await tab.seeded.keyFor('lists:read'), '#/find');
    await box().fill('order-ivan-3');
    await tab.page.getByText('Nothing of this name is kept.').waitFor();
    expect(tab.complaints).to.deep.equal([]);
  });
});
