import { expect } from 'chai';
import { liveRings, type RingWorld } from '../../../service/ring-world.ts';
import { describeConsole } from '../console-tab.ts';

/** Counts what a person clicks from now on. Asked in the browser. */
const COUNT_CLICKS =
  "window.clicks = 0; addEventListener('click', ({ isTrusted }) => { window.clicks += Number(isTrusted); }, true)";

const CHOSEN =
  "[...document.querySelectorAll('input[type=checkbox]:checked')].map((one) => one.getAttribute('aria-label'))";

describeConsole("the links on a payer's page in the console", (tab) => {
  let world: RingWorld;
  before(async () => {
    world = await liveRings(tab.shop, 8);
  });

  const show = () => tab.button('Show who shares devices or addresses').click();
  const table = () => tab.page.getByRole('region', { name: 'Linked payers' });

  it('shows a planted ring and puts it on a list, after saying whom that hits, in at most five clicks', async () => {
    const [ring = []] = world.rings;
    await tab.shop.ask('PUT', 'lists/ring-zero', { kind: 'client' });
    await tab.open('#/find');
    await tab.page.evaluate(COUNT_CLICKS);
    await tab.page.keyboard.type('ring-0-1\n');
    await show();
    for (const member of ring) await table().getByRole('link', { name: member }).waitFor();
    expect(await tab.page.evaluate(CHOSEN)).to.have.members(ring.map((one) => `Choose ${one}`));
    await tab.expectNoFindings();
    await tab.button('Put 5 payers on a list …').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('refuses 5 payers, of whom 2 paid 2 orders: 50 EUR.').waitFor();
    await dialog.getByText('They paid:').waitFor();
    await dialog.getByLabel('List').selectOption('ring-zero');
    await dialog.getByLabel('Reason').fill('a ring of five');
    await tab.button('Put them on the list').click();
    await tab.page.getByRole('heading', { name: 'ring-zero: 5 entries' }).waitFor();
    expect(await tab.page.evaluate('window.clicks')).to.be.at.most(5);
  });

  it('leaves out a neighbour who shares an address alone, and says what choosing it would cost', async () => {
    await tab.open('#/find/payer/ring-0-0');
    await show();
    const neighbour = tab.page.getByLabel(`Choose ${world.neighbour}`);
    expect(await neighbour.isChecked()).to.equal(false);
    const refuses = tab.page.getByRole('status').filter({ hasText: 'A list of those chosen refuses' });
    await refuses.getByText('5 payers').waitFor();
    await neighbour.check();
    await refuses.getByText('6 payers').waitFor();
  });

  it('opens a member by one click', async () => {
    await tab.open('#/find/payer/ring-1-0');
    await show();
    await table().getByRole('link', { name: 'ring-1-3' }).click();
    await tab.page.getByRole('heading', { name: /^ring-1-3/ }).waitFor();
  });

  it('offers no list to a key that may not change lists', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('clients'), '#/find/payer/ring-2-0');
    await show();
    await table().getByRole('link', { name: 'ring-2-4' }).waitFor();
    expect(await tab.page.getByText('on a list …').count()).to.equal(0);
  });
});
