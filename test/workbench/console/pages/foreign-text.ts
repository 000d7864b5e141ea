import { expect } from 'chai';
import { describeConsole } from '../console-tab.ts';

/** What a payer, a caller or a colleague may write anywhere: markup that acts when it is not shown as text. */
const MARKUP = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;

/** An order and a client with it in their names. */
const ORDER = `order ${MARKUP}`;
const CLIENT = `payer ${MARKUP}/#?%41`;

describeConsole('text from elsewhere in the console', (tab) => {
  before(async () => {
    const { shop } = tab;
    const asked = { clientIdKey: CLIENT, orderRef: ORDER, method: MARKUP, sellPointKey: MARKUP };
    expect((await shop.verdict(asked)).status).to.equal(200);
    expect((await shop.outcome(CLIENT, ORDER, 'PAID')).status).to.equal(200);
    const binding = { requisiteRef: MARKUP, acceptorKeys: [MARKUP] };
    expect((await shop.bind(CLIENT, binding)).status).to.equal(200);
    const override = { reason: MARKUP };
    expect((await shop.override(CLIENT, 'TRUSTED', override)).status).to.equal(200);
    await shop.ask('PUT', 'lists/foreign', { kind: 'client' });
    const entry = { reason: MARKUP };
    const put = await shop.ask('PUT', `lists/foreign/entries?value=${encodeURIComponent(MARKUP)}`, entry);
    expect(put.status).to.equal(200);
  });

  /** It is shown, as the letters that it has, and nothing of it came to life or was stopped on its way. */
  async function expectText(): Promise<void> {
    await tab.page.getByText("document.title='taken'").first().waitFor();
    expect(await tab.page.title()).not.to.equal('taken');
    expect(await tab.page.locator('main img, main script, [onerror]').count()).to.equal(0);
    expect(tab.complaints).to.deep.equal([]);
    expect(tab.strayRequests).to.deep.equal([]);
  }

  it('stays text in the client, with the reasons of its binding and override', async () => {
    await tab.open(`#/find?${new URLSearchParams({ clientIdKey: CLIENT })}`);
    await tab.page.getByRole('link', { name: CLIENT }).first().click();
    await tab.page.getByRole('heading', { name: CLIENT }).waitFor();
    await expectText();
    await tab.page.getByText(/TRUSTED by .*<img/).waitFor();
  });

  it('stays text in the decisions that were found', async () => {
    await tab.open(`#/find?${new URLSearchParams({ orderRef: ORDER })}`);
    await expectText();
  });

  it('stays text in the decision of a dispute, with the answer to the caller', async () => {
    const [decision] = await tab.shop.decisions({ orderRef: ORDER });
    await tab.open(`#/find/decision/${decision?.decisionId}`);
    await expectText();
    expect(await tab.page.getByLabel('Words for the integrator').inputValue()).to.include(`Order ${ORDER},`);
  });

  it('stays text on a list, with why somebody is on it', async () => {
    await tab.open('#/settings/lists/foreign');
    await expectText();
    await tab.page.getByRole('row', { name: /^<img.*<img/ }).waitFor();
  });

  it('stays text in the history of the rollout', async () => {
    await tab.open('#/nowhere');
    await tab.page.route('**/v1/platform/rules', async (route) => {
      const answer = await route.fetch();
      const status = await answer.json();
      for (const entry of status.rollout.history) entry.reason = MARKUP;
      await route.fulfill({ response: answer, json: status });
    });
    await tab.visit('#/rollouts');
    await expectText();
  });

  it('stays text in an address that names nothing', async () => {
    await tab.open(`#/settings/lists/${encodeURIComponent(MARKUP)}`);
    await tab.page.getByRole('heading', { level: 1 }).first().waitFor();
    expect(await tab.page.locator('main img, main script').count()).to.equal(0);
    expect(await tab.page.title()).not.to.equal('taken');
  });
});
