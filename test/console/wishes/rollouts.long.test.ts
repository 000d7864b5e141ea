import { expect } from 'chai';
import { addVersion } from '../../rollout/rule-folders.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { until } from '../../servers/until.ts';
import { Tenant } from '../../service/tenant.ts';
import { OwnConsole } from './own-console.ts';

const PAYERS = 40;
const AT_ONCE = 20;

/** A version that takes everybody for a bot. */
const BAD = 'p2.v13';
const MISTAKE = {
  file: 'bot-signals.yaml',
  from: '{ fact: honeypotTriggered, operator: equal, value: true }',
  to: '{ fact: honeypotTriggered, operator: equal, value: false }',
} as const;

const SO_LONG_MS = 25 * 60_000;
const utc = (epochMs: number) => new Date(epochMs).toISOString();

describeWithServer('chromium', 'a version that is rolled out', function () {
  this.timeout(300_000);
  let own: OwnConsole;
  before(async () => {
    own = await OwnConsole.start();
  });
  after(() => own?.stop());

  it('says from when on its clients count, and compares nothing until then', async () => {
    const { seeded } = own;
    const [shop, operator] = [new Tenant(seeded, seeded.key), new Tenant(seeded, seeded.operatorKey)];
    await operator.ask('POST', 'rules/rollback', { reason: 'enough seen' });
    const canary = {
      version: 'p2.v11',
      mode: 'canary',
      percent: 50,
      acceptDifference: true,
      reason: 'waits',
    };
    expect((await operator.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    const payers = Array.from({ length: PAYERS }, (_, payer) => payer);
    for (let first = 0; first < PAYERS; first += AT_ONCE)
      await Promise.all(payers.slice(first, first + AT_ONCE).map((payer) => pays(shop, payer)));
    await seeded.ship();

    const { page, complaints } = await own.open('#/rollouts', seeded.operatorKey);
    await page.getByRole('button', { name: 'Work it out' }).click();
    await page.getByText(/\d+ do not count yet\./).waitFor();
    await page.getByText('Nothing can be compared yet: it takes 50 clients in each arm who count').waitFor();
    expect(complaints).to.deep.equal([]);
  });

  it('that blocks everybody is explained and taken back on the place Today in two clicks', async () => {
    const { seeded } = own;
    const [shop, operator] = [new Tenant(seeded, seeded.key), new Tenant(seeded, seeded.operatorKey)];
    // One version is on trial, by the life of the console or by the test before.
    await operator.ask('POST', 'rules/rollback', { reason: 'enough seen' });
    addVersion(seeded.environment.RULES_DIR, BAD, [MISTAKE]);
    const change = { version: BAD, mode: 'active', acceptDifference: true, reason: 'a better signal' };
    await until('the node has the version', async () => {
      const { status } = await operator.ask('POST', 'rules/rollout', change);
      return status === 200;
    });
    const began = Date.now();
    const asks = (payer: number) =>
      shop.verdict({ clientIdKey: `payer-${payer}`, orderRef: `late-${payer}` });
    await until('it decides', async () => (await asks(0)).body.verdict === 'BLOCK');
    for (let payer = 1; payer < 30; payer += 1) await asks(payer);

    const { page, complaints } = await own.open(
      // The life of the console ended more than half an hour ago, so that the time before holds some of it.
      `#/today?from=${utc(began - SO_LONG_MS)}&to=${utc(began + SO_LONG_MS)}&against=before`,
      seeded.operatorKey,
    );
    let clicks = 0;
    const clicked = async (target: ReturnType<typeof page.getByRole>) => {
      clicks += 1;
      await target.click();
    };
    const why = page.locator('section', { hasText: 'BLOCK took its place' }).last();
    await why.getByRole('row').nth(1).getByText(BAD).waitFor();
    await clicked(why.getByRole('button', { name: `Take ${BAD} back …` }));
    await page.getByLabel('Reason for taking it back').fill('it blocks everybody');
    await clicked(page.getByRole('dialog').getByRole('button', { name: `Take ${BAD} back` }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until(
      'payers are served again',
      async () => (await shop.verdict({ clientIdKey: 'next' })).body.verdict === 'GET_NEW',
    );
    expect([clicks, complaints]).to.deep.equal([2, []]);
  });
});

/** Two of three payers pay what they ask for. */
async function pays(shop: Tenant, payer: number): Promise<void> {
  const name = `trial-${payer}`;
  expect((await shop.verdict({ clientIdKey: name, orderRef: name })).status).to.equal(200);
  expect((await shop.outcome(name, name, payer % 3 === 0 ? 'UNPAID' : 'PAID')).status).to.equal(200);
}
