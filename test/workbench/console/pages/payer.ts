import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { until } from '../../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

/** What heads each moment of the time line: its kind and what it came to. Asked in the browser. */
const MOMENT_HEADS =
  "[...document.querySelectorAll('.moment-head')].map(({ children }) => `${children[0].textContent} ${children[1].textContent}`)";

describeConsole("a payer's page in the console", (tab) => {
  it('says first whether the payer may try, why and until when, and ends the wait', async () => {
    for (const orderRef of ['wim-1', 'wim-2'])
      await tab.shop.verdict({ clientIdKey: 'waiting-wim', orderRef });
    // Long enough for a slow browser.
    const { body } = await tab.shop.verdict({ clientIdKey: 'waiting-wim', orderRef: 'wim-3' });
    expect(body.waitSeconds).to.equal(300);
    await tab.open('#/find');
    const { page } = tab;
    await page.keyboard.type('waiting-wim\n');
    await page.getByText(/^Has to wait until \d\d:\d\d: (5 min|4 min \d+ s) left$/).waitFor();
    await page.getByText('Then a requisite is shown: GET_NEW, by the rule wait-served.').waitFor();
    await page.getByText('Asked before that, a wait of 30 min begins.').waitFor();
    await page.getByRole('status').getByText('asked-too-early').first().waitFor();
    const timer = page.getByRole('timer');
    const shown = await timer.innerText();
    await until('it counts down', async () => (await timer.innerText()) !== shown);
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.button('End the wait …').click();
    await page.getByLabel('Reason').fill('the payment page broke down');
    await tab.button('End the wait').click();
    await page.getByText('ended by a person after').waitFor();
    await page.getByText('the payment page broke down').waitFor();
    expect(await tab.button('End the wait …').count()).to.equal(0);
    const { body: after } = await tab.shop.verdict({ clientIdKey: 'waiting-wim', orderRef: 'wim-4' });
    expect(after.verdict).to.equal('GET_NEW');
  });

  it('sets and lifts an override, with a reason', async () => {
    await tab.shop.verdict({ clientIdKey: 'doubtful-dora' });
    await tab.open('#/find/payer/doubtful-dora');
    await tab.page.getByText('The next request has to wait 30 s').waitFor();
    await tab.button('Block …').click();
    await tab.button('Block the payer').click();
    expect((await tab.shop.client('doubtful-dora')).body.override).to.equal(null);
    await tab.page.getByLabel('Reason').fill('a stolen card');
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.button('Block the payer').click();
    await tab.page
      .getByText('The next request gets BLOCK: blocked by a person, until it is lifted')
      .waitFor();
    await tab.page.getByText(/^By .* since .*: a stolen card$/).waitFor();
    const verdict = await tab.shop.verdict({ clientIdKey: 'doubtful-dora' });
    expect(verdict.body.verdict).to.equal('BLOCK');

    await tab.button('Lift the override …').click();
    await tab.button('Cancel').click();
    expect((await tab.shop.client('doubtful-dora')).body.override?.group).to.equal('BLOCKED');
    await tab.button('Lift the override …').click();
    await tab.button('Lift the override').click();
    await tab.page.getByText('The next request has to wait 30 s').waitFor();
    await tab.page
      .locator('.moment-override')
      .filter({ hasText: 'set by' })
      .getByText('a stolen card')
      .waitFor();
    expect((await tab.shop.client('doubtful-dora')).body.override).to.equal(null);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('keeps a typed reason when its dialog is left by Escape or Cancel, until the reason is sent', async () => {
    await tab.shop.verdict({ clientIdKey: 'hesitant-hanna' });
    await tab.open('#/find/payer/hesitant-hanna');
    const reason = tab.page.getByRole('dialog').getByLabel('Reason');
    const ways = {
      Escape: () => tab.page.keyboard.press('Escape'),
      Cancel: () => tab.button('Cancel').click(),
    };
    for (const [way, leave] of Object.entries(ways)) {
      await tab.button('Trust …').click();
      await reason.fill(`known for years, and left by ${way}`);
      await leave();
      await reason.waitFor({ state: 'detached' });
      await tab.button('Trust …').click();
      expect(await reason.inputValue()).to.equal(`known for years, and left by ${way}`);
      await leave();
      await reason.waitFor({ state: 'detached' });
    }
    await tab.button('Block …').click();
    expect(await reason.inputValue()).to.equal('');
    await tab.button('Cancel').click();
    await tab.button('Trust …').click();
    await tab.button('Trust the payer').click();
    await tab.button('Lift the override …').click();
    await tab.button('Lift the override').click();
    await tab.button('Trust …').click();
    expect(await reason.inputValue()).to.equal('');
    expect(tab.complaints).to.deep.equal([]);
  });

  it('never says of whoever is flagged that a wait or a try comes next, but BLOCK with its rule', async () => {
    const asked = { clientIdKey: 'flagged-finn', orderRef: 'finn-1' };
    for (const sent of [asked, asked]) await tab.shop.verdict(sent);
    await tab.shop.score({ clientIdKey: 'flagged-finn', clientHints: { honeypotTriggered: true } });
    await tab.open('#/find/payer/flagged-finn');
    await tab.page.getByText('The next request gets BLOCK, by the rule bot-blocked').waitFor();
    const status = tab.page.getByRole('status').filter({ hasText: 'The next request gets BLOCK' });
    expect(await status.innerText()).not.to.match(/May try|Has to wait/);
    expect(await tab.axeFindings()).to.deep.equal([]);
  });

  it('shows a name that looks like another one with marks, in the head and among decisions', async () => {
    const name = 'p\u0430yer\u202E ';
    await tab.shop.verdict({ clientIdKey: name, orderRef: 'odd-1' });
    await tab.open(`#/find/payer/${encodeURIComponent(name)}`);
    const head = tab.page.getByRole('heading', { level: 2, name: /U\+0430.*U\+202E.*\u2423/ });
    await head.waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.visit('#/find?orderRef=odd-1');
    await tab.page.locator('.decisions .odd-letter').first().waitFor();
  });

  it('shows such names with marks in its history, its dialogs and among linked payers', async () => {
    const [name, orderRef, requisite] = ['l\u0430rs\u202E ', 'odd\u00A0order', 'requisite\u200B7'];
    const device = { fingerprint: 'phone of lars and lara' };
    for (const clientIdKey of [name, 'lara\u202E']) await tab.shop.score({ clientIdKey, ...device });
    await tab.shop.verdict({ clientIdKey: name, orderRef });
    await tab.shop.outcome(name, orderRef, 'PAID');
    const binding = { requisiteRef: requisite, acceptorKeys: ['acceptor\u202E1'] };
    expect((await tab.shop.bind(name, binding)).status).to.equal(200);
    await tab.open(`#/find/payer/${encodeURIComponent(name)}`);
    const { page } = tab;
    const history = page.locator('.history');
    await history
      .getByText(/order odd.*U\+00A0.*order/)
      .first()
      .waitFor();
    await history.getByText(/requisite requisite.*U\+200B.*7/).waitFor();
    await history.getByText(/acceptors acceptor.*U\+202E.*1/).waitFor();
    await page
      .locator('.about')
      .getByText(/U\+200B.*U\+202E/)
      .waitFor();
    await tab.button('Bind …').click();
    await page.getByRole('dialog', { name: /^Bind l.*U\+0430.*rs.*U\+202E.*\u2423 ?\?$/ }).waitFor();
    await page.keyboard.press('Escape');
    await tab.button('Show who shares devices or addresses').click();
    await page.getByRole('link', { name: /^lara ?U\+202E$/ }).waitFor();
    await page.getByLabel('Choose lara[U+202E]').waitFor();
    await tab.button('Erase …').click();
    await page.getByLabel("The payer's name once more").fill('lars');
    await tab.button('Erase the payer').click();
    await page
      .getByText('Type the name as it is, l[\u0430 U+0430]rs[U+202E][\u2423]. Nothing was erased.')
      .waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await page.keyboard.press('Escape');
  });

  it('sets and removes a binding', async () => {
    await tab.shop.verdict({ clientIdKey: 'bound-bea' });
    await tab.open('#/find/payer/bound-bea');
    await tab.button('Bind …').click();
    await tab.page.getByLabel('Requisite').fill('requisite-9');
    await tab.page.getByLabel('Acceptors').fill('acceptor-1, acceptor-2');
    await tab.button('Bind the payer').click();
    await tab.page.getByText('requisite-9 for all methods, acceptors acceptor-1, acceptor-2').waitFor();
    await tab.button('Remove the binding …').click();
    await tab.button('Remove the binding').click();
    await tab.button('Remove the binding …').waitFor({ state: 'detached' });
    expect((await tab.shop.client('bound-bea')).body.binding).to.equal(null);
  });

  it('saves all that is held, and erases the payer whose name is typed once more', async () => {
    await tab.shop.verdict({ clientIdKey: 'forgotten-fay', orderRef: 'fay-1' });
    await tab.open('#/find/payer/forgotten-fay');
    const { page } = tab;
    const [download] = await Promise.all([page.waitForEvent('download'), tab.button('Export').click()]);
    const kept = JSON.parse(readFileSync(await download.path(), 'utf8'));
    const { body } = await tab.shop.ask<object>('GET', 'client/export?clientIdKey=forgotten-fay');
    expect(kept).to.have.all.keys(Object.keys(body));
    expect(kept.decisions.map(({ orderRef }: { orderRef: string }) => orderRef)).to.deep.equal(['fay-1']);
    await tab.button('Erase …').click();
    await page.getByLabel("The payer's name once more").fill('forgotten-may');
    await tab.button('Erase the payer').click();
    await page.getByText('Type the name as it is, forgotten-fay. Nothing was erased.').waitFor();
    await page.getByLabel("The payer's name once more").fill('forgotten-fay');
    await tab.button('Erase the payer').click();
    await page
      .getByText('Erased: forgotten-fay with 1 decision, 0 outcomes, from the store, the shared lists')
      .waitFor();
    expect(await page.getByText('Nothing is known of this payer').count()).to.equal(0);
    expect(await tab.axeFindings()).to.deep.equal([]);
    expect((await tab.shop.decisions({ orderRef: 'fay-1' })).length).to.equal(0);
  });

  describe('its history', () => {
    it('is one line, newest first, with the waits from their start to their end', async () => {
      await tab.open('#/find/payer/impatient-ivan');
      await tab.page.getByText('20 entries, newest first; 6 waits, asked too early 2 times').waitFor();
      expect(await tab.page.evaluate(MOMENT_HEADS)).to.deep.equal([
        'verdict ~WAIT 30 min',
        'verdict ~WAIT 5 min',
        'score PAYING',
        'outcome UNPAID EXPIRED',
        'verdict +GET_NEW',
        'verdict ~WAIT 30 s',
        'verdict +GET_NEW',
        'outcome PAID',
        'verdict ~WAIT 30 min',
        'verdict ~WAIT 5 min',
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
      expect(await tab.page.getByText('wait of level 1 over').count()).to.equal(2);
      await tab.page.getByText('vouched for by the support desk').waitFor();
    });

    it('says when a request came too early inside a wait, and what became of it', async () => {
      await tab.open('#/find/payer/impatient-ivan');
      await tab.page.getByText(/; asked again after 2 min( \d s)?, so a longer wait began$/).waitFor();
      await tab.page.getByText(/^(3 min|2 min 5\d s) too early$/).waitFor();
      await tab.page.getByText(/; paid after 1 min( \d s)?, so the wait ended$/).waitFor();
    });

    it('says of a part that was taken back how much of the payment stays', async () => {
      const [client, order] = ['partly-refunded', 'order-of-two-parts'];
      await tab.shop.verdict({
        clientIdKey: client,
        orderRef: order,
        amountRequested: '60',
        currency: 'EUR',
      });
      await tab.shop.outcome(client, order, 'PAID');
      await tab.shop.outcome(client, order, 'UNPAID', { cause: 'REVERSED', amount: '20' });
      await tab.open(`#/find/payer/${client}`);
      await tab.page.getByText('reported: UNPAID REVERSED 20 EUR of it, so 40 EUR stay paid').waitFor();
    });

    it('leads from an order to its decisions, and from a verdict to why it fell', async () => {
      await tab.open('#/find/payer/impatient-ivan');
      const order = tab.page.getByRole('link', { name: 'order-ivan-1' }).first();
      expect(await order.getAttribute('href')).to.equal('#/find?orderRef=order-ivan-1');
      await tab.page
        .getByRole('link', { name: /^why the verdict WAIT fell at / })
        .first()
        .click();
      await tab.page.getByText('✓ reproduced').waitFor();
    });

    it('shows entries of one kind', async () => {
      await tab.open('#/find/payer/impatient-ivan');
      await tab.page.locator('.history select').selectOption('scores');
      expect(await tab.page.locator('.moment').count()).to.equal(2);
      expect(await tab.axeFindings()).to.deep.equal([]);
      await tab.page.locator('.history select').selectOption('verdicts');
      expect(await tab.page.locator('.moment-verdict').count()).to.equal(11);
      expect(await tab.page.getByText('wait of level 1 over').count()).to.equal(2);
    });

    it('says that older entries are not shown, and shows them when asked', async () => {
      for (let order = 0; order < 105; order++)
        await tab.shop.outcome('long-known-lu', `lu-${order}`, 'PAID', {
          occurredAt: '2026-01-01T00:00:00Z',
        });
      // It says what is known, so that the line leaves it out of the hundred that are asked for.
      const later = { occurredAt: '2026-01-02T00:00:00Z' };
      const { body } = await tab.shop.outcome('long-known-lu', 'lu-104', 'PAID', later);
      expect(body.result).to.equal('unchanged');
      await tab.open('#/find/payer/long-known-lu');
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
      await tab.visit('#/find/payer/impatient-ivan');
      await tab.page.getByText('No entry is kept any more').waitFor();
      const link = tab.page.getByRole('link', { name: 'Decisions of this payer' });
      expect(await link.getAttribute('href')).to.equal('#/find?clientIdKey=impatient-ivan');
    });

    it('of a payer that nothing is known of says what to do', async () => {
      await tab.open('#/find/payer/Impatient-Ivan');
      await tab.page.getByText('Nothing is known of this payer').waitFor();
      await tab.page.getByText('Names are compared exactly, capital letters too').waitFor();
      expect(await tab.button('Block …').count()).to.equal(0);
    });

    it('has no links to decisions for a key that may not see them', async () => {
      await tab.openOwn(await tab.seeded.issueShopKey('clients'), '#/find/payer/impatient-ivan');
      await tab.page.getByText('20 entries, newest first').waitFor();
      expect(await tab.page.locator('.moments a').count()).to.equal(0);
      expect(tab.complaints).to.deep.equal([]);
    });
  });
});
