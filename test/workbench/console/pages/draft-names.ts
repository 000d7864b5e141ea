import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from '../../../servers/until.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeConsole, NARROW } from '../console-tab.ts';
import { discardDrafts } from '../discard-drafts.ts';

interface Kept {
  readonly from: string;
  readonly files: Readonly<Record<string, string>>;
}

describeConsole("the names of the console's drafts", (tab) => {
  after(() => discardDrafts(tab.shop));

  const begin = async (version: string) => {
    await tab.page.getByLabel('name').fill(version);
    await tab.button('Begin').click();
    await tab.page.getByRole('heading', { name: version, exact: true }).waitFor();
    await tab.page.getByText('Saved.', { exact: true }).waitFor();
  };
  const isSound = () => tab.page.getByText('Nodes accept this version.').waitFor();
  const read = (version: string) => tab.shop.ask<Kept>('GET', `rules/drafts/${version}`);
  const named = (version: string) => tab.page.getByRole('heading', { name: version, exact: true }).waitFor();
  const keep = async (version: string) => {
    const opened = await tab.shop.ask<{ files: readonly { path: string; text: string }[] }>(
      'GET',
      'rules/versions/p2.v10',
    );
    const texts = opened.body.files.map(
      ({ path, text }) => [path, text.replace('ruleVersion: p2.v10', `ruleVersion: ${version}`)] as const,
    );
    const files = Object.fromEntries(texts);
    const typed = { ...files, 'verdicts.yaml': `# an idea\n${files['verdicts.yaml']}` };
    const { status } = await tab.shop.ask('PUT', `rules/drafts/${version}`, { from: 'p2.v10', files: typed });
    expect(status).to.equal(200);
  };

  it('may be that of a draft begun with another draft, which keeps what was typed and its beginning', async () => {
    await keep('p2.v70-night');
    await tab.open('#/rules/p2.v70-night', NARROW);
    await tab.page.getByRole('link', { name: 'begin another draft with it' }).click();
    await begin('p2.v70-dusk');
    await isSound();
    const { body } = await read('p2.v70-dusk');
    expect(body.from).to.equal('p2.v10');
    expect(body.files['verdicts.yaml']).to.match(/^# an idea\n/);
    expect(body.files['ruleset.yaml']).to.match(/^ruleVersion: p2.v70-dusk$/m);
    expect((await read('p2.v70-night')).status).to.equal(200);
    await tab.expectNoFindings();
  });

  it('are changed on request, to none that exists already', async () => {
    await keep('p2.v71-night');
    await tab.open('#/rules/p2.v71-night');
    const dialog = tab.page.getByRole('dialog');
    await tab.button('Rename …').click();
    await dialog.getByLabel('Name').fill('p2.v11');
    await tab.button('Rename').click();
    await dialog.getByText('p2.v11 exists already; choose another name.').waitFor();
    await tab.expectNoFindings();
    await dialog.getByLabel('Name').fill('p2.v71-dawn');
    await tab.button('Rename').click();
    await named('p2.v71-dawn');
    await isSound();
    const { body } = await read('p2.v71-dawn');
    expect(body.files['verdicts.yaml']).to.match(/^# an idea\n/);
    expect((await read('p2.v71-night')).status).to.equal(404);
  });

  it('become the name of a version when the release is proposed, and stay when that is refused', async () => {
    await keep('p2.v72-night');
    await tab.open('#/rules/p2.v72-night');
    await isSound();
    const dialog = tab.page.getByRole('dialog');
    await tab.button('Propose its release …').click();
    expect(await dialog.getByLabel('Version').inputValue()).to.equal('p2.v72');
    await dialog.getByLabel('Reason').fill('patience');
    const refusal = { title: 'proposal refused', status: 409, detail: 'Too many are open.', errors: [] };
    await tab.page.route(
      '**/drafts/p2.v72/proposal',
      (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', json: refusal }),
      { times: 1 },
    );
    await tab.button('Propose it').click();
    await dialog.getByText('Too many are open.').waitFor();
    expect([(await read('p2.v72-night')).status, (await read('p2.v72')).status]).to.deep.equal([200, 404]);
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.button('Propose it').click();
    await named('p2.v72');
    await tab.page.getByText('It is proposed: an operator of the installation sees it').waitFor();
    expect([(await read('p2.v72-night')).status, (await read('p2.v72')).status]).to.deep.equal([404, 200]);
    await isSound();
    await tab.page.getByRole('textbox', { name: 'verdicts.yaml', exact: true }).focus();
    await tab.page.keyboard.press('Control+Home');
    await tab.page.keyboard.insertText('# a second thought ');
    await tab.page.getByText('It was changed since its release was proposed: propose it again').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
  });

  it('become the name of a version when an operator releases the draft', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    await tab.openAs(owner.key, '#/rules?from=p2.v10');
    await begin('p2.v73-night');
    await isSound();
    try {
      await tab.button('Release …').click();
      const dialog = tab.page.getByRole('dialog');
      await dialog.getByLabel('Version').fill('p2.v73-still');
      await dialog.getByLabel('Reason').fill('patience');
      await tab.button('Release').click();
      // The browser says what is wrong; nothing is asked for.
      await dialog.getByLabel('Version').fill('p2.v73');
      await tab.button('Release').click();
      await tab.page.getByRole('row', { name: /^p2\.v73 .* released/ }).waitFor();
      expect((await owner.ask('GET', 'rules/drafts/p2.v73-night')).status).to.equal(404);
      const { body } = await owner.ask<{ released: boolean }>('GET', 'rules/versions/p2.v73');
      expect(body.released).to.equal(true);
      await tab.expectNoFindings();
    } finally {
      // The other tests share this console.
      rmSync(join(tab.seeded.environment.RULES_DIR, 'p2.v73'), { recursive: true, force: true });
      const isThere = async () => (await owner.ask('GET', 'rules/versions/p2.v73')).status === 200;
      const isListed = async () =>
        JSON.stringify(await owner.ask('GET', 'rules/versions')).includes('p2.v73');
      await until('the version is gone', async () => !(await isThere()) && !(await isListed()));
    }
  });
});
