/// <reference lib="dom" />
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { WIDE_DISPLAY } from '../../../scripts/screenshots/browser.ts';
import { type ConsoleTab, describeConsole } from './console-tab.ts';

const FORCED_COLORS = { ...WIDE_DISPLAY, forcedColors: 'active' } as const;

/** More than any page has to stop at. */
const STOPS_MAX = 120;

/** A key is pressed and looked at more than a hundred times. */
const SLOW_MACHINE_MS = 240_000;

/** Whether the focus is on an element, and can be seen there; the editor shows it around itself. */
const seesFocus = (element: Element): boolean => {
  const root = element.getRootNode();
  const shown = root instanceof ShadowRoot ? root.host : element;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
};

/** Somebody who has no pointer. */
class Keys {
  readonly #tab: ConsoleTab;

  constructor(tab: ConsoleTab) {
    this.#tab = tab;
  }

  /** Goes on from where the focus is until it is on an element, and sees it there. */
  async goTo(wanted: Locator): Promise<void> {
    await wanted.waitFor();
    for (let stops = 0; !(await hasFocus(wanted)); stops++) {
      if (stops === STOPS_MAX) throw new Error(`no Tab leads to ${wanted}`);
      await this.press('Tab');
    }
    expect(await wanted.evaluate(seesFocus), `a visible focus on ${wanted}`).to.equal(true);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#tab.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    await this.#tab.page.keyboard.type(text);
  }

  async enter(wanted: Locator): Promise<void> {
    await this.goTo(wanted);
    await this.press('Enter');
  }

  async fill(wanted: Locator, text: string): Promise<void> {
    await this.goTo(wanted);
    await this.type(text);
  }

  /** The part of the page that has the focus; fails when it was lost, and Tab would begin at the top. */
  async expectFocusIn(part: Locator): Promise<void> {
    const isThere = await part.evaluate((element) => element.contains(document.activeElement));
    const active = await this.#tab.page.evaluate<string>('document.activeElement.outerHTML.slice(0, 100)');
    expect(isThere, `the focus in ${part}, but it is on ${active}`).to.equal(true);
  }
}

function hasFocus(wanted: Locator): Promise<boolean> {
  return wanted.evaluate((element) => {
    const root = element.getRootNode();
    return (root instanceof ShadowRoot || root instanceof Document) && root.activeElement === element;
  });
}

describeConsole('the console with the keyboard alone', (tab) => {
  const keys = new Keys(tab);
  const main = () => tab.page.getByRole('main');

  it('edits a rule in the page Draft, and leaves the editor again', async () => {
    await tab.openOwn(tab.seeded.key, '#/rules?from=p2.v10');
    const { page } = tab;
    await keys.fill(page.getByLabel('name'), 'p2.v41');
    await keys.enter(tab.button('Begin'));
    await page.getByText('Nodes accept this version.').waitFor();
    await keys.expectFocusIn(main());
    const files = page.getByRole('group', { name: 'Files' });
    await keys.enter(files.getByRole('button', { name: 'ladder.yaml', exact: true }).first());
    await keys.goTo(page.getByRole('textbox', { name: 'ladder.yaml', exact: true }));
    await keys.press('Control+Home', 'ArrowDown', 'ArrowDown', 'Control+f');
    await keys.type('30s');
    await keys.press('Enter', 'Escape');
    await keys.type('40s');
    await page.locator('.cm-content').getByText('40s').waitFor();
    await keys.press('Escape');
    await page.getByText('Saved.', { exact: true }).waitFor();
    await keys.enter(page.getByRole('link', { name: 'what changes' }));
    await page.getByText('ladder level 1: 30s → 40s').waitFor();
  }).timeout(SLOW_MACHINE_MS);

  it('finds a payer by a part of the name, reads why he has to wait, and opens that decision', async () => {
    const asks = (orderRef: string) =>
      tab.shop.verdict({ clientIdKey: 'Stranded-Stella', orderRef, amountRequested: '60.00' });
    await asks('stella-1');
    await asks('stella-1');
    await tab.openOwn(await tab.seeded.issueShopKey('clients:read', 'decisions'), '#/find', FORCED_COLORS);
    const { page } = tab;
    await keys.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await keys.type('nded-st');
    await keys.press('Enter');
    await page.waitForURL(/#\/find\/payer\/Stranded-Stella$/);
    await page.getByText(/^Has to wait until /).waitFor();
    await page.getByText('The wait began with').waitFor();
    await keys.expectFocusIn(main());
    await keys.enter(page.getByRole('link', { name: 'rule by rule' }));
    await page.getByRole('heading', { name: 'Rule by rule' }).waitFor();
    await keys.expectFocusIn(main());
    await keys.press('/');
    await keys.type('STELLA-1');
    await page.getByRole('group', { name: 'Orders' }).waitFor();
    await keys.press('Enter');
    await page.waitForURL(/#\/find\?orderRef=stella-1$/);
  }).timeout(SLOW_MACHINE_MS);

  it('puts somebody on a list and takes it off again', async () => {
    await tab.openOwn(tab.seeded.key, '#/settings/lists');
    const { page } = tab;
    await keys.fill(page.locator('input[name=list]'), 'by-keyboard');
    await keys.enter(tab.button('Create the list'));
    await page.getByRole('heading', { name: 'Add to by-keyboard' }).waitFor();
    const form = page.locator('form', { has: tab.button('Add to the list …') });
    await keys.fill(form.getByLabel('Value'), 'payer-by-keyboard');
    await keys.fill(form.getByLabel('Reason'), 'only a test');
    await keys.enter(tab.button('Add to the list …'));
    await keys.enter(tab.button('Add to the list'));
    await page.getByRole('heading', { name: 'by-keyboard: 1 entry' }).waitFor();
    await keys.expectFocusIn(main());
    await keys.enter(page.getByRole('row', { name: /only a test/ }).getByRole('button'));
    await page.getByRole('dialog').waitFor();
    await keys.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keys.expectFocusIn(page.getByRole('row', { name: /only a test/ }));
    await keys.press('Enter');
    await keys.enter(tab.button('Remove from the list'));
    await page.getByText('The list by-keyboard is empty').waitFor();
    await keys.expectFocusIn(main());
  }).timeout(SLOW_MACHINE_MS);

  it('starts a canary and takes it back, in colours of the system, too', async () => {
    await tab.openOwn(tab.seeded.operatorKey, '#/rollouts', FORCED_COLORS);
    const { page } = tab;
    const bringIn = page.locator('section', { hasText: 'Roll out a version' });
    await keys.goTo(bringIn.getByRole('combobox'));
    await keys.type('p2.v11');
    await keys.goTo(page.getByRole('radio', { name: 'shadow' }));
    await keys.press('ArrowDown');
    await keys.enter(tab.button('Give a share to …'));
    await keys.fill(page.getByLabel('Reason'), 'by keyboard');
    await keys.fill(page.getByLabel('Type p2.v11 to confirm'), 'p2.v11');
    await keys.press('Enter');
    await page.getByText('Done: 1 of 1 nodes follow.').waitFor();
    await keys.expectFocusIn(bringIn);
    await keys.enter(tab.button('Run'));
    await page.getByText(/^No version was on trial|^On trial with these shares/).waitFor();
    await keys.enter(tab.button('Take p2.v11 back …'));
    await page.getByText('p2.v10 decides for everybody').waitFor();
    await keys.fill(page.getByLabel('Reason'), 'by keyboard');
    await keys.press('Enter');
    await page.getByRole('cell', { name: 'taken back', exact: true }).waitFor();
    await keys.expectFocusIn(main());
  }).timeout(SLOW_MACHINE_MS);

  it('cancels work that waits for its turn', async () => {
    await tab.openOwn(tab.seeded.key, '#/rules/p2.v11/results?kind=backtest&against=p2.v10', FORCED_COLORS);
    const { page } = tab;
    // A node works on one thing at a time, so these keep the one of the test waiting.
    for (const hour of [1, 2, 3])
      await tab.shop.ask('POST', 'evidence', {
        kind: 'backtest',
        version: 'p2.v11',
        from: Date.now() - hour * 3_600_000,
      });
    await keys.enter(tab.button('Run'));
    await keys.enter(tab.button('Cancel'));
    await page.getByText('It has no results.').waitFor({ timeout: 120_000 });
    await keys.expectFocusIn(main());
    await keys.goTo(tab.button('Run again'));
  }).timeout(SLOW_MACHINE_MS);
});
