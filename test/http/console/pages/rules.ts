import { expect } from 'chai';
import { describeConsole, NARROW } from '../console-tab.ts';

describeConsole("the console's page Rules", (tab) => {
  it('show the problems of a version with line and column, and what differs between two', async () => {
    await tab.open('#/rules/p2.v12');
    await tab.page.getByText('verdicts.yaml:43:19').waitFor();
    await tab.page.getByText('unknown fact "atemptOpen"; did you mean "attemptOpen"?').first().waitFor();
    await tab.button('Compare').click();
    await tab.page.getByRole('status').getByText('ladder level 1: 30s → 40s').waitFor();
    await tab.page.getByText('waitRemainingSeconds = 1', { exact: true }).first().waitFor();
    expect(await tab.page.locator('.examples > li').first().textContent()).to.match(
      /p2\.v10 .*WAIT asked-too-early .*p2\.v11 .*GET_NEW otherwise/s,
    );
  });

  it('say in the list what changed in each version', async () => {
    await tab.open('#/rules');
    const changed = tab.page.getByRole('row', { name: /^p2\.v11/ });
    await changed.getByText('ladder level 1: 30s → 40s').waitFor();
    await changed.getByText('since p2.v10').waitFor();
  });

  it('open with the version that decides, and count beside each line without covering it', async () => {
    await tab.openOwn(tab.seeded.key, '#/rules', NARROW);
    await tab.page.getByRole('heading', { name: 'Ladder of p2.v10' }).waitFor();
    const line = tab.page.getByRole('row', { name: /- name: client-blocked/ });
    await line.getByText(/^[1-9]\d* \(\d+\)$/).waitFor({ timeout: 120_000 });
    const [hits, text] = await Promise.all(
      ['.line-hits', 'td:last-child'].map((cell) => line.locator(cell).boundingBox()),
    );
    expect((hits?.x ?? 0) + (hits?.width ?? 0)).to.be.at.most(text?.x ?? 0);
  });
});
