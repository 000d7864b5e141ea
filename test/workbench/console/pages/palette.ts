import { expect } from 'chai';
import { WIDE_DISPLAY } from '../../../../scripts/screenshots/browser.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's palette", (tab) => {
  const palette = () => tab.page.getByRole('dialog', { name: 'Search and commands' });
  const field = () => palette().getByRole('combobox');
  const option = (name: string) => palette().getByRole('option', { name, exact: true });
  const names = () => palette().getByRole('option').locator('bdi').allInnerTexts();

  it('opens by Ctrl-K from a field, and Escape gives the focus back to it', async () => {
    await tab.open('#/find');
    const rule = tab.page.locator('input[name=rule]');
    await rule.focus();
    await tab.page.keyboard.press('Control+k');
    await field().and(tab.page.locator(':focus')).waitFor();
    // It is open already.
    await tab.page.keyboard.press('Control+k');
    expect(await palette().count()).to.equal(1);
    await tab.page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
    await rule.and(tab.page.locator(':focus')).waitFor();
    expect(tab.complaints).to.deep.equal([]);
  });

  it('has the focus before the next key can come', async () => {
    await tab.open('#/rollouts');
    const hasFocus = await tab.page.evaluate<boolean>(`(async () => {
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
      for (let turn = 0; turn < 10; turn++) await null;
      return document.activeElement.matches('.palette input');
    })()`);
    expect(hasFocus).to.equal(true);
  });

  it('opens by its button on a narrow screen, and leads to a payer found by a part', async () => {
    await tab.open('#/rollouts', NARROW);
    await tab.page.getByRole('button', { name: 'Search' }).click();
    await field().fill('patient-IV');
    await palette().getByRole('group', { name: 'Payers' }).getByRole('option').click();
    await tab.page.waitForURL(/#\/find\/payer\/impatient-ivan$/);
    await palette().waitFor({ state: 'detached' });
    await tab.page.getByRole('main').and(tab.page.locator(':focus')).waitFor();
  });

  it('leads to places and to the pages of a version by the beginnings of their words', async () => {
    for (const [text, hash] of [
      ['settings li', '#/settings/lists'],
      ['res v10', '#/rules/p2.v10/results'],
      ['issue', '#/settings/access'],
    ] as const) {
      await tab.open('#/today');
      await tab.page.keyboard.press('Control+k');
      await field().fill(text);
      await palette().getByRole('option').first().waitFor();
      await tab.page.keyboard.press('Enter');
      await tab.page.waitForURL((url) => url.hash === hash);
      await palette().waitFor({ state: 'detached' });
    }
  });

  it('offers what the session may do, and nothing else', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('figures', 'lists'), '#/today');
    await tab.page.keyboard.press('Control+k');
    await field().waitFor();
    expect(await names()).to.deep.equal([
      'Today',
      'Find',
      'Lists',
      'Platform',
      'Create a list',
      'Sign out',
      'Sign out in every browser',
    ]);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('signs out', async () => {
    await tab.openOwn(tab.seeded.key, '#/today');
    await tab.page.keyboard.press('Control+k');
    await option('Sign out').click();
    await tab.page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('does not open over a dialog that asks something', async () => {
    await tab.open('#/find/payer/impatient-ivan');
    await tab.button('Block …').click();
    await tab.page.getByRole('dialog').waitFor();
    await tab.page.keyboard.press('Control+k');
    expect(await tab.page.getByRole('dialog').count()).to.equal(1);
    expect(await palette().count()).to.equal(0);
    await tab.page.keyboard.press('Escape');
  });

  it('is shown whole at every size, light and dark; axe finds nothing in it', async () => {
    for (const look of [
      NARROW,
      WIDE_DISPLAY,
      { ...NARROW, colorScheme: 'light', forcedColors: 'active' },
    ] as const) {
      await tab.open('#/today', look);
      await tab.page.keyboard.press('Control+k');
      await field().fill('ivan');
      await palette().getByRole('group', { name: 'Orders' }).waitFor();
      expect(await tab.axeFindings()).to.deep.equal([]);
      const box = await palette().boundingBox();
      expect(box === null ? [] : [box.x >= 0, box.x + box.width <= look.width]).to.deep.equal([true, true]);
      await tab.leave();
    }
  });
});
