/// <reference lib="dom" />
import { expect } from 'chai';
import { signIn } from '../../../../scripts/screenshots/browser.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole('signing in to the console', (tab) => {
  it('refuses a wrong key in the service’s words and keeps nothing of it', async () => {
    await tab.openSignedOut();
    await tab.page.getByLabel('Access key').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.page.getByLabel('Access key').fill('ka_wrong');
    await tab.button('Sign in').click();
    await tab.page
      .getByRole('alert')
      .getByText('The access key is not known, was revoked, or has expired.')
      .waitFor();
    expect(await tab.page.evaluate('sessionStorage.length + localStorage.length')).to.equal(0);
    expect(await tab.page.context().cookies()).to.deep.equal([]);
  });

  it('refuses a key of the checkout and says what is missing', async () => {
    await tab.openSignedOut();
    await tab.page.getByLabel('Access key').fill(await tab.seeded.issueShopKey('score', 'verdict'));
    await tab.button('Sign in').click();
    await tab.page.getByRole('alert').getByText('the console needs one of').waitFor();
  });

  it('shows only what the key may see, and says where there is nothing', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('decisions'), '#/nowhere');
    const links = tab.page.getByRole('navigation', { name: 'Places' }).getByRole('link');
    expect(await links.allTextContents()).to.deep.equal(['Today', 'Find', 'Settings']);
    await tab.visit('#/rollouts');
    await tab.page.getByText('This session may not see this page').waitFor();
    await tab.visit('#/nonsense');
    await tab.page.getByText('Nothing is at this address').waitFor();
    expect(tab.complaints).to.deep.equal([]);
  });

  it('lasts through a reload, and ends with signing out', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    await tab.page.reload();
    await tab.page.getByRole('navigation', { name: 'Places' }).waitFor();
    await tab.button('Sign out').click();
    await tab.page.getByLabel('Access key').waitFor();
    await tab.page.reload();
    await tab.page.getByLabel('Access key').waitFor();
  });

  it('signs out without a complaint when the session had ended', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    await tab.page.route('**/session?sessions=this', (route) => route.fulfill({ status: 401, json: {} }));
    await tab.button('Sign out').click();
    await tab.page.getByLabel('Access key').waitFor();
    expect(tab.complaints.filter((text) => !text.startsWith('Failed to load resource'))).to.deep.equal([]);
  });

  it('holds no key anywhere, and a link opens in a new tab signed in', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const { page } = tab;
    expect(
      await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length'),
    ).to.equal(0);
    const second = await page.context().newPage();
    await second.goto(`${tab.seeded.url}#/rollouts`);
    await second.getByRole('heading', { name: 'Rollouts', level: 1 }).waitFor();
  });

  it('asks again over the page when the key is revoked meanwhile, and keeps what was typed', async () => {
    const key = await tab.seeded.issueShopKey('decisions', 'lists');
    await tab.openOwn(key, '#/settings/lists');
    const { page } = tab;
    const list = page.locator('input[name=list]');
    await list.fill('typed-before');
    await tab.seeded.revoke(key);
    await page.evaluate("dispatchEvent(new Event('ask-again'))");
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.getByText('The session has ended; sign in again.').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    for (let times = 0; times < 3; times++) await page.keyboard.press('Escape');
    await dialog.getByLabel('Access key').fill(await tab.seeded.issueShopKey('decisions', 'lists'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await list.inputValue()).to.equal('typed-before');
  });

  it('says that the session ended, without the name of a header, when its cookie is gone', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('decisions', 'lists'), '#/settings/lists');
    const { page } = tab;
    await page.context().clearCookies();
    await page.evaluate("dispatchEvent(new Event('ask-again'))");
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.getByText('The session has ended; sign in again.').waitFor();
    expect(await dialog.innerText()).not.to.include('X-KA');
  });

  it('follows an address that changes while the first page is being shown', async () => {
    await tab.openSignedOut();
    const { page } = tab;
    await page.evaluate(() => {
      const leaveAtOnce = new MutationObserver(() => {
        if (document.querySelector('nav') === null) return;
        leaveAtOnce.disconnect();
        location.hash = '#/settings/lists';
      });
      leaveAtOnce.observe(document.body, { childList: true, subtree: true });
    });
    await signIn(page, tab.seeded.key);
    await page.getByRole('heading', { name: 'Lists', level: 1 }).waitFor({ timeout: 20_000 });
  });
});
