import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';
import { Analyst } from './analyst.ts';
import { OwnConsole } from './own-console.ts';

const VERSION = 'p2.v22';

const CHANGED = 'clientsOnIp, params: { window: 24h }, operator: greaterThanInclusive, value: ';

/** What a person presses and chooses; `addEventListener` also hears what Enter presses. */
const COUNT_CLICKS = `
  const count = () => { sessionStorage.clicks = 1 + Number(sessionStorage.clicks ?? 0); };
  addEventListener('click', ({ isTrusted, detail }) => { if (isTrusted && detail > 0) count(); }, true);
  addEventListener('change', ({ target }) => { if (target.matches('select')) count(); }, true);`;

describeWithServer('chromium', 'somebody who is analyst and operator', function () {
  this.timeout(600_000);
  let own: OwnConsole;
  before(async () => {
    own = await OwnConsole.start();
  });
  after(() => own?.stop());

  it('changes a threshold, proves it, tries it on a tenth and ends it, with one sign-in and without a shell', async () => {
    const { page, complaints } = await own.open('#/rules', own.seeded.operatorKey);
    await page.addInitScript(COUNT_CLICKS);
    await page.reload();
    await page.getByRole('navigation', { name: 'Places' }).waitFor();
    const analyst = new Analyst(page, { version: VERSION, reason: 'fewer names', pictures: 60 });
    await analyst.beginDraft();
    const lines = readFileSync(join(RULES_FOLDER, 'bot-signals.yaml'), 'utf8').split('\n');
    const line = lines.findIndex((text) => text.includes(CHANGED));
    const changed = (lines[line] ?? '').replace(`${CHANGED}30`, `${CHANGED}25`);
    expect(changed).to.include('value: 25');
    await analyst.replace('bot-signals.yaml', { line: line + 1, lines: 1 }, `${changed}\n`);
    await analyst.casesPass(57);
    await analyst.compare();
    await analyst.backtest();
    await analyst.release();
    await analyst.startCanary('10');
    await page.getByText('10 %', { exact: true }).first().waitFor();
    await analyst.picture('experiment');
    await page.getByRole('button', { name: `Take ${VERSION} back …` }).click();
    await page.getByLabel('Reason for taking it back').fill('tried enough');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Take ${VERSION} back` })
      .click();
    await page.getByRole('cell', { name: 'rollback', exact: true }).first().waitFor();
    expect(Number(await page.evaluate<string>('sessionStorage.clicks'))).to.be.at.most(16);
    const audit = await own.seeded.audit();
    const since = audit.slice(audit.findLastIndex(({ action }) => action === 'sign-in'));
    expect(since.map(({ action }) => action)).to.deep.equal([
      'sign-in',
      'draft',
      'release',
      'draft',
      'rollout',
      'rollout',
    ]);
    expect(complaints).to.deep.equal([]);
  });
});
