/// <reference lib="dom" />
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { launchBrowser, openConsole } from '../../../../scripts/screenshots/browser.ts';
import { freePort } from '../../../servers/free-port.ts';
import { type RunningProvider, startIdentityProvider } from '../../../servers/identity-provider.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';

const PARSED = parseRoleMappings('groups:fraud-team=support@shop,groups:fraud-team=viewer@bank');
const ROLES = typeof PARSED === 'string' ? [] : PARSED;

describeWithServer('chromium', 'signing in to the console at an identity provider', () => {
  let provider: RunningProvider;
  let service: RunningService;
  let browser: Browser;
  let url: string;
  before(async () => {
    const platformPort = await freePort();
    url = `http://127.0.0.1:${platformPort}`;
    provider = await startIdentityProvider(() => url);
    const settings = provider.settings(ROLES);
    service = await startService({ consoleUrl: new URL(url), provider: settings, platformPort });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await provider?.stop();
  });

  it('leads there and back, shows the platforms of the person, and ends everywhere', async () => {
    const { page, complaints } = await openConsole(browser, `${url}/`, undefined, '#/find/payer');
    page.setDefaultTimeout(20_000);
    await page.getByRole('link', { name: 'Sign in at 127.0.0.1' }).click();
    await page.getByLabel('Name').fill('ann');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Payer', level: 1 }).waitFor();
    await page.getByText('person:ann (ann@example.com)').waitFor();
    expect(page.url()).to.equal(`${url}/?platform=shop#/find/payer`);

    await page.getByLabel('Platform').selectOption('bank');
    await page.getByText('This session may not see this page').waitFor();
    expect(page.url()).to.equal(`${url}/?platform=bank#/find/payer`);
    const links = page.getByRole('navigation', { name: 'Places' }).getByRole('link');
    expect(await links.allTextContents()).to.deep.equal(['Today', 'Rules', 'Rollouts', 'Settings']);
    expect(complaints).to.deep.equal([]);

    const [cookie] = await page.context().cookies(url);
    await page.locator('details.who summary').click();
    await page.getByRole('button', { name: 'Sign out in every browser' }).click();
    await page.getByRole('link', { name: 'Sign in at 127.0.0.1' }).waitFor();
    const answer = await fetch(`${url}/v1/platform/session`, {
      headers: { Cookie: `session=${cookie?.value}` },
    });
    expect(answer.status).to.equal(401);
  });
});
