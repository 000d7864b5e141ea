import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import type { GrantableOperation } from '#checkout/access/access-keys.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { launchBrowser, openConsole, signIn } from '../../../../scripts/screenshots/browser.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { type FourEyes, startFourEyes } from '../../platform/approvals/four-eyes.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's approvals", (tab) => {
  it('says where proposals come from while there is none', async () => {
    await tab.open('#/settings/audit', NARROW);
    await tab.page.getByText('Nothing waits for approval').waitFor();
    await tab.expectNoFindings();
  });
});

describeWithServer('chromium', 'the console with APPROVALS=required', () => {
  let eyes: FourEyes;
  let browser: Browser;
  before(async () => {
    eyes = await startFourEyes(openSqliteStore(temporaryDirectory(), { salt: TEST_SALT }));
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await eyes?.stop();
    await eyes?.store.close();
  });

  /** Somebody's page of the installation, with these operations and those for rules. */
  async function pageOf(owner: string, operation: GrantableOperation, hash: string): Promise<Page> {
    const { key } = await eyes.person(owner, '*', ['rules', operation]);
    const { page } = await openConsole(browser, `${eyes.application.platformUrl}/`, undefined, hash);
    page.setDefaultTimeout(20_000);
    await signIn(page, key);
    return page;
  }

  /** Proposes on the page Rollout, or does it where nobody has to be asked. */
  async function promote(page: Page, version: string, isEmergency: boolean): Promise<void> {
    await page.locator('select[name=version]').selectOption(version);
    await page.getByRole('radio', { name: 'active' }).check();
    await page.getByRole('button', { name: 'Activate …' }).click();
    expect(await page.getByLabel('An emergency').count()).to.equal(isEmergency ? 1 : 0);
    if (isEmergency) await page.getByLabel('An emergency').check();
    await page.getByLabel('Reason').fill('too many waits');
    await page.getByLabel(`Type ${version} to confirm`).fill(version);
    await page.getByRole('button', { name: `Activate ${version}` }).click();
  }

  const decides = async () => {
    await eyes.node.syncWithFleet();
    return eyes.node.rollout.active.version;
  };

  it('shows who proposed what became of it, and lets only somebody else decide', async () => {
    const ann = await pageOf('ann', 'operate', '#/rollouts');
    await promote(ann, 'p2.v11', false);
    await ann.getByText('Nothing was changed yet').waitFor();
    await ann.goto(`${eyes.application.platformUrl}/#/settings/audit`);
    const card = { name: 'rollout: p2.v11 open' };
    await ann.getByRole('heading', card).waitFor();
    await ann.getByText('Somebody else who may approve decides.').waitFor();
    expect(await ann.getByRole('button', { name: 'Approve …' }).count()).to.equal(0);

    const bob = await pageOf('bob', 'approve', '#/settings/audit');
    await bob.getByRole('heading', card).waitFor();
    for (const told of [
      'ladder level 1: 30s → 40s',
      /rules decided in a case;/,
      'It is not on trial, so nothing was compared yet.',
      /to see what it would have decided\./,
    ])
      await bob.locator('.evidence').getByText(told).first().waitFor();
    await bob.getByRole('button', { name: 'Approve …' }).click();
    await bob.getByLabel('Note to the proposer').fill('looked at the difference');
    await bob.getByRole('button', { name: 'Approve p2.v11' }).click();
    await bob.getByText('1 proposal decided').click();
    await bob.getByRole('heading', { name: 'rollout: p2.v11 approved' }).waitFor();
    expect(await decides()).to.equal('p2.v11');
    await ann.reload();
    await ann.getByText('1 proposal decided').click();
    await ann.getByText(': looked at the difference').waitFor();
  });

  it('lets one person alone return to what was active before, with a reason that the history keeps', async () => {
    const ann = await pageOf('ann', 'operate', '#/rollouts');
    await promote(ann, 'p2.v10', true);
    await ann.getByText('Done: 1 of 1 nodes follow.').waitFor();
    expect(await decides()).to.equal('p2.v10');
    const row = ann.getByRole('row', { name: /emergency/ });
    expect(await row.textContent()).to.match(/p2\.v11 → p2\.v10.*of ann.*too many waits/s);
  });
});
