import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { until } from '../../../servers/until.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's keys", (tab) => {
  it('are issued for what is ticked, shown once, and revoked', async () => {
    await tab.open('#/settings/access', NARROW);
    const { page } = tab;
    await page.getByText('Issue a key for shop').click();
    await page.getByLabel('outcomes', { exact: true }).check();
    await page.getByLabel('Days').selectOption('30');
    await tab.button('Issue it …').click();
    await page.getByRole('heading', { name: 'Issue a key for outcomes?' }).waitFor();
    await tab.button('Issue it').click();
    const key = await page.getByLabel('Key', { exact: true }).inputValue();
    expect((await new Tenant(tab.seeded, key).ask('GET', 'session')).status).to.equal(200);
    await tab.expectNoFindings();
    await page.reload();
    const row = page.getByRole('row', { name: key.slice(3, 15) });
    await row.waitFor();
    expect(await page.getByText(key).count()).to.equal(0);
    await row.getByRole('button', { name: 'Revoke …' }).click();
    await tab.button('Revoke it').click();
    await row.getByText('revoked').waitFor();
    expect((await new Tenant(tab.seeded, key).ask('GET', 'session')).status).to.equal(401);
  });

  it('are no part of Settings without the grant', async () => {
    await tab.openOwn(await tab.seeded.issueShopKey('lists:read'), '#/settings/lists');
    await tab.page.getByRole('heading', { name: 'Lists', level: 1 }).waitFor();
    expect(await tab.page.getByRole('link', { name: 'People and keys' }).count()).to.equal(0);
  });
});

describeConsole("the console's audit", (tab) => {
  it('tells a change in words, also what lies deeper', async () => {
    await tab.openOwn(tab.seeded.operatorKey, '#/settings/audit?action=rollout');
    const changes = tab.page.locator('td[data-of="change"]');
    await changes.first().waitFor();
    const text = (await changes.allTextContents()).join('\n');
    expect(text).to.match(/active: p2\.v10, candidates: \(version: p2\.v11, mode: shadow, percent: 0\)/);
    expect(text).to.include('candidates: none');
    await tab.visit('#/settings/audit?action=override');
    const trusted = await changes.filter({ hasText: 'vouched for' }).first().textContent();
    expect(trusted).to.match(/group: TRUSTED, .*by: .*, at: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
    expect(text + trusted).not.to.match(/[{}[\]"]|null/);
  });

  it('tells who did what, is searched, saved whole, and checked', async () => {
    await tab.open('#/settings/audit', NARROW);
    const { page } = tab;
    const rows = page.getByRole('region', { name: 'Audit' }).locator('tbody tr');
    await page.getByRole('heading', { name: /entries$/ }).waitFor();
    await page.locator('select[name=action]').selectOption('sign-in');
    await tab.button('Find').click();
    await page.waitForURL(/action=sign-in/);
    await until('only sign-ins are shown', async () => {
      const texts = await rows.allTextContents();
      return texts.length > 0 && texts.every((text) => text.includes('sign-in'));
    });
    const saved = page.waitForEvent('download');
    await tab.button('Save all as CSV').click();
    const text = readFileSync(await (await saved).path(), 'utf8');
    expect(text.split('\r\n')[0]).to.equal('number,at,who,action,platform,subject,before,after,reason,hash');
    expect(
      text
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .every((line) => line.includes(',sign-in,shop,')),
    ).to.equal(true);
    await tab.button('Check the chain').click();
    await page.getByText(/^All entries were in order at 2/).waitFor();
    await tab.expectNoFindings();
    await page.locator('input[name=who]').fill('nobody of this name');
    await tab.button('Find').click();
    await page.getByText('No entry matches').waitFor();
    await tab.button('Clear').click();
    await page.waitForURL(/audit$/);
  });

  it('names an entry that was changed past recognition, beside those that were not', async () => {
    const db = new DatabaseSync(join(tab.seeded.environment.DATA_DIR, 'scoring.sqlite'));
    const body =
      db.prepare("SELECT text FROM log_records WHERE log = 'audit' AND number = 1").get()?.['text'] ?? null;
    const change = db.prepare("UPDATE log_records SET text = ? WHERE log = 'audit' AND number = 1");
    change.run('gone');
    await tab.openOwn(await tab.seeded.issueShopKey('audit'), '#/settings/audit');
    const { page } = tab;
    const said = page.getByText('Entry 1 was changed and cannot be read; run "audit verify".');
    await said.waitFor();
    await page.getByRole('region', { name: 'Audit' }).getByText('sign-in').first().waitFor();
    const saved = page.waitForEvent('download');
    await tab.button('Save all as NDJSON').click();
    await saved;
    await page.getByText('These entries are missing in the file:').waitFor();
    await tab.expectNoFindings();
    change.run(body);
    db.close();
  });
});

describeConsole("the console's people", (tab) => {
  it('are who is signed in, and are signed out at a click', async () => {
    const key = await tab.seeded.issueKeyOf('club', 'keys');
    const other = await tab.seeded.issueKeyOf('club', 'lists:read');
    await tab.openOwn(other, '#/settings/lists');
    const { page: theirs } = tab;
    await tab.openOwn(key, '#/settings/access', NARROW);
    const { page } = tab;
    await page.getByRole('heading', { name: '2 people signed in' }).waitFor();
    const row = page.getByRole('region', { name: 'People' }).getByRole('row', { name: other.slice(3, 15) });
    expect(await row.textContent()).to.include('key at club');
    await page.getByText('Set OIDC_ISSUER to let people sign in at an identity provider').waitFor();
    await tab.expectNoFindings();
    await row.getByRole('button', { name: 'Sign out …' }).click();
    await tab.button('Sign out').and(page.locator('dialog *')).click();
    await page.getByRole('heading', { name: '1 person signed in' }).waitFor();
    await theirs.reload();
    await theirs.getByLabel('Access key').waitFor();
    await theirs.context().close();
  });
});

describeConsole("the console's platform", (tab) => {
  it('says what is set, how the active version came, and where the client library points', async () => {
    await tab.openOwn(tab.seeded.key, '#/settings/platform', NARROW);
    const { page } = tab;
    const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
    await row('Rules that decide').waitFor();
    expect(await row('Rules that decide').textContent()).to.match(/p2\.v10 since 2.+, by .+: .+/);
    expect(await row('Approval by a second person').textContent()).to.include('not needed');
    expect(await row('The store keeps decisions').textContent()).to.include('90 d');
    await page.getByText('http://NODE', { exact: true }).waitFor();
    await tab.expectNoFindings();
    await row('Rules that decide').getByRole('link', { name: 'Rollouts' }).click();
    await page.getByRole('heading', { name: 'Rollouts', level: 1 }).waitFor();
  });
});

describeConsole("the console's people, keys and audit", (tab) => {
  it('have nothing that axe finds in forced colours', async () => {
    const look = { width: 1440, height: 900, colorScheme: 'light', forcedColors: 'active' } as const;
    await tab.openOwn(tab.seeded.key, '#/settings/access', look);
    await tab.page.getByText('Issue a key for shop').click();
    await tab.page.getByRole('heading', { name: /signed in$/ }).waitFor();
    await tab.expectNoFindings();
    await tab.visit('#/settings/audit');
    await tab.button('Save all as CSV').waitFor();
    await tab.expectNoFindings();
    await tab.visit('#/settings/platform');
    await tab.page.getByText('An erasure removes a payer from').waitFor();
    await tab.expectNoFindings();
  });
});
