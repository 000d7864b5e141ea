/// <reference lib="dom" />
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { addVersion } from '../../checkout/rollout/rule-folders.ts';
import { blocksOf, section } from '../../guide-blocks.ts';
import { until } from '../../servers/until.ts';
import { countCurrentCases, RULES_FOLDER } from '../../service/current-rules.ts';
import { Tenant } from '../../service/tenant.ts';
import { closeConsole, describeConsole } from './console-tab.ts';

after(closeConsole);

/** An analyst at the page: everything is done as a person does it there. */
class Analyst {
  readonly #page: Page;
  readonly #version: string;
  readonly #reason: string;

  /** `version` is what the draft is called. */
  constructor(page: Page, version: string, reason: string) {
    this.#page = page;
    this.#version = version;
    this.#reason = reason;
  }

  async beginDraft(): Promise<void> {
    await this.#page.locator('select[name=source]').selectOption('p2.v10');
    await this.#page.getByLabel('name').fill(this.#version);
    await this.#button('Begin').click();
    await this.#page.getByText('Nodes accept this version.').waitFor();
  }

  async addCasesFile(name: string): Promise<void> {
    await this.#page.getByText('Add or remove a file').click();
    await this.#page.locator('input[name=name]').fill(name);
    await this.#button('Add').click();
    await this.#page.getByText('Add or remove a file').click();
  }

  async compare(): Promise<void> {
    await this.#page.getByText('Saved.', { exact: true }).waitFor();
    await this.#page.getByRole('link', { name: 'what changes' }).click();
    await this.#page.getByText('The two answer these payers differently').waitFor();
    await this.#page.goBack();
  }

  async save(): Promise<void> {
    await this.#button('Save to RULES_DIR').click();
    await this.#page.getByText('Saved to RULES_DIR. It can be rolled out as a shadow.').waitFor();
  }

  async backtest(): Promise<void> {
    await this.#page.getByRole('link', { name: 'what it would have decided' }).click();
    await this.#button('Run').click();
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

  async startCanary(percent: string): Promise<void> {
    await this.#page.getByRole('link', { name: 'Rollouts', exact: true }).click();
    await this.#page.locator('select[name=version]').selectOption(this.#version);
    await this.#page.getByRole('radio', { name: 'canary' }).check();
    await this.#page.getByLabel('Percent of clients').fill(percent);
    await this.#confirmRollout('Give a share to …');
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

  /** Puts a text in the place of some lines of a file, by putting in the whole file: the editor breaks long lines. */
  async replace(path: string, { line, lines }: { line: number; lines: number }, text: string): Promise<void> {
    const former = readFileSync(join(RULES_FOLDER, path), 'utf8').split('\n');
    const whole = former.toSpliced(line - 1, lines, text).join('\n');
    await this.#turnTo(path);
    await this.#page.keyboard.press('Control+a');
    await this.#insert(whole);
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

const GUIDE = readFileSync(join(RULES_FOLDER, '..', 'TUTORIAL.md'), 'utf8');
const STORY = section(GUIDE, 'From a complaint to a released change, all in the page');

/** The lines of the rule that the guide has replaced, counted from 1, with the empty one after it. */
function linesOfRule(): { readonly line: number; readonly lines: number } {
  const lines = readFileSync(join(RULES_FOLDER, 'groups.yaml'), 'utf8').split('\n');
  const first = lines.indexOf('  - name: blocked-by-unpaid-chain');
  const next = lines.indexOf('  - name: bound-to-requisite');
  return { line: first + 1, lines: next - first };
}

describeConsole('from a complaint to a released change, as the guide tells it', (tab) => {
  it('leads from the order to the rule, to a draft, its cases, what it changes, and to a shadow of it', async () => {
    // The guide's p2.v11 exists already in this console.
    const [version, client, order] = ['p2.v21', 'pays-for-weeks', 'order-complained-about'];
    await tab.shop.outcome(client, 'paid-once', 'PAID');
    for (const number of [1, 2, 3, 4]) await tab.shop.outcome(client, `declined-${number}`, 'UNPAID');
    await tab.shop.verdict({ clientIdKey: client, orderRef: order });
    await tab.openOwn(tab.seeded.key, '#/find');
    const [platform, ofPlatform] = [tab.page, tab.complaints];
    await platform.keyboard.type(`${order}\n`);
    const why = platform.getByRole('heading', { name: 'Rule by rule' }).locator('..');
    await why.getByText(/^blocked-by-unpaid-chain matched, because unpaidChain is 4/).waitFor();
    await platform.getByText('Outcome of the order:').waitFor();
    expect(await platform.getByLabel('Words for the integrator').inputValue()).to.include(
      'The answer was BLOCK.',
    );

    await tab.openOwn(tab.seeded.operatorKey, '#/rules/p2.v10/results');
    const { page, complaints } = tab;
    const analyst = new Analyst(page, version, 'a complaint');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('How to read it').click();
    await page.getByText('Intervals are of 95 %').waitFor();
    await page.getByRole('link', { name: 'Rules', exact: true }).first().click();
    await analyst.beginDraft();
    const [rules = '', cases = ''] = blocksOf(STORY).map(({ text }) => text);
    await analyst.replace('groups.yaml', linesOfRule(), rules);
    await analyst.append('cases/groups.yaml', `\n${cases}`);
    await analyst.casesPass(countCurrentCases() + 1);
    await analyst.addCasesFile('more');
    await analyst.append('cases/more.yaml', cases.replace('- name: ', '- name: again, '));
    await analyst.casesPass(countCurrentCases() + 2);
    await analyst.compare();
    await analyst.save();
    await analyst.backtest();

    await platform.reload();
    await why.getByLabel('Answer of another version').selectOption(version);
    // The record of that decision lacks a fact that the new rule asks for, and the page says so.
    await why
      .getByText(`${version} cannot say: the record does not hold paidOrders(28d)`, { exact: false })
      .waitFor();

    await analyst.release();
    await analyst.startShadow();
    await page.getByRole('heading', { name: version }).first().waitFor();
    // The box asked for a payer of that name, too, and the open draft for itself while it was put into RULES_DIR.
    const others = [...complaints, ...ofPlatform].filter((one) => !one.includes('404'));
    expect(others).to.deep.equal([]);
    expect((await tab.seeded.audit()).map(({ action }) => action).slice(-3)).to.deep.equal([
      'release',
      'draft',
      'rollout',
    ]);
  });
});

const CHANGED = 'clientsOnIp, params: { window: 24h }, operator: greaterThanInclusive, value: ';

/** What a person presses and chooses; `addEventListener` also hears what Enter presses. */
const COUNT_CLICKS = `
  const count = () => { sessionStorage.clicks = 1 + Number(sessionStorage.clicks ?? 0); };
  addEventListener('click', ({ isTrusted, detail }) => { if (isTrusted && detail > 0) count(); }, true);
  addEventListener('change', ({ target }) => { if (target.matches('select')) count(); }, true);`;

describeConsole('somebody who is analyst and operator', (tab) => {
  it('changes a threshold, proves it, tries it on a tenth and ends it, with one sign-in and without a shell', async () => {
    const version = 'p2.v22';
    await tab.openOwn(tab.seeded.operatorKey, '#/rules');
    const { page, complaints } = tab;
    await page.addInitScript(COUNT_CLICKS);
    await page.reload();
    await page.getByRole('navigation', { name: 'Places' }).waitFor();
    const analyst = new Analyst(page, version, 'fewer names');
    await analyst.beginDraft();
    const lines = readFileSync(join(RULES_FOLDER, 'bot-signals.yaml'), 'utf8').split('\n');
    const line = lines.findIndex((text) => text.includes(CHANGED));
    const changed = (lines[line] ?? '').replace(`${CHANGED}30`, `${CHANGED}25`);
    expect(changed).to.include('value: 25');
    await analyst.replace('bot-signals.yaml', { line: line + 1, lines: 1 }, changed);
    await analyst.casesPass(countCurrentCases());
    await analyst.compare();
    await analyst.backtest();
    await analyst.release();
    await analyst.startCanary('10');
    await page.getByText('10 %', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: `Take ${version} back …` }).click();
    await page.getByLabel('Reason for taking it back').fill('tried enough');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Take ${version} back` })
      .click();
    await page.getByRole('cell', { name: 'taken back', exact: true }).first().waitFor();
    expect(Number(await page.evaluate<string>('sessionStorage.clicks'))).to.be.at.most(16);
    const audit = await tab.seeded.audit();
    const since = audit.slice(audit.findLastIndex(({ action }) => action === 'sign-in'));
    expect(since.map(({ action }) => action)).to.deep.equal([
      'sign-in',
      'draft',
      'release',
      'draft',
      'rollout',
      'rollout',
    ]);
    // The open draft may ask for itself while it is put into RULES_DIR.
    expect(complaints.filter((one) => !/ 404 .*\/drafts\//.test(one))).to.deep.equal([]);
  });
});

const PAYERS = 40;
const AT_ONCE = 20;

/** A version that takes everybody for a bot. */
const BAD = 'p2.v13';
const MISTAKE = {
  file: 'bot-signals.yaml',
  from: '{ fact: honeypotTriggered, operator: equal, value: true }',
  to: '{ fact: honeypotTriggered, operator: equal, value: false }',
} as const;

const SO_LONG_MS = 25 * 60_000;
const utc = (epochMs: number) => new Date(epochMs).toISOString();

describeConsole('a version that is rolled out', (tab) => {
  it('says from when on its clients count, and compares nothing until then', async () => {
    const { seeded, shop } = tab;
    const operator = new Tenant(seeded, seeded.operatorKey);
    await operator.ask('POST', 'rules/rollback', { reason: 'enough seen' });
    const share = { mode: 'canary', percent: 50, acceptDifference: true };
    const canary = { version: 'p2.v11', reason: 'waits', ...share };
    expect((await operator.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    const payers = Array.from({ length: PAYERS }, (_, payer) => payer);
    for (let first = 0; first < PAYERS; first += AT_ONCE)
      await Promise.all(payers.slice(first, first + AT_ONCE).map((payer) => pays(shop, payer)));
    await seeded.ship();

    await tab.openOwn(seeded.operatorKey, '#/rollouts');
    const { page, complaints } = tab;
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText(/\d+ clients do not count yet\./).waitFor();
    await page.getByText('Nothing can be compared yet: each version needs 50 clients who count').waitFor();
    expect(complaints).to.deep.equal([]);
  });

  it('that blocks everybody is explained and taken back on the place Today in two clicks', async () => {
    const { seeded, shop } = tab;
    const operator = new Tenant(seeded, seeded.operatorKey);
    // One version is on trial, by the life of the console or by the test before.
    await operator.ask('POST', 'rules/rollback', { reason: 'enough seen' });
    addVersion(seeded.environment.RULES_DIR, BAD, [MISTAKE]);
    const change = { version: BAD, mode: 'active', acceptDifference: true, reason: 'a better signal' };
    await until('the node has the version', async () => {
      const { status } = await operator.ask('POST', 'rules/rollout', change);
      return status === 200;
    });
    const began = Date.now();
    const asks = (payer: number) =>
      shop.verdict({ clientIdKey: `payer-${payer}`, orderRef: `late-${payer}` });
    await until('it decides', async () => (await asks(0)).body.verdict === 'BLOCK');
    for (let payer = 1; payer < 30; payer += 1) await asks(payer);

    // The life of the console ended more than half an hour ago, so that the time before holds some of it.
    const span = `from=${utc(began - SO_LONG_MS)}&to=${utc(began + SO_LONG_MS)}`;
    await tab.openOwn(seeded.operatorKey, `#/today?${span}&against=before`);
    const { page, complaints } = tab;
    let clicks = 0;
    const clicked = async (target: ReturnType<typeof page.getByRole>) => {
      clicks += 1;
      await target.click();
    };
    const why = page.locator('section', { hasText: 'BLOCK took its place' }).last();
    await why.getByRole('row').nth(1).getByText(BAD).waitFor();
    await clicked(why.getByRole('button', { name: `Take ${BAD} back …` }));
    await page.getByLabel('Reason for taking it back').fill('it blocks everybody');
    await clicked(page.getByRole('dialog').getByRole('button', { name: `Take ${BAD} back` }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until(
      'payers are served again',
      async () => (await shop.verdict({ clientIdKey: 'next' })).body.verdict === 'GET_NEW',
    );
    expect([clicks, complaints]).to.deep.equal([2, []]);
  });
});

/** Two of three payers pay what they ask for. */
async function pays(shop: Tenant, payer: number): Promise<void> {
  const name = `trial-${payer}`;
  expect((await shop.verdict({ clientIdKey: name, orderRef: name })).status).to.equal(200);
  expect((await shop.outcome(name, name, payer % 3 === 0 ? 'UNPAID' : 'PAID')).status).to.equal(200);
}
