import { expect } from 'chai';
import { Tenant } from '../../service/tenant.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's place Rollouts", (tab) => {
  it('leads a version from shadow over canary to active and back, each with a reason and the version typed in', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const bringIn = async (mode: string, action: RegExp) => {
      await tab.page.getByRole('radio', { name: mode }).check();
      await tab.page.getByLabel('Reason', { exact: true }).fill(`${mode} by the test`);
      const start = tab.button(action);
      await tab.page.getByLabel('Type p2.v11 to confirm').fill('p2.v1');
      expect(await start.isDisabled()).to.equal(true);
      await tab.page.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
      await start.click();
      await tab.page.getByRole('dialog').getByRole('button').first().click();
      await tab.page.getByText('Done: 1 of 1 nodes follow.').waitFor();
      await tab.page.getByRole('cell', { name: `${mode} by the test` }).waitFor();
    };
    await tab.page.getByText(/verdicts differ/).waitFor();
    const differences = tab.page.getByRole('region', { name: 'Differences' }).locator('tbody tr');
    expect((await differences.allTextContents()).length).to.equal(1);
    await differences.getByText('WAIT/attempt-unpaid 30 s → WAIT/attempt-unpaid 40 s').waitFor();
    await differences.getByText(/PAYING \d+, NEW \d+, TRUSTED \d+/).waitFor();
    await bringIn('canary', /^Start the canary of …$/);
    await tab.page.getByText('10 %', { exact: true }).first().waitFor();
    await bringIn('active', /^Promote …$/);

    await tab.button('Take p2.v11 back …').click();
    await tab.page.getByLabel('Reason for taking it back').fill('only a test');
    await tab.button('Take p2.v11 back').click();
    await tab.page.getByRole('cell', { name: 'only a test' }).waitFor();
    await tab.page.getByRole('cell', { name: 'rollback', exact: true }).waitFor();
    const { body } = await tab.shop.ask<{ rollout: { active: { version: string } } }>('GET', 'rules');
    expect(body.rollout.active.version).to.equal('p2.v10');
    expect(tab.complaints).to.deep.equal([]);
  });

  it('leaves nothing standing in the form after a change: no mode, no reason, no confirmation', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const { page } = tab;
    const reason = page.getByLabel('Reason', { exact: true });
    const typed = page.getByLabel('Type p2.v11 to confirm');
    const shadow = page.getByRole('radio', { name: 'shadow' });
    await page.getByRole('radio', { name: 'active' }).check();
    await reason.fill('better waits');
    await typed.fill('p2.v11');
    await tab.button('Promote …').click();
    await tab.button('Promote p2.v11').click();
    await page.getByText('Done: 1 of 1 nodes follow.').waitFor();
    await tab.button('Take p2.v11 back …').click();
    await page.getByLabel('Reason for taking it back').fill('it was not');
    await tab.button('Take p2.v11 back').click();
    await page.getByRole('cell', { name: 'it was not' }).waitFor();
    await typed.waitFor();
    expect([await reason.inputValue(), await typed.inputValue()]).to.deep.equal(['', '']);
    expect(await shadow.isChecked()).to.equal(true);
  });

  it('takes a confirmation for one mode only', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const typed = tab.page.getByLabel('Type p2.v11 to confirm');
    await typed.fill('p2.v11');
    await tab.page.getByRole('radio', { name: 'canary' }).check();
    expect(await typed.inputValue()).to.equal('');
    expect(await tab.button('Start the canary of …').isDisabled()).to.equal(true);
  });

  it('shows a refused rollout in the service’s words, and changes nothing', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    await tab.page.route('**/rules/rollout', (route) =>
      route.continue({ postData: JSON.stringify({ version: 'p2.v12', mode: 'active', reason: 'r' }) }),
    );
    await tab.page.getByLabel('Reason', { exact: true }).fill('try');
    await tab.page.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
    await tab.button('Shadow …').click();
    await tab.button('Shadow p2.v11').click();
    await tab.page.getByRole('dialog').getByRole('alert').getByText('p2.v12 is not sound').waitFor();
    await tab.page.unroute('**/rules/rollout');
  });

  it('says exactly what a click does: share, guard, and as whose deed it is recorded', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const effects = tab.page
      .getByRole('heading', { name: 'What this does' })
      .locator('..')
      .getByRole('listitem');
    await effects.getByText('p2.v11 decides on a copy of each request and is only compared').waitFor();
    await tab.page.getByRole('radio', { name: 'canary' }).check();
    await tab.page.getByLabel('Percent of clients').fill('25');
    await tab.page.getByLabel('Guard, points').fill('');
    await effects.getByText('p2.v11 decides for 25 % of the clients, always the same ones.').waitFor();
    await effects.getByText('No guard: it stays until somebody ends it.').waitFor();
    await tab.page.getByLabel('Guard, points').fill('5');
    await effects.getByText('or payers fall, by over 5 points.').waitFor();
    await tab.page.getByLabel('Percent of clients').fill('100');
    await effects.getByText('No guard: no clients of the active version are left to compare with.').waitFor();
    expect(await tab.page.getByLabel('Guard, points').isDisabled()).to.equal(true);
    await effects.getByText(/^The history names key [0-9a-f]{12} of maria, and the reason\.$/).waitFor();
    await tab.expectNoFindings();
  });

  it('makes what an experiment speaks for active, however different, only when that was seen and ticked', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const canary = { version: 'p2.v11', mode: 'canary', percent: 5, reason: 'for the experiment' };
    expect((await owner.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    const asked: unknown[] = [];
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    await tab.page.route('**/rules/rollout', (route) => {
      asked.push(route.request().postDataJSON());
      const problem = { title: 'rollout refused', status: 409, detail: 'it answers otherwise', errors: [] };
      return route.fulfill({ status: 409, contentType: 'application/problem+json', json: problem });
    });
    await tab.button('Make p2.v11 active …').click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('since p2.v10').waitFor();
    for (const isTicked of [false, true]) {
      if (isTicked) await dialog.getByRole('checkbox').check();
      await dialog.getByRole('button', { name: 'Make p2.v11 active' }).click();
      await dialog.getByRole('alert').getByText('it answers otherwise').waitFor();
      await dialog.getByRole('button', { name: 'Make p2.v11 active' }).waitFor();
    }
    expect(asked.map((body) => JSON.stringify(body).includes('"acceptDifference":true'))).to.deep.equal([
      false,
      true,
    ]);
    await tab.page.unroute('**/rules/rollout');
    expect((await owner.ask('POST', 'rules/rollback', { reason: 'after the test' })).status).to.equal(200);
  });

  it('cannot bring in a canary of all clients with a guard, also past the page', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const { status, body } = await owner.ask('POST', 'rules/rollout', {
      ...{ version: 'p2.v11', mode: 'canary', percent: 100, guard: 5, reason: 'a test' },
    });
    expect(status).to.equal(400);
    expect(body.errors).to.deep.equal([
      {
        pointer: '/guard',
        detail:
          'compares the canary with clients of the active version, and 100 percent leave none of those; choose fewer percent, or leave the guard out',
      },
    ]);
  });

  it('changes nothing when somebody else has changed the rollout since it was looked at', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    await tab.page.getByLabel('Reason', { exact: true }).fill('mine');
    await tab.page.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
    await tab.button('Shadow …').click();
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const theirs = await owner.ask('POST', 'rules/rollout', {
      ...{ version: 'p2.v11', mode: 'shadow', reason: 'theirs' },
    });
    expect(theirs.status).to.equal(200);
    await tab.button('Shadow p2.v11').click();
    const refusal = tab.page.getByRole('dialog').getByRole('alert');
    await refusal
      .getByText(/by now, not at \d+: shadow to p2\.v11 by key .* \(theirs\); look at it again/)
      .waitFor();
    const { status } = await owner.ask('POST', 'rules/rollback', { reason: 'after the test' });
    expect(status).to.equal(200);
  });

  it('does not take a rollout that cannot be read for one that is not there yet', async () => {
    await tab.openOwn(tab.seeded.key, '#/nowhere');
    const unreadable = { rollout: null, unreadable: true, nodes: [], trials: [], previous: null };
    await tab.page.route('**/platform/rules', (route) => route.fulfill({ json: unreadable }));
    for (const hash of ['#/rollouts', '#/today']) {
      await tab.visit(hash);
      await tab.page.getByText('The rollout cannot be read').waitFor();
      expect(await tab.page.getByText('No version decides yet').count()).to.equal(0);
    }
  });

  it('lets a key of one platform look, and says which key may change', async () => {
    await tab.open('#/rollouts');
    await tab.page.getByText('This key may look, and change nothing').waitFor();
    expect(await tab.page.getByRole('radio').count()).to.equal(0);
  });
});
