import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { OpenedRuleFolder } from '#workbench/console/page/questions.ts';
import { launchBrowser, openConsole, signIn, WIDE_DISPLAY } from '../../scripts/screenshots/browser.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../service/current-rules.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { scoring } from '../workbench/commands/scoring.ts';

const NOT_WRITABLE = 'This node cannot write to RULES_DIR; download the draft and put it there yourself';

/** Drops root's privileges, since root ignores file modes. */
const isRoot = process.getuid?.() === 0;
const AS_A_USER = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];

/** A container may not allow root to drop privileges. */
function canBeBound(): boolean {
  const [program, ...args] = [...AS_A_USER, 'true'];
  if (program === undefined || spawnSync(program, args).status === 0) return true;
  process.stderr.write(
    'SKIPPED: tests of a RULES_DIR that may only be read: root cannot give up its rights\n',
  );
  return false;
}

(canBeBound() ? describe : describe.skip)('a node whose RULES_DIR may only be read', () => {
  const dataDir = temporaryDirectory();
  const rulesDir = temporaryDirectory();
  let service: ServiceProcess;
  let owner: Tenant;
  before(async () => {
    cpSync(RULES_FOLDER, join(rulesDir, 'p2.v10'), { recursive: true });
    cpSync(RULES_FOLDER, join(rulesDir, 'p2.v11'), {
      recursive: true,
      filter: (path) => !path.endsWith('release.json'),
    });
    for (const folder of ['p2.v10', 'p2.v11', '']) chmodSync(join(rulesDir, folder), 0o555);
    service = await spawnService(dataDir, { RULES_DIR: rulesDir }, AS_A_USER);
    const issue = ['keys', 'issue', '--platform', '*', '--operations', 'rules,operate', '--json'];
    const issued = await scoring(issue, { DATA_DIR: dataDir, RULES_DIR: rulesDir });
    owner = new Tenant(service, JSON.parse(issued.stdout).key);
  });
  after(async () => {
    await service?.stop();
    for (const folder of ['', 'p2.v10', 'p2.v11']) chmodSync(join(rulesDir, folder), 0o755);
  });

  it('says so, keeps no draft, and says what to do instead', async () => {
    const list = await owner.ask<{ writable: boolean }>('GET', 'rules/versions');
    expect(list.body.writable).to.equal(false);
    const { body } = await owner.ask<OpenedRuleFolder>('GET', 'rules/versions/p2.v10');
    const files = Object.fromEntries(
      body.files.map(({ path, text }) => [path, text.replaceAll('p2.v10', 'p2.v12')]),
    );
    const saved = await owner.ask('PUT', 'rules/versions/p2.v12', { files });
    expect([saved.status, saved.body.title, saved.body.detail]).to.deep.equal([
      409,
      'draft refused',
      NOT_WRITABLE,
    ]);
    expect(readdirSync(rulesDir).toSorted()).to.deep.equal(['p2.v10', 'p2.v11']);
  });

  describeWithServer('chromium', 'in the console', () => {
    it('allows a draft to be edited and downloaded, and cannot be put into it', async () => {
      const browser = await launchBrowser();
      try {
        const url = `${service.platformUrl}/`;
        const { page, complaints } = await openConsole(browser, url, WIDE_DISPLAY, '#/rules');
        await signIn(page, owner.key);
        await page.locator('select[name=source]').selectOption('p2.v10');
        await page.getByLabel('name').fill('p2.v12');
        await page.getByRole('button', { name: 'Begin', exact: true }).click();
        await page
          .getByText('This node may not write to its RULES_DIR: download it', { exact: false })
          .waitFor();
        expect(await page.getByRole('button', { name: 'Save to RULES_DIR' }).isDisabled()).to.equal(true);
        const download = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download', exact: true }).click();
        expect((await download).suggestedFilename()).to.equal('p2.v12.zip');
        expect(complaints).to.deep.equal([]);
      } finally {
        await browser.close();
      }
    });
  });
});
