import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

describeConsole('support in the console', (tab) => {
  it('answers a refused payer in two steps, with nothing of the inside', async () => {
    const { body } = await tab.shop.verdict({ clientIdKey: 'chargeback-carl', orderRef: 'refused-1' });
    expect(body.verdict).to.equal('BLOCK');
    await tab.open('#/decisions');
    const { page } = tab;
    await page.getByLabel('orderRef').fill('refused-1');
    await tab.button('Show').click();
    await tab.button('Copy words for the payer').click();
    expect(await page.getByLabel('Words for the payer', { exact: true }).inputValue()).to.match(
      /^Your payment of [\d.]+ [A-Z]{3} cannot be started\. Please choose another way to pay, or contact the shop\.$/,
    );
  });
});
