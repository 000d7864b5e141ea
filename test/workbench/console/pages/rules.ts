import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from '../../../servers/until.ts';
import { countCurrentCases } from '../../../service/current-rules.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's page Rules", (tab) => {
  it('show the problems of a version with line and column, and what differs between two', async () => {
    await tab.open('#/rules/p2.v12');
    await tab.page.getByText('verdicts.yaml:43:19').waitFor();
    await tab.page.getByText('unknown fact "atemptOpen"; did you mean "attemptOpen"?').first().waitFor();
    await tab.visit('#/rules/p2.v11/changes');
    await tab.page.getByRole('status').getByText('ladder level 1: 30s → 40s').waitFor();
    await tab.page.getByText('waitRemainingSeconds = 1', { exact: true }).first().waitFor();
    expect((await tab.page.locator('.examples > li').allTextContents()).join('\n')).to.match(
      /p2\.v10.*WAIT .* by asked-too-early.*p2\.v11.*GET_NEW by otherwise/,
    );
  });

  it('say to a platform that the cases of others are not among its own, and to nobody else', async () => {
    await tab.open('#/rules/p2.v10');
    await tab.page.getByText('Cases of other platforms are not shown or counted.').waitFor();
    await tab.openOwn(tab.seeded.operatorKey, '#/rules/p2.v10');
    await tab.page
      .getByRole('heading', { name: new RegExp(`^Cases ${countCurrentCases()} passed`) })
      .waitFor();
    expect(await tab.page.getByText('Cases of other platforms').count()).to.equal(0);
  });

  it('say in the list what changed in each version', async () => {
    await tab.open('#/rules');
    const changed = tab.page.getByRole('row', { name: /^p2\.v11/ });
    await changed.getByText('ladder level 1: 30s → 40s').waitFor();
    await changed.getByText('since p2.v10').waitFor();
  });

  it('show a ladder that a rule names beside the others, and how many clients a rule is held out for', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const { body } = await owner.ask<{ files: { path: string; text: string }[] }>(
      'GET',
      'rules/versions/p2.v10',
    );
    const text = (path: string) => body.files.find((file) => file.path === path)?.text ?? '';
    const files = {
      ...Object.fromEntries(
        body.files.map(({ path, text: as }) => [path, as.replaceAll('p2.v10', 'p2.v40-patient')]),
      ),
      'ladder.yaml': `${text('ladder.yaml')}ladders:\n  patient: [2m, 20m, 40m]\n`,
      'verdicts.yaml': text('verdicts.yaml')
        .replaceAll('verdict: WAIT\n', 'verdict: WAIT\n        ladder: patient\n')
        .replace(
          '    priority: 90',
          '    priority: 90\n    holdout: 2%\n    holdoutMaxAmount: { EUR: "100.00" }',
        ),
    };
    const saved = await owner.ask('PUT', 'rules/versions/p2.v40-patient', { files });
    expect([saved.status, saved.body.detail]).to.deep.equal([200, undefined]);
    try {
      await tab.openOwn(await tab.seeded.issueShopKey('rules:read'), '#/rules/p2.v40-patient');
      const { page } = tab;
      await page
        .getByText('All platforms, patient: waits of 2 min, 20 min, 40 min; the last repeats.')
        .waitFor();
      await page.getByText('bot-blocked: 2 %, up to 100 EUR').waitFor();
      await tab.expectNoFindings();
    } finally {
      // The other tests share this console.
      rmSync(join(tab.seeded.environment.RULES_DIR, 'p2.v40-patient'), { recursive: true });
      const listed = () => owner.ask<{ versions: { version: string }[] }>('GET', 'rules/versions');
      // A list that loses a row moves the link that the next test clicks.
      await until('the draft is gone', async () =>
        (await listed()).body.versions.every(({ version }) => version !== 'p2.v40-patient'),
      );
    }
  });

  it('open from the list and begin no work, and count beside each line, without covering it, what was worked out before', async () => {
    await tab.open('#/rules', NARROW);
    const { page } = tab;
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.url());
    });
    // Rows grow while their changes arrive, and a click at a place would open another version.
    await page.getByRole('link', { name: 'p2.v10', exact: true }).press('Enter');
    await page.getByRole('heading', { name: 'p2.v10', level: 1 }).waitFor();
    const line = page.getByRole('row', { name: /- name: client-blocked/ });
    await line.waitFor();
    await page.getByText('Loading …').waitFor({ state: 'detached' });
    expect(asked).to.deep.equal([]);
    await tab.visit('#/rules/p2.v10/results');
    await tab.button('Run').click();
    await page.getByRole('region', { name: 'Rules of verdicts.yaml' }).waitFor({ timeout: 120_000 });
    await tab.visit('#/rules/p2.v10');
    await line.getByText(/^[1-9]\d* \(\d+\)$/).waitFor();
    const [hits, text] = await Promise.all(
      ['.line-hits', 'td:last-child'].map((cell) => line.locator(cell).boundingBox()),
    );
    expect((hits?.x ?? 0) + (hits?.width ?? 0)).to.be.at.most(text?.x ?? 0);
  });
});
