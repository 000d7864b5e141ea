import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';
import { listConsolePages, signIn } from '../../../scripts/screenshots/browser.ts';
import { closeConsole, describeConsole, NARROW } from './console-tab.ts';
// Its canary ends the shadow that other suites look at.
import './keyboard.ts';

after(closeConsole);

/** The rules of axe whose findings depend on colours. The page is the same by night in everything else. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** A screen, a small one or half of one, and a phone; each by day and by night. */
const LOOKS = [1440, 1024, 390].flatMap((width) => [
  { width, colorScheme: 'light', rules: [] } as const,
  { width, colorScheme: 'dark', rules: COLOUR_RULES } as const,
]);

/** The moment at which figures first stand on the page, in the browser's clock. */
const NOTE_FIRST_FIGURES = `new MutationObserver((_, watch) => {
  if (document.querySelector('.figures') === null) return;
  watch.disconnect();
  window.firstFiguresAt = performance.timeOrigin + performance.now();
}).observe(document, { childList: true, subtree: true });`;

/** What comes over the line to a tab: bytes of all answers, and the files of the console. */
async function watched(page: Page | undefined) {
  if (page === undefined) throw new Error('there is no browser');
  const line = await page.context().newCDPSession(page);
  await line.send('Network.enable');
  const urls = new Map<string, string>();
  let bytes = 0;
  line.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.fromDiskCache !== true) urls.set(requestId, response.url);
  });
  line.on('Network.requestServedFromCache', ({ requestId }) => urls.delete(requestId));
  line.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (urls.has(requestId)) bytes += encodedDataLength;
  });
  const files = () => [...urls.values()].filter((url) => url.includes('/console/'));
  return { page, bytes: () => bytes, files };
}

describeConsole('the console in a browser', (tab) => {
  it('shows every page wide and narrow, light and dark: no complaint, no request elsewhere, nothing that axe finds, no sideways scrolling', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    const findings: string[] = [];
    for (const { name: title, hash, shows } of await listConsolePages(tab.seeded)) {
      await tab.visit(hash);
      // What is worked out in a process of its own takes its time on a busy machine.
      await page.getByText(shows).first().waitFor();
      for (const part of await page.getByText('Loading …').all()) await part.waitFor({ state: 'detached' });
      for (const { width, colorScheme, rules } of LOOKS) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        const found = await tab.axeFindings(rules);
        const sideways = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        const all = sideways > 0 ? [...found, `${sideways} px too wide`] : found;
        findings.push(...all.map((finding) => `${title}, ${width} px, ${colorScheme}: ${finding}`));
      }
    }
    expect(findings).to.deep.equal([]);
    expect(tab.complaints).to.deep.equal([]);
    expect(tab.strayRequests).to.deep.equal([]);
  });

  it('asks for at most eight things before it shows the first figures, also to who may see lists', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const { page } = tab;
    const asked: Request[] = [];
    page.on('request', (request) => asked.push(request));
    await page.addInitScript(NOTE_FIRST_FIGURES);
    await page.goto(`${tab.seeded.url}?platform=shop`);
    await page.getByText('Save as CSV').first().waitFor();
    await page.waitForLoadState('networkidle');
    const shownAt = await page.evaluate<number>('firstFiguresAt');
    const before = asked.filter((request) => request.timing().startTime < shownAt);
    expect(asked.some((request) => request.url().includes('/lists'))).to.equal(true);
    expect(before.map((request) => request.url())).to.have.length.within(5, 8);
  });

  it('keeps its places in one line, and begins the line where the reader is', async () => {
    await tab.open('#/rollouts', NARROW);
    const links = tab.page.getByRole('navigation', { name: 'Places' }).getByRole('link');
    await tab.page.getByRole('heading', { name: 'Rollouts', level: 1 }).waitFor();
    const tops = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect().top));
    expect(new Set(tops).size).to.equal(1);
    const here = await tab.page.getByRole('link', { name: 'Rollouts' }).boundingBox();
    expect(here?.x).to.be.within(0, 390 - (here?.width ?? 0));
  });

  it('can be used with the keyboard: skip link first, then the pages, with a visible focus', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    await page.reload();
    await page.getByRole('navigation', { name: 'Places' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Skip to the page');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
    await page.getByRole('link', { name: 'Find', exact: true }).focus();
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).to.equal('solid');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Find', level: 1 }).waitFor();
  });

  it('loads its first place with less than 150 kB, and asks for no file again at the next visit', async () => {
    await tab.openSignedOut();
    const context = await tab.page.context().browser()?.newContext();
    const first = await watched(await context?.newPage());
    await first.page.goto(tab.seeded.url);
    await signIn(first.page, tab.seeded.key);
    await first.page.getByText('Save as CSV').first().waitFor();
    expect(first.bytes()).to.be.lessThan(150_000);
    expect(first.files().length).to.be.at.most(8);
    const second = await watched(await context?.newPage());
    await second.page.goto(tab.seeded.url);
    await second.page.getByText('Save as CSV').first().waitFor();
    expect(second.files()).to.deep.equal([]);
    await context?.close();
  });

  it('asks for the figures of Today before it knows who is signed in, once, and again who signs in then', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const { page } = tab;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url().replace(/^.*platform\//, '')));
    const figures = page.waitForRequest('**/explore?by=verdict&span=day');
    await page.route('**/sign-in', async (route) => {
      await figures;
      await route.continue();
    });
    await page.goto(`${tab.seeded.url}?platform=shop`);
    await page.locator('.figures').waitFor();
    expect(asked.filter((path) => path === 'explore?by=verdict&span=day')).to.have.length(1);
    await tab.button('Sign out').click();
    await page.getByLabel('Access key').waitFor();
    await page.reload();
    await signIn(page, tab.seeded.key);
    await page.locator('.figures').waitFor();
    expect(await page.getByRole('dialog').count()).to.equal(0);
  });

  it('shows the figures and their table where what draws the chart does not come', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const { page } = tab;
    await page.route('**/console/*/uPlot.esm.js', (route) => route.abort());
    await tab.visit('#/today');
    await page.getByText('The chart could not be loaded. The table below has its numbers.').waitFor();
    await page.getByText('Decisions by verdict as a table').click();
    expect(tab.complaints.filter((text) => !text.startsWith('Failed to load resource'))).to.deep.equal([]);
  });

  it('is loaded again when it did not come', async () => {
    await tab.openSignedOut();
    const { page } = tab;
    await page.route('**/console/*/app.js', (route) => route.abort(), { times: 1 });
    await page.reload();
    await page.getByLabel('Access key').waitFor();
  });

  it('says that it could not be loaded when that does not help', async () => {
    await tab.openSignedOut();
    const { page } = tab;
    await page.route('**/console/*/app.js', (route) => route.abort());
    await page.reload();
    await page.getByText('The console could not be loaded. Check that the service runs').waitFor();
  });

  it('says when the service is away, and what to do', async () => {
    await tab.open('#/nowhere');
    const { page } = tab;
    await page.route('**/v1/platform/decisions**', (route) => route.abort());
    await tab.visit('#/find');
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/v1/platform/decisions**');
    await tab.button('Try again').click();
    await page.getByText(/that are kept|^The newest/).waitFor();
  });
});
