import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { backtestResult } from '../../scripts/screenshots/backtest-result.ts';
import {
  consolePages,
  type Look,
  launchBrowser,
  openConsole,
  signIn,
  type WatchedPage,
  WIDE,
} from '../../scripts/screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from '../../scripts/screenshots/seeded-console.ts';
import { Tenant } from '../running-service.ts';
import { describeWithServer } from '../servers/needs-server.ts';

const NARROW: Look = { width: 390, height: 844, colorScheme: 'dark' };

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** What axe-core finds serious or worse. */
async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResult>("axe.run(document, { resultTypes: ['violations'] })");
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

describeWithServer('chromium', 'the console in a browser', function () {
  this.timeout(60_000);
  let seeded: SeededConsole;
  let shop: Tenant;
  let browser: Browser;
  let shared: WatchedPage | null = null;
  let tab: WatchedPage;
  let page: Page;

  before(async () => {
    [seeded, browser] = await Promise.all([startSeededConsole(), launchBrowser()]);
    shop = new Tenant(seeded, seeded.key);
  });
  after(async () => {
    await browser?.close();
    await seeded?.stop();
  });

  const look = (opened: WatchedPage) => {
    tab = opened;
    page = opened.page;
  };
  const openOwn = async (how: Look, key: string) => {
    // The page that asks for nothing is the fastest to begin with.
    look(await openConsole(browser, seeded.url, how, '#/backtest'));
    await signIn(page, key);
  };
  /** The one tab of all tests that only look around; begun afresh, as far as pages remember anything. */
  const open = async () => {
    if (shared === null) {
      await openOwn(WIDE, seeded.key);
      shared = tab;
    }
    look(shared);
    await visit('#/backtest');
    shared.forget();
  };
  const visit = (hash: string) => page.goto(`${seeded.url}${hash}`);
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' });

  afterEach(async () => {
    if (tab !== shared) await page?.context().close();
  });

  for (const [name, how] of [
    ['wide and light', WIDE],
    ['narrow and dark', NARROW],
  ] as const) {
    it(`shows every page ${name}: no complaint, no request elsewhere, nothing that axe finds serious, no sideways scrolling`, async () => {
      await openOwn(how, seeded.key);
      const findings: string[] = [];
      for (const { name: title, hash, shows } of await consolePages(seeded)) {
        await visit(hash);
        await page.getByText(shows).first().waitFor();
        await page.getByText('Loading …').waitFor({ state: 'detached' });
        findings.push(...(await seriousFindings(page)).map((finding) => `${title}: ${finding}`));
        const sideways = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        if (sideways > 0) findings.push(`${title}: ${sideways} px too wide`);
      }
      expect(findings).to.deep.equal([]);
      expect(tab.complaints).to.deep.equal([]);
      expect(tab.strayRequests).to.deep.equal([]);
    });
  }

  describe('sign-in', () => {
    it('refuses a wrong key in the service’s words and keeps nothing of it', async () => {
      look(await openConsole(browser, seeded.url));
      expect(await seriousFindings(page)).to.deep.equal([]);
      await page.getByLabel('Access key').fill('ka_wrong');
      await button('Sign in').click();
      await page
        .getByRole('alert')
        .getByText('The access key is not known, was revoked, or has expired.')
        .waitFor();
      expect(await page.evaluate('sessionStorage.length')).to.equal(0);
      expect(await page.context().cookies()).to.deep.equal([]);
    });

    it('refuses a key of the checkout and says what is missing', async () => {
      look(await openConsole(browser, seeded.url));
      await page.getByLabel('Access key').fill(await seeded.keyFor('score', 'verdict'));
      await button('Sign in').click();
      await page.getByRole('alert').getByText('the console needs one of').waitFor();
    });

    it('shows only what the key may see', async () => {
      await openOwn(WIDE, await seeded.keyFor('decisions'));
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      expect(await links.allTextContents()).to.deep.equal(['Now', 'Decisions', 'Backtest']);
      await visit('#/rollout');
      await page.getByText('This key may not see this page').waitFor();
      expect(tab.complaints).to.deep.equal([]);
    });

    it('lasts through a reload, and ends with signing out', async () => {
      await openOwn(WIDE, seeded.key);
      await page.reload();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      await button('Sign out').click();
      await page.getByLabel('Access key').waitFor();
      await page.reload();
      await page.getByLabel('Access key').waitFor();
    });
  });

  it('can be used with the keyboard: skip link first, then the pages, with a visible focus', async () => {
    await open();
    await page.reload();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Skip to the page');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
    await page.getByRole('link', { name: 'Decisions', exact: true }).focus();
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).to.equal('solid');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).waitFor();
  });

  describe('decisions', () => {
    it('are filtered, and the filter is part of the address', async () => {
      await open();
      await visit('#/decisions');
      await page.getByLabel('verdict').selectOption('BLOCK');
      await page.getByLabel('rule', { exact: true }).fill('client-blocked');
      await button('Show').click();
      await page.getByText(/of the newest/).waitFor();
      expect(await page.evaluate('location.hash')).to.equal('#/decisions?verdict=BLOCK&rule=client-blocked');
      const rules = await page.locator('.decisions tbody td:nth-child(5)').allTextContents();
      expect(rules.length).to.be.above(0);
      expect(new Set(rules)).to.deep.equal(new Set(['client-blocked']));
    });

    it('say so when none fits', async () => {
      await open();
      await visit('#/decisions?orderRef=no-such-order');
      await page.getByText('No decision fits').waitFor();
    });

    it('open to the explanation with the values that were seen, reproduced, and with a link to hand on', async () => {
      await open();
      await visit('#/decisions?clientIdKey=impatient-ivan');
      await page.locator('.decisions tbody a').first().click();
      await page.getByText('✓ reproduced').waitFor();
      await page.getByText('asked-too-early matched, because waitRemainingSeconds is 300, above 0').waitFor();
      expect(await page.getByRole('img', { name: 'before: level 2 of 3' }).count()).to.equal(1);
      expect(await page.getByRole('img', { name: 'after: level 3 of 3' }).count()).to.equal(1);
      const link = await page.getByLabel('Link').inputValue();
      expect(link).to.equal(page.url());
    });
  });

  it('shows names as text, whatever they hold', async () => {
    const clientIdKey = '<img src=x onerror="document.title=1">/#?%41';
    await shop.verdict({ clientIdKey, orderRef: '<b>bold</b>' });
    await open();
    await visit(`#/decisions?${new URLSearchParams({ clientIdKey })}`);
    await page.getByRole('link', { name: clientIdKey }).click();
    await page.getByRole('heading', { name: clientIdKey }).waitFor();
    expect(await page.locator('main img, main b:text("bold")').count()).to.equal(0);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('sets and lifts an override, with a reason and a second question', async () => {
    await shop.verdict({ clientIdKey: 'doubtful-dora' });
    await open();
    await visit('#/client/doubtful-dora');
    await page.getByText('Set an override', { exact: true }).click();
    await page.getByLabel('Group').selectOption('BLOCKED');
    await page.getByLabel('Reason').fill('a stolen card');
    await page.getByRole('textbox', { name: /^By/ }).fill('ann');
    await button('Set the override …').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('a stolen card').waitFor();
    expect(await seriousFindings(page)).to.deep.equal([]);
    expect((await shop.client('doubtful-dora')).body.override).to.equal(null);
    await button('Block the client').click();
    await page.getByText(/BLOCKED.*since.*by.*ann.*a stolen card/).waitFor();
    const verdict = await shop.verdict({ clientIdKey: 'doubtful-dora' });
    expect(verdict.body.verdict).to.equal('BLOCK');

    await button('Lift the override …').click();
    await button('Cancel').click();
    expect((await shop.client('doubtful-dora')).body.override?.group).to.equal('BLOCKED');
    await button('Lift the override …').click();
    await button('Lift the override').click();
    await page.getByText('None: the rules decide the group.').waitFor();
    expect((await shop.client('doubtful-dora')).body.override).to.equal(null);
    expect(tab.complaints).to.deep.equal([]);
  });

  it('sets and removes a binding', async () => {
    await shop.verdict({ clientIdKey: 'bound-bea' });
    await open();
    await visit('#/client/bound-bea');
    await page.getByText('Set a binding', { exact: true }).click();
    await page.getByLabel('Requisite').fill('requisite-9');
    await page.getByLabel('Acceptors').fill('acceptor-1, acceptor-2');
    await button('Set the binding …').click();
    await button('Bind the client').click();
    await page.getByText(/Requisite.*requisite-9.*acceptor-1, acceptor-2/).waitFor();
    await button('Remove the binding …').click();
    await button('Remove the binding').click();
    await page.getByText('None: each attempt gets a new requisite.').waitFor();
    expect((await shop.client('bound-bea')).body.binding).to.equal(null);
  });

  describe('rules', () => {
    it('show the problems of a version with line and column, and what differs between two', async () => {
      await open();
      await visit('#/rules/p2.v12');
      await page.getByText('verdicts.yaml:43:19').waitFor();
      await page.getByText('unknown fact "atemptOpen"; did you mean "attemptOpen"?').first().waitFor();
      await button('Compare').click();
      await page.getByText('ladder level 1: 30s -> 40s').waitFor();
    });
  });

  it('answers what if, for two versions side by side', async () => {
    await open();
    await visit('#/what-if');
    await page.getByLabel('clientIdKey').fill('impatient-ivan');
    await page.getByText("Own values instead of the client's").click();
    await page.getByLabel('waitRemainingSeconds').fill('1');
    await button('Ask').click();
    await page.getByRole('heading', { name: /p2\.v10 .*WAIT 1800 s/ }).waitFor();
    await page.getByRole('heading', { name: /p2\.v11 .*GET_NEW/ }).waitFor();
    expect(await page.getByLabel('clientIdKey').inputValue()).to.equal('impatient-ivan');
    expect(await seriousFindings(page)).to.deep.equal([]);
  });

  it('opens the result of a backtest in the browser alone', async () => {
    await open();
    await visit('#/backtest');
    const file = page.getByLabel('Result file');
    const requests: string[] = [];
    page.on('request', (request) => {
      if (!request.url().endsWith('/console/icon.svg')) requests.push(request.url());
    });
    const upload = (text: string) =>
      file.setInputFiles({ name: 'result.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await upload('{');
    await page.getByRole('alert').getByText('result.json is not JSON.').waitFor();
    await upload('{"a": 1}');
    await page
      .getByRole('alert')
      .getByText('result.json is no result of a backtest: it lacks ruleVersion')
      .waitFor();
    await upload(JSON.stringify(backtestResult()));
    await page.getByRole('heading', { name: 'p2.v11 against what was recorded' }).waitFor();
    expect(await page.locator('.matrix .cell-many').allTextContents()).to.deep.equal(['1,234']);
    expect(await seriousFindings(page)).to.deep.equal([]);
    expect(requests).to.deep.equal([]);
  });

  it('leads a version from shadow over canary to active and back, each with a reason and the version typed in', async () => {
    await open();
    await visit('#/rollout');
    const bringIn = async (mode: string, action: RegExp) => {
      await page.getByRole('radio', { name: mode }).check();
      await page.getByLabel('Reason', { exact: true }).fill(`${mode} by the test`);
      const start = button(action);
      await page.getByLabel('Type the version to confirm').fill('p2.v1');
      expect(await start.isDisabled()).to.equal(true);
      await page.getByLabel('Type the version to confirm').fill('p2.v11');
      await start.click();
      await page.getByRole('dialog').getByRole('button').first().click();
      await page.getByText('Done: 1 of 1 nodes follow.').waitFor();
      await page.getByRole('cell', { name: `${mode} by the test` }).waitFor();
    };
    await page.getByText(/verdicts differ/).waitFor();
    await page.getByText(/WAIT\/attempt-unpaid 30 s PAYING → WAIT\/attempt-unpaid 40 s PAYING/).waitFor();
    await bringIn('canary', /^Start the canary of …$/);
    await page.getByText('10 %', { exact: true }).first().waitFor();
    await bringIn('active', /^Promote …$/);

    await page.getByLabel('Reason for taking it back').fill('only a test');
    await page.getByLabel('Type the version to take back').fill('p2.v11');
    await button('Take back …').click();
    await button('Take p2.v11 back').click();
    await page.getByRole('cell', { name: 'only a test' }).waitFor();
    await page.getByRole('cell', { name: 'rollback', exact: true }).waitFor();
    const { body } = await shop.ask<{ rollout: { active: { version: string } } }>('GET', 'rules');
    expect(body.rollout.active.version).to.equal('p2.v10');
    expect(tab.complaints).to.deep.equal([]);
  });

  it('shows a refused rollout in the service’s words, and changes nothing', async () => {
    await open();
    await visit('#/rollout');
    await page.route('**/rules/rollout', (route) =>
      route.continue({ postData: JSON.stringify({ version: 'p2.v12', mode: 'active', reason: 'r' }) }),
    );
    await page.getByLabel('Reason', { exact: true }).fill('try');
    await page.getByLabel('Type the version to confirm').fill('p2.v11');
    await button('Shadow …').click();
    await button('Shadow p2.v11').click();
    await page.getByRole('dialog').getByRole('alert').getByText('p2.v12 is not sound').waitFor();
    await page.unroute('**/rules/rollout');
  });

  it('says when the service is away, and what to do', async () => {
    await open();
    await page.route('**/v1/platform/decisions**', (route) => route.abort());
    await visit('#/decisions');
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/v1/platform/decisions**');
    await button('Try again').click();
    await page.getByText(/of the newest/).waitFor();
  });

  it('leaves when the key is revoked meanwhile', async () => {
    const key = await seeded.keyFor('decisions');
    await openOwn(WIDE, key);
    await seeded.revoke(key);
    await visit('#/decisions');
    await page
      .getByRole('alert')
      .getByText('The access key is not known, was revoked, or has expired.')
      .waitFor();
    expect(await page.evaluate('sessionStorage.length')).to.equal(0);
  });
});
