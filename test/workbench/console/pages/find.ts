import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { FoundDecisions } from '#history/archive/read/found-decisions.ts';
import { WIDE_DISPLAY } from '../../../../scripts/screenshots/browser.ts';
import { until } from '../../../servers/until.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the decisions in the console's place Find", (tab) => {
  /** The time of the place has a button of this name, too. */
  const show = () => tab.button('Show').last().click();
  /** The service's answers to searches, but for these members. */
  const answering = (members: (found: FoundDecisions, url: string) => object) =>
    tab.page.route('**/v1/platform/decisions?**', async (route) => {
      const response = await route.fetch();
      const found: FoundDecisions = await response.json();
      await route.fulfill({ response, json: { ...found, ...members(found, route.request().url()) } });
    });
  const shownRows = () => tab.page.locator('.decisions tbody tr').count();

  it('are filtered, and the filter is part of the address', async () => {
    await tab.open('#/find');
    await tab.page.locator('select[name=verdict]').selectOption('BLOCK');
    await tab.page.getByLabel('rule', { exact: true }).fill('client-blocked');
    await show();
    await tab.page.getByText(/^\d+ that fit, of all \d+ that are kept$/).waitFor();
    expect(await tab.page.evaluate('location.hash')).to.equal('#/find?verdict=BLOCK&rule=client-blocked');
    const rules = await tab.page.locator('.decisions tbody td:nth-child(8)').allTextContents();
    expect(rules.length).to.be.above(0);
    expect(new Set(rules)).to.deep.equal(new Set(['client-blocked']));
  });

  it('say so when none fits', async () => {
    await tab.open('#/find?orderRef=no-such-order');
    await tab.page.getByText('No decision matches').waitFor();
    await tab.page.getByText('Nothing of this name is kept.').waitFor();
    await tab.visit('#/find?rule=no-such-rule');
    await tab.page
      .getByText(/^All \d+ that are kept were looked at\. Names are compared exactly\.$/)
      .waitFor();
  });

  const [FROM, TO] = [Date.UTC(2026, 0, 1, 12), Date.UTC(2026, 0, 1, 14)];
  const SINCE = ', up to 2026-01-0[12] .*; some of what came since was not read';
  const UNREAD = '; 12 decisions from 2026-01-0[12] .* to 2026-01-0[12] .* lie in a file that cannot be read';
  for (const [title, lookedAt, none, two] of [
    [
      'how far was looked when there may be more',
      { decisions: 10_000, backTo: FROM },
      /^The newest 10,000 were looked at, back to 2026-01-0[12] .*; older ones were not\./,
      /^2 that fit, of the newest 10,000, back to 2026-01-0[12] .*; older ones were not looked at$/,
    ],
    [
      'since when it is not known yet what became of their orders',
      { backTo: TO, upTo: TO },
      new RegExp(`^Nothing${SINCE}\\.`),
      new RegExp(`^All 2 that fit${SINCE}$`),
    ],
    [
      'what lies in a file that cannot be read, and never that all were looked at',
      { backTo: FROM, unread: [{ from: FROM, to: TO, decisions: 12 }] },
      new RegExp(`^Nothing${UNREAD}\\.`),
      new RegExp(`^All 2 that fit${UNREAD}$`),
    ],
  ] as const)
    it(`say ${title}`, async () => {
      await tab.open('#/nowhere');
      await answering((found, url) => {
        const decisions = url.includes('UNPAID') ? found.decisions.slice(0, 2) : [];
        const all = { decisions: decisions.length, complete: false, ...lookedAt };
        return { decisions, next: null, lookedAt: all };
      });
      await tab.visit('#/find?outcome=PAID');
      await tab.page.getByText(none).waitFor();
      await tab.visit('#/find?outcome=UNPAID');
      await tab.page.getByText(two).waitFor();
    });

  it('begin again from the first page when they are asked for again, with none left out in between', async () => {
    await tab.open('#/find?verdict=WAIT');
    const { page } = tab;
    const pages = { first: 0 };
    await answering((found, url) => {
      const isLater = url.includes('after=');
      if (!isLater) pages.first++;
      const decisions = isLater ? found.decisions.slice(2, 4) : found.decisions.slice(0, 2);
      const next = isLater ? null : decisions[1]?.decisionId;
      return { decisions, next, lookedAt: { ...found.lookedAt, complete: false } };
    });
    await tab.visit('#/find?verdict=GET_NEW');
    await until('the first page', async () => (await shownRows()) === 2);
    await tab.button('Show older ones').click();
    await until('the second page behind it', async () => (await shownRows()) === 4);
    const address = page.url();
    await show();
    expect(page.url()).to.equal(address);
    await until('the first page alone', async () => pages.first >= 2 && (await shownRows()) === 2);
    await tab.button('Show older ones').waitFor();
  });

  it('are listed a hundred at a time, each once, until there is nothing older', async () => {
    await tab.open('#/find');
    await tab.page.getByText(/^The newest 100, back to /).waitFor();
    await tab.button('Show older ones').click();
    await tab.page.getByText(/^The newest (199|200), back to /).waitFor();
    while ((await tab.button('Show older ones').count()) > 0) {
      const rows = await shownRows();
      await tab.button('Show older ones').click();
      // The browser's processes are none of ours: what they stood still does not lengthen the wait.
      await until('there are more rows', async () => (await shownRows()) > rows, 120_000);
    }
    const links = tab.page.locator('.decisions tbody a[href^="#/find/decision/"]');
    const addresses = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(addresses.length).to.be.above(400);
    expect(new Set(addresses).size).to.equal(addresses.length);
  });

  it('stand at 1440 px with no column cut, also with long names', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere', { ...WIDE_DISPLAY, width: 1440 });
    const name = '8f0a61c6-3a55-4c0e-9a43-ab93d1b2f1c7';
    await answering(({ decisions }) => ({
      decisions: decisions.map((one) => ({
        ...one,
        orderRef: name,
        clientIdKey: name,
        facts: { ...one.facts, amount: 123_456.78 },
      })),
    }));
    await tab.visit('#/find');
    const table = tab.page.getByRole('region', { name: 'Decisions' });
    await table.getByRole('row').nth(1).waitFor();
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).to.equal(0);
  });

  it('and payers with names of 256 letters make no page wider than its screen', async () => {
    const name = 'w'.repeat(256);
    await tab.shop.verdict({ clientIdKey: name, orderRef: name, sellPointKey: name });
    const [decision] = await tab.shop.decisions({ orderRef: name });
    await tab.shop.override(name, 'TRUSTED', { reason: name, by: 'ann' });
    await tab.shop.bind(name, { requisiteRef: name, acceptorKeys: [name] });
    for (const width of [1440, 390]) {
      await tab.open('#/nowhere', { ...WIDE_DISPLAY, width });
      for (const [hash, shows] of [
        [`#/find?orderRef=${name}`, 'Rule by rule'],
        [`#/find/payer/${name}`, 'History'],
        [`#/find/decision/${decision?.decisionId}`, 'Rule by rule'],
      ] as const) {
        await tab.visit(hash);
        await tab.page.getByRole('heading', { name: shows }).waitFor();
        expect(await tab.page.evaluate('document.documentElement.scrollWidth'), hash.slice(0, 20)).to.equal(
          width,
        );
      }
    }
  });

  it('are asked for again by themselves when the service said after which time', async () => {
    await tab.open('#/nowhere');
    const refusal = { status: 503, headers: { 'Retry-After': '1' }, json: { detail: 'Too much at once.' } };
    await tab.page.route('**/v1/platform/decisions?**', (route) => route.fulfill(refusal), { times: 1 });
    await tab.visit('#/find');
    await tab.page.getByRole('alert').getByText('Too much at once.').waitFor();
    await tab.page.getByText(/that are kept|^The newest/).waitFor();
    expect(await tab.page.getByRole('alert').count()).to.equal(0);
  });

  it('are found at the same time by a link in every time zone', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere', { ...WIDE_DISPLAY, timezoneId: 'Asia/Tokyo' });
    const { page } = tab;
    const asked = page.waitForRequest('**/v1/platform/decisions?**');
    await tab.visit('#/find?from=2026-01-01T14:03Z');
    const query = new URL((await asked).url()).searchParams;
    expect(query.get('from')).to.equal('2026-01-01T14:03:00.000Z');
    await page.getByText('2026-01-01 23:03 – now').click();
    const from = page.getByLabel('from', { exact: true });
    expect(await from.inputValue()).to.equal('2026-01-01T23:03');
    // What is looked for stays when the time changes, and the time when something else is looked for.
    await page.locator('select[name=verdict]').selectOption('WAIT');
    await show();
    await page.waitForURL(/#\/find\?from=2026-01-01T14%3A03Z&verdict=WAIT$/);
    const title = '2026-01-01T14:03Z WAIT · Find · shop · Client Scoring';
    await page.waitForFunction((expected) => document.title === expected, title);
  });

  it('stand as they were left when somebody comes back: filter, rows and place', async () => {
    await tab.open('#/find?verdict=GET_NEW');
    const { page } = tab;
    await tab.button('Show older ones').click();
    await until('there are more rows', async () => (await shownRows()) > 100, 120_000);
    const rows = await shownRows();
    const last = page.locator('.decisions tbody tr').nth(rows - 20);
    await last.scrollIntoViewIfNeeded();
    const placeOf = () => page.evaluate<number>('scrollY');
    const place = await placeOf();
    expect(place).to.be.above(1000);
    await last.getByRole('link').first().click();
    await page.getByText('Rule by rule').waitFor();
    await page.goBack();
    await until('the rows are there again', async () => (await shownRows()) === rows);
    await until('the page is where it was', async () => Math.abs((await placeOf()) - place) < 5);
    expect(page.url()).to.match(/#\/find\?verdict=GET_NEW$/);
  });

  it('are found by group, signal, amount, request and what became of the order', async () => {
    await tab.open('#/find');
    const { page } = tab;
    expect(await page.getByLabel('amount from').isVisible()).to.equal(false);
    await page.getByText('More filters').click();
    await page.locator('select[name=clientGroup]').selectOption('NEW');
    await page.getByLabel('amount from').fill('100');
    await page.getByLabel('amount to').fill('120.00');
    await page.locator('select[name=outcome]').selectOption('UNPAID');
    await show();
    await page
      .getByText(
        /^(All [1-9]\d* that fit|[1-9]\d* that fit, of all \d+ that are kept)(, up to .* not archived yet or cannot be read)?$/,
      )
      .waitFor();
    const column = (place: number) =>
      page.locator(`.decisions tbody td:nth-child(${place})`).allTextContents();
    for (const amount of await column(5)) expect(Number.parseFloat(amount)).to.be.within(100, 120);
    for (const group of await column(10)) expect(group).to.match(/^NEW/);
    for (const outcome of await column(7)) expect(outcome.trim()).to.equal('UNPAID');
    await tab.visit('#/find?signal=honeypot');
    await page.getByRole('link', { name: 'trap-tom' }).first().waitFor();
    const [decision] = await tab.shop.decisions({ clientIdKey: 'trap-tom' });
    await tab.visit(`#/find?requestId=${decision?.requestId}`);
    await page.getByText(/^1 that fit/).waitFor();
    expect(await page.locator('input[name=requestId]').inputValue()).to.equal(decision?.requestId);
  });

  it('open to the explanation with the values that were seen, reproduced, and with a link to hand on', async () => {
    await tab.open('#/find?clientIdKey=impatient-ivan');
    await tab.page.locator('.decisions tbody a').first().click();
    await tab.page.getByText('✓ reproduced').waitFor();
    await tab.page
      .getByText('asked-too-early matched, because waitRemainingSeconds is 300, above 0')
      .waitFor();
    await tab.page.getByText(/^Level 2; waits 5 min, until /).waitFor();
    await tab.page.getByText(/^Level 3; waits 30 min, until /).waitFor();
    const link = await tab.page.getByLabel('Link', { exact: true }).inputValue();
    expect(link).to.equal(tab.page.url());
  });

  describe('in a dispute', () => {
    it('lead from an order to what became of it, and to why', async () => {
      await tab.open('#/find?orderRef=order-ivan-3');
      const { page } = tab;
      await page.getByText('All 3 that fit').waitFor();
      await page.getByText('Outcome of the order:').getByText('UNPAID EXPIRED').waitFor();
      const verdict = page.getByRole('heading', { name: /^Verdict / }).locator('..');
      await verdict.getByText('wait-served', { exact: true }).waitFor();
      expect(await verdict.getByText('client-blocked', { exact: true }).isVisible()).to.equal(false);
      await verdict.getByText(/^\d rules did not match/).click();
      await verdict.getByText('client-blocked', { exact: true }).waitFor();
      await tab.expectNoFindings();
    });

    it('are asked of another version, with the client as it was then', async () => {
      await tab.open('#/find?orderRef=order-ivan-2&verdict=WAIT&rule=attempt-unpaid');
      const { page } = tab;
      const then = page.getByRole('heading', { name: 'Rule by rule' }).locator('..');
      await then.getByLabel('Answer of another version').selectOption('p2.v11');
      await then.getByText(/by attempt-unpaid/).waitFor();
      await then.getByText('WAIT', { exact: false }).first().waitFor();
    });

    it('answer a refused payer in words with nothing of the inside', async () => {
      const { body } = await tab.shop.verdict({ clientIdKey: 'chargeback-carl', orderRef: 'refused-1' });
      expect(body.verdict).to.equal('BLOCK');
      await tab.open('#/find');
      await tab.page.keyboard.type('refused-1\n');
      await tab.button('Copy words for the payer').click();
      expect(await tab.page.getByLabel('Words for the payer', { exact: true }).inputValue()).to.match(
        /^Your payment of [\d.]+ [A-Z]{3} cannot be started\. Please choose another way to pay, or contact the shop\.$/,
      );
    });

    it('give a text for the integrator, with what to do', async () => {
      await tab.open('#/find?orderRef=order-ivan-4');
      const text = await tab.page.getByLabel('Words for the integrator', { exact: true }).inputValue();
      expect(text).to.match(/^Order order-ivan-4, 25\.00 EUR by card, asked at 2\d{3}-/);
      expect(text).to.contain('The answer was WAIT of 1800 s. Asked 300 s before the wait was over');
      expect(text).to.contain(
        'It was given by the rule asked-too-early of p2.v10: A request before waitSeconds',
      );
      expect(text).to.contain('Please show the payer a timer for that long, then ask again.');
    });
  });

  it('are saved as they are shown, with no text that a spreadsheet would run', async () => {
    await tab.shop.verdict({ clientIdKey: '=1+1', orderRef: 'a "quoted", order' });
    await tab.shop.outcome('=1+1', 'a "quoted", order', 'UNPAID', { cause: 'DECLINED' });
    await tab.open(`#/find?${new URLSearchParams({ clientIdKey: '=1+1' })}`);
    const [download] = await Promise.all([
      tab.page.waitForEvent('download'),
      tab.button('Save these as CSV').click(),
    ]);
    const [head = '', row = ''] = readFileSync(await download.path(), 'utf8').split('\r\n');
    expect(head).to.match(/^decidedAt,decisionId,requestId,orderRef,clientIdKey,/);
    expect(row).to.contain(`,"a ""quoted"", order",'=1+1,`);
    expect(row).to.contain(',UNPAID DECLINED,GET_NEW,');
  });
});
