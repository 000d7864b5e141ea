import { expect } from 'chai';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { until } from '../../servers/until.ts';
import { Tenant } from '../../service/tenant.ts';
import { Analyst } from './analyst.ts';
import { FIVE_WISHES } from './five-wishes.ts';
import { OwnConsole } from './own-console.ts';

const VERSION = 'p2.v20';
const TASK = { version: VERSION, reason: 'five wishes', pictures: 0 };

describeWithServer('chromium', 'five wishes of an analyst', function () {
  this.timeout(600_000);
  let own: OwnConsole;
  before(async () => {
    own = await OwnConsole.start();
  });
  after(() => own?.stop());

  it('are written in the page as rules with cases, and go from there to a canary', async () => {
    const { page, complaints } = await own.open('#/rules', own.seeded.operatorKey);
    const analyst = new Analyst(page, TASK);
    await analyst.beginDraft();
    await analyst.picture('draft');
    await analyst.addCasesFile('wishes');
    let casesPassed = 57;
    for (const wish of FIVE_WISHES) {
      casesPassed += wish.cases.match(/- name:/g)?.length ?? 0;
      await analyst.write(wish, casesPassed);
      await analyst.picture(wish.name.replaceAll(/[^a-z]+/g, '-'));
    }
    await analyst.compare();
    await analyst.save();
    await analyst.backtest();
    await analyst.picture('compared-saved-backtested');
    await analyst.release();
    await analyst.picture('released');
    await analyst.startCanary();
    await analyst.picture('canary');
    expect(complaints).to.deep.equal([]);
    expect((await own.seeded.audit()).map(({ action }) => action).slice(-3)).to.deep.equal([
      'release',
      'draft',
      'rollout',
    ]);
  });

  it('hold for those who ask: a device that is put on the list is refused, a transfer waits longer', async () => {
    const shop = new Tenant(own.seeded, own.seeded.key);
    const verdictOn = async (clientIdKey: string, more: object = {}) => {
      await shop.score({ clientIdKey, fingerprint: 'ring-device' });
      return (await shop.verdict({ clientIdKey, ...more })).body;
    };
    expect((await verdictOn('first')).verdict).to.equal('GET_NEW');
    const { page, complaints } = await own.open('#/settings/lists', own.seeded.key);
    const analyst = new Analyst(page, { ...TASK, pictures: 20 });
    await analyst.blockDevice('ring-device');
    await analyst.picture('list');
    await until('the device is refused', async () => (await verdictOn('second')).verdict === 'BLOCK');
    await shop.verdict({ clientIdKey: 'payer-by-bank', method: 'sepa' });
    const { body } = await shop.verdict({ clientIdKey: 'payer-by-bank', method: 'sepa' });
    expect([body.verdict, body.waitSeconds, body.ruleVersion]).to.deep.equal(['WAIT', 120, VERSION]);
    expect(complaints).to.deep.equal([]);
  });
});
