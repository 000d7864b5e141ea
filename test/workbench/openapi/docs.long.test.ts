import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { launchBrowser, openConsole } from '../../../scripts/screenshots/browser.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RunningService, startService } from '../../service/running-service.ts';

describeWithServer('chromium', 'the page of the API document in a browser', () => {
  let service: RunningService;
  let browser: Browser;
  before(async () => {
    [service, browser] = await Promise.all([startService({ basePath: '/pay' }), launchBrowser()]);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const listeners = [
    { name: 'callers', page: '/docs?of=callers', path: '/v1/client/verdict' },
    { name: 'the platform', page: '/docs', path: '/v1/platform/outcomes' },
  ] as const;

  for (const { name, page: shown, path } of listeners) {
    it(`shows the operations for ${name} without anything that the policy forbids`, async () => {
      const { page, complaints, strayRequests } = await openConsole(
        browser,
        `${service.application.platformUrl}${shown}`,
      );
      await page.getByText(path).first().click();
      await page.getByRole('button', { name: 'Try it out' }).click();
      await page.getByRole('button', { name: 'Execute' }).waitFor();
      // Highlighting is set by script on each element, so it would be the first to fail.
      const code = page.locator('.highlight-code code span').first();
      expect(await code.evaluate('(element) => getComputedStyle(element).color')).to.not.equal(
        'rgb(0, 0, 0)',
      );
      await page.getByRole('button', { name: 'Authorize' }).first().click();
      await page.getByText('X-KA-Access-Key').first().waitFor();
      expect(complaints).to.deep.equal([]);
      const own = new URL(service.application.platformUrl).origin;
      expect(strayRequests.filter((request) => !request.startsWith(own))).to.deep.equal([]);
      await page.context().close();
    });
  }

  it('would report a style in the markup', async () => {
    const { page, complaints } = await openConsole(browser, `${service.application.platformUrl}/docs`);
    await page.evaluate('document.body.setAttribute("style", "color: red")');
    expect(complaints.join()).to.include('Content Security Policy');
    await page.context().close();
  });
});
