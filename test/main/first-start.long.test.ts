import { expect } from 'chai';
import { launchBrowser, openConsole, signIn } from '../../scripts/screenshots/browser.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { spawnService } from '../service/service-process.ts';

describeWithServer('chromium', 'a first start', () => {
  it('leads from the printed key through made-up traffic to a decision that is explained, in three clicks', async () => {
    const service = await spawnService(temporaryDirectory());
    await until('the key is printed', async () => service.stdout().includes('#/decisions'));
    const [, key = ''] = /^ {2}(ka_\S+)$/m.exec(service.stdout()) ?? [];
    const [, url = ''] = /sign in with it at (\S+\/),/.exec(service.stdout()) ?? [];
    const browser = await launchBrowser();
    const { page, complaints, strayRequests } = await openConsole(browser, url);
    await signIn(page, key);
    await page.getByRole('button', { name: 'Make up traffic' }).click();
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByRole('listitem').first().waitFor();
    const links = await steps.getByRole('link').evaluateAll((all) => all.map((link) => link.textContent));
    expect(links).to.deep.equal([
      'A payer who has to wait',
      'A payer who is blocked',
      'Explore',
      'Evidence',
      'A draft',
    ]);
    // Until the first decisions are shipped the page says that there is no archive yet.
    const report = {
      method: 'POST',
      headers: { 'X-KA-Access-Key': key, 'Content-Type': 'application/json' },
    };
    await until('the traffic is in the archive', async () => {
      const body = JSON.stringify({ kind: 'report', version: 'p2.v10' });
      return (await fetch(`${url}v1/platform/evidence`, { ...report, body })).status !== 409;
    });
    for (const [name, shows] of [
      ['A draft', 'Begin a draft'],
      ['Evidence', 'as known at'],
      ['Explore', 'Save as CSV'],
      ['A payer who is blocked', 'Rule by rule'],
      ['A payer who has to wait', 'Rule by rule'],
    ] as const) {
      await steps.getByRole('link', { name }).click();
      await page.getByText(shows).first().waitFor();
      await page.goBack();
    }
    await page.getByText('Waits by ladder level').first().waitFor();
    expect([complaints, strayRequests]).to.deep.equal([[], []]);
    await browser.close();
    expect(await service.stop()).to.equal(0);
  });
});
