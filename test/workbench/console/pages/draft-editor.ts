import { expect } from 'chai';
import { describeConsole, NARROW } from '../console-tab.ts';
import { discardDrafts } from '../discard-drafts.ts';

describeConsole("the editor of the console's drafts", (tab) => {
  after(() => discardDrafts(tab.shop));

  const begin = async (version: string) => {
    await tab.open('#/rules?from=p2.v10');
    await tab.page.getByLabel('name').fill(version);
    await tab.button('Begin').click();
    await editor().waitFor();
    await tab.page.getByText('Nodes accept this version.').waitFor();
  };
  const editor = () => tab.page.getByRole('textbox', { name: 'verdicts.yaml', exact: true });
  const options = () => tab.page.locator('.cm-tooltip-autocomplete').getByRole('option');
  const openFile = (file: string) =>
    tab.page.getByRole('group', { name: 'Files' }).getByRole('button', { name: file }).first().click();
  /** Types into a new first line, as a comment, so that the rules stay as they are. */
  const typeOnTop = async (text: string) => {
    await editor().focus();
    await tab.page.keyboard.press('Control+Home');
    await tab.page.keyboard.press('Enter');
    await tab.page.keyboard.press('ArrowUp');
    await tab.page.keyboard.type(text);
  };
  const choose = (label: string) => options().filter({ hasText: label }).first().click();
  /** Where a word of the open file stands on the screen. */
  const findWord = async (word: string) => {
    const found = await tab.page.evaluate((wanted) => {
      const root = document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content');
      if (!root) return null;
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const at = texts.currentNode.textContent?.indexOf(wanted) ?? -1;
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(texts.currentNode, at);
        range.setEnd(texts.currentNode, at + wanted.length);
        range.startContainer.parentElement?.scrollIntoView({ block: 'center' });
        const { x, y, width, height } = range.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      }
      return null;
    }, word);
    if (found === null) throw new Error(`${word} is not shown`);
    return found;
  };
  const line = () => tab.page.locator('.cm-activeLine').textContent();

  it('completes facts with their meaning, operators, groups and the values of a fact', async () => {
    await begin('p2.v80');
    await typeOnTop('# - { fact: unpaidCh');
    const info = tab.page.locator('.cm-completionInfo');
    await info.getByText(/^UNPAID outcomes since the last PAID one/).waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.page.keyboard.press('Enter');
    await tab.page.keyboard.type(', operator: greaterThanI');
    await choose('greaterThanInclusive');
    expect(await line()).to.equal('# - { fact: unpaidChain, operator: greaterThanInclusive}');
    await typeOnTop('# - { fact: clientGroup, operator: equal, value: TR');
    await choose('TRUSTED');
    expect(await line()).to.equal('# - { fact: clientGroup, operator: equal, value: TRUSTED}');
    await typeOnTop('# params: { verdict: GET_S');
    await choose('GET_SAME_STICKY');
    await typeOnTop('# params: { group: PAY');
    await choose('PAYING');
    expect(await line()).to.equal('# params: { group: PAYING}');
    await tab.expectNoFindings();
  });

  it('leaves the key that ends a line to who typed a whole word', async () => {
    await begin('p2.v85');
    await typeOnTop('# group: PAYIN');
    await options().filter({ hasText: 'PAYING' }).waitFor();
    await tab.page.keyboard.type('G');
    await options().waitFor({ state: 'detached' });
    await tab.page.keyboard.press('Enter');
    await tab.page.keyboard.type('# next');
    expect(await line()).to.equal('# next');
  });

  it('offers the windows that a fact counts, and a whole comparison where none is begun', async () => {
    await begin('p2.v81');
    await typeOnTop('# - { fact: distinctOrders, params: { window: ');
    await tab.page.keyboard.press('Control+Space');
    await options().first().waitFor();
    expect(await options().allTextContents()).to.deep.equal(['10m', '30m', '1h', '6h', '24h']);
    await tab.page.keyboard.press('Escape');
    await typeOnTop('');
    await tab.page.keyboard.press('Control+Space');
    await choose('- { fact, operator, value }');
    expect(await line()).to.equal('- { fact: name, operator: equal, value: value }');
  });

  it('offers the lists of the draft and those that are shared', async () => {
    await tab.shop.ask('PUT', 'lists/night-owls', { kind: 'client' });
    const added = await tab.shop.ask('PUT', 'lists/night-owls/entries?value=ann', { reason: 'a test' });
    expect(added.status).to.equal(200);
    await begin('p2.v82');
    await tab.page.getByText('Add or remove a file').click();
    await tab.page.getByLabel('what').selectOption('lists');
    await tab.page.locator('input[name=name]').fill('fast-methods');
    await tab.button('Add').click();
    await openFile('verdicts.yaml');
    await typeOnTop('# - { fact: method, operator: in, value: { list: ');
    await tab.page.keyboard.press('Control+Space');
    await options().filter({ hasText: 'fast-methodsof this rule set' }).waitFor();
    await options().filter({ hasText: 'night-owlsshared' }).waitFor();
  });

  it('offers the attributes that the draft declares where a fact names one, and explains them', async () => {
    await begin('p2.v86');
    await openFile('ruleset.yaml');
    const declarations = tab.page.getByRole('textbox', { name: 'ruleset.yaml', exact: true });
    await declarations.focus();
    await tab.page.keyboard.press('Control+Home');
    const written = [
      'attributes:',
      '  cardCountry: { type: text, length: 2 }',
      '  "cartCategory": { type: text, oneOf: [games, "food"] }',
      '  cardBin: { type: text, pseudonym: true }',
      '',
    ].join('\n');
    await declarations.evaluate((content, pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', pasted);
      content.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, written);
    await openFile('verdicts.yaml');
    await typeOnTop('# - { fact: clientsOnAttribute, params: { name: ');
    await tab.page.keyboard.press('Control+Space');
    await options().first().waitFor();
    expect(await options().allTextContents()).to.deep.equal(['cardBintext, kept as a pseudonym']);
    await tab.page.keyboard.press('Escape');
    await typeOnTop('# - { fact: attribute, params: { name: ca');
    await options().filter({ hasText: 'cardCountrytext of up to 2 characters' }).waitFor();
    await options().filter({ hasText: 'cartCategorytext: games, food' }).waitFor();
    await tab.page.keyboard.type('rdC');
    await tab.page.locator('.cm-completionInfo').getByText('Declared by ruleset.yaml, line 2.').waitFor();
    expect(await tab.axeFindings()).to.deep.equal([]);
    await tab.page.keyboard.press('Enter');
    expect(await line()).to.equal('# - { fact: attribute, params: { name: cardCountry}}');
    const meaning = tab.page.locator('.meaning');
    await meaning.getByText('attribute(cardCountry) text of up to 2 characters').waitFor();
    expect(await meaning.getByRole('button').allTextContents()).to.deep.equal(['verdicts.yaml:1']);
    await typeOnTop('# - name: ca');
    await tab.page.keyboard.press('Control+Space');
    await tab.page.keyboard.type('r');
    expect(await options().count()).to.equal(0);
  });

  it('explains the fact at the cursor, and leads to every place that asks for it', async () => {
    await begin('p2.v83');
    await openFile('groups.yaml');
    await tab.page.getByRole('textbox', { name: 'groups.yaml' }).waitFor();
    const word = await findWord('unpaidChain');
    await tab.page.mouse.click(word.x, word.y);
    const meaning = tab.page.locator('.meaning');
    await meaning.getByText('UNPAID outcomes since the last PAID one', { exact: false }).waitFor();
    await tab.expectNoFindings();
    await tab.page.setViewportSize(NARROW);
    await tab.expectNoFindings();
    expect(await meaning.getByRole('button').allTextContents()).to.deep.equal([
      'groups.yaml:28',
      'groups.yaml:47',
    ]);
    await meaning.getByRole('button', { name: 'groups.yaml:47' }).click();
    await tab.page.locator('.cm-activeLine', { hasText: 'lessThanInclusive, value: 1' }).waitFor();
    await tab.page.keyboard.press('Control+Home');
    await meaning.getByText('UNPAID outcomes', { exact: false }).waitFor({ state: 'detached' });
  });

  it('explains the fact that the pointer is on, and breaks long lines', async () => {
    await begin('p2.v84');
    const word = await findWord('clientGroup');
    await tab.page.mouse.move(word.x, word.y);
    await tab.page.locator('.cm-meaning').getByText('clientGroup: NEW, STICKY').waitFor();
    await tab.expectNoFindings();
    const scroller = tab.page.locator('.cm-scroller');
    const overflow = (element: Element) => element.scrollWidth - element.clientWidth;
    expect(await scroller.evaluate(overflow)).to.equal(0);
  });
});
