import { expect } from 'chai';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the box of the console's place Find", (tab) => {
  const box = () => tab.page.getByRole('search').getByRole('combobox', { name: /^Payer, order, decision/ });
  const group = (name: string) => tab.page.getByRole('group', { name }).getByRole('option');
  const status = () => tab.page.getByRole('search').getByRole('status');

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

  it('finds payers and orders by a part of their names in any case, and says how far back it looked', async () => {
    await tab.open('#/find');
    await box().fill('IVAN');
    await group('Payers').getByText('impatient-ivan').waitFor();
    await group('Orders').getByText('order-ivan-3').waitFor();
    expect(await group('Payers').first().locator('b').innerText()).to.equal('ivan');
    expect(await status().innerText()).to.match(
      /^\d+ shown\. Searched back to [\d-]+, the first day that is kept\./,
    );
    await group('Payers').getByText('impatient-ivan').click();
    await tab.page.waitForURL(/#\/find\/payer\/impatient-ivan$/);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('finds a decision by its id, and by the beginning of its request id', async () => {
    const [decision] = await tab.shop.decisions({ clientIdKey: 'impatient-ivan' });
    for (const name of [decision?.decisionId ?? '', decision?.requestId.slice(0, 13) ?? '']) {
      await tab.open('#/find');
      const { page } = tab;
      await box().fill(name);
      await group('Decisions').click();
      await page.waitForURL(({ hash }) => hash === `#/find/decision/${decision?.decisionId}`);
      await page.getByRole('heading', { name: 'Rule by rule' }).waitFor();
    }
  });

  it('finds the payers who were seen on a device and on an address', async () => {
    const payer = { clientIdKey: 'owner-of-a-tablet', fingerprint: 'tablet 7', ip: '192.0.2.78' };
    await tab.shop.score(payer);
    for (const [value, title] of [
      ['tablet 7', 'Payers on this device'],
      ['192.0.2.78', 'Payers on this address'],
    ] as const) {
      await tab.open('#/find');
      await box().fill(value);
      await group(title).getByText('owner-of-a-tablet').click();
      await tab.page.waitForURL(/#\/find\/payer\/owner-of-a-tablet$/);
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
      await group('List entries').getByText('a stolen card').waitFor();
      await tab.page.keyboard.press('Enter');
      await tab.page.waitForURL(({ hash }) => hash === `#/settings/lists/${list}`);
    }
  });

  it('says that a text is too short, and that nothing has it', async () => {
    await tab.open('#/find');
    await box().fill('i');
    await status().getByText('Type one more character.').waitFor();
    await box().fill('nobody has this');
    await status()
      .getByText(/^Nothing has this in its name\. Searched back to /)
      .waitFor();
    expect(await box().getAttribute('aria-expanded')).to.equal('false');
    await box().press('Escape');
    expect([await box().inputValue(), await status().innerText()]).to.deep.equal(['', '']);
  });

  it('says why the service refused', async () => {
    await tab.openOwn(tab.seeded.key, '#/find');
    await tab.page.route('**/v1/platform/find?*', (route) =>
      route.fulfill({ status: 429, json: { detail: 'Too many searches wait.' } }),
    );
    await box().fill('ivan');
    await status().getByText('Too many searches wait.').waitFor();
  });

  it('shows no answer about a text that was typed before', async () => {
    await tab.open('#/find');
    const late = Promise.withResolvers<void>();
    await tab.page.route('**/v1/platform/find?text=ivan', async (route) => {
      await late.promise;
      await route.continue().catch(() => {});
    });
    await box().fill('ivan');
    await tab.page.waitForRequest('**/v1/platform/find?text=ivan');
    await box().fill('order-ivan-3');
    await group('Orders').getByText('order-ivan-3').waitFor();
    late.resolve();
    await tab.page.waitForLoadState('networkidle');
    expect(await group('Payers').count()).to.equal(0);
  });

  it('is walked with the arrows; axe finds nothing in it', async () => {
    await tab.shop.verdict({ clientIdKey: 'twice', orderRef: 'twice' });
    for (const look of [NARROW, { ...NARROW, colorScheme: 'light', forcedColors: 'active' }] as const) {
      await tab.open('#/find', look);
      await box().fill('twice');
      await group('Payers').waitFor();
      const selected = () =>
        tab.page.getByRole('search').getByRole('option', { selected: true }).getAttribute('id');
      expect(await selected()).to.equal('found-0');
      await tab.page.keyboard.press('ArrowUp');
      expect(await selected()).to.equal('found-1');
      expect(await box().getAttribute('aria-activedescendant')).to.equal('found-1');
      expect(await tab.axeFindings()).to.deep.equal([]);
      await tab.leave();
    }
  });

  it('hints in full at what it finds, also where a phone is narrow', async () => {
    await tab.open('#/find', NARROW);
    await box().waitFor();
    const hint = () => box().getAttribute('placeholder');
    const cut = (input: HTMLInputElement) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(input);
      const pen = document.createElement('canvas').getContext('2d');
      if (pen === null) return 'not measured';
      pen.font = font;
      const room = input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
      return pen.measureText(input.placeholder).width > room;
    };
    expect([await hint(), await box().evaluate(cut)]).to.deep.equal([
      'Payer, order, device or list entry',
      false,
    ]);
    await tab.page.setViewportSize({ width: 1280, height: 900 });
    await tab.page.getByPlaceholder('Payer, order, decision, request, device or list entry').waitFor();
    expect(await box().evaluate(cut)).to.equal(false);
  });

  it('names what the session may not read', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('lists:read'), '#/find');
    await box().fill('order-ivan-3');
    await status()
      .getByText(
        'Nothing has this in its name. Not searched, because this session may not read them: payers, orders, decisions, devices.',
      )
      .waitFor();
    expect(tab.complaints).to.deep.equal([]);
  });
});
