import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { until } from '../../../servers/until.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's page Lists", (tab) => {
  it('starts a list, shows what is on it and why, and takes it off again', async () => {
    await tab.open('#/settings/lists', NARROW);
    const { page } = tab;
    await page.locator('input[name=list]').fill('blocked-devices');
    await page.getByLabel('Holds').selectOption('fingerprint');
    await tab.button('Create the list').click();
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill('device-of-a-ring');
    await form.getByLabel('Reason').fill('a ring of accounts');
    await form.getByLabel('Last day').fill('2099-12-31');
    await tab.button('Add to the list …').click();
    await tab.button('Add to the list').click();
    await page.getByRole('heading', { name: 'blocked-devices: 1 entry' }).waitFor();
    const row = page.getByRole('row', { name: /a ring of accounts/ });
    expect(await row.textContent()).to.match(/^hmac:[\w-]{22}.*2100-01-01 00:00:00Remove …$/);
    expect(await page.locator('main').textContent()).not.to.include('device-of-a-ring');
    await tab.expectNoFindings();
    await row.getByRole('button', { name: 'Remove …' }).click();
    await tab.button('Remove from the list').click();
    await page.getByText('The list blocked-devices is empty').waitFor();
  });

  it('shows what is on a list, and no way to change it, to who may only read', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('lists:read'), '#/settings/lists/blocked-devices');
    const { page } = tab;
    await page.getByText('The list blocked-devices is empty').waitFor();
    expect(await page.getByRole('heading', { name: 'Add to blocked-devices' }).count()).to.equal(0);
    expect(await page.getByLabel('Value').count()).to.equal(0);
  });

  it('says in the service’s words what a list cannot hold', async () => {
    await tab.open('#/settings/lists/blocked-networks');
    const { page } = tab;
    await page.getByLabel('Holds').selectOption('ip');
    await tab.button('Create the list').click();
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill('203.0.113.9/24');
    await form.getByLabel('Reason').fill('a ring of accounts');
    await tab.button('Add to the list …').click();
    await tab.button('Add to the list').click();
    await page
      .getByText('"203.0.113.9/24" does not begin where the range does; write 203.0.113.0/24.')
      .waitFor();
  });

  it('makes a list of an attribute under the name that callers use', async () => {
    await tab.open('#/settings/lists/suspect-wallets', NARROW);
    const { page } = tab;
    const attribute = page.getByRole('textbox', { name: /^Attribute/ });
    expect(await attribute.count()).to.equal(0);
    await page.getByLabel('Holds').selectOption('attribute');
    await attribute.fill('wallet');
    await tab.expectNoFindings();
    await tab.button('Create the list').click();
    await page.getByRole('row', { name: /suspect-wallets\s*values of wallet/ }).waitFor();
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill('wallet-of-a-ring');
    await form.getByLabel('Reason').fill('a ring of accounts');
    await tab.button('Add to the list …').click();
    await tab.button('Add to the list').click();
    await page.getByRole('heading', { name: 'suspect-wallets: 1 entry' }).waitFor();
    expect(await page.locator('main').textContent()).not.to.include('wallet-of-a-ring');
  });

  it('marks letters of another alphabet in the values of a list, in its dialogs and in the audit', async () => {
    const name = 'p\u0430yer-of-a-ring';
    await tab.shop.ask('PUT', 'lists/pasted', { kind: 'client' });
    await tab.open('#/settings/lists/pasted');
    const { page } = tab;
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill(name);
    await form.getByLabel('Reason').fill('a ring');
    await tab.button('Add to the list …').click();
    await page.getByRole('dialog', { name: /^Add p.*U\+0430.*yer-of-a-ring to pasted\?$/ }).waitFor();
    await tab.button('Add to the list').click();
    await page.getByRole('cell', { name: /^p.*U\+0430.*yer-of-a-ring$/ }).waitFor();
    await tab.button('Remove …').click();
    await page.getByRole('dialog', { name: /^Take p.*U\+0430.*yer-of-a-ring off pasted\?$/ }).waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await tab.shop.verdict({ clientIdKey: name });
    expect((await tab.shop.override(name, 'TRUSTED')).status).to.equal(200);
    await tab.visit('#/settings/audit?action=override');
    await page
      .getByRole('cell', { name: /^p.*U\+0430.*yer-of-a-ring$/ })
      .first()
      .waitFor();
    const again = `lists/pasted/entries?value=${encodeURIComponent(name)}`;
    expect((await tab.shop.ask('PUT', again, { reason: 'another ring' })).status).to.equal(200);
    await tab.visit('#/settings/audit?action=list');
    await page.getByText('value: p[\u0430 U+0430]yer-of-a-ring').first().waitFor();
  });

  it('says of an address that the entry of a range covers it', async () => {
    await tab.shop.ask('PUT', 'lists/ranges', { kind: 'ip' });
    await tab.shop.ask('PUT', 'lists/ranges/entries?value=203.0.113.0%2F24', { reason: 'a hoster' });
    await tab.open('#/settings/lists/ranges');
    await tab.page.getByLabel('Find a value').fill('203.0.113.55');
    await tab.button('Find').click();
    await tab.page.getByText('The entry 203.0.113.0/24 covers 203.0.113.55.').waitFor();
    await tab.page.getByRole('row', { name: /a hoster/ }).waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.page.getByLabel('Find a value').fill('203.0.114.55');
    await tab.button('Find').click();
    await tab.page.getByText('This value is not on ranges').waitFor();
  });

  it('says of a pasted line that cannot be read where it breaks, and adds nothing', async () => {
    await tab.shop.ask('PUT', 'lists/pasted', { kind: 'client' });
    await tab.open('#/settings/lists/pasted');
    const { page } = tab;
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill('card\n\n{"value":"wire" "reason":"x"}');
    await form.getByLabel('Reason').fill('a test');
    await tab.button('Add to the list …').click();
    await tab.button('Add to the list').click();
    await page.getByText('Line 3, column 17: from here on this is not a line of a saved list.').waitFor();
    await tab.button('Cancel').click();
    await form.getByLabel('Value').fill('card\n\n{"value":"","reason":"x"}');
    await tab.button('Add to the list …').click();
    await tab.button('Add to the list').click();
    await page.getByText(/^line 3: /).waitFor();
  });

  it('takes many values at once, finds one of them, and saves them all', async () => {
    await tab.shop.ask('PUT', 'lists/many-methods', { kind: 'method' });
    await tab.shop.ask('PUT', 'lists/many-methods/entries?value=method-0', { reason: 'first' });
    await tab.open('#/settings/lists/many-methods');
    const { page } = tab;
    const values = Array.from({ length: 120 }, (_, index) => `method-${index + 1}`);
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await form.getByLabel('Value').fill(`${values.join('\n')}\n{"value":"","reason":"none"}\n`);
    await form.getByLabel('Reason').fill('a test of many');
    await tab.button('Add to the list …').click();
    await page.getByRole('heading', { name: 'Add 121 values to many-methods?' }).waitFor();
    await tab.button('Add to the list').click();
    await page.getByText('120 lines added').waitFor();
    await page.getByText(/^line 121: /).waitFor();
    await page.getByRole('heading', { name: 'many-methods: 121 entries' }).waitFor();
    await page.getByText('no end').first().waitFor();
    const saved = page.waitForEvent('download');
    await tab.button('Save all as NDJSON').click();
    const text = readFileSync(await (await saved).path(), 'utf8');
    expect(text.trimEnd().split('\n').length).to.equal(121);
    expect(JSON.parse(text.split('\n')[0] ?? '')).to.include({
      value: 'method-120',
      reason: 'a test of many',
    });
    await page.getByLabel('Find a value').fill('method-7');
    await tab.button('Find').click();
    await until(
      'the one is shown',
      async () => (await page.getByRole('button', { name: 'Remove …' }).count()) === 1,
    );
    await page.getByRole('row', { name: /^method-7 / }).waitFor();
    await tab.expectNoFindings();
  });
});
