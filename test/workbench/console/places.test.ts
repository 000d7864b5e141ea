import { expect } from 'chai';
import { listConsolePages } from '../../../scripts/screenshots/browser.ts';
import { closeConsole, describeConsole } from './console-tab.ts';

after(closeConsole);

describeConsole('the console in a browser', (tab) => {
  it('shows every place, complains of nothing and asks nobody else', async () => {
    await tab.open('#/nowhere');
    for (const { hash, shows } of await listConsolePages(tab.seeded)) {
      await tab.visit(hash);
      await tab.page.getByText(shows).first().waitFor();
    }
    expect([tab.complaints, tab.strayRequests]).to.deep.equal([[], []]);
  });
});
