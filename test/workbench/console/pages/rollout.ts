import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { addVersion } from '../../../checkout/rollout/rule-folders.ts';
import { until } from '../../../servers/until.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeConsole } from '../console-tab.ts';

describeConsole("the console's place Rollouts", (tab) => {
  const change = async (action: RegExp, version: string, reason: string) => {
    await tab.button(action).click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    const typed = dialog.getByLabel(`Type ${version} to confirm`);
    if ((await typed.count()) > 0) await typed.fill(version);
    await dialog.getByRole('button').first().click();
    await tab.page.getByRole('cell', { name: reason }).waitFor();
  };

  it('leads a version from shadow over canary to active, with a reason and the version typed in, and back with a reason alone', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const { page } = tab;
    await page.getByText(/verdicts differ/).waitFor();
    const differences = page.getByRole('region', { name: 'Differences' }).locator('tbody tr');
    expect((await differences.allTextContents()).length).to.equal(1);
    await differences.getByText('WAIT/attempt-unpaid 30 s → WAIT/attempt-unpaid 40 s').waitFor();
    await differences.getByText(/PAYING \d+, NEW \d+, TRUSTED \d+/).waitFor();
    await page.getByRole('radio', { name: 'canary' }).check();
    await tab.button('Give a share to …').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('canary by the test');
    await dialog.getByLabel('Type p2.v11 to confirm').fill('p2.v1');
    await dialog.getByRole('button', { name: 'Give p2.v11 10 %' }).click();
    // The browser says what is wrong; nothing is asked for.
    await dialog.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
    await dialog.getByRole('button', { name: 'Give p2.v11 10 %' }).click();
    await page.getByText('Done: 1 of 1 nodes follow.').waitFor();
    await page.getByRole('heading', { name: 'p2.v11 canary 10 %' }).waitFor();
    await change(/^Activate p2\.v11 …$/, 'p2.v11', 'active by the test');
    expect(await page.getByRole('radio', { name: 'shadow' }).isChecked()).to.equal(true);
    await tab.button('Take p2.v11 back …').click();
    await dialog.getByLabel('Reason').fill('only a test');
    expect(await dialog.getByRole('textbox').count()).to.equal(1);
    await dialog.getByRole('button', { name: 'Take p2.v11 back' }).click();
    await page.getByRole('cell', { name: 'only a test' }).waitFor();
    await page.getByRole('cell', { name: 'taken back', exact: true }).waitFor();
    const { body } = await tab.shop.ask<{ rollout: { active: { version: string } } }>('GET', 'rules');
    expect(body.rollout.active.version).to.equal('p2.v10');
    expect(tab.complaints).to.deep.equal([]);
  });

  it('gives a version the next share from its card, keeps the guard, and says how far that is', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const canary = { version: 'p2.v11', mode: 'canary', percent: 5, guard: 4, reason: 'for its stages' };
    expect((await owner.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const { page } = tab;
    const stages = page.getByRole('list', { name: 'Stages of p2.v11' });
    await stages.waitFor();
    expect(await stages.getByRole('listitem').allTextContents()).to.deep.equal([
      ...['shadow', '5 %', 'Give p2.v11 20 % …', 'Give p2.v11 50 % …', 'Activate p2.v11 …'],
    ]);
    expect(await stages.locator('[aria-current=step]').textContent()).to.equal('5 %');
    await page
      .getByText(
        'The guard takes it back when one of these is worse by 4 points and chance does not explain it.',
      )
      .waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: /^WAIT *not worse$/ })
      .waitFor();
    await tab.expectNoFindings();
    const asked = page.waitForRequest('**/rules/rollout');
    await tab.button('Give p2.v11 20 % …').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('p2.v11 decides for 20 % of the clients, always the same ones.').waitFor();
    await dialog.getByLabel('Reason').fill('nothing got worse');
    await dialog.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
    await dialog.getByRole('button', { name: 'Give p2.v11 20 %' }).click();
    expect((await asked).postDataJSON()).to.include({ mode: 'canary', percent: 20, guard: 4 });
    await page.getByRole('heading', { name: 'p2.v11 canary 20 %' }).waitFor();
    await tab.button('Take p2.v11 back …').click();
    await dialog.getByRole('button', { name: 'Take p2.v11 back' }).click();
    await page.getByRole('cell', { name: 'taken back by hand' }).waitFor();
  });

  it('offers no share to a draft, which may only be shadowed', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const version = 'p2.v15';
    addVersion(tab.seeded.environment.RULES_DIR, version, [], { draft: true });
    const goal = { version, reason: 'a draft' };
    await until('the node has the draft', async () => {
      const { status } = await owner.ask('POST', 'rules/rollout', { ...goal, mode: 'shadow' });
      return status === 200;
    });
    expect(
      (await owner.ask('POST', 'rules/rollout', { ...goal, mode: 'canary', percent: 5 })).status,
    ).to.equal(409);
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const stages = tab.page.getByRole('list', { name: `Stages of ${version}` });
    await stages.waitFor();
    expect(await stages.getByRole('listitem').allTextContents()).to.deep.equal([
      ...['shadow', '5 %', '20 %', '50 %', 'active'],
    ]);
    const card = tab.page.locator('section', { has: stages });
    await card.getByText('A draft may only be shadowed. Take it back and release it').waitFor();
    expect(await card.getByRole('button').allTextContents()).to.deep.equal([`Take ${version} back …`]);
    await tab.expectNoFindings();
    expect((await owner.ask('POST', 'rules/rollback', { reason: 'after the test' })).status).to.equal(200);
    rmSync(join(tab.seeded.environment.RULES_DIR, version), { recursive: true });
    await until('the node has the draft no more', async () => {
      const { body } = await owner.ask<{ versions: { version: string }[] }>('GET', 'rules/versions');
      return !body.versions.some((one) => one.version === version);
    });
  });

  it('shows a refused rollout in the service’s words, and changes nothing', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    await tab.page.route('**/rules/rollout', (route) =>
      route.continue({ postData: JSON.stringify({ version: 'p2.v12', mode: 'active', reason: 'r' }) }),
    );
    await tab.button('Shadow …').click();
    await tab.page.getByRole('dialog').getByLabel('Reason').fill('try');
    await tab.button('Shadow p2.v11').click();
    await tab.page.getByRole('dialog').getByRole('alert').getByText('p2.v12 has problems').waitFor();
  });

  it('says exactly what a click does: share, guard, and as whose deed it is recorded', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const { page } = tab;
    const dialog = page.getByRole('dialog');
    const says = async (action: string, ...effects: readonly string[]) => {
      await tab.button(action).click();
      for (const effect of effects) await dialog.getByRole('listitem').getByText(effect).waitFor();
      await tab.expectNoFindings();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    };
    await says('Shadow …', 'p2.v11 decides on a copy of each request and is only compared');
    await page.getByRole('radio', { name: 'canary' }).check();
    await page.getByLabel('Percent of clients').fill('25');
    await page.getByLabel('Guard, points').fill('');
    const canary = 'Give a share to …';
    await says(
      canary,
      'p2.v11 decides for 25 % of the clients, always the same ones.',
      'No guard: it stays until somebody takes it back.',
    );
    await page.getByLabel('Guard, points').fill('5');
    await says(canary, 'or payers fall, by over 5 points.');
    await page.getByLabel('Percent of clients').fill('100');
    await says(canary, 'No guard: no clients of the active version are left to compare with.');
    expect(await page.getByLabel('Guard, points').isDisabled()).to.equal(true);
    await tab.button(canary).click();
    await dialog.getByText(/^The history names key [0-9a-f]{12} of maria, and the reason\.$/).waitFor();
  });

  it('makes a canary active, however different, only when the difference was seen and ticked', async () => {
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
    const dialog = tab.page.getByRole('dialog');
    await tab.page.getByLabel('Share of p2.v11, %').fill('12.5');
    await tab.button('Change …').click();
    await dialog.getByText('p2.v11 decides for 12.5 % of the clients, always the same ones.').waitFor();
    await tab.expectNoFindings();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await tab.button('Activate p2.v11 …').click();
    await dialog.getByText('since p2.v10').waitFor();
    await dialog.getByLabel('Reason').fill('by the experiment');
    await dialog.getByLabel('Type p2.v11 to confirm').fill('p2.v11');
    for (const isTicked of [false, true]) {
      if (isTicked) await dialog.getByRole('checkbox').check();
      await dialog.getByRole('button', { name: 'Activate p2.v11' }).click();
      await dialog.getByRole('alert').getByText('it answers otherwise').waitFor();
      await dialog.getByRole('button', { name: 'Activate p2.v11' }).waitFor();
    }
    expect(asked.map((body) => JSON.stringify(body).includes('"acceptDifference":true'))).to.deep.equal([
      false,
      true,
    ]);
    expect((await owner.ask('POST', 'rules/rollback', { reason: 'after the test' })).status).to.equal(200);
  });

  it('works out what a canary is worth: nothing where nothing was decided yet, and then how its differences went', async () => {
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const canary = { version: 'p2.v11', mode: 'canary', percent: 5, reason: 'for its worth' };
    expect((await owner.ask('POST', 'rules/rollout', canary)).status).to.equal(200);
    const { body } = await owner.ask<{ rollout: { candidates: { stageSince: string }[] } }>('GET', 'rules');
    const since = body.rollout.candidates[0]?.stageSince;
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    const { page } = tab;
    await tab.button('Run').click();
    await page
      .getByText(/^On trial with these shares since .*\. Nothing was decided since then\.$/)
      .waitFor();
    // Differences take some days of many clients.
    const of = (metric: string, at: string, value: number) => {
      const [low, high] = [value - 0.002, value + 0.002];
      return { version: 'p2.v11', metric, at, value, low, high };
    };
    const [first, second] = ['2026-11-02T10:00:00.000Z', '2026-11-03T10:00:00.000Z'];
    const trend = [of('value', first, 0.001), of('value', second, 0.003), of('paid', second, -0.004)];
    await page.route('**/platform/evidence/*', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      if (answer.result !== null) Object.assign(answer.result, { since, trend });
      await route.fulfill({ response, json: answer });
    });
    await page.reload();
    await tab.button('Run').click();
    await page.getByText('value: p2.v11 as a table').click();
    const rows = page.getByRole('region', { name: 'value: p2.v11 by time' }).locator('tbody tr');
    expect((await rows.allInnerTexts()).map((row) => row.split('\t').slice(1))).to.deep.equal([
      ['1.0', '5.0', '3.0'],
      ['-1.0', '3.0', '1.0'],
    ]);
    await page.getByLabel('metric').selectOption('paid');
    await page.getByRole('heading', { name: 'paid: p2.v11' }).waitFor();
    expect((await owner.ask('POST', 'rules/rollback', { reason: 'after its worth' })).status).to.equal(200);
  });

  it('changes nothing when somebody else has changed the rollout since it was looked at', async () => {
    await tab.openAs(tab.seeded.operatorKey, '#/rollouts');
    await tab.button('Shadow …').click();
    await tab.page.getByRole('dialog').getByLabel('Reason').fill('mine');
    const owner = new Tenant(tab.seeded, tab.seeded.operatorKey);
    const theirs = await owner.ask('POST', 'rules/rollout', {
      version: 'p2.v11',
      mode: 'shadow',
      reason: 'theirs',
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
    await tab.page.getByText('This key may not change the rollout').waitFor();
    expect(await tab.page.getByRole('radio').count()).to.equal(0);
  });
});
