import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

/** What heads each moment of the time line: its kind and what it came to. Asked in the browser. */
const MOMENT_HEADS =
  "[...document.querySelectorAll('.moment-head')].map(({ children }) => `${children[0].textContent} ${children[1].textContent}`)";

/** Where in each bar of a wait its first request came, and how far the wait was served, in percent. */
const EARLY_PLACES =
  "[...document.querySelectorAll('.wait-request:nth-child(2)')].map((mark) => [mark.style.left, mark.previousSibling.style.width].map((text) => Math.round(parseFloat(text))))";

describeConsole("the console's place Payers", (tab) => {
  it('sets and lifts an override, with a reason and a second question', async () => {
    await tab.shop.verdict({ clientIdKey: 'doubtful-dora' });
    await tab.open('#/payers/doubtful-dora');
    await tab.page.getByText('Set an override', { exact: true }).click();
    await tab.page.getByLabel('Group').selectOption('BLOCKED');
    await tab.page.getByLabel('Reason').fill('a stolen card');
    await tab.page.getByRole('textbox', { name: /^By/ }).fill('ann');
    await tab.button('Set the override …').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('a stolen card').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    expect((await tab.shop.client('doubtful-dora')).body.override).to.equal(null);
    await tab.button('Block the client').click();
    await tab.page.getByText(/BLOCKED.*since.*by.*ann.*a stolen card/).waitFor();
    const verdict = await tab.shop.verdict({ clientIdKey: 'doubtful-dora' });
    expect(verdict.body.verdict).to.equal('BLOCK');

    await tab.button('Lift the override …').click();
    await tab.button('Cancel').click();
    expect((await tab.shop.client('doubtful-dora')).body.override?.group).to.equal('BLOCKED');
    await tab.button('Lift the override …').click();
    await tab.button('Lift the override').click();
    await tab.page.getByText('None: the rules decide the group.').waitFor();
    await tab.page.getByText('the rules decide the group again', { exact: true }).waitFor();
    await tab.page
      .locator('.moment-override')
      .filter({ hasText: 'set by ann' })
      .getByText('a stolen card')
      .waitFor();
    expect((await tab.shop.client('doubtful-dora')).body.override).to.equal(null);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('draws no frame round the whole page after a look up', async () => {
    await tab.open('#/payers');
    await tab.page.getByLabel('clientIdKey').fill('impatient-ivan');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('heading', { name: 'History' }).waitFor();
    const drawn = await tab.page.evaluate(
      "[document.activeElement.id, getComputedStyle(document.querySelector('main')).outlineStyle]",
    );
    expect(drawn).to.deep.equal(['main', 'none']);
  });

  it('sets and removes a binding', async () => {
    await tab.shop.verdict({ clientIdKey: 'bound-bea' });
    await tab.open('#/payers/bound-bea');
    await tab.page.getByText('Set a binding', { exact: true }).click();
    await tab.page.getByLabel('Requisite').fill('requisite-9');
    await tab.page.getByLabel('Acceptors').fill('acceptor-1, acceptor-2');
    await tab.button('Set the binding …').click();
    await tab.button('Bind the client').click();
    await tab.page.getByText(/Requisite.*requisite-9.*acceptor-1, acceptor-2/).waitFor();
    await tab.button('Remove the binding …').click();
    await tab.button('Remove the binding').click();
    await tab.page.getByText('None: each attempt gets a new requisite.').waitFor();
    expect((await tab.shop.client('bound-bea')).body.binding).to.equal(null);
  });

  describe('its history', () => {
    it('is one line, newest first, with the waits from their start to their end', async () => {
      await tab.open('#/payers/impatient-ivan');
      await tab.page.getByText('20 entries, newest first; 6 waits, asked too early 2 times').waitFor();
      expect(await tab.page.evaluate(MOMENT_HEADS)).to.deep.equal([
        'verdict ~WAIT 1800 s',
        'verdict ~WAIT 300 s',
        'score PAYING',
        'outcome UNPAID EXPIRED',
        'verdict +GET_NEW',
        'verdict ~WAIT 30 s',
        'verdict +GET_NEW',
        'outcome PAID',
        'verdict ~WAIT 1800 s',
        'verdict ~WAIT 300 s',
        'verdict +GET_NEW',
        'verdict ~WAIT 30 s',
        'verdict +GET_NEW',
        'override lifted',
        'override TRUSTED',
        'binding removed',
        'binding set',
        'outcome PAID',
        'verdict +GET_NEW',
        'score NEW',
      ]);
      await tab.page.getByText('waits until').waitFor();
      expect(await tab.page.getByText('wait of level 1 over').count()).to.equal(2);
      await tab.page.getByText('vouched for by the support desk').waitFor();
    });

    it('marks a request that came too early inside the wait, and says what became of it', async () => {
      await tab.open('#/payers/impatient-ivan');
      await tab.page.getByText(/^▲ asked again after 2 min( \d s)?, so a longer wait began$/).waitFor();
      // The newest first: at once after a wait of 5 min began, and 2 min into another.
      const [newest, before, ...more] = await tab.page.evaluate<number[][]>(EARLY_PLACES);
      expect(more).to.deep.equal([]);
      expect(newest?.[0]).to.be.within(0, 2);
      expect(before?.[0]).to.be.within(40, 42);
      expect(before?.[1]).to.equal(before?.[0]);
      await tab.page.getByText(/^(3 min|2 min 5\d s) too early$/).waitFor();
      await tab.page.getByText(/^paid after 1 min( \d s)?, so the wait ended$/).waitFor();
    });

    it('leads from an order to its decisions, and from a verdict to why it fell', async () => {
      await tab.open('#/payers/impatient-ivan');
      const order = tab.page.getByRole('link', { name: 'order-ivan-1' }).first();
      expect(await order.getAttribute('href')).to.equal('#/decisions?orderRef=order-ivan-1');
      await tab.page
        .getByRole('link', { name: /^why the verdict WAIT fell at / })
        .first()
        .click();
      await tab.page.getByText('✓ reproduced').waitFor();
    });

    it('hides and shows kinds of entries, with the keyboard too', async () => {
      await tab.open('#/payers/impatient-ivan');
      const scores = tab.button('scores 2');
      await scores.focus();
      await tab.page.keyboard.press('Space');
      expect(await scores.getAttribute('aria-pressed')).to.equal('false');
      expect(await tab.page.locator('.moment-score').count()).to.equal(0);
      expect(await tab.page.locator('.moment-verdict').count()).to.equal(11);
      expect(await tab.axeFindings()).to.deep.equal([]);
      await tab.button('verdicts 11').click();
      expect(await tab.page.getByText('wait of level 1 over').count()).to.equal(0);
      await scores.focus();
      await tab.page.keyboard.press('Enter');
      expect(await tab.page.locator('.moment-score').count()).to.equal(2);
    });

    it('says that older entries are not shown, and shows them when asked', async () => {
      for (let order = 0; order < 105; order++)
        await tab.shop.outcome('long-known-lu', `lu-${order}`, 'PAID');
      // It comes too late to change anything, so that the line leaves it out of the hundred that are asked for.
      const earlier = { occurredAt: '2026-01-01T00:00:00Z' };
      const { body } = await tab.shop.outcome('long-known-lu', 'lu-104', 'UNPAID', earlier);
      expect(body.result).to.equal('stale');
      await tab.open('#/payers/long-known-lu');
      await tab.page.getByText('Older entries are not shown').waitFor();
      expect(await tab.page.locator('.moment').count()).to.equal(99);
      await tab.button('Show up to 500').click();
      await tab.page.getByText('105 entries, newest first; no wait').waitFor();
      expect(await tab.page.getByText('Older entries are not shown').count()).to.equal(0);
    });

    it('says so when nothing of it is kept any more, and where to look instead', async () => {
      await tab.open('#/nowhere');
      await tab.page.route('**/history?**', (route) =>
        route.fulfill({ json: { clientIdKey: 'impatient-ivan', entries: [], complete: false } }),
      );
      await tab.visit('#/payers/impatient-ivan');
      await tab.page.getByText('No entry is kept any more').waitFor();
      const link = tab.page.getByRole('link', { name: 'Its decisions' });
      expect(await link.getAttribute('href')).to.equal('#/decisions?clientIdKey=impatient-ivan');
      await tab.page.unroute('**/history?**');
    });

    it('of a client that nothing is known of says what to do', async () => {
      await tab.open('#/payers/Impatient-Ivan');
      await tab.page.getByText('Nothing is known of this client').waitFor();
      await tab.page.getByText('Keys are compared exactly, capital letters too').waitFor();
      expect(await tab.page.getByText('Set an override').count()).to.equal(0);
    });

    it('has no links to decisions for a key that may not see them', async () => {
      await tab.openOwn(await tab.seeded.keyFor('clients'), '#/payers/impatient-ivan');
      await tab.page.getByText('20 entries, newest first').waitFor();
      expect(await tab.page.locator('.moments a').count()).to.equal(0);
      expect(tab.complaints).to.deep.equal([]);
    });
  });
});
