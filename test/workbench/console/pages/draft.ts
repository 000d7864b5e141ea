import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { signIn, WIDE_DISPLAY } from '../../../../scripts/screenshots/browser.ts';
import { until } from '../../../servers/until.ts';
import { countCurrentCases } from '../../../service/current-rules.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeConsole, NARROW } from '../console-tab.ts';
import { discardDrafts } from '../discard-drafts.ts';

const LARGE_FIRST_ORDER =
  '\n  - { name: large-first-order, priority: 55, conditions: { all: [{ fact: amount, operator: greaterThan, value: 5000 }, { fact: currency, operator: equal, value: EUR }] }, event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } } }\notherwise:';

describeConsole("the console's page Draft", (tab) => {
  after(() => discardDrafts(tab.shop));

  const editorOf = (page: Page) => page.getByRole('textbox', { name: 'verdicts.yaml', exact: true });
  const named = async (version: string) => {
    await tab.page.getByLabel('name').fill(version);
    await tab.button('Begin').click();
  };
  /** Begins a draft in the shared tab, or in one of its own with this key. */
  const begin = async (version: string, { from = 'p2.v10', look = WIDE_DISPLAY, ownKey = '' } = {}) => {
    const hash = `#/rules?from=${from}`;
    await (ownKey === '' ? tab.open(hash, look) : tab.openOwn(ownKey, hash));
    await named(version);
    await editorOf(tab.page).waitFor();
    return tab.page;
  };
  const isSound = () => tab.page.getByText('Nodes accept this version.').waitFor();

  it('tells problems as one types, and keeps what was typed', async () => {
    const page = await begin('p2.v30', { look: NARROW });
    await isSound();
    await editorOf(page).focus();
    await page.keyboard.press('Control+Home');
    for (let above = 1; above < 10; above++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('- { fact: clientsOnF');
    await page.getByText('Nodes would refuse this version.', { exact: false }).waitFor();
    await page.getByText('Saved.', { exact: true }).waitFor();
    await tab.expectNoFindings();
    await page.reload();
    await editorOf(page).waitFor();
    expect(await page.locator('.cm-content').textContent()).to.include('- { fact: clientsOnF');
  });

  it('loads the editor at a second try where the service was being started again', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    await tab.page.route('**/code-editor.js', (route) => route.abort(), { times: 1 });
    await tab.visit('#/rules?from=p2.v10');
    await named('p2.v33');
    await tab.button('Try again').click();
    await tab.page.locator('.editor .cm-content').waitFor();
  });

  it('marks the results of a former text until those of the new one are there', async () => {
    const page = await begin('p2.v28');
    await isSound();
    await page.getByText('Results of the text as it stands.').waitFor();
    const held = Promise.withResolvers<void>();
    await page.route('**/v1/platform/rules/drafts/check', async (route) => {
      await held.promise;
      await route.continue();
    });
    await editorOf(page).focus();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('# a remark\n');
    await page.getByText('Results of the text before your last change').waitFor();
    const stale = page.locator('.stale');
    await stale.getByText('Nodes accept this version.').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    held.resolve();
    await page.getByText('Results of the text as it stands.').waitFor();
    expect(await stale.count()).to.equal(0);
  });

  it('says which file of cases has a mistake, and not that there are no cases', async () => {
    const { body } = await tab.shop.ask<{ files: readonly { path: string; text: string }[] }>(
      'GET',
      'rules/versions/p2.v10',
    );
    const texts = body.files.map(({ path, text }) => [path, text.replaceAll('p2.v10', 'p2.v29')] as const);
    const [name = ''] = texts.find(([path]) => path.startsWith('cases/')) ?? [];
    const files = { ...Object.fromEntries(texts), [name]: 'cases: oops\n' };
    const kept = await tab.shop.ask('PUT', 'rules/drafts/p2.v29', { from: 'p2.v10', files });
    expect(kept.status).to.equal(200);
    await tab.open('#/rules/p2.v29');
    const cases = tab.page.getByRole('region', { name: 'Cases' });
    await cases.getByText('No case is run while a file of cases has a mistake').waitFor();
    await cases.getByRole('button', { name: new RegExp(`^${name}:\\d+:\\d+$`) }).waitFor();
    await tab.page.getByText(`Mend the cases first: ${name} cannot be read, from line 1 on.`).waitFor();
    expect(await tab.page.getByText('there must be at least one').count()).to.equal(0);
  });

  it('leads from a problem to its place, where it can be mended', async () => {
    const page = await begin('p2.v31', { from: 'p2.v12' });
    await tab.button('verdicts.yaml:43:19').click();
    await page.locator('.cm-activeLine').getByText('atemptOpen').waitFor();
    // From atemptOpen to attemptOpen.
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('t');
    await isSound();
  });

  it('is proposed by who may not release it, and released by an operator who sees what it changes', async () => {
    const page = await begin('p2.v36', { look: NARROW });
    await isSound();
    expect(await page.getByText('This key may not').count()).to.equal(0);
    expect(await tab.button('Release …').count()).to.equal(0);
    const [download] = await Promise.all([page.waitForEvent('download'), tab.button('Download').click()]);
    expect(download.suggestedFilename()).to.equal('p2.v36.zip');
    await tab.button('Propose its release …').click();
    await page.getByRole('dialog').getByLabel('Reason').fill('patience');
    await tab.button('Propose it').click();
    await page.getByText('It is proposed: an operator of the installation sees it').waitFor();
    await tab.expectNoFindings();
    await tab.visit('#/settings/audit');
    await page.getByRole('heading', { name: 'release: p2.v36 open' }).waitFor();
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    try {
      await tab.openAs(owner.key, '#/settings/audit');
      const effect = tab.page
        .getByRole('listitem')
        .getByText('the draft p2.v36 of shop is released: its files never change again');
      await effect.waitFor();
      await tab.page.getByText('p2.v10 and p2.v36 decide alike.').waitFor();
      await tab.page.getByText(`${countCurrentCases()} passed`).waitFor();
      await tab.page.getByText(/^\d+ files as they would be released$/).click();
      await tab.page.locator('summary', { hasText: /^ruleset\.yaml$/ }).click();
      const ruleSet = tab.page.locator('pre', { hasText: 'ruleVersion: p2.v36' });
      await ruleSet.getByText('sandbox:').waitFor();
      expect(await ruleSet.textContent()).not.to.include('Not shown');
      await tab.expectNoFindings();
      await tab.page.getByRole('link', { name: 'Run it' }).click();
      await tab.button('Run').click();
      await tab.page.getByText(/^p2\.v36: 0 of \d+ verdicts change/).waitFor();
      await tab.visit('#/settings/audit');
      await tab.page.getByText(/^p2\.v36: 0 of \d+ verdicts change/).waitFor();
      await tab.page.getByRole('link', { name: 'All of it' }).waitFor();
      await tab.expectNoFindings();
      await tab.button('Approve …').click();
      await tab.page.getByLabel('Note to the proposer').fill('looked at it');
      await tab.button('Approve p2.v36').click();
      await tab.page.getByText(/proposals? decided$/).click();
      await tab.page.getByRole('heading', { name: 'release: p2.v36 approved' }).waitFor();
      const { body } = await owner.ask<{ released: boolean }>('GET', 'rules/versions/p2.v36');
      expect([body.released, (await tab.shop.ask('GET', 'rules/drafts/p2.v36')).status]).to.deep.equal([
        true,
        404,
      ]);
    } finally {
      // The other tests share this console.
      rmSync(join(tab.seeded.environment.RULES_DIR, 'p2.v36'), { recursive: true, force: true });
      const isThere = async () => (await owner.ask('GET', 'rules/versions/p2.v36')).status === 200;
      await until('the version is gone', async () => !(await isThere()));
    }
  });

  it('is checked again by itself when the service could not be asked', async () => {
    await tab.open('#/rules?from=p2.v10');
    const { page } = tab;
    let unanswered = 0;
    const lose = (route: Route) => {
      unanswered++;
      return route.abort();
    };
    await page.route('**/rules/drafts/check', lose, { times: 1 });
    await named('p2.v34');
    await isSound();
    expect(unanswered).to.equal(1);
  });

  it('compares a draft as what it is, also where the list of drafts comes late', async () => {
    const page = await begin('p2.v54', { ownKey: tab.seeded.key });
    await page.getByText('Saved.', { exact: true }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const folders = page.waitForResponse('**/rules/versions');
    await page.route('**/rules/drafts?**', async (route) => {
      await folders;
      await route.continue();
    });
    await tab.visit('#/rules/p2.v54/changes');
    await page.getByRole('heading', { name: 'p2.v54 against p2.v10' }).waitFor();
    await page.getByText('Nothing differs').or(page.getByText('decide alike')).first().waitFor();
    expect(asked.filter((url) => url.includes('/rules/diff?'))).to.deep.equal([]);
  });

  it('marks its changes as former ones after an edit elsewhere, until those of the new text are there', async () => {
    const page = await begin('p2.v55');
    await saved(page).waitFor();
    await tab.visit('#/rules/p2.v55/changes');
    await page.getByText('p2.v10 and p2.v55 decide alike.').waitFor();
    expect(await page.locator('.stale').count()).to.equal(0);
    const held = Promise.withResolvers<void>();
    await page.route('**/v1/platform/rules/drafts/diff', async (route) => {
      await held.promise;
      await route.continue();
    });
    const { files, revision } = JSON.parse(await keptTexts('p2.v55'));
    const limits = files['limits.yaml'].replace('PAYING: { EUR: "500.00"', 'PAYING: { EUR: "600.00"');
    const body = { from: 'p2.v10', files: { ...files, 'limits.yaml': limits } };
    const kept = await tab.shop.ask('PUT', 'rules/drafts/p2.v55', body, { 'If-Match': `"${revision}"` });
    expect(kept.status).to.equal(200);
    const stale = page.locator('.stale');
    await stale.getByText('Differences of the draft before its last change').waitFor();
    await stale.getByText('p2.v10 and p2.v55 decide alike.').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    held.resolve();
    await page.getByText('limit of PAYING in EUR: 500.00 → 600.00').waitFor();
    expect(await stale.count()).to.equal(0);
    await tab.expectNoFindings();
  });

  it('discards a draft only when that is said twice', async () => {
    const page = await begin('p2.v37');
    const isKept = async () => (await tab.shop.ask('GET', 'rules/drafts/p2.v37')).status === 200;
    await tab.button('Discard …').click();
    const dialog = page.getByRole('dialog', { name: 'Discard the draft p2.v37?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await isKept()).to.equal(true);
    await tab.button('Discard …').click();
    await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.getByRole('heading', { name: 'Begin a draft' }).waitFor();
    expect(await isKept()).to.equal(false);
  });

  it('writes new lengths of waits into the cases that fail by them alone, once they were seen', async () => {
    const page = await begin('p2.v44', { look: NARROW });
    await tab.button('ladder.yaml').click();
    await page.locator('.cm-line', { hasText: 'levels: [30s' }).click();
    await page.keyboard.press('Home');
    for (let before = 0; before < 'levels: ['.length; before++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Delete');
    await page.keyboard.type('4');
    await page.getByText('16 failed').waitFor();
    await tab.button('cases/ladder.yaml').click();
    await tab.button('Show new lengths of waits').click();
    await page.getByText(/cases\/ladder\.yaml:\d+\n- .*waitSeconds: 30.*\n\+ .*waitSeconds: 40/).waitFor();
    await tab.expectNoFindings();
    await page.getByRole('button', { name: /^Write \d+ lines into the cases$/ }).click();
    await page.getByText('5 failed', { exact: true }).waitFor();
    await tab.button('Show new lengths of waits').click();
    await page.getByText('No case fails by the length of a wait alone.').waitFor();
    await page.getByText('Failing by more than that, and left: 5 cases.').waitFor();
    expect(await page.locator('.cm-content').textContent()).to.include('waitSeconds: 40');
    await tab.expectNoFindings();
  });

  it('says before a release which cases of the version released before are gone', async () => {
    const page = await begin('p2.v10-few', { from: 'p2.v11' });
    // Two are about another platform.
    const cases = countCurrentCases() - 2;
    const told = page.getByText(`${cases} of the ${cases} cases of p2.v10 are missing here`);
    await told.click();
    await page.getByText('a honeypot is forgotten after a day', { exact: true }).waitFor();
    await tab.expectNoFindings();
  });

  it('says before its release is proposed which promise it breaks, and why', async () => {
    const opened = await tab.shop.ask<{ readonly files: readonly { path: string; text: string }[] }>(
      'GET',
      'rules/versions/p2.v10',
    );
    const texts = opened.body.files.map(({ path, text }) => {
      if (path === 'verdicts.yaml') return [path, text.replace('\notherwise:', LARGE_FIRST_ORDER)];
      if (path !== 'ruleset.yaml') return [path, text];
      const renamed = text.replace('ruleVersion: p2.v10', 'ruleVersion: p2.v61').trimEnd();
      return [path, `${renamed}\nmeant: { firstRequestWaits: "large orders cool down" }\n`];
    });
    await tab.shop.ask('PUT', 'rules/drafts/p2.v61', { from: 'p2.v10', files: Object.fromEntries(texts) });
    await tab.open('#/rules/p2.v61', NARROW);
    const told =
      'a first request can get WAIT ("large-first-order"), and the interface (section 3.2) has no wait before it; this is intended: large orders cool down';
    await tab.page.getByLabel('Problems').getByText(told).waitFor();
    await tab.button('Propose its release …').click();
    await tab.page.getByRole('dialog').getByText(told).waitFor();
    await tab.expectNoFindings();
  });

  const typeAtTop = async (page: Page, text: string) => {
    await editorOf(page).focus();
    await page.keyboard.press('Control+Home');
    // At once, so that nothing that the page does meanwhile parts it.
    await page.keyboard.insertText(text);
  };
  const saved = (page: Page) => page.getByText('Saved.', { exact: true });
  const keptTexts = async (version: string) =>
    JSON.stringify((await tab.shop.ask('GET', `rules/drafts/${version}`)).body);

  const valuesOf = (file: string) => tab.page.getByRole('form', { name: `Values in ${file}` });
  const openFile = (file: string) =>
    tab.page.getByRole('group', { name: 'Files' }).getByRole('button', { name: file }).first().click();

  it('writes what is put into a field into the YAML alone, and shows in the field what the YAML says', async () => {
    const page = await begin('p2.v48');
    const { files } = JSON.parse(await keptTexts('p2.v48'));
    await openFile('groups.yaml');
    const chain = valuesOf('groups.yaml').getByLabel('unpaidChain >=');
    expect(await chain.inputValue()).to.equal('4');
    await valuesOf('groups.yaml').getByText('orders, 0 to 20. UNPAID outcomes').first().waitFor();
    await chain.fill('5');
    await valuesOf('groups.yaml').getByLabel('paymentScore >=').fill('0.75');
    await page.keyboard.press('Tab');
    const wanted = files['groups.yaml']
      .replace('fact: unpaidChain, operator: greaterThanInclusive, value: 4', (line: string) =>
        line.replace('4', '5'),
      )
      .replace('value: 0.8', 'value: 0.75');
    await until('both are kept, and nothing else is changed', async () => {
      const kept: unknown = JSON.parse(await keptTexts('p2.v48')).files['groups.yaml'];
      return kept === wanted;
    });
    await tab.button('line 28 of groups.blocked-by-unpaid-chain.unpaidChain').click();
    await page.locator('.cm-activeLine').getByText('unpaidChain').waitFor();
    await page.keyboard.press('Delete');
    await page.keyboard.type('7');
    await until('the field says so', async () => (await chain.inputValue()) === '7');
    await openFile('verdicts.yaml');
    await page.keyboard.press('Tab');
    await openFile('groups.yaml');
    expect(await chain.inputValue()).to.equal('7');
    await tab.expectNoFindings();
  });

  it('tells at the field what the check says of its value, whatever was put in', async () => {
    const page = await begin('p2.v49');
    await openFile('ladder.yaml');
    const values = valuesOf('ladder.yaml');
    const level = values.getByLabel('level 2');
    for (const [text, message] of [
      ['20s', 'level 2 (20s) must be longer than level 1 (30s)'],
      [
        '5m, 6m]',
        'a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "5m, 6m]"',
      ],
      ['', 'a level must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not ""'],
    ] as const) {
      await level.fill(text);
      await page.keyboard.press('Enter');
      await values.getByText(message, { exact: true }).waitFor();
      const isWrong = async () => (await level.getAttribute('aria-invalid')) === 'true';
      await until('the field is marked', isWrong);
      await until('the field has what was put in', async () => (await level.inputValue()) === text);
    }
    await tab.expectNoFindings();
    await level.fill('6m');
    await page.keyboard.press('Enter');
    await isSound();
    await until('the field is right', async () => (await level.getAttribute('aria-invalid')) === null);
  });

  it('keeps the fields while a file cannot be read, and lets nobody write into it by them', async () => {
    const page = await begin('p2.v50');
    const values = valuesOf('verdicts.yaml');
    await values.getByLabel('attemptOpen =').waitFor();
    await typeAtTop(page, '[');
    await values.getByText('verdicts.yaml cannot be read as it stands; mend it in the editor.').waitFor();
    expect(await values.getByLabel('attemptOpen =').isDisabled()).to.equal(true);
    await editorOf(page).focus();
    await page.keyboard.press('Control+z');
    await until('they can be used again', () => values.getByLabel('attemptOpen =').isEnabled());
  });

  it('has its values used with the keyboard on a narrow screen', async () => {
    const page = await begin('p2.v51', { look: NARROW });
    await openFile('ladder.yaml');
    await valuesOf('ladder.yaml').getByLabel('level 1', { exact: true }).focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('40s');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('6m');
    await page.keyboard.press('Enter');
    await page.locator('.cm-line', { hasText: 'levels: [40s, 6m, 30m]' }).waitFor();
    await tab.expectNoFindings();
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).to.equal(0);
  });

  it('shows in a second tab what was typed in the first', async () => {
    const page = await begin('p2.v38');
    const second = await page.context().newPage();
    await second.goto(`${tab.seeded.url}#/rules/p2.v38`);
    await editorOf(second).waitFor();
    await typeAtTop(second, '# from the second tab ');
    await page.getByText('changed this draft; it is shown as it is now.').waitFor();
    await editorOf(page).getByText('# from the second tab').waitFor();
    await tab.expectNoFindings();
  });

  it('loses neither of what two tabs typed at once: the later one takes theirs, or keeps its own as a new draft', async () => {
    const page = await begin('p2.v42');
    const second = await page.context().newPage();
    await second.goto(`${tab.seeded.url}#/rules/p2.v42`);
    await editorOf(second).waitFor();
    await second.route('**/rules/drafts', (route) => route.abort());
    await typeAtTop(page, '# from the first tab ');
    await until('the first is kept', async () =>
      (await keptTexts('p2.v42')).includes('# from the first tab'),
    );
    await typeAtTop(second, '# from the second tab ');
    await second.getByText('What you typed is not saved').waitFor();
    await second.getByText('See the difference').click();
    await second.locator('pre').getByText('# from the first tab', { exact: false }).waitFor();
    await second.locator('pre').getByText('# from the second tab', { exact: false }).waitFor();
    expect(await keptTexts('p2.v42')).not.to.include('# from the second tab');
    await second.getByLabel('save mine as').fill('p2.v42-second');
    await second.getByRole('button', { name: 'Save mine as a new draft' }).click();
    await until('the second is kept, too', async () =>
      (await keptTexts('p2.v42-second')).includes('# from the second tab'),
    );
    expect(await keptTexts('p2.v42')).to.include('# from the first tab');
  });

  it('takes what somebody else typed, when the own typing is given up for it', async () => {
    const page = await begin('p2.v43');
    await page.route('**/rules/drafts', (route) => route.abort());
    const { files, revision } = JSON.parse(await keptTexts('p2.v43'));
    const texts = { ...files, 'verdicts.yaml': `# of a colleague\n${files['verdicts.yaml']}` };
    const body = { from: 'p2.v10', files: texts };
    await tab.shop.ask('PUT', 'rules/drafts/p2.v43', body, { 'If-Match': `"${revision}"` });
    await typeAtTop(page, '# of mine ');
    await tab.button('Take theirs').click();
    await editorOf(page).getByText('# of a colleague').waitFor();
    await saved(page).waitFor();
    expect(await keptTexts('p2.v43')).not.to.include('# of mine');
  });

  it('shows a draft to nobody of another platform, and leaves nothing in the browser after a sign-out', async () => {
    const page = await begin('p2.v39', { ownKey: tab.seeded.key });
    await typeAtTop(page, '# none of yours ');
    await saved(page).waitFor();
    await tab.button('Sign out').click();
    await page.getByLabel('Access key').waitFor();
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).to.equal(0);
    await signIn(page, tab.seeded.operatorKey);
    await tab.visit('#/rules/p2.v39');
    await page.getByText('No such version').waitFor();
    await tab.visit('#/rules');
    await page.getByRole('heading', { name: 'Begin a draft' }).waitFor();
    expect(await page.getByText('p2.v39', { exact: true }).count()).to.equal(0);
  });

  it('says why it is not saved, and saves it by itself when that is over', async () => {
    const page = await begin('p2.v40');
    await page.route('**/rules/drafts/p2.v40', (route) => route.abort(), { times: 1 });
    await typeAtTop(page, '# typed without a connection ');
    await page.getByText('Not saved.', { exact: true }).waitFor();
    await page.getByText('The service cannot be reached', { exact: false }).first().waitFor();
    await saved(page).waitFor();
    expect(await keptTexts('p2.v40')).to.include('# typed without a connection');
  });

  it('saves and checks what was typed when the session had ended, once somebody signed in again', async () => {
    const key = await tab.seeded.issueShopKey('rules');
    const page = await begin('p2.v47', { ownKey: key });
    await isSound();
    const end = async (route: Route) => {
      await tab.seeded.revoke(key);
      await route.continue();
    };
    await page.route('**/rules/drafts/check', end, { times: 1 });
    await typeAtTop(page, '# typed after the end ');
    const refused = page.locator('[aria-label=Problems]').getByText('The session has ended');
    await refused.waitFor();
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.getByLabel('Access key').fill(await tab.seeded.issueShopKey('rules'));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await saved(page).waitFor();
    await refused.waitFor({ state: 'detached' });
    await editorOf(page).getByText('# typed after the end').waitFor();
    await until('it is kept', async () => (await keptTexts('p2.v47')).includes('# typed after the end'));
  });

  it('shows what could not be saved to who comes back to it, and to nobody after a sign-out', async () => {
    const page = await begin('p2.v46', { ownKey: tab.seeded.key });
    await page.route('**/rules/drafts/p2.v46', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    );
    const mine = editorOf(page).getByText('# not to be lost');
    await typeAtTop(page, '# not to be lost ');
    await page.getByText('Not saved.', { exact: true }).waitFor();
    await tab.visit('#/rules');
    await page.getByRole('heading', { name: 'Begin a draft' }).waitFor();
    await tab.visit('#/rules/p2.v46');
    await mine.waitFor();
    await tab.visit('#/rules');
    await tab.button('Sign out').click();
    await signIn(page, tab.seeded.key);
    await tab.visit('#/rules/p2.v46');
    await isSound();
    expect(await mine.count()).to.equal(0);
  });

  it('keeps what is typed right before another page is shown', async () => {
    const page = await begin('p2.v45');
    await typeAtTop(page, '# the last words ');
    await tab.visit('#/rules');
    await until('it is kept', async () => (await keptTexts('p2.v45')).includes('# the last words'));
  });
});
