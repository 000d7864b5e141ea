/// <reference lib="dom" />
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { PASTE_LINE, type Wish } from './five-wishes.ts';

/** A folder for what the tests see, to be looked at afterwards; taking each picture costs as much as a test. */
const PICTURES = process.env['PICTURES'];

/** What the analyst is up to. */
export interface Task {
  readonly version: string;
  readonly reason: string;
  readonly pictures: number;
}

/** An analyst at the page: everything is done as a person does it there. */
export class Analyst {
  readonly #page: Page;
  readonly #version: string;
  readonly #reason: string;
  #pictures: number;

  /** `version` is what the draft is called, `pictures` how many there are already. */
  constructor(page: Page, { version, reason, pictures }: Task) {
    this.#page = page;
    this.#version = version;
    this.#reason = reason;
    this.#pictures = pictures;
  }

  async picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    this.#pictures++;
    const number = String(this.#pictures).padStart(2, '0');
    await this.#page.screenshot({ path: join(PICTURES, `${number}-${name}.png`), fullPage: true });
  }

  async beginDraft(): Promise<void> {
    await this.#page.locator('select[name=source]').selectOption('p2.v10');
    await this.#page.getByLabel('call it').fill(this.#version);
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
    for (const [path, text] of Object.entries(after)) await this.append(path, text);
    await this.append('cases/wishes.yaml', cases);
    await this.casesPass(casesPassed);
  }

  async compare(): Promise<void> {
    await this.#page.getByText('Saved.', { exact: true }).waitFor();
    await this.#page.getByRole('link', { name: 'what it changes' }).click();
    await this.#page.getByText('Payers answered differently').waitFor();
    await this.#page.goBack();
  }

  async save(): Promise<void> {
    await this.#button('Put it into RULES_DIR').click();
    await this.#page.getByText('It lies in RULES_DIR, and may be shadowed.').waitFor();
  }

  async backtest(): Promise<void> {
    await this.#page.getByRole('link', { name: 'what it would have decided' }).click();
    await this.#button('Work it out').click();
    await this.#page.getByText(/ of [\d,]+ verdicts change/).waitFor({ timeout: 120_000 });
    await this.#page.goBack();
  }

  async release(): Promise<void> {
    await this.#button('Release …').click();
    await this.#page.getByLabel('Reason').fill(this.#reason);
    await this.#button(`Release ${this.#version}`).click();
    const row = this.#page.getByRole('row', { name: new RegExp(`^${this.#version.replace('.', '\\.')}`) });
    await row.getByText('released', { exact: true }).waitFor();
  }

  async startCanary(percent = '100'): Promise<void> {
    await this.#page.getByRole('link', { name: 'Rollouts', exact: true }).click();
    await this.#page.locator('select[name=version]').selectOption(this.#version);
    await this.#page.getByRole('radio', { name: 'canary' }).check();
    await this.#page.getByLabel('Percent of clients').fill(percent);
    await this.#confirmRollout('Start the canary of …');
  }

  async startShadow(): Promise<void> {
    await this.#page.getByRole('link', { name: 'Rollouts', exact: true }).click();
    await this.#page.locator('select[name=version]').selectOption(this.#version);
    await this.#page.getByRole('radio', { name: 'shadow' }).check();
    await this.#confirmRollout('Shadow …');
  }

  async #confirmRollout(button: string): Promise<void> {
    await this.#button(button).click();
    const dialog = this.#page.getByRole('dialog');
    await dialog.getByLabel('Reason').waitFor();
    if ((await dialog.getByRole('checkbox').count()) > 0) {
      await dialog.getByRole('checkbox', { name: 'It may answer very differently' }).check();
      await dialog.getByLabel(`Type ${this.#version} to confirm`).fill(this.#version);
    }
    await dialog.getByLabel('Reason').fill(this.#reason);
    await dialog.getByRole('button').first().click();
    await this.#page.getByText('Done: 1 of 1 nodes follow.').waitFor();
  }

  async blockDevice(fingerprint: string): Promise<void> {
    await this.#page.locator('input[name=list]').fill('blocked-devices');
    await this.#page.getByLabel('Holds').selectOption('fingerprint');
    await this.#button('Make the list').click();
    const form = this.#page.locator('form', { has: this.#button('Put it on the list …') });
    await form.getByLabel('Value').fill(fingerprint);
    await form.getByLabel('Reason').fill('a ring of accounts');
    await this.#button('Put it on the list …').click();
    await this.#button('Put it on the list').click();
    await this.#page.getByRole('heading', { name: 'blocked-devices: 1 entry' }).waitFor();
  }

  /** Puts a text in the place of some lines of a file. */
  async replace(path: string, { line, lines }: { line: number; lines: number }, text: string): Promise<void> {
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+Home');
    for (let above = 1; above < line; above++) await this.#page.keyboard.press('ArrowDown');
    for (let selected = 0; selected < lines; selected++) await this.#page.keyboard.press('Shift+ArrowDown');
    await this.#insert(text);
  }

  async append(path: string, text: string): Promise<void> {
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+End');
    await this.#insert(text);
  }

  async casesPass(passed: number): Promise<void> {
    await this.#page.getByText(`${passed} passed`, { exact: true }).waitFor();
    expect(await this.#page.getByRole('region', { name: 'Problems' }).textContent()).to.include('none');
  }

  async #paste(path: string, line: number, text: string): Promise<void> {
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+Home');
    for (let above = 1; above < line; above++) await this.#page.keyboard.press('ArrowDown');
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
