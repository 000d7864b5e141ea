/// <reference lib="dom" />
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import {
  launchBrowser,
  openConsole,
  signIn,
  type WatchedPage,
  WIDE,
} from '../../../../scripts/screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from '../../../../scripts/screenshots/seeded-console.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { until } from '../../../servers/until.ts';
import { Tenant } from '../../../service/tenant.ts';
import { FIVE_WISHES, PASTE_LINE, type Wish } from './five-wishes.ts';

/** What the test saw, to be looked at afterwards. */
const PICTURES = join(import.meta.dirname, '..', '..', '..', '..', 'node_modules', '.cache', 'wishes');

const VERSION = 'p2.v20';

/** An analyst at the page: everything is done as a person does it there. */
class Analyst {
  readonly #page: Page;
  #pictures: number;

  /** `pictures`: how many there are already. */
  constructor(page: Page, pictures: number) {
    this.#page = page;
    this.#pictures = pictures;
  }

  async picture(name: string): Promise<void> {
    this.#pictures++;
    const number = String(this.#pictures).padStart(2, '0');
    await this.#page.screenshot({ path: join(PICTURES, `${number}-${name}.png`), fullPage: true });
  }

  async beginDraft(): Promise<void> {
    await this.#page
      .getByRole('row', { name: /^p2\.v10/ })
      .getByRole('link', { name: 'Begin a draft' })
      .click();
    await this.#page.getByLabel('call it').fill(VERSION);
    await this.#button('Begin').click();
    await this.#page.getByText('Every node would take this version.').waitFor();
  }

  async addCasesFile(name: string): Promise<void> {
    await this.#page.getByText('Add or remove a file').click();
    await this.#page.locator('input[name=name]').fill(name);
    await this.#button('Add').click();
    await this.#page.getByText('Add or remove a file').click();
  }

  /** Writes a wish into its files and its cases, and waits until its cases are among those that pass. */
  async write({ before, after, cases }: Wish, casesPassed: number): Promise<void> {
    for (const [path, text] of Object.entries(before)) await this.#paste(path, PASTE_LINE[path] ?? 1, text);
    for (const [path, text] of Object.entries(after)) await this.#append(path, text);
    await this.#append('cases/wishes.yaml', cases);
    await this.#page.getByText(`${casesPassed} passed`, { exact: true }).waitFor();
    expect(await this.#page.getByRole('region', { name: 'Problems' }).textContent()).to.include('none');
  }

  async compare(): Promise<void> {
    await this.#button('Compare').click();
    await this.#page.getByText('Payers answered differently').waitFor();
  }

  async save(): Promise<void> {
    await this.#button('Save to RULES_DIR').click();
    await this.#page.getByText('It lies in RULES_DIR of this node as you see it.').waitFor();
  }

  async backtest(): Promise<void> {
    await this.#button('Backtest').click();
    await this.#page.getByText(/^[1-9]\d* decisions were compared/).waitFor({ timeout: 120_000 });
  }

  async release(): Promise<void> {
    await this.#page.getByLabel('Reason for the release').fill('five wishes');
    await this.#page.getByLabel(`Type ${VERSION} to confirm`).fill(VERSION);
    await this.#button('Release …').click();
    await this.#button(`Release ${VERSION}`).click();
    await this.#page.getByText(`${VERSION} is released and never changes`).waitFor();
  }

  async startCanary(): Promise<void> {
    await this.#page.getByRole('link', { name: 'Roll it out' }).click();
    await this.#page.locator('select[name=version]').selectOption(VERSION);
    await this.#page.getByRole('radio', { name: 'canary' }).check();
    await this.#page.getByLabel('Percent of clients').fill('100');
    await this.#page.getByLabel('Guard, points').fill('');
    await this.#page.getByLabel('Reason', { exact: true }).fill('five wishes');
    await this.#page.getByLabel(`Type ${VERSION} to confirm`).fill(VERSION);
    await this.#button('Start the canary of …').click();
    await this.#page.getByRole('dialog').getByRole('button').first().click();
    await this.#page.getByText('Done: 1 of 1 nodes follow.').waitFor();
  }

  async blockDevice(fingerprint: string): Promise<void> {
    await this.#page.locator('input[name=list]').fill('blocked-devices');
    await this.#page.getByLabel('Holds').selectOption('fingerprint');
    await this.#page.getByLabel('Value').fill(fingerprint);
    await this.#page.getByLabel('Reason').fill('a ring of accounts');
    await this.#button('Put it on the list …').click();
    await this.#button('Put it on the list').click();
    await this.#page.getByRole('heading', { name: 'blocked-devices: 1 entry' }).waitFor();
  }

  async #paste(path: string, line: number, text: string): Promise<void> {
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+Home');
    for (let above = 1; above < line; above++) await this.#page.keyboard.press('ArrowDown');
    await this.#insert(text);
  }

  async #append(path: string, text: string): Promise<void> {
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+End');
    await this.#insert(text);
  }

  async #turnTo(path: string): Promise<void> {
    const files = this.#page.getByRole('group', { name: 'Files' });
    await files.getByRole('button', { name: new RegExp(`^${path}(?: ✗)?$`) }).click();
    await this.#page.getByRole('textbox', { name: path, exact: true }).focus();
  }

  /** As by Ctrl+V. */
  async #insert(text: string): Promise<void> {
    await this.#page.locator('.cm-content').evaluate((content, pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', pasted);
      content.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  }

  #button(name: string) {
    return this.#page.getByRole('button', { name, exact: true });
  }
}

describeWithServer('chromium', 'five wishes of an analyst', function () {
  this.timeout(180_000);
  let seeded: SeededConsole;
  let browser: Browser;
  before(async () => {
    mkdirSync(PICTURES, { recursive: true });
    [seeded, browser] = await Promise.all([startSeededConsole(), launchBrowser()]);
  });
  after(async () => {
    await browser?.close();
    await seeded?.stop();
  });

  const open = async (hash: string, key: string): Promise<WatchedPage> => {
    const tab = await openConsole(browser, seeded.url, WIDE, hash);
    await signIn(tab.page, key);
    return tab;
  };

  it('are written in the page as rules with cases, and go from there to a canary', async () => {
    const { page, complaints } = await open('#/rules', seeded.operatorKey);
    const analyst = new Analyst(page, 0);
    await analyst.beginDraft();
    await analyst.picture('draft');
    await analyst.addCasesFile('wishes');
    let casesPassed = 57;
    for (const wish of FIVE_WISHES) {
      casesPassed += wish.cases.match(/- name:/g)?.length ?? 0;
      await analyst.write(wish, casesPassed);
      await analyst.picture(wish.name.replaceAll(/[^a-z]+/g, '-'));
    }
    await analyst.compare();
    await analyst.save();
    await analyst.backtest();
    await analyst.picture('compared-saved-backtested');
    await analyst.release();
    await analyst.picture('released');
    await analyst.startCanary();
    await analyst.picture('canary');
    expect(complaints).to.deep.equal([]);
    expect((await seeded.audit()).map(({ action }) => action).slice(-3)).to.deep.equal([
      'draft',
      'release',
      'rollout',
    ]);
  });

  it('hold for those who ask: a device that is put on the list is refused, a transfer waits longer', async () => {
    const shop = new Tenant(seeded, seeded.key);
    const verdictOn = async (clientIdKey: string, more: object = {}) => {
      await shop.score({ clientIdKey, fingerprint: 'ring-device' });
      return (await shop.verdict({ clientIdKey, ...more })).body;
    };
    expect((await verdictOn('first')).verdict).to.equal('GET_NEW');
    const { page, complaints } = await open('#/lists', seeded.key);
    const analyst = new Analyst(page, 20);
    await analyst.blockDevice('ring-device');
    await analyst.picture('list');
    await until('the device is refused', async () => (await verdictOn('second')).verdict === 'BLOCK');
    await shop.verdict({ clientIdKey: 'payer-by-bank', method: 'sepa' });
    const { body } = await shop.verdict({ clientIdKey: 'payer-by-bank', method: 'sepa' });
    expect([body.verdict, body.waitSeconds, body.ruleVersion]).to.deep.equal(['WAIT', 120, VERSION]);
    expect(complaints).to.deep.equal([]);
  });
});
