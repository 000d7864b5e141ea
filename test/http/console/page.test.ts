import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { backtestResult } from '../../../scripts/screenshots/backtest-result.ts';
import {
  consolePages,
  type Look,
  launchBrowser,
  openConsole,
  signIn,
  type WatchedPage,
  WIDE,
} from '../../../scripts/screenshots/browser.ts';
import { type SeededConsole, startSeededConsole } from '../../../scripts/screenshots/seeded-console.ts';
import type { BacktestReport } from '../../../src/evidence/backtest/backtest.ts';
import { VERDICTS } from '../../../src/rules/rule-set.ts';
import { scoring } from '../../cli/scoring.ts';
import { addVersion, BLOCK_OTHERWISE, rulesDirectory } from '../../rollout/rule-folders.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { Tenant } from '../../service/tenant.ts';

const NARROW: Look = { width: 390, height: 844, colorScheme: 'dark' };

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

/** What heads each moment of the time line: its kind and what it came to. Asked in the browser. */
const MOMENT_HEADS =
  "[...document.querySelectorAll('.moment-head')].map(({ children }) => `${children[0].textContent} ${children[1].textContent}`)";

/** Where in each bar of a wait its first request came, and how far the wait was served, in percent. */
const EARLY_PLACES =
  "[...document.querySelectorAll('.wait-request:nth-child(2)')].map((mark) => [mark.style.left, mark.previousSibling.style.width].map((text) => Math.round(parseFloat(text))))";

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

    it('shows only what the key may see, and says where there is nothing', async () => {
      await openOwn(WIDE, await seeded.keyFor('decisions'));
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      expect(await links.allTextContents()).to.deep.equal(['Now', 'Decisions', 'Backtest']);
      await visit('#/rollout');
      await page.getByText('This key may not see this page').waitFor();
      await visit('#/nonsense');
      await page.getByText('Nothing is at this address').waitFor();
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
      await page.getByText(/^\d+ of all \d+ that are kept$/).waitFor();
      expect(await page.evaluate('location.hash')).to.equal('#/decisions?verdict=BLOCK&rule=client-blocked');
      const rules = await page.locator('.decisions tbody td:nth-child(5)').allTextContents();
      expect(rules.length).to.be.above(0);
      expect(new Set(rules)).to.deep.equal(new Set(['client-blocked']));
    });

    it('say so when none fits', async () => {
      await open();
      await visit('#/decisions?orderRef=no-such-order');
      await page.getByText('No decision fits').waitFor();
      await page.getByText('Nothing of this name is kept.').waitFor();
      await visit('#/decisions?rule=no-such-rule');
      await page.getByText(/^All \d+ that are kept were looked at\. Names are compared exactly\.$/).waitFor();
    });

    it('say how far was looked when there may be more', async () => {
      await open();
      await page.route('**/v1/platform/decisions?**', async (route) => {
        const answer = await route.fetch();
        const lookedAt = { decisions: 10_000, backTo: Date.UTC(2026, 0, 1, 12), complete: false };
        const { decisions } = await answer.json();
        const json = {
          decisions: route.request().url().includes('WAIT') ? decisions.slice(0, 2) : [],
          lookedAt,
        };
        await route.fulfill({ response: answer, json });
      });
      await visit('#/decisions?rule=no-such-rule');
      await page
        .getByText(/^The newest 10,000 were looked at, back to 2026-01-0[12] .*; older ones were not\./)
        .waitFor();
      await visit('#/decisions?verdict=WAIT');
      await page
        .getByText(/^2 of the newest 10,000, back to 2026-01-0[12] .*; older ones were not looked at$/)
        .waitFor();
      await page.unroute('**/v1/platform/decisions?**');
    });

    it('are listed up to a hundred, and more when asked for', async () => {
      await open();
      await visit('#/decisions');
      await page.getByText(/^The newest 100, back to /).waitFor();
      await button('Show up to 500').click();
      await page.getByText(/^All \d+ that are kept$|^The newest 500, back to /).waitFor();
      expect(await page.locator('.decisions tbody tr').count()).to.be.above(100);
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
    await page.getByText('the rules decide the group again', { exact: true }).waitFor();
    await page
      .locator('.moment-override')
      .filter({ hasText: 'set by ann' })
      .getByText('a stolen card')
      .waitFor();
    expect((await shop.client('doubtful-dora')).body.override).to.equal(null);
    expect(tab.complaints).to.deep.equal([]);
  });

  describe('the history of a client', () => {
    it('is one line, newest first, with the waits from their start to their end', async () => {
      await open();
      await visit('#/client/impatient-ivan');
      await page.getByText('20 entries, newest first; 6 waits, asked too early 2 times').waitFor();
      expect(await page.evaluate(MOMENT_HEADS)).to.deep.equal([
        'verdict ~WAIT 1800 s',
        'verdict ~WAIT 300 s',
        'score PAYING',
        'outcome UNPAID EXPIRED',
        'verdict +GET_NEW',
        'verdict ~WAIT 30 s',
        'verdict +GET_NEW',
        'outcome PAID',
        'verdict ~WAIT 1800 s',
        'verdict ~WAIT 300 s',
        'verdict +GET_NEW',
        'verdict ~WAIT 30 s',
        'verdict +GET_NEW',
        'override lifted',
        'override TRUSTED',
        'binding removed',
        'binding set',
        'outcome PAID',
        'verdict +GET_NEW',
        'score NEW',
      ]);
      await page.getByText('waits until').waitFor();
      expect(await page.getByText('wait of level 1 over').count()).to.equal(2);
      await page.getByText('vouched for by the support desk').waitFor();
    });

    it('marks a request that came too early inside the wait, and says what became of it', async () => {
      await open();
      await visit('#/client/impatient-ivan');
      await page.getByText(/^▲ asked again after 2 min( \d s)?, so a longer wait began$/).waitFor();
      // The newest first: at once after a wait of 5 min began, and 2 min into another.
      const [newest, before, ...more] = await page.evaluate<number[][]>(EARLY_PLACES);
      expect(more).to.deep.equal([]);
      expect(newest?.[0]).to.be.within(0, 2);
      expect(before?.[0]).to.be.within(40, 42);
      expect(before?.[1]).to.equal(before?.[0]);
      await page.getByText(/^(3 min|2 min 5\d s) too early$/).waitFor();
      await page.getByText(/^paid after 1 min( \d s)?, so the wait ended$/).waitFor();
    });

    it('leads from an order to its decisions, and from a verdict to why it fell', async () => {
      await open();
      await visit('#/client/impatient-ivan');
      const order = page.getByRole('link', { name: 'order-ivan-1' }).first();
      expect(await order.getAttribute('href')).to.equal('#/decisions?orderRef=order-ivan-1');
      await page
        .getByRole('link', { name: /^why the verdict WAIT fell at / })
        .first()
        .click();
      await page.getByText('✓ reproduced').waitFor();
    });

    it('hides and shows kinds of entries, with the keyboard too', async () => {
      await open();
      await visit('#/client/impatient-ivan');
      const scores = button('scores 2');
      await scores.focus();
      await page.keyboard.press('Space');
      expect(await scores.getAttribute('aria-pressed')).to.equal('false');
      expect(await page.locator('.moment-score').count()).to.equal(0);
      expect(await page.locator('.moment-verdict').count()).to.equal(11);
      expect(await seriousFindings(page)).to.deep.equal([]);
      await button('verdicts 11').click();
      expect(await page.getByText('wait of level 1 over').count()).to.equal(0);
      await scores.focus();
      await page.keyboard.press('Enter');
      expect(await page.locator('.moment-score').count()).to.equal(2);
    });

    it('says that older entries are not shown, and shows them when asked', async () => {
      for (let order = 0; order < 105; order++) await shop.outcome('long-known-lu', `lu-${order}`, 'PAID');
      await open();
      await visit('#/client/long-known-lu');
      await page.getByText('Older entries are not shown').waitFor();
      expect(await page.locator('.moment').count()).to.equal(100);
      await button('Show up to 500').click();
      await page.getByText('105 entries, newest first; no wait').waitFor();
      expect(await page.getByText('Older entries are not shown').count()).to.equal(0);
    });

    it('says so when nothing of it is kept any more, and where to look instead', async () => {
      await open();
      await page.route('**/history?**', (route) =>
        route.fulfill({ json: { clientIdKey: 'impatient-ivan', entries: [], complete: false } }),
      );
      await visit('#/client/impatient-ivan');
      await page.getByText('No entry is kept any more').waitFor();
      const link = page.getByRole('link', { name: 'Its decisions' });
      expect(await link.getAttribute('href')).to.equal('#/decisions?clientIdKey=impatient-ivan');
      await page.unroute('**/history?**');
    });

    it('of a client that nothing is known of says what to do', async () => {
      await open();
      await visit('#/client/Impatient-Ivan');
      await page.getByText('Nothing is known of this client').waitFor();
      await page.getByText(/Keys are compared exactly, capital letters too/).waitFor();
      expect(await page.getByText('Set an override').count()).to.equal(0);
    });

    it('has no links to decisions for a key that may not see them', async () => {
      await openOwn(WIDE, await seeded.keyFor('clients'));
      await visit('#/client/impatient-ivan');
      await page.getByText('20 entries, newest first').waitFor();
      expect(await page.locator('.moments a').count()).to.equal(0);
      expect(tab.complaints).to.deep.equal([]);
    });
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
      await page.getByText('ladder level 1: 30s → 40s').waitFor();
      await page.getByText('waitRemainingSeconds = 1', { exact: true }).first().waitFor();
      expect(await page.locator('.examples > li').first().textContent()).to.match(
        /p2\.v10 .*WAIT asked-too-early .*p2\.v11 .*GET_NEW otherwise/s,
      );
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
    await page.getByText('p2.v11 and p2.v10 differ in: verdict, wait, rule.').waitFor();
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
    expect(requests).to.deep.equal([]);
  });

  describe('opens what the backtest command really printed', () => {
    const folder = temporaryDirectory();
    const rulesDir = rulesDirectory();
    const journal = join(folder, 'journal.ndjson');
    const run = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await scoring(args, {
        ...seeded.environment,
        RULES_DIR: rulesDir,
      });
      expect(exitCode, stderr).to.equal(0);
      return stdout;
    };
    before(() => {
      addVersion(rulesDir, 'p2.v13', [BLOCK_OTHERWISE], { draft: true });
      return run('journal', 'export', '--output', journal);
    });

    for (const mode of ['recorded', 'closed-loop'] as const) {
      it(`in mode ${mode}, with the same figures`, async () => {
        const printed = await run(
          ...['rules', 'backtest', 'p2.v13', '--mode', mode, '--journal', journal, '--json'],
        );
        const report: BacktestReport = JSON.parse(printed);
        expect(report.compared).to.be.above(300);
        expect(report.changed).to.be.above(0);
        const file = join(folder, `${mode}.json`);
        writeFileSync(file, printed);
        await open();
        await visit('#/backtest');
        await page.getByLabel('Result file').setInputFiles(file);
        await page.getByRole('heading', { name: 'p2.v13 against what was recorded' }).waitFor();
        const english = (value: number) => value.toLocaleString('en');
        expect(await page.locator('.matrix td.num').allTextContents()).to.deep.equal(
          VERDICTS.flatMap((from) => VERDICTS.map((to) => english(report.transitions[from][to]))),
        );
        const figure = (name: string) =>
          page
            .locator('.figures div', { has: page.getByText(name, { exact: true }) })
            .locator('dd')
            .textContent();
        expect(await figure('mode')).to.equal(mode);
        expect(await figure('compared')).to.equal(english(report.compared));
        expect(await figure('changed')).to.match(new RegExp(`^${english(report.changed)} `));
        const changes = page.getByRole('region', { name: 'Changes by rule' }).locator('tbody tr');
        expect(await changes.locator('td:first-child').allTextContents()).to.deep.equal(
          report.changes.map((change) => english(change.count)),
        );
        const waits = page.getByRole('region', { name: 'After a wait' }).locator('tbody td:nth-child(3)');
        expect(await waits.allTextContents()).to.deep.equal(
          [...report.ladder.base, ...report.ladder.candidate].map((level) => english(level.waits)),
        );
        expect(await seriousFindings(page)).to.deep.equal([]);
        expect(tab.complaints).to.deep.equal([]);
      });
    }
  });

  it('leads a version from shadow over canary to active and back, each with a reason and the version typed in', async () => {
    await openOwn(WIDE, seeded.operatorKey);
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
    await openOwn(WIDE, seeded.operatorKey);
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
    await page.getByText(/that are kept|^The newest/).waitFor();
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
